//! Positions in the log.

use base::Error;
use types::Value;

use super::{Bodies, mistyped};
use crate::state::session_of;

/// Bytes of a segment of the log; `pg_walfile_name` counts in them.
const SEGMENT_BYTES: u64 = 16 << 20;

pub(super) const FUNCTIONS: Bodies = &[
    (2849, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().written().0))),
    (3330, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().durable().0))),
    (2852, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().reserved().0))),
    (2848, |run, _| Ok(Value::PgLsn(session_of(run).instance.database().wal().reserved().0))),
    (3098, |_, _| Err(Error::unsupported("restore points are not supported"))),
    (2851, |_, args| match args[0] {
        Value::PgLsn(lsn) => {
            // The position just before, so that a segment's end belongs to it.
            let segment = lsn.saturating_sub(1) / SEGMENT_BYTES;
            let per_file = (1u64 << 32) / SEGMENT_BYTES;
            Ok(format!("{:08X}{:08X}{:08X}", 1, segment / per_file, segment % per_file).into())
        }
        _ => Err(mistyped(args, 0)),
    }),
    (3810, |_, _| Ok(Value::Bool(false))),
    (3073, |_, _| Ok(Value::Bool(false))),
    (3820, |_, _| Ok(Value::Null)),
    (3821, |_, _| Ok(Value::Null)),
    (3830, |_, _| Ok(Value::Null)),
    (3436, |_, _| {
        Err(Error::new(base::sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is not in progress")
            .hint("Recovery control functions can only be executed during recovery."))
    }),
];
