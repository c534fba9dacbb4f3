//! Cursors in functions.
//!
//! OPEN makes a cursor of the session. All code that knows its name can use it until the transaction ends. A loop over a query has a
//! cursor of its own, and asks it for rows as it needs them.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use syntax::tree::{Fetch, FetchDirection, Name};
use types::{SqlType, Value};

use super::dynamic::{Dynamic, open_dynamic};
use super::embedded::{columns_of, set_found};
use super::expression::{evaluate, open_statement, told_from};
use super::frame::Frame;
use super::interpret::{Flow, run_statements};
use super::loops::after_round;
use super::tree::{CursorQuery, Expression, Fetched, RowSource, Statement};
use crate::state::session_of;
use crate::state::{Cursor, Given, Opening};
use executor::client::Formats;
use executor::{Run, StoreReader, cast_for_assignment};

/// A cursor's arguments, with the parameters they name.
type Arguments = [(Option<String>, Expression)];

fn cursor_error(state: base::SqlState, message: String) -> Error {
    Error::new(state, message)
}

/// The name in a cursor variable.
fn name_of(cursor: usize, frame: &Frame<'_>, run: &Run<'_, '_>) -> Result<String> {
    let (value, sql_type) = frame.current(cursor, run)?;
    if value.is_null() && frame.function.variables[cursor].cursor.is_some() {
        return Ok(frame.function.variables[cursor].name.clone());
    }
    if value.is_null() {
        let message = format!("cursor variable \"{}\" is null", frame.function.variables[cursor].name);
        return Err(cursor_error(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    }
    types::output_string(&value, sql_type.oid, &run.format, &run.catalog)
}

/// Gives a bound cursor's parameters their values.
fn bind_arguments(
    query: &CursorQuery,
    arguments: &Arguments,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    for (number, (named, expression)) in arguments.iter().enumerate() {
        let number = match named {
            Some(name) => query.names.iter().position(|own| own == name),
            None => Some(number),
        };
        let place = number.and_then(|number| query.parameters.get(number)).copied();
        let place = place.ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, "too many arguments for cursor"))?;
        let (value, sql_type) = evaluate(expression, frame, run)?;
        frame.assign(place, value, sql_type, run)?;
    }
    // They are what a SELECT INTO has found.
    if !arguments.is_empty() {
        set_found(1, frame);
    }
    Ok(())
}

/// OPEN.
///
/// # Errors
/// 42P03 for a cursor that is open, and what the query raises.
pub fn open(
    cursor: usize,
    scroll: Option<bool>,
    source: Option<&RowSource>,
    arguments: &Arguments,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let function = frame.function;
    let bound = function.variables[cursor].cursor.clone();
    let current = frame.current(cursor, run)?.0;
    let name = if current.is_null() {
        match &bound {
            Some(_) => function.variables[cursor].name.clone(),
            None => unused_name(run),
        }
    } else {
        name_of(cursor, frame, run)?
    };
    // The empty name is that of what the client has asked for last.
    if name.is_empty() || session_of(run).is_name_taken(&name) {
        return Err(cursor_error(sqlstate::DUPLICATE_CURSOR, format!("cursor \"{name}\" already in use")));
    }
    let scroll = scroll.or_else(|| bound.as_ref().and_then(|bound| bound.scroll));
    let (mut opened, statement) = match (source, &bound) {
        (Some(source), _) => open_source(source, scroll, true, frame, run)?,
        (None, Some(bound)) => {
            bind_arguments(bound, arguments, frame, run)?;
            (open_statement(&bound.query, scroll, frame, run)?, Arc::clone(&bound.query.text))
        }
        (None, None) => return Err(Error::new(sqlstate::SYNTAX_ERROR, "an unbound cursor needs a query")),
    };
    // Nobody but the trigger's own function can read its transition tables.
    if frame.transition_tables.is_some() {
        opened.gather(session_of(run), &mut *run.client)?;
    }
    keep(&name, opened, statement, run);
    frame.note_cursor(&name);
    if current.is_null() {
        frame.assign(cursor, Value::text(&name), SqlType::TEXT, run)?;
    }
    Ok(())
}

