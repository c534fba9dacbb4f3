//! SQL statements in a body: alone, with INTO, and as texts that are made at run time.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::StatementKind as SqlKind;
use syntax::tree::Statement as SqlStatement;
use types::{SqlType, Value};

use super::dynamic::{Dynamic, run_dynamic};
use super::expression::{evaluate, run_statement};
use super::frame::Frame;
use super::interpret::is_do;
use super::tree::Expression;
use crate::state::Planned;
use executor::{OnRow, RowStore, Run, sort_memory_bytes};

/// A statement without INTO.
///
/// # Errors
/// 42601 for one that gives rows.
pub(super) fn run_alone(statement: &Expression, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let (mut gives_rows, mut is_query, mut is_shown, mut is_utility) = (false, false, false, false);
    let mut on_plan = |planned: &Arc<Planned>| {
        gives_rows = !planned.description.columns.is_empty();
        is_query = planned.statement.command == plan::Command::Select;
        is_utility = matches!(&planned.statement.kind, SqlKind::Utility(_));
        is_shown = matches!(&planned.statement.kind, SqlKind::Utility(utility)
            if matches!(**utility, SqlStatement::Show(_) | SqlStatement::Explain(_)));
        Ok(())
    };
    let count = run_statement(statement, frame, run, &mut on_plan, &mut |_, _| Ok(ControlFlow::Continue(())))?;
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
    Ok(())
}

/// A statement with INTO.
pub(super) fn select_into(
    statement: &Expression,
    target: usize,
    strict: bool,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let into = IntoTarget { target, strict, is_dynamic: false };
    run_into(&|frame, run, on_plan, on_row| run_statement(statement, frame, run, on_plan, on_row), into, frame, run)
}

/// EXECUTE, with or without INTO.
pub(super) fn execute(
    (text, parameters): (&Expression, &[Expression]),
    into: Option<usize>,
    strict: bool,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let dynamic = Dynamic::of(text, parameters, false, frame, run)?;
    match into {
        None => {
            let mut ignore = |_: &mut Run<'_, '_>, _: &[Value]| Ok(ControlFlow::Continue(()));
            let count = run_dynamic(&dynamic, frame, run, &mut |_| Ok(()), &mut ignore)?;
            frame.row_count.set(count);
            Ok(())
        }
        Some(target) => {
            let into = IntoTarget { target, strict, is_dynamic: true };
            run_into(
                &|frame, run, on_plan, on_row| run_dynamic(&dynamic, frame, run, on_plan, on_row),
                into,
                frame,
                run,
            )
        }
    }
}

/// PERFORM.
pub(super) fn perform(statement: &Expression, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let mut ignore = |_: &mut Run<'_, '_>, _: &[Value]| Ok(ControlFlow::Continue(()));
    let count = run_statement(statement, frame, run, &mut |_| Ok(()), &mut ignore)?;
    set_found(count, frame);
    Ok(())
}

pub(super) fn set_found(count: u64, frame: &mut Frame<'_>) {
    frame.row_count.set(count);
    frame.values[frame.function.found] = Value::Bool(count > 0);
}

/// The names and types of a plan's columns, as records have them.
pub(super) type Columns = Vec<(String, SqlType)>;

pub(super) fn columns_of(planned: &Planned) -> Columns {
    // Not what a client is told, for whom a domain is its base type.
    planned.statement.columns.iter().map(|column| (column.name.to_string(), column.sql_type)).collect()
}

/// A statement's result: its plan, which statements without a query do not have, and its rows.
pub(super) type Gathered = (Option<Arc<Planned>>, RowStore);

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

/// The INTO of a statement.
struct IntoTarget {
    target: usize,
    strict: bool,
    /// The statement is EXECUTE's.
    is_dynamic: bool,
}

/// A statement with INTO: its first row is assigned.
fn run_into(statement: &RunFor<'_>, into: IntoTarget, frame: &mut Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let IntoTarget { target, strict, is_dynamic } = into;
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

/// The text of an expression's value; NULL is an error.
pub(super) fn text_of(expression: &Expression, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<String> {
    let (value, sql_type) = evaluate(expression, frame, run)?;
    if value.is_null() {
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null"));
    }
    types::output_string(&value, sql_type.oid, &run.format, &run.catalog)
}
