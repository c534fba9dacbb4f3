//! Loops over numbers and arrays.

use base::{Error, Result, sqlstate};
use types::{SqlType, Value};

use super::expression::evaluate;
use super::frame::Frame;
use super::interpret::{Flow, run_statements};
use super::tree::{ArrayLoop, Expression, IntegerLoop};
use executor::{Run, cast_for_assignment};

/// How a loop goes on after a round of its body: `None` goes on, `Some` ends it.
pub(super) fn after_round(flow: Flow, label: Option<&str>) -> Option<Flow> {
    match flow {
        Flow::Next => None,
        Flow::Exit(None) => Some(Flow::Next),
        Flow::Exit(Some(name)) if label == Some(name.as_str()) => Some(Flow::Next),
        Flow::Continue(None) => None,
        Flow::Continue(Some(name)) if label == Some(name.as_str()) => None,
        flow => Some(flow),
    }
}

/// A bound of a loop, or its step.
fn bound(expression: &Expression, what: &str, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<i32> {
    let (value, sql_type) = evaluate(expression, frame, run)?;
    match cast_for_assignment(value, sql_type, SqlType::INT4, run)? {
        Value::Int4(number) => Ok(number),
        _ => Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, format!("{what} of FOR loop cannot be null"))),
    }
}

/// FOR over integers.
pub(super) fn run_integer_loop(
    integer_loop: &IntegerLoop,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    let IntegerLoop { label, variable, lower, upper, step, reverse, body } = integer_loop;
    let mut at = bound(lower, "lower bound", frame, run)?;
    let end = bound(upper, "upper bound", frame, run)?;
    let step = match step {
        Some(step) => bound(step, "BY value", frame, run)?,
        None => 1,
    };
    if step <= 0 {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "BY value of FOR loop must be greater than zero"));
    }
    let mut found = false;
    while if *reverse { at >= end } else { at <= end } {
        sync::yield_point()?;
        found = true;
        frame.values[*variable] = Value::Int4(at);
        let flow = run_statements(body, frame, run)?;
        if let Some(end) = after_round(flow, label.as_deref()) {
            frame.values[frame.function.found] = Value::Bool(found);
            return Ok(end);
        }
        let next = if *reverse { at.checked_sub(step) } else { at.checked_add(step) };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    frame.values[frame.function.found] = Value::Bool(found);
    Ok(Flow::Next)
}

/// FOREACH over an array.
pub(super) fn run_array_loop(array_loop: &ArrayLoop, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    let ArrayLoop { label, variable, slice, array, body } = array_loop;
    let (value, sql_type) = evaluate(array, frame, run)?;
    if value.is_null() {
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "FOREACH expression must not be null"));
    }
    let Value::Array(array) = value else {
        let shown = types::format_type_name(&run.catalog, sql_type.oid);
        let message = format!("FOREACH expression must yield an array, not type {shown}");
        return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
    };
    let begun = frame.moment();
    let mut found = false;
    for item in super::element::slices(&array, *slice as usize, sql_type)? {
        sync::yield_point()?;
        let (mut element, sql_type) = item?;
        frame.number_given_rows(&mut element, begun.as_ref(), run);
        found = true;
        frame.assign(*variable, element, sql_type, run)?;
        let flow = run_statements(body, frame, run)?;
        if let Some(end) = after_round(flow, label.as_deref()) {
            frame.values[frame.function.found] = Value::Bool(found);
            return Ok(end);
        }
    }
    frame.values[frame.function.found] = Value::Bool(found);
    Ok(Flow::Next)
}
