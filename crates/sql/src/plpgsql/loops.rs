//! Loops: LOOP, WHILE, and FOR over numbers and arrays. Loops over queries are beside the cursors that they read.

use base::{Error, Result, sqlstate};
use types::{SqlType, Value};

use super::expression::evaluate;
use super::frame::Frame;
use super::interpret::{Flow, holds, run_statements};
use super::tree::{ArrayLoop, Expression, IntegerLoop, Statement};
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

/// Runs the body of a loop again and again, until it ends the loop or `next` finds that there is no further round. Returns how the loop
/// ended, and whether there was a round.
fn run_rounds<'a, 'p>(
    label: Option<&str>,
    body: &[Statement],
    frame: &mut Frame<'_>,
    run: &mut Run<'a, 'p>,
    mut next: impl FnMut(&mut Frame<'_>, &mut Run<'a, 'p>) -> Result<bool>,
) -> Result<(Flow, bool)> {
    let mut found = false;
    while next(frame, run)? {
        sync::yield_point()?;
        found = true;
        let flow = run_statements(body, frame, run)?;
        if let Some(end) = after_round(flow, label) {
            return Ok((end, found));
        }
    }
    Ok((Flow::Next, found))
}

/// LOOP without a condition.
pub(super) fn run_endless_loop(
    label: Option<&str>,
    body: &[Statement],
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    run_rounds(label, body, frame, run, |_, _| Ok(true)).map(|(end, _)| end)
}

/// WHILE.
pub(super) fn run_while_loop(
    label: Option<&str>,
    condition: &Expression,
    body: &[Statement],
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    run_rounds(label, body, frame, run, |frame, run| holds(condition, frame, run)).map(|(end, _)| end)
}

/// FOR over integers.
pub(super) fn run_integer_loop(
    integer_loop: &IntegerLoop,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    let IntegerLoop { label, variable, lower, upper, step, reverse, body } = integer_loop;
    let begin = bound(lower, "lower bound", frame, run)?;
    let end = bound(upper, "upper bound", frame, run)?;
    let step = match step {
        Some(step) => bound(step, "BY value", frame, run)?,
        None => 1,
    };
    if step <= 0 {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "BY value of FOR loop must be greater than zero"));
    }
    // None behind the last number of the type.
    let mut at = Some(begin);
    let (end, found) = run_rounds(label.as_deref(), body, frame, run, |frame, _| {
        let Some(number) = at.filter(|number| if *reverse { *number >= end } else { *number <= end }) else {
            return Ok(false);
        };
        frame.values[*variable] = Value::Int4(number);
        at = if *reverse { number.checked_sub(step) } else { number.checked_add(step) };
        Ok(true)
    })?;
    frame.values[frame.function.found] = Value::Bool(found);
    Ok(end)
}

/// A bound of a loop, or its step.
fn bound(expression: &Expression, what: &str, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<i32> {
    let (value, sql_type) = evaluate(expression, frame, run)?;
    match cast_for_assignment(value, sql_type, SqlType::INT4, run)? {
        Value::Int4(number) => Ok(number),
        _ => Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, format!("{what} of FOR loop cannot be null"))),
    }
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
    let mut slices = super::element::slices(&array, *slice as usize, sql_type)?;
    let (end, found) = run_rounds(label.as_deref(), body, frame, run, |frame, run| {
        let Some(slice) = slices.next() else { return Ok(false) };
        let (mut element, sql_type) = slice?;
        frame.number_given_rows(&mut element, begun.as_ref(), run);
        frame.assign(*variable, element, sql_type, run)?;
        Ok(true)
    })?;
    frame.values[frame.function.found] = Value::Bool(found);
    Ok(end)
}
