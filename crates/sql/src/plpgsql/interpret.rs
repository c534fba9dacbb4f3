//! Running a compiled function.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::settings::Id;
use base::{Error, Oid, Result, sqlstate};
use plan::CatalogView;
use plan::StatementKind as SqlKind;
use syntax::tree::Statement as SqlStatement;
use types::{RecordShape, RecordValue, SqlType, Value, oids};

use super::conditions::catches;
use super::dynamic::{Dynamic, run_dynamic};
use super::expression::{evaluate, is_constant, is_query, keep_label, kept_label, query_name, run_statement, within};
use super::frame::Frame;
use super::raise::{diagnostic, run_raise};
use super::tree::{Block, Expression, RowSource, Statement, StatementKind, VariableKind};
use crate::state::Planned;
use crate::state::session_of;
use executor::{OnRow, RowStore, Run, cast_for_assignment, place_line, sort_memory_bytes};

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
        StatementKind::Assign { .. } => "assignment",
        StatementKind::If { .. } => "IF",
        StatementKind::Case { .. } => "CASE",
        StatementKind::Loop { .. } => "LOOP",
        StatementKind::While { .. } => "WHILE",
        StatementKind::ForInteger { .. } => "FOR with integer loop variable",
        StatementKind::ForQuery { source: RowSource::Query(_), .. } => "FOR over SELECT rows",
        StatementKind::ForQuery { .. } => "FOR over EXECUTE statement",
        StatementKind::ForEach { .. } => "FOREACH over array",
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

