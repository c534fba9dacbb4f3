//! Which relations and columns can be changed.

use std::sync::Arc;

use base::{Oid, Result};
use schema::catalog::TableDef;
use types::Value;

use super::Bodies;
use crate::state::session_of;
use crate::state::updatable::{changes, is_updatable};
use executor::Run;

pub(super) const FUNCTIONS: Bodies = &[(3842, relation_is_updatable), (3843, column_is_updatable)];

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
