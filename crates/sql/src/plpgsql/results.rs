//! The results of a function: RETURN, RETURN NEXT and RETURN QUERY, and their types beside those that it declares.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::CatalogView;
use types::{RecordShape, RecordValue, SqlType, Value, oids};

use super::dynamic::{Dynamic, run_dynamic};
use super::embedded::{Columns, columns_of, set_found};
use super::expression::{evaluate, query_name, run_statement, within};
use super::frame::Frame;
use super::interpret::Flow;
use super::tree::{Expression, RowSource};
use crate::state::Planned;
use executor::{RowStore, Run, cast_for_assignment, sort_memory_bytes};

/// RETURN.
pub(super) fn leave_with(value: Option<&Expression>, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    let (value, sql_type) = returned(value, frame, run)?;
    let is_row = frame.function.result.oid == oids::RECORD || frame.queried_shape(&run.catalog).is_some();
    if is_row && !frame.function.returns_set && !matches!(value, Value::Null | Value::Record(_)) {
        return Err(not_composite());
    }
    Ok(Flow::Return(value, sql_type))
}

/// RETURN NEXT: adds a row to those of the function.
pub(super) fn give_next(given: Option<&Expression>, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let (value, sql_type) = match given {
        None => match frame.function.outputs[..] {
            [only] => (outputs(frame)?, frame.type_of(only)),
            _ => (outputs(frame)?, SqlType::new(oids::RECORD)),
        },
        Some(_) => returned(given, frame, run)?,
    };
    let value = match (frame.result_shape().cloned(), value, given) {
        (Some(shape), Value::Record(record), _) => super::row_types::as_result(&record, &shape, run)?,
        (Some(shape), Value::Null, _) => super::frame::null_row(&shape),
        (Some(_), _, Some(given)) if is_variable(given) => {
            let message = "wrong result type supplied in RETURN NEXT";
            return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
        }
        (Some(_), ..) => return Err(not_composite()),
        (None, value, _) => cast_for_assignment(value, sql_type, frame.function.result, run)?,
    };
    check_record(&value, frame, run)?;
    frame.rows.push(&[value], sort_memory_bytes(run), run)?;
    Ok(())
}

/// RETURN QUERY.
pub(super) fn give_query(source: &RowSource, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let mut rows = std::mem::take(&mut frame.rows);
    let given = give_rows(source, &mut rows, frame, run);
    frame.rows = rows;
    set_found(given?, frame);
    Ok(())
}

/// RETURN QUERY: adds what a source gives to the rows of the function, and tells how many rows that were. Each of the statements of a text
/// that is made at run time gives its rows.
///
/// # Errors
/// 42601 for a statement that gives none, 42804 for rows of other types than the function's.
fn give_rows(source: &RowSource, rows: &mut RowStore, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<u64> {
    let limit_bytes = sort_memory_bytes(run);
    let catalog = run.catalog.clone();
    let columns = std::cell::RefCell::new(Columns::new());
    let mut count = 0;
    let on_plan = |planned: &Arc<Planned>| {
        if !planned.gives_rows() {
            let message = format!("{} query does not return tuples", query_name(planned));
            return Err(Error::new(sqlstate::SYNTAX_ERROR, message));
        }
        let given = columns_of(planned);
        check_result(&given, frame, &catalog)?;
        *columns.borrow_mut() = given;
        Ok(())
    };
    let mut on_row = |run: &mut Run<'_, '_>, row: &[Value]| {
        let value = result_row(&columns.borrow(), row.to_vec(), frame, run)?;
        rows.push(&[value], limit_bytes, run)?;
        count += 1;
        Ok(ControlFlow::Continue(()))
    };
    match source {
        RowSource::Query(query) => {
            let mut on_plan = |planned: &Arc<Planned>| on_plan(planned).map_err(|error| within(error, query));
            run_statement(query, frame, run, &mut on_plan, &mut on_row)?;
        }
        RowSource::Dynamic { text, parameters } => {
            let dynamic = Dynamic { gives_all: true, ..Dynamic::of(text, parameters, false, frame, run)? };
            run_dynamic(&dynamic, frame, run, &mut { on_plan }, &mut on_row)?;
        }
    }
    Ok(count)
}

/// One row of RETURN QUERY as a value of the function's result.
fn result_row(
    columns: &[(String, SqlType)],
    row: Vec<Value>,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Value> {
    let Some(shape) = frame.queried_shape(&run.catalog) else {
        if frame.function.result.oid == oids::RECORD {
            let shape = RecordShape::without_type(columns.to_vec());
            return Ok(Value::Record(Arc::new(RecordValue { shape: Arc::new(shape), fields: row })));
        }
        let sql_type = columns.first().map_or(SqlType::UNKNOWN, |(_, sql_type)| *sql_type);
        let value = row.into_iter().next().unwrap_or_default();
        return cast_for_assignment(value, sql_type, frame.function.result, run);
    };
    let mut fields = Vec::with_capacity(row.len());
    for ((value, (_, source)), (_, target)) in row.into_iter().zip(columns).zip(&shape.fields) {
        fields.push(cast_for_assignment(value, *source, *target, run)?);
    }
    let row_type = SqlType::new(shape.type_oid);
    let row = Value::Record(Arc::new(RecordValue { shape, fields }));
    // A domain checks its rows.
    let is_domain = frame.result_shape().is_none();
    if is_domain { cast_for_assignment(row, row_type, frame.function.result, run) } else { Ok(row) }
}

/// The row of OUT parameters.
///
/// # Errors
/// Those of [`Frame::whole`].
pub fn outputs(frame: &Frame<'_>) -> Result<Value> {
    Ok(match (frame.result_shape(), frame.function.outputs.as_slice()) {
        (_, [one]) => frame.whole(*one)?,
        (Some(shape), outputs) => {
            let fields = outputs.iter().map(|place| frame.whole(*place)).collect::<Result<_>>()?;
            Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields }))
        }
        _ => Value::Null,
    })
}

