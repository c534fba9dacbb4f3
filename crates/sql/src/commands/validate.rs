//! Whether the rows that are there meet a constraint that is new.

use std::sync::Arc;

use base::{Error, Oid, Result, Tid, sqlstate};
use plan::Expr;
use schema::catalog::TableDef;
use types::{StorageKind, Value};

use super::ddl::Ddl;
use executor::{RowDecoder, Run, evaluate};

/// Calls `visit` with the full row of each row of a table that nobody else changes now.
pub(super) fn for_each_row<'p>(
    ddl: &mut Ddl<'_>,
    table: &Arc<engine::Table>,
    visit: &mut dyn FnMut(&mut Run<'_, 'p>, Tid, &[Value]) -> Result<()>,
) -> Result<()> {
    let decoder = RowDecoder::of_full_row(&table.def, &StorageKind::of_columns(&ddl.view(), &table.def));
    ddl.with_latest(|ddl| {
        ddl.with_run(|run: &mut Run<'_, 'p>| {
            let mut values = vec![Value::Null; table.def.columns.len()];
            let mut scan = run.engine().scan(table)?;
            loop {
                sync::yield_point()?;
                let engine = run.engine();
                let Some((tid, bytes)) = scan.next(&engine)? else { return Ok(()) };
                drop(engine);
                decoder.decode(table, bytes, tid, &mut values)?;
                visit(run, tid, &values)?;
            }
        })
    })
}

/// Whether a table that nobody else changes now has a row.
pub(super) fn has_rows(ddl: &mut Ddl<'_>, table: &Arc<engine::Table>) -> Result<bool> {
    ddl.with_latest(|ddl| {
        ddl.with_run(|run| {
            let mut scan = run.engine().scan(table)?;
            let engine = run.engine();
            Ok(scan.next(&engine)?.is_some())
        })
    })
}

/// 23502 if a row is NULL in one of these columns.
pub(super) fn not_null(ddl: &mut Ddl<'_>, table: Oid, columns: &[usize]) -> Result<()> {
    let open = ddl.open(table)?;
    if columns.is_empty() || open.block_count()? == 0 {
        return Ok(());
    }
    let def = Arc::clone(&open.def);
    let schema = ddl.view().schema_name(def.schema);
    for_each_row(ddl, &open, &mut |_, _, values| match columns.iter().find(|place| values[**place].is_null()) {
        None => Ok(()),
        Some(place) => Err(contains_nulls(&def, &schema, *place)),
    })
}

/// The error for NULLs in a column that is to have none.
pub(super) fn contains_nulls(def: &TableDef, schema: &str, place: usize) -> Error {
    let column = &def.columns[place].name;
    let message = format!("column \"{column}\" of relation \"{}\" contains null values", def.name);
    let mut error = Error::new(sqlstate::NOT_NULL_VIOLATION, message);
    let fields = error.fields_mut();
    fields.schema = Some(schema.to_owned());
    fields.table = Some(def.name.clone());
    fields.column = Some(column.clone());
    error
}

/// 23514 if a row does not meet a CHECK.
pub(super) fn check(ddl: &mut Ddl<'_>, table: Oid, name: &str, condition: &Expr) -> Result<()> {
    let open = ddl.open(table)?;
    if open.block_count()? == 0 {
        return Ok(());
    }
    let def = Arc::clone(&open.def);
    let schema = ddl.view().schema_name(def.schema);
    for_each_row(ddl, &open, &mut |run, _, values| match evaluate(condition, values, run)? {
        Value::Bool(false) => Err(violated(&def, &schema, name)),
        _ => Ok(()),
    })
}

/// The error for a row that does not meet a CHECK that is new.
pub(super) fn violated(def: &TableDef, schema: &str, name: &str) -> Error {
    let message = format!("check constraint \"{name}\" of relation \"{}\" is violated by some row", def.name);
    Error::new(sqlstate::CHECK_VIOLATION, message).constraint(schema, &def.name, name)
}
