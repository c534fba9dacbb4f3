//! Running a compiled function.

use base::settings::Id;
use base::{Error, Oid, Result, sqlstate};
use types::{SqlType, Value};

use super::conditions::catches;
use super::expression::{evaluate, is_constant, is_query, keep_label, kept_label, within};
use super::frame::Frame;
use super::loops::{run_array_loop, run_endless_loop, run_integer_loop, run_while_loop};
use super::raise::{diagnostic, run_raise};
use super::tree::{Assignment, Block, Expression, RowSource, Statement, StatementKind, VariableKind};
use super::{embedded, results};
use crate::state::session_of;
use executor::{Run, cast_for_assignment, place_line};

/// How the function goes on after a statement.
pub enum Flow {
    /// The next statement runs.
    Next,
    /// The loop or block of this label (or the innermost loop) ends.
    Exit(Option<String>),
    /// The next round of the loop of this label (or of the innermost loop) begins.
    Continue(Option<String>),
    /// The function returns.
    Return(Value, SqlType),
}

/// The words for a statement in error contexts.
fn activity(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Block(_) => "statement block",
        StatementKind::Assign(_) => "assignment",
        StatementKind::If { .. } => "IF",
        StatementKind::Case { .. } => "CASE",
        StatementKind::Loop { .. } => "LOOP",
        StatementKind::While { .. } => "WHILE",
        StatementKind::ForInteger(_) => "FOR with integer loop variable",
        StatementKind::ForQuery { source: RowSource::Query(_), .. } => "FOR over SELECT rows",
        StatementKind::ForQuery { .. } => "FOR over EXECUTE statement",
        StatementKind::ForEach(_) => "FOREACH over array",
        StatementKind::Exit { is_exit: true, .. } => "EXIT",
        StatementKind::Exit { .. } => "CONTINUE",
        StatementKind::Return { .. } => "RETURN",
        StatementKind::ReturnNext { .. } => "RETURN NEXT",
        StatementKind::ReturnQuery(_) => "RETURN QUERY",
        StatementKind::Raise(_) => "RAISE",
        StatementKind::Assert { .. } => "ASSERT",
        StatementKind::Sql { statement, .. } if is_do(&statement.text) => "DO",
        StatementKind::Sql { .. } => "SQL statement",
        StatementKind::Execute { .. } => "EXECUTE",
        StatementKind::Perform(_) => "PERFORM",
        StatementKind::Diagnostics { stacked: true, .. } => "GET STACKED DIAGNOSTICS",
        StatementKind::Diagnostics { .. } => "GET DIAGNOSTICS",
        StatementKind::ForCursor { .. } => "FOR over cursor",
        StatementKind::Open { .. } => "OPEN",
        StatementKind::Fetch { into: Some(_), .. } => "FETCH",
        StatementKind::Fetch { .. } => "MOVE",
        StatementKind::Close(_) => "CLOSE",
        StatementKind::Call(_) => "CALL",
        StatementKind::EndTransaction { commit: true, .. } => "COMMIT",
        StatementKind::EndTransaction { .. } => "ROLLBACK",
    }
}

pub(super) fn is_do(text: &str) -> bool {
    text.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("do"))
        && !text[2..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
}

/// Runs a block.
///
/// # Errors
/// Errors of its statements that its handlers do not catch.
pub fn run_block(block: &Block, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    run.check_depth()?;
    for &place in &block.variables {
        let variable = &frame.function.variables[place];
        if let Some(default) = &variable.default {
            frame.line = variable.line;
            frame.activity = "during statement block local variable initialization";
            let (value, sql_type) = evaluate(default, frame, run)?;
            if matches!(variable.kind, VariableKind::Record(_)) && !matches!(value, Value::Record(_) | Value::Null) {
                return Err(super::frame::no_row());
            }
            frame.assign(place, value, sql_type, run)?;
        } else {
            // A block's variables begin anew each time. A domain may refuse that.
            let checked = match &variable.kind {
                VariableKind::Scalar(sql_type) => Some(*sql_type),
                VariableKind::Record(declared) => declared.as_ref().and_then(|row| row.domain),
                _ => None,
            };
            if let Some(sql_type) = checked {
                frame.line = variable.line;
                frame.activity = "during statement block local variable initialization";
                types::null_input(run, sql_type)?;
            }
            frame.values[place] = Value::Null;
        }
    }
    let flow = if block.handlers.is_empty() {
        run_statements(&block.body, frame, run)?
    } else {
        run_guarded(block, frame, run)?
    };
    Ok(match flow {
        Flow::Exit(Some(label)) if block.label.as_deref() == Some(label.as_str()) => Flow::Next,
        flow => flow,
    })
}