/// A cursor over what a source gives, and the text of its query.
fn open_source(
    source: &RowSource,
    scroll: Option<bool>,
    is_cursor: bool,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<(Cursor, Arc<str>)> {
    match source {
        RowSource::Query(query) => Ok((open_statement(query, scroll, frame, run)?, Arc::clone(&query.text))),
        RowSource::Dynamic { text, parameters } => {
            let dynamic = Dynamic::of(text, parameters, is_cursor, frame, run)?;
            Ok((open_dynamic(&dynamic, scroll, frame, run)?, Arc::from(dynamic.text)))
        }
    }
}

/// Makes a cursor one of the session's.
fn keep(name: &str, cursor: Cursor, statement: Arc<str>, run: &Run<'_, '_>) {
    let is_scrollable = cursor.is_scrollable();
    let opening = Opening { statement, formats: Formats::default(), is_binary: false, is_scrollable };
    session_of(run).open_cursor(name, cursor, opening);
}

/// The next number in the names of cursors without a name. Loops over queries use numbers, too.
fn count_unnamed(run: &Run<'_, '_>) -> u32 {
    let number = session_of(run).unnamed_cursors.get().wrapping_add(1);
    session_of(run).unnamed_cursors.set(number);
    number
}

/// A name for a cursor that was given none.
fn unused_name(run: &Run<'_, '_>) -> String {
    let cursors = session_of(run).cursors.borrow();
    loop {
        let number = count_unnamed(run);
        let name = format!("<unnamed portal {number}>");
        if !cursors.contains_key(&name) {
            return name;
        }
    }
}

fn count_of(count: Option<&Expression>, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<i64> {
    let Some(count) = count else { return Ok(1) };
    let (value, sql_type) = evaluate(count, frame, run)?;
    match cast_for_assignment(value, sql_type, SqlType::INT4, run)? {
        Value::Int4(count) => Ok(i64::from(count)),
        _ => Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "relative or absolute cursor position is null")),
    }
}

/// FETCH and MOVE.
///
/// # Errors
/// 34000 for a cursor that is not open, 55000 for moving back where that can't be.
pub fn fetch(
    cursor: usize,
    fetched: &Fetched,
    into: Option<usize>,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let name = name_of(cursor, frame, run)?;
    let (direction, count) = match fetched {
        Fetched::Forward(count) => (FetchDirection::Forward, count_of(count.as_ref(), frame, run)?),
        Fetched::Backward(count) => (FetchDirection::Backward, count_of(count.as_ref(), frame, run)?),
        Fetched::First => (FetchDirection::Absolute, 1),
        Fetched::Last => (FetchDirection::Absolute, -1),
        Fetched::Absolute(count) => (FetchDirection::Absolute, count_of(Some(count), frame, run)?),
        Fetched::Relative(count) => (FetchDirection::Relative, count_of(Some(count), frame, run)?),
    };
    let fetch = Fetch { direction, count, cursor: Name::from(name.as_str()), is_move: into.is_none() };
    let given = fetch_rows(&fetch, frame, run)?;
    match into {
        None => set_found(given.count, frame),
        Some(target) => {
            let columns = session_of(run).with_cursor(&name, |cursor| Ok(columns_of(cursor.planned())))?;
            let mut reader = StoreReader::default();
            let mut first = if given.count > 0 { Some(reader.read(&given.rows, 0)?.to_vec()) } else { None };
            frame.number_fetched_rows(&name, first.as_deref_mut().unwrap_or_default(), run);
            frame.assign_columns(target, &columns, first.as_deref(), run)?;
            set_found(given.count.min(1), frame);
        }
    }
    Ok(())
}

