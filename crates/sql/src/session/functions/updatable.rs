//! Which relations and columns can be changed.

use std::sync::Arc;

use base::{Oid, Result};
use engine::catalog::{RelationKind, TableDef};

use super::Bodies;
use crate::binder;
use crate::executor::Run;
use crate::session::SessionState;
use crate::session::planning::Environment;
use crate::types::Value;

pub(super) const FUNCTIONS: Bodies = &[(3842, relation_is_updatable), (3843, column_is_updatable)];

/// INSERT, UPDATE and DELETE as `pg_relation_is_updatable` tells of them.
const ALL_EVENTS: i32 = 1 << 2 | 1 << 3 | 1 << 4;

/// The columns of a relation that can be assigned; none if it takes no changes.
fn columns(state: &SessionState, table: &Arc<TableDef>) -> Vec<bool> {
    match table.kind {
        RelationKind::Table => table.columns.iter().map(|column| !column.dropped).collect(),
        RelationKind::MaterializedView => Vec::new(),
        // A view that can't be bound any more takes no changes either.
        RelationKind::View => Environment::new(state, &state.catalog())
            .with_context("", |context| binder::updatable_columns(context, table))
            .unwrap_or_default(),
    }
}

/// Whether a column can be assigned.
pub fn is_updatable(state: &SessionState, table: &Arc<TableDef>, place: usize) -> bool {
    table.kind == RelationKind::Table || columns(state, table).get(place).copied().unwrap_or(false)
}

fn named(run: &Run<'_, '_>, oid: &Value) -> Option<Arc<TableDef>> {
    let Value::Oid(oid) = oid else { return None };
    run.state.engine_catalog().table(Oid(*oid)).cloned()
}

fn relation_is_updatable(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let Some(table) = named(run, &args[0]) else { return Ok(Value::Int4(0)) };
    let is_any = columns(run.state, &table).contains(&true);
    Ok(Value::Int4(if is_any { ALL_EVENTS } else { 0 }))
}

fn column_is_updatable(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let (Some(table), Value::Int2(number)) = (named(run, &args[0]), &args[1]) else { return Ok(Value::Bool(false)) };
    let place = usize::try_from(i32::from(*number) - 1).ok();
    Ok(Value::Bool(place.is_some_and(|place| is_updatable(run.state, &table, place))))
}