/// Runs a block with handlers in a subtransaction.
fn run_guarded(block: &Block, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    let state = session_of(run);
    let savepoint = state.engine().savepoint()?;
    let (checks, mark) = (state.check_mark(), state.commit_mark());
    let (line, activity) = (frame.line, frame.activity);
    state.settings.borrow_mut().push_level();
    state.subtransactions.set(state.subtransactions.get() + 1);
    let result = run_statements(&block.body, frame, run);
    state.subtransactions.set(state.subtransactions.get() - 1);
    match result {
        Ok(flow) => {
            state.engine().release(savepoint)?;
            state.settings.borrow_mut().release_level();
            Ok(flow)
        }
        Err(error) => {
            let error = at_place(state.interrupt().reported_instead_of(error), frame);
            (frame.line, frame.activity) = (line, activity);
            let handler = block
                .handlers
                .iter()
                .find(|handler| handler.conditions.iter().any(|name| catches(name, error.sqlstate())))
                // No handler catches the end of the session.
                .filter(|_| !error.fields().fatal);
            if handler.is_some() && error.sqlstate() == sqlstate::QUERY_CANCELED {
                state.interrupt().clear_reported();
            }
            // The block is undone even if no handler here catches the error, so that nobody waits for the locks of undone work.
            state.rollback_to(savepoint, mark)?;
            state.engine().release(savepoint)?;
            state.restore_checks(&checks);
            state.roll_back_settings();
            // The savepoint's rollback has undone definitions and drops.
            super::transaction::refresh(run);
            let Some(handler) = handler else { return Err(mark_placed(error)) };
            if let Some((state_place, message_place)) = block.state_places {
                frame.values[state_place] = Value::text(error.sqlstate().as_str());
                // A message may be as long as a text.
                sync::let_others_run();
                frame.values[message_place] = Value::text(error.message());
                sync::let_others_run();
            }
            let outer = frame.handled.replace(error);
            let result = run_statements(&handler.body, frame, run);
            frame.handled = outer;
            result
        }
    }
}

/// The context line of an error that leaves a statement: made once, where the error arose.
fn at_place(error: Error, frame: &Frame<'_>) -> Error {
    if is_placed(&error) {
        return error;
    }
    mark_placed(error.context(place_line(&frame.function.signature, frame.line, frame.activity)))
}

/// Errors that have their context line carry this at its end until they leave the function.
pub(super) const PLACED: &str = "\u{0}";

fn is_placed(error: &Error) -> bool {
    error.fields().context.as_deref().is_some_and(|context| context.ends_with(PLACED))
}

fn mark_placed(mut error: Error) -> Error {
    if !is_placed(&error) {
        error.fields_mut().context.get_or_insert_default().push_str(PLACED);
    }
    error
}

/// The error as it leaves the function, with its context. It may leave thousands of calls, one after the other.
pub fn leaving(error: Error, frame: &Frame<'_>) -> Error {
    sync::let_others_run();
    let mut error = at_place(error, frame);
    if let Some(context) = &mut error.fields_mut().context {
        context.truncate(context.trim_end_matches(PLACED).len());
    }
    error
}

pub(super) fn run_statements(statements: &[Statement], frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    // Behind them is what they stand in: a loop's next round may fail, too.
    let place = (frame.line, frame.activity);
    let mut end = Flow::Next;
    for statement in statements {
        frame.line = statement.line;
        frame.activity = activity(&statement.kind);
        sync::yield_point()?;
        if frame.may_end_transaction {
            super::transaction::ensure_snapshot(&statement.kind, run)?;
        }
        // A function that was called, or another session, may have changed the catalog.
        run.refresh_catalog();
        run.refresh_format();
        frame.follow_row_types(run);
        match run_one(&statement.kind, frame, run)? {
            Flow::Next => {}
            flow => {
                end = flow;
                break;
            }
        }
    }
    (frame.line, frame.activity) = place;
    Ok(end)
}