/// The value of RETURN, and its type.
fn returned(value: Option<&Expression>, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<(Value, SqlType)> {
    match value {
        Some(value) => evaluate(value, frame, run),
        None => Ok((Value::Null, SqlType::UNKNOWN)),
    }
}

fn not_composite() -> Error {
    let message = "cannot return non-composite value from function returning composite type";
    Error::new(sqlstate::DATATYPE_MISMATCH, message)
}

/// Whether an expression is the name of a variable and nothing else.
fn is_variable(expression: &Expression) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '"' | '.');
    syntax::parser::is_name(&expression.text) && expression.text.chars().all(is_word)
}

/// Whether the columns of RETURN QUERY are those of the function's result.
fn check_result(columns: &Columns, frame: &Frame<'_>, catalog: &CatalogView) -> Result<()> {
    let result = [(String::new(), frame.function.result)];
    let shape = frame.queried_shape(catalog);
    let wanted = match &shape {
        Some(shape) => shape.fields.as_slice(),
        None if frame.function.result.oid == oids::RECORD => frame.expected_columns.as_deref().unwrap_or(columns),
        None if types::is_polymorphic(frame.function.result.oid) => return Ok(()),
        None => &result,
    };
    check_columns("structure of query does not match function result type", columns, wanted, catalog)
}

/// Checks a record that the function returns against the columns that the caller has listed for it.
///
/// # Errors
/// 42804
pub(super) fn check_record(value: &Value, frame: &Frame<'_>, run: &Run<'_, '_>) -> Result<()> {
    let message = "returned record type does not match expected record type";
    match (value, &frame.expected_columns) {
        (Value::Record(record), Some(wanted)) => check_columns(message, &record.shape.fields, wanted, &run.catalog),
        _ => Ok(()),
    }
}

pub(super) fn check_columns(
    message: &str,
    given: &[(String, SqlType)],
    wanted: &[(String, SqlType)],
    catalog: &CatalogView,
) -> Result<()> {
    let mismatch = |detail: String| Err(Error::new(sqlstate::DATATYPE_MISMATCH, message.to_owned()).detail(detail));
    for (number, ((_, given), (_, wanted))) in given.iter().zip(wanted).enumerate() {
        let has_length = wanted.typmod < 0 || given.typmod == wanted.typmod;
        let is_same = given.oid == wanted.oid && has_length;
        if !is_same && given.oid != oids::UNKNOWN && !types::is_polymorphic(wanted.oid) {
            let name = |sql_type: &SqlType| types::format_type(catalog, *sql_type);
            return mismatch(format!(
                "Returned type {} does not match expected type {} in column {}.",
                name(given),
                name(wanted),
                number + 1
            ));
        }
    }
    if wanted.len() != given.len() {
        let (given, wanted) = (given.len(), wanted.len());
        return mismatch(format!(
            "Number of returned columns ({given}) does not match expected column count ({wanted})."
        ));
    }
    Ok(())
}
