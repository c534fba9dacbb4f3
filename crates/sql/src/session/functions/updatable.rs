//! Which relations and columns can be changed.

use std::sync::Arc;

use base::{Oid, Result};
use schema::catalog::{RelationKind, TableDef};
use types::Value;

use super::Bodies;
use crate::session::SessionState;
use crate::session::planning::Environment;
use crate::session::session_of;
use executor::Run;
use planner::binder;

pub(super) const FUNCTIONS: Bodies = &[(3842, relation_is_updatable), (3843, column_is_updatable)];

/// Which of INSERT, UPDATE and DELETE a relation takes, and which of its columns can be assigned.
fn changes(state: &SessionState, table: &Arc<TableDef>, by_trigger: bool) -> ([bool; 3], Vec<bool>) {
    match table.kind {
        RelationKind::Table => ([true; 3], table.columns.iter().map(|column| !column.dropped).collect()),
        RelationKind::MaterializedView => ([false; 3], Vec::new()),
        // A view that can't be bound any more takes no changes either.
        RelationKind::View => Environment::new(state, &state.catalog())
            .with_context("", |context| binder::possible_changes(context, table, by_trigger))
            .unwrap_or_default(),
    }
}

/// Whether a column can be assigned.
pub fn is_updatable(state: &SessionState, table: &Arc<TableDef>, place: usize, by_trigger: bool) -> bool {
    if table.kind == RelationKind::Table {
        return true;
    }
    let ([_, updates, deletes], columns) = changes(state, table, by_trigger);
    updates && deletes && columns.get(place).copied().unwrap_or(false)
}

/// Whether a view takes new rows by itself.
pub fn takes_rows(state: &SessionState, view: &Arc<TableDef>) -> bool {
    changes(state, view, false).0[0]
}

fn named(run: &Run<'_, '_>, oid: &Value) -> Option<Arc<TableDef>> {
    let Value::Oid(oid) = oid else { return None };
    run.state.engine_catalog().table(Oid(*oid)).cloned()
}

fn relation_is_updatable(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let Some(table) = named(run, &args[0]) else { return Ok(Value::Int4(0)) };
    let ([inserts, updates, deletes], _) = changes(session_of(run), &table, args[1] == Value::Bool(true));
    let events = [(updates, 1 << 2), (inserts, 1 << 3), (deletes, 1 << 4)];
    Ok(Value::Int4(events.into_iter().filter(|(is_possible, _)| *is_possible).map(|(_, bit)| bit).sum()))
}

fn column_is_updatable(run: &mut Run<'_, '_>, args: &[Value]) -> Result<Value> {
    let (Some(table), Value::Int2(number)) = (named(run, &args[0]), &args[1]) else { return Ok(Value::Bool(false)) };
    let place = usize::try_from(i32::from(*number) - 1).ok();
    let by_trigger = args[2] == Value::Bool(true);
    Ok(Value::Bool(place.is_some_and(|place| is_updatable(session_of(run), &table, place, by_trigger))))
}