/// Whether a condition holds.
pub(super) fn holds(condition: &Expression, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<bool> {
    let (value, sql_type) = evaluate(condition, frame, run)?;
    Ok(cast_for_assignment(value, sql_type, SqlType::BOOL, run)?.is_true())
}

fn run_one(kind: &StatementKind, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    match kind {
        StatementKind::Block(block) => return run_block(block, frame, run),
        StatementKind::Assign(assignment) => assign(assignment, frame, run)?,
        StatementKind::If { branches, otherwise } => {
            for (condition, body) in branches {
                if holds(condition, frame, run)? {
                    return run_statements(body, frame, run);
                }
            }
            return run_statements(otherwise, frame, run);
        }
        StatementKind::Case { operand, branches, otherwise } => {
            if let Some((operand, place)) = operand {
                let (value, sql_type) = evaluate(operand, frame, run)?;
                frame.assign(*place, value, sql_type, run)?;
            }
            for (condition, body) in branches {
                if holds(condition, frame, run)? {
                    return run_statements(body, frame, run);
                }
            }
            return run_statements(otherwise.as_ref().ok_or_else(case_not_found)?, frame, run);
        }
        StatementKind::Loop { label, body } => return run_endless_loop(label.as_deref(), body, frame, run),
        StatementKind::While { label, condition, body } => {
            return run_while_loop(label.as_deref(), condition, body, frame, run);
        }
        StatementKind::ForInteger(integer_loop) => return run_integer_loop(integer_loop, frame, run),
        StatementKind::ForQuery { label, target, source, body } => {
            return super::cursors::run_query_loop(label.as_deref(), *target, source, body, frame, run);
        }
        StatementKind::ForCursor { label, variable, cursor, arguments, body } => {
            return super::cursors::run_loop(label.as_deref(), *variable, *cursor, arguments, body, frame, run);
        }
        StatementKind::Open { cursor, scroll, source, arguments } => {
            super::cursors::open(*cursor, *scroll, source.as_ref(), arguments, frame, run)?;
        }
        StatementKind::Fetch { cursor, fetched, into } => {
            super::cursors::fetch(*cursor, fetched, *into, frame, run)?;
        }
        StatementKind::Close(cursor) => super::cursors::close(*cursor, frame, run)?,
        StatementKind::Call(call) => super::call::run_call(call, frame, run)?,
        StatementKind::EndTransaction { commit, chain } => super::transaction::end(*commit, *chain, frame, run)?,
        StatementKind::ForEach(array_loop) => return run_array_loop(array_loop, frame, run),
        StatementKind::Exit { is_exit, label, condition } => {
            let leaves = match condition {
                Some(condition) => holds(condition, frame, run)?,
                None => true,
            };
            if leaves {
                return Ok(if *is_exit { Flow::Exit(label.clone()) } else { Flow::Continue(label.clone()) });
            }
        }
        StatementKind::Return { value } => return results::leave_with(value.as_ref(), frame, run),
        StatementKind::ReturnNext { value } => results::give_next(value.as_ref(), frame, run)?,
        StatementKind::ReturnQuery(source) => results::give_query(source, frame, run)?,
        StatementKind::Raise(raise) => run_raise(raise, frame, run)?,
        StatementKind::Assert { condition, message } => check_assertion(condition, message.as_ref(), frame, run)?,
        StatementKind::Sql { statement, into: None, .. } => embedded::run_alone(statement, frame, run)?,
        StatementKind::Sql { statement, into: Some(target), strict } => {
            embedded::select_into(statement, *target, *strict, frame, run)?;
        }
        StatementKind::Execute { text, parameters, into, strict } => {
            embedded::execute((text, parameters), *into, *strict, frame, run)?;
        }
        StatementKind::Perform(statement) => embedded::perform(statement, frame, run)?,
        StatementKind::Diagnostics { stacked, items } => {
            for (item, target) in items {
                let (value, sql_type) = diagnostic(*stacked, item, frame, &run.state.calls.borrow())?;
                frame.assign(*target, value, sql_type, run)?;
            }
        }
    }
    Ok(Flow::Next)
}

fn case_not_found() -> Error {
    Error::new(sqlstate::CASE_NOT_FOUND, "case not found").hint("CASE statement is missing ELSE part.")
}

/// `variable := expression`
fn assign(assignment: &Assignment, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let Assignment { target, subscripts, steps, value: expression } = assignment;
    if subscripts.len() > types::MAX_DIMENSIONS {
        return Err(within(types::too_many_dimensions(subscripts.len()), expression));
    }
    let own_type = match &frame.function.variables[*target].kind {
        VariableKind::Scalar(own) if own.oid >= Oid::FIRST_NORMAL && subscripts.is_empty() => Some(*own),
        _ => None,
    };
    if let Some(own) = own_type
        && let Some(label) = kept_label(expression, own, run)
    {
        return frame.assign(*target, label, own, run);
    }
    let (mut value, mut sql_type) = evaluate(expression, frame, run)?;
    if !subscripts.is_empty() {
        let way = (&subscripts[..], &steps[..]);
        let assigned = super::element::assign_element(*target, way, value, sql_type, frame, run);
        let assigned = assigned.map_err(|error| match error.sqlstate() {
            // A field that an element hasn't got: the error points at the whole way there.
            sqlstate::UNDEFINED_COLUMN | sqlstate::DATATYPE_MISMATCH if !steps.is_empty() => {
                within(error.at(1), expression)
            }
            _ if is_query(expression) => within(error, expression),
            _ => pointing_at_constant(error, expression),
        });
        match assigned? {
            Some(changed) => (value, sql_type) = changed,
            None => return Ok(()),
        }
    }
    let assigned = frame.assign(*target, value, sql_type, run);
    // A field that is not there is noticed before anything is run.
    assigned.map_err(|error| match error.sqlstate() {
        sqlstate::UNDEFINED_COLUMN => within(error, expression),
        sqlstate::NULL_VALUE_NOT_ALLOWED => error,
        // Making the value one of the variable's type is part of the query.
        state if state != sqlstate::DATATYPE_MISMATCH && is_query(expression) => within(error, expression),
        sqlstate::INVALID_TEXT_REPRESENTATION => pointing_at_constant(error, expression),
        sqlstate::CHECK_VIOLATION | sqlstate::NOT_NULL_VIOLATION => error,
        _ if is_constant(expression) => within(error, expression),
        _ => error,
    })?;
    if let Some(own) = own_type {
        keep_label(expression, own, &frame.values[*target], run);
    }
    Ok(())
}

/// ASSERT.
fn check_assertion(
    condition: &Expression,
    message: Option<&Expression>,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let is_checked = run.state.setting(Id::PlpgsqlCheckAsserts).as_bool();
    if is_checked && !holds(condition, frame, run)? {
        let given = match message {
            Some(message) => evaluate(message, frame, run)?,
            None => (Value::Null, SqlType::TEXT),
        };
        let text = match given {
            (Value::Null, _) => "assertion failed".to_owned(),
            (value, sql_type) => types::output_string(&value, sql_type.oid, &run.format, &run.catalog)?,
        };
        return Err(Error::new(sqlstate::ASSERT_FAILURE, text));
    }
    Ok(())
}

/// An error that a string constant raises when it gets the type of what it is assigned to: it points at the constant.
fn pointing_at_constant(mut error: Error, expression: &Expression) -> Error {
    let is_constant = matches!(syntax::parser::tokens(&expression.text)[..], [_]) && expression.text.starts_with('\'');
    let is_of_text = error.sqlstate() == sqlstate::INVALID_TEXT_REPRESENTATION;
    if let (true, true, Some(assignment)) = (is_constant, is_of_text, &expression.assignment)
        && let Some(before) = assignment.strip_suffix(&*expression.text)
    {
        let fields = error.fields_mut();
        fields.internal_position = Some(before.chars().count() as u32 + 1);
        fields.internal_query = Some(assignment.to_string());
    }
    error
}