fn is_do(text: &str) -> bool {
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
fn holds(condition: &Expression, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<bool> {
    let (value, sql_type) = evaluate(condition, frame, run)?;
    Ok(cast_for_assignment(value, sql_type, SqlType::BOOL, run)?.is_true())
}

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

fn run_one(kind: &StatementKind, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<Flow> {
    match kind {
        StatementKind::Block(block) => return run_block(block, frame, run),
        StatementKind::Assign { target, subscripts, steps, value } => {
            let expression = value;
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
                frame.assign(*target, label, own, run)?;
                return Ok(Flow::Next);
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
                    None => return Ok(Flow::Next),
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
        }
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
            match otherwise {
                Some(body) => return run_statements(body, frame, run),
                None => {
                    return Err(Error::new(sqlstate::CASE_NOT_FOUND, "case not found")
                        .hint("CASE statement is missing ELSE part."));
                }
            }
        }
        StatementKind::Loop { label, body } => loop {
            sync::yield_point()?;
            let flow = run_statements(body, frame, run)?;
            if let Some(end) = after_round(flow, label.as_deref()) {
                return Ok(end);
            }
        },
        StatementKind::While { label, condition, body } => {
            while holds(condition, frame, run)? {
                sync::yield_point()?;
                let flow = run_statements(body, frame, run)?;
                if let Some(end) = after_round(flow, label.as_deref()) {
                    return Ok(end);
                }
            }
        }
        StatementKind::ForInteger { label, variable, lower, upper, step, reverse, body } => {
            let bound = |expression: &Expression, what: &str, frame: &Frame<'_>, run: &mut Run<'_, '_>| {
                let (value, sql_type) = evaluate(expression, frame, run)?;
                match cast_for_assignment(value, sql_type, SqlType::INT4, run)? {
                    Value::Int4(number) => Ok(number),
                    _ => {
                        Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, format!("{what} of FOR loop cannot be null")))
                    }
                }
            };
            let mut at = bound(lower, "lower bound", frame, run)?;
            let end = bound(upper, "upper bound", frame, run)?;
            let step = match step {
                Some(step) => bound(step, "BY value", frame, run)?,
                None => 1,
            };
            if step <= 0 {
                return Err(Error::new(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    "BY value of FOR loop must be greater than zero",
                ));
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
        }
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
        StatementKind::ForEach { label, variable, slice, array, body } => {
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
        }
        StatementKind::Exit { is_exit, label, condition } => {
            let leaves = match condition {
                Some(condition) => holds(condition, frame, run)?,
                None => true,
            };
            if leaves {
                return Ok(if *is_exit { Flow::Exit(label.clone()) } else { Flow::Continue(label.clone()) });
            }
        }
        StatementKind::Return { value } => {
            let (value, sql_type) = returned(value.as_ref(), frame, run)?;
            let is_row = frame.function.result.oid == oids::RECORD || frame.queried_shape(&run.catalog).is_some();
            if is_row && !frame.function.returns_set && !matches!(value, Value::Null | Value::Record(_)) {
                return Err(not_composite());
            }
            return Ok(Flow::Return(value, sql_type));
        }
        StatementKind::ReturnNext { value } => {
            let given = value.as_ref();
            let (value, sql_type) = match value {
                None => match frame.function.outputs[..] {
                    [only] => (outputs(frame)?, frame.type_of(only)),
                    _ => (outputs(frame)?, SqlType::new(oids::RECORD)),
                },
                Some(_) => returned(value.as_ref(), frame, run)?,
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
        }
        StatementKind::ReturnQuery(source) => {
            let mut rows = std::mem::take(&mut frame.rows);
            let given = give_rows(source, &mut rows, frame, run);
            frame.rows = rows;
            set_found(given?, frame);
        }
        StatementKind::Raise(raise) => run_raise(raise, frame, run)?,
        StatementKind::Assert { condition, message } => {
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
        }
        StatementKind::Sql { statement, into, strict } => match into {
            None => {
                let (mut gives_rows, mut is_query, mut is_shown, mut is_utility) = (false, false, false, false);
                let mut on_plan = |planned: &Arc<Planned>| {
                    gives_rows = !planned.description.columns.is_empty();
                    is_query = planned.statement.command == plan::Command::Select;
                    is_utility = matches!(&planned.statement.kind, SqlKind::Utility(_));
                    is_shown = matches!(&planned.statement.kind, SqlKind::Utility(utility)
                        if matches!(**utility, SqlStatement::Show(_) | SqlStatement::Explain(_)));
                    Ok(())
                };
                let count =
                    run_statement(statement, frame, run, &mut on_plan, &mut |_, _| Ok(ControlFlow::Continue(())))?;
                if is_query || is_shown || gives_rows && !is_utility {
                    let error = Error::new(sqlstate::SYNTAX_ERROR, "query has no destination for result data");
                    let hint = "If you want to discard the results of a SELECT, use PERFORM instead.";
                    return Err(if is_query { error.hint(hint) } else { error });
                }
                // Only queries say whether rows were found, and DO says nothing.
                if !is_utility {
                    set_found(count, frame);
                } else if !is_do(&statement.text) {
                    frame.row_count.set(count);
                }
            }
            Some(target) => run_into(
                |frame, run, on_plan, on_row| run_statement(statement, frame, run, on_plan, on_row),
                *target,
                *strict,
                false,
                frame,
                run,
            )?,
        },
        StatementKind::Execute { source, into, strict } => {
            let RowSource::Dynamic { text, parameters } = source else {
                return Err(Error::internal("EXECUTE without a text"));
            };
            let dynamic = dynamic(text, parameters, false, frame, run)?;
            match into {
                None => {
                    let mut ignore = |_: &mut Run<'_, '_>, _: &[Value]| Ok(ControlFlow::Continue(()));
                    let count = run_dynamic(&dynamic, frame, run, &mut |_| Ok(()), &mut ignore)?;
                    frame.row_count.set(count);
                }
                Some(target) => run_into(
                    |frame, run, on_plan, on_row| run_dynamic(&dynamic, frame, run, on_plan, on_row),
                    *target,
                    *strict,
                    true,
                    frame,
                    run,
                )?,
            }
        }
        StatementKind::Perform(statement) => {
            let mut ignore = |_: &mut Run<'_, '_>, _: &[Value]| Ok(ControlFlow::Continue(()));
            let count = run_statement(statement, frame, run, &mut |_| Ok(()), &mut ignore)?;
            set_found(count, frame);
        }
        StatementKind::Diagnostics { stacked, items } => {
            for (item, target) in items {
                let (value, sql_type) = diagnostic(*stacked, item, frame, &run.state.calls.borrow())?;
                frame.assign(*target, value, sql_type, run)?;
            }
        }
    }
    Ok(Flow::Next)
}

pub(super) fn set_found(count: u64, frame: &mut Frame<'_>) {
    frame.row_count.set(count);
    frame.values[frame.function.found] = Value::Bool(count > 0);
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

fn not_composite() -> Error {
    let message = "cannot return non-composite value from function returning composite type";
    Error::new(sqlstate::DATATYPE_MISMATCH, message)
}

/// Whether an expression is the name of a variable and nothing else.
fn is_variable(expression: &Expression) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '"' | '.');
    syntax::parser::is_name(&expression.text) && expression.text.chars().all(is_word)
}

