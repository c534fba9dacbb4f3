//! More functions that the session and the engine answer: about the server itself, its log and its counters.
//!
//! As in [`super::session`], only their declarations are here.

use std::sync::Arc;

use base::{Oid, Result};

use super::session::{ANYBODY, SUPERUSERS};
use super::{FunctionDef, mismatch};
use crate::context::EvalContext;
use crate::function_def::{CallTypes, ReadyRows, ValueStream};
use crate::oids::*;
use crate::type_table::SqlType;
use crate::value::{RecordShape, RecordValue, Value};

/// The columns of `pgfadvise_willneed`.
const ADVICE: &[(&str, Oid)] =
    &[("relpath", TEXT), ("os_page_size", INT8), ("rel_os_pages", INT8), ("os_pages_free", INT8)];
/// The columns of `pg_sequence_parameters`.
const SEQUENCE_PARAMETERS: &[(&str, Oid)] = &[
    ("start_value", INT8),
    ("minimum_value", INT8),
    ("maximum_value", INT8),
    ("increment", INT8),
    ("cycle_option", BOOL),
    ("cache_size", INT8),
    ("data_type", OID),
];

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::session(ANYBODY, 1181, "age", &[XID], INT4),
    FunctionDef::session(ANYBODY, 3939, "mxid_age", &[XID], INT4),
    FunctionDef::session(ANYBODY, 3078, "pg_sequence_parameters", &[OID], RECORD).named(&["sequence_oid"]).columns(SEQUENCE_PARAMETERS),
    FunctionDef::session(SUPERUSERS, 3098, "pg_create_restore_point", &[TEXT], PG_LSN).volatile(),
    FunctionDef::session(ANYBODY, 3073, "pg_is_wal_replay_paused", &[], BOOL).volatile(),
    FunctionDef::session(ANYBODY, 3821, "pg_last_wal_replay_lsn", &[], PG_LSN).volatile(),
    FunctionDef::session(ANYBODY, 3820, "pg_last_wal_receive_lsn", &[], PG_LSN).volatile(),
    FunctionDef::session(ANYBODY, 3830, "pg_last_xact_replay_timestamp", &[], TIMESTAMPTZ).volatile(),
    FunctionDef::session(SUPERUSERS, 3775, "pg_stat_reset_shared", &[TEXT], VOID).volatile(),
    FunctionDef::session(SUPERUSERS, 2307, "pg_stat_reset_slru", &[TEXT], VOID).volatile().not_strict(),
    FunctionDef::session(SUPERUSERS, 9105, "cohort_stat_reset_latches", &[], VOID).volatile(),
    FunctionDef::session(SUPERUSERS, 3776, "pg_stat_reset_single_table_counters", &[OID], VOID).volatile(),
    FunctionDef::session(ANYBODY, 3788, "pg_stat_get_snapshot_timestamp", &[], TIMESTAMPTZ),
    FunctionDef::session(ANYBODY, 1936, "pg_stat_get_backend_idset", &[], INT4).returning_set(),
    // In `information_schema`.
    FunctionDef::set(9104, "_pg_expandarray", &[ANYARRAY], RECORD, expand_array).columns(&[("x", ANYELEMENT), ("n", INT4)]),
    // Extensions in PostgreSQL: a relation into the cache.
    FunctionDef::session(ANYBODY, 9101, "pg_prewarm", &[REGCLASS], INT8).volatile(),
    FunctionDef::session(ANYBODY, 9102, "pg_prewarm", &[REGCLASS, TEXT], INT8).volatile(),
    FunctionDef::session(ANYBODY, 9103, "pgfadvise_willneed", &[REGCLASS], RECORD).volatile().returning_set().columns(ADVICE),
];

/// The elements of an array, numbered from 1.
fn expand_array(_: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    take!(a; Array array);
    let fields = vec![("x".to_owned(), SqlType::new(array.element)), ("n".to_owned(), SqlType::INT4)];
    let shape = Arc::new(RecordShape::without_type(fields));
    let row = |(place, value): (usize, &Value)| {
        let fields = vec![value.clone(), Value::Int4(place as i32 + 1)];
        Value::Record(Arc::new(RecordValue { shape: Arc::clone(&shape), fields }))
    };
    Ok(ReadyRows::boxed(array.values.iter().enumerate().map(row).collect()))
}