fn fetch_rows(fetch: &Fetch, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<Given> {
    let state = session_of(run);
    let fetch_from =
        |run: &mut Run<'_, '_>| state.with_cursor(&fetch.cursor, |cursor| cursor.fetch(state, fetch, &mut *run.client));
    told_from(frame, None, run, fetch_from)
}

/// CLOSE.
///
/// # Errors
/// 34000 for a cursor that is not open, 24000 for one that is in use.
pub fn close(cursor: usize, frame: &Frame<'_>, run: &Run<'_, '_>) -> Result<()> {
    session_of(run).close_cursor(&name_of(cursor, frame, run)?)
}

/// FOR over a bound cursor.
///
/// # Errors
/// Those of [`open`] and of the loop's body.
pub fn run_loop(
    label: Option<&str>,
    variable: usize,
    cursor: usize,
    arguments: &Arguments,
    body: &[Statement],
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    open(cursor, None, None, arguments, frame, run)?;
    let name = name_of(cursor, frame, run)?;
    run_rounds((label, &name), variable, body, (1, 1), frame, run)
}

/// FOR over a query. Where it may not end the transaction it asks for several rows at once, as PostgreSQL does.
///
/// # Errors
/// Those of the query and of the loop's body.
pub fn run_query_loop(
    label: Option<&str>,
    target: usize,
    source: &RowSource,
    body: &[Statement],
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    let (opened, statement) = open_source(source, Some(false), false, frame, run)?;
    let name = unused_name(run);
    keep(&name, opened, statement, run);
    let counts = if frame.may_end_transaction { (1, 1) } else { ROWS_AT_ONCE };
    run_rounds((label, &name), target, body, counts, frame, run)
}

/// How many rows a loop asks for at first, and then each time.
const ROWS_AT_ONCE: (i64, i64) = (10, 50);

/// The rounds of a loop over an open cursor, which ends with the loop.
fn run_rounds(
    (label, name): (Option<&str>, &str),
    target: usize,
    body: &[Statement],
    counts: (i64, i64),
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    let state = session_of(run);
    let mut found = false;
    // A COMMIT in the loop leaves its cursor open, and nobody closes it meanwhile.
    state.looped_cursors.borrow_mut().push(name.to_owned());
    let end = run_pinned((label, name), target, body, counts, &mut found, frame, run);
    state.looped_cursors.borrow_mut().pop();
    state.forget_cursor(name);
    let end = end?;
    frame.values[frame.function.found] = Value::Bool(found);
    Ok(end)
}

fn run_pinned(
    (label, name): (Option<&str>, &str),
    target: usize,
    body: &[Statement],
    (mut count, next_count): (i64, i64),
    found: &mut bool,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Flow> {
    let cursor = Name::from(name);
    let describe = |cursor: &mut Cursor| Ok((cursor.is_of_plain_query(), columns_of(cursor.planned())));
    let (is_plain, columns) = session_of(run).with_cursor(name, describe)?;
    let loop_target = frame.loop_target(target, run);
    loop {
        let fetch = Fetch { direction: FetchDirection::Forward, count, cursor: cursor.clone(), is_move: false };
        let given = fetch_rows(&fetch, frame, run)?;
        if given.count == 0 && !*found {
            frame.assign_columns(target, &columns, None, run)?;
        }
        if given.count == 0 {
            return Ok(Flow::Next);
        }
        *found = true;
        let mut reader = StoreReader::default();
        for index in 0..given.rows.len() {
            sync::yield_point()?;
            let row = reader.read(&given.rows, index)?;
            frame.assign_in_loop(&loop_target, &columns, row, run)?;
            let mut round = |run: &mut Run<'_, '_>| run_statements(body, frame, run);
            let flow = if is_plain { round(run) } else { super::transaction::unholdable(run, round) }?;
            if let Some(flow) = after_round(flow, label) {
                return Ok(flow);
            }
        }
        count = next_count;
    }
}