/// The value of RETURN, and its type.
fn returned(value: Option<&Expression>, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<(Value, SqlType)> {
    match value {
        Some(value) => evaluate(value, frame, run),
        None => Ok((Value::Null, SqlType::UNKNOWN)),
    }
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

/// The names and types of a plan's columns, as records have them.
pub(super) type Columns = Vec<(String, SqlType)>;

pub(super) fn columns_of(planned: &Planned) -> Columns {
    // Not what a client is told, for whom a domain is its base type.
    planned.statement.columns.iter().map(|column| (column.name.to_string(), column.sql_type)).collect()
}

/// A statement's result: its plan, which statements without a query do not have, and its rows.
pub(super) type Gathered = (Option<Arc<Planned>>, RowStore);

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
            let dynamic = Dynamic { gives_all: true, ..dynamic(text, parameters, false, frame, run)? };
            run_dynamic(&dynamic, frame, run, &mut { on_plan }, &mut on_row)?;
        }
    }
    Ok(count)
}

/// Keeps what `statement` gives.
pub(super) fn gather_rows<'a, 'p>(
    run: &mut Run<'a, 'p>,
    statement: impl FnOnce(&mut Run<'a, 'p>, &mut dyn FnMut(&Arc<Planned>) -> Result<()>, &mut OnRow<'_>) -> Result<u64>,
) -> Result<Gathered> {
    let (mut planned, mut rows) = (None, RowStore::default());
    let limit_bytes = sort_memory_bytes(run);
    let mut on_plan = |found: &Arc<Planned>| {
        planned = Some(Arc::clone(found));
        Ok(())
    };
    let mut on_row = |run: &mut Run<'_, '_>, row: &[Value]| {
        rows.push(row, limit_bytes, run)?;
        Ok(ControlFlow::Continue(()))
    };
    statement(run, &mut on_plan, &mut on_row)?;
    rows.flush()?;
    Ok((planned, rows))
}

/// A function that runs a statement for INTO.
type RunFor<'f> = dyn Fn(&Frame<'_>, &mut Run<'_, '_>, &mut dyn FnMut(&Arc<Planned>) -> Result<()>, &mut OnRow<'_>) -> Result<u64>
    + 'f;

/// A statement with INTO: its first row is assigned.
fn run_into(
    statement: impl Fn(
        &Frame<'_>,
        &mut Run<'_, '_>,
        &mut dyn FnMut(&Arc<Planned>) -> Result<()>,
        &mut OnRow<'_>,
    ) -> Result<u64>,
    target: usize,
    strict: bool,
    is_dynamic: bool,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let statement: &RunFor<'_> = &statement;
    let (mut columns, mut first, mut count) = (Columns::new(), None::<Vec<Value>>, 0u64);
    let (modifies, gives_rows) = (std::cell::Cell::new(false), std::cell::Cell::new(false));
    statement(
        frame,
        run,
        &mut |planned| {
            columns = columns_of(planned);
            use plan::Command;
            gives_rows.set(!planned.statement.columns.is_empty() || planned.statement.command == Command::Select);
            modifies.set(!matches!(planned.statement.command, Command::Select | Command::Utility));
            Ok(())
        },
        &mut |_, row| {
            count += 1;
            if first.is_none() {
                first = Some(row.to_vec());
            }
            // A second row matters only to STRICT; what changes rows runs to its end, and so does EXECUTE.
            let is_enough = !is_dynamic && (!strict && !modifies.get() || count >= 2);
            Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        },
    )?;
    if !gives_rows.get() {
        return Err(Error::new(sqlstate::SYNTAX_ERROR, "INTO used with a command that cannot return data"));
    }
    if strict || modifies.get() && !is_dynamic {
        if count == 0 && strict {
            return Err(Error::new(sqlstate::NO_DATA_FOUND, "query returned no rows"));
        }
        if count > 1 {
            let error = Error::new(sqlstate::TOO_MANY_ROWS, "query returned more than one row");
            let hint = "Make sure the query returns a single row, or use LIMIT 1.";
            return Err(if is_dynamic { error } else { error.hint(hint) });
        }
    }
    frame.assign_columns(target, &columns, first.as_deref(), run)?;
    if is_dynamic {
        frame.row_count.set(count);
    } else {
        set_found(count, frame);
    }
    Ok(())
}

pub(super) fn parameter_values(
    expressions: &[Expression],
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Vec<(Value, SqlType)>> {
    expressions.iter().map(|expression| evaluate(expression, frame, run)).collect()
}

/// The text that EXECUTE runs, and its parameters.
pub(super) fn dynamic(
    text: &Expression,
    parameters: &[Expression],
    is_cursor: bool,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Dynamic> {
    let text = text_of(text, frame, run)?;
    Ok(Dynamic { text, parameters: parameter_values(parameters, frame, run)?, is_cursor, gives_all: false })
}

/// The text of an expression's value; NULL is an error.
pub(super) fn text_of(expression: &Expression, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<String> {
    let (value, sql_type) = evaluate(expression, frame, run)?;
    if value.is_null() {
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null"));
    }
    types::output_string(&value, sql_type.oid, &run.format, &run.catalog)
}
