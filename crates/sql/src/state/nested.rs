//! Statements within statements: those that functions and commands run.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::Command;
use types::{SqlType, Value};

use super::plan_cache::{Key, Planned};
use super::prepared;
use super::read_only::refuse_changes;
use super::relation_locks::RelationLocks;
use super::running::query_plan;
use super::session_state::{SessionState, session_of};
use executor::{Locals, Run};

/// Runs a planned query within the statement in progress. The query's locks have been taken. Each row is given to `row` until `row`
/// says to stop. Returns the number of rows given, or of rows changed if the query gives none. All changes of the query are made, also
/// after a stop.
///
/// # Errors
/// Errors of the query.
pub(crate) fn run(
    run: &mut Run<'_, '_>,
    planned: &Arc<Planned>,
    parameters: &[Value],
    row: &mut dyn FnMut(&mut Run<'_, '_>, &[Value]) -> Result<std::ops::ControlFlow<()>>,
) -> Result<u64> {
    run.check_depth()?;
    refuse_changes(session_of(run), &planned.statement)?;
    run.refresh_catalog();
    let plan = query_plan(planned)?;
    let mut locals = Locals::new(&planned.statement);
    let mut root = executor::build_to_run(plan, &mut locals)?;
    let mut inner = run.with_locals(parameters, &mut locals);
    let (mut count, mut has_stopped) = (0u64, false);
    while root.next(&mut inner)? {
        count += 1;
        has_stopped = has_stopped || row(&mut inner, root.row())?.is_break();
        // A change runs to its end, whether or not somebody wants its rows.
        if has_stopped && planned.statement.command == Command::Select {
            executor::run_changes_of_ctes(&mut inner)?;
            break;
        }
    }
    drop(inner);
    Ok(if planned.statement.command == Command::Select || count > 0 { count } else { locals.affected_rows })
}

/// Returns the result of `plan` after taking its locks. If a wait for a lock has made the plan out of date, calls `plan` again.
///
/// # Errors
/// Errors of `plan` and of locking.
pub(crate) fn locked(state: &SessionState, mut plan: impl FnMut() -> Result<Arc<Planned>>) -> Result<Arc<Planned>> {
    let mut locks = RelationLocks::default();
    loop {
        let planned = plan()?;
        if locks.take(state, &planned)? {
            return Ok(planned);
        }
    }
}

/// A good plan for `text`, one statement that the server itself has written.
///
/// # Errors
/// Errors of binding and planning.
pub(crate) fn plan_text(state: &SessionState, text: &Arc<str>, types: &Arc<[SqlType]>) -> Result<Arc<Planned>> {
    let key = Key { text: Arc::clone(text), types: Arc::clone(types) };
    if let Some(planned) = prepared::cached(state, &key) {
        return Ok(planned);
    }
    let mut statements = syntax::parser::parse(text, syntax::parser::ParseOptions::default())?;
    let tree = statements.pop().ok_or_else(|| Error::internal("an internal statement is empty"))?;
    prepared::plan(state, text, &tree, types)
}

/// A plan for `text`, one statement that a client has written, read as the session reads strings now.
///
/// # Errors
/// The errors of parsing, binding and planning.
pub(crate) fn plan_client_text(state: &SessionState, text: &Arc<str>, types: &Arc<[SqlType]>) -> Result<Arc<Planned>> {
    let options = state.parse_options();
    // The plan cache holds only texts that were parsed with standard_conforming_strings on.
    if options.standard_conforming_strings {
        return plan_text(state, text, types);
    }
    let mut statements = syntax::parser::parse(text, options)?;
    let tree = statements.pop().ok_or_else(|| Error::new(sqlstate::SYNTAX_ERROR, "a statement is empty"))?;
    prepared::plan_uncached(state, text, &tree, types)
}
