//! Which relations and columns can be changed.

use std::sync::Arc;

use schema::catalog::{RelationKind, TableDef};

use super::planning::Environment;
use super::session_state::SessionState;
use planner::binder;

/// Which of INSERT, UPDATE and DELETE a relation takes, and which of its columns can be assigned.
pub fn changes(state: &SessionState, table: &Arc<TableDef>, by_trigger: bool) -> ([bool; 3], Vec<bool>) {
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
