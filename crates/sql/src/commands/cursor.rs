//! DECLARE, FETCH, MOVE and CLOSE. The cursors themselves are in [`state::cursor`](crate::state::cursor).

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use syntax::tree::{CteStatement, DeclareCursor, Fetch, Statement, With};
use types::Value;

use super::top_level::TopLevel;
use crate::state::cursor::goes_backwards;
use crate::state::planning::Environment;
use crate::state::refuse_locks;
use crate::state::{Cursor, Given, Opening, Planned, SessionState, UtilityOutput, nested};
use executor::client::{Client, Formats};
use planner::binder::{Parameters, VariableNames};

/// DECLARE as a statement of its own.
///
/// # Errors
/// 25P01 outside of a transaction block, and those of [`declare`].
pub fn declare_on_top(
    session: &dyn TopLevel,
    statement: &DeclareCursor,
    planned: &Planned,
    text: &Arc<str>,
    parameters: &[Value],
) -> Result<UtilityOutput> {
    if !statement.hold && !session.is_in_block() {
        // An error in the query is reported first.
        plan_of_cursor(session.state(), statement, planned, text, None)?;
        return Err(Error::new(
            sqlstate::NO_ACTIVE_SQL_TRANSACTION,
            "DECLARE CURSOR can only be used in transaction blocks",
        ));
    }
    declare(session.state(), statement, planned, text, parameters, None)
}

fn already_exists(name: &str) -> Error {
    Error::new(sqlstate::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists"))
}

/// The plan of a cursor's query, whose locks are taken.
fn plan_of_cursor(
    state: &SessionState,
    declare: &DeclareCursor,
    bound: &Planned,
    text: &Arc<str>,
    variables: Option<&dyn VariableNames>,
) -> Result<Arc<Planned>> {
    let statement = Statement::Select(Box::new(declare.query.clone()));
    nested::locked(state, || {
        // Its rows tell where they come from.
        let environment = Environment::new(state, &state.catalog()).with_row_places(true).with_variables(variables);
        let types = bound.statement.parameters.clone();
        environment.planned(text, &statement, Parameters::fixed(types))
    })
}

/// DECLARE.
///
/// # Errors
/// 42P03 for a name that is taken, 0A000 for options that don't go together, and those of planning the query.
pub fn declare(
    state: &SessionState,
    declare: &DeclareCursor,
    bound: &Planned,
    text: &Arc<str>,
    parameters: &[Value],
    variables: Option<&dyn VariableNames>,
) -> Result<UtilityOutput> {
    let changes_rows = |with: &With| with.ctes.iter().any(|cte| !matches!(*cte.statement, CteStatement::Query(_)));
    if declare.query.with.as_ref().is_some_and(changes_rows) {
        return Err(Error::unsupported("DECLARE CURSOR must not contain data-modifying statements in WITH"));
    }
    if declare.hold {
        state.refuse_if_restricted("create a cursor WITH HOLD")?;
    }
    let locks_rows = !declare.query.locking.is_empty();
    if declare.hold && locks_rows {
        return Err(Error::unsupported("DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported")
            .detail("Holdable cursors must be READ ONLY."));
    }
    if declare.scroll == Some(true) && locks_rows {
        return Err(Error::unsupported("DECLARE SCROLL CURSOR ... FOR UPDATE is not supported")
            .detail("Scrollable cursors must be READ ONLY."));
    }
    if state.is_name_taken(&declare.name) {
        return Err(already_exists(&declare.name));
    }
    let planned = plan_of_cursor(state, declare, bound, text, variables)?;
    refuse_locks(state, &planned)?;
    // One that did not say may go back where that makes nothing happen twice.
    let is_scrollable = !locks_rows && declare.scroll.unwrap_or_else(|| goes_backwards(&planned));
    let keeps_rows = declare.scroll == Some(true);
    let mut cursor = Cursor::declared(state, &planned, parameters.to_vec(), keeps_rows, is_scrollable)?;
    cursor.hold = declare.hold;
    let (statement, formats) = (Arc::clone(text), Formats::default());
    let opening = Opening { statement, formats, is_binary: declare.binary, is_scrollable };
    state.open_cursor(&declare.name, cursor, opening);
    Ok(UtilityOutput::tag("DECLARE CURSOR"))
}

/// FETCH and MOVE as statements of their own, which may name a portal of the protocol.
///
/// # Errors
/// Those of [`fetch`], and of the portal's statement.
pub fn fetch_on_top(session: &mut dyn TopLevel, statement: &Fetch, client: &mut dyn Client) -> Result<UtilityOutput> {
    session.run_portal_for_fetch(&statement.cursor, client)?;
    fetch(session.state(), statement, client)
}

/// FETCH and MOVE.
///
/// # Errors
/// 34000 for a cursor that is not open, and those of [`Cursor::fetch`].
pub fn fetch(state: &SessionState, fetch: &Fetch, client: &mut dyn Client) -> Result<UtilityOutput> {
    let given = state.with_cursor(&fetch.cursor, |cursor| cursor.fetch(state, fetch, client))?;
    Ok(fetched(fetch, given))
}

fn fetched(fetch: &Fetch, given: Given) -> UtilityOutput {
    if fetch.is_move {
        return UtilityOutput::tag(format!("MOVE {}", given.count));
    }
    UtilityOutput { tag: format!("FETCH {}", given.count), rows: Some(given.rows) }
}

/// CLOSE as a statement of its own: the protocol's portals have names among the cursors'.
///
/// # Errors
/// Those of [`close`].
pub fn close_on_top(session: &mut dyn TopLevel, name: Option<&str>) -> Result<UtilityOutput> {
    match name {
        Some(name) if !session.state().has_cursor(name) && session.has_portal(name) => {
            session.close_portal(name);
            Ok(UtilityOutput::tag("CLOSE CURSOR"))
        }
        _ => {
            let output = close(session.state(), name)?;
            if name.is_none() {
                session.close_portals();
            }
            Ok(output)
        }
    }
}

/// CLOSE.
///
/// # Errors
/// 34000 for a cursor that is not open, 24000 for one that is in use.
pub fn close(state: &SessionState, name: Option<&str>) -> Result<UtilityOutput> {
    state.refuse_if_restricted("execute CLOSE")?;
    match name {
        Some(name) => state.close_cursor(name).map(|()| UtilityOutput::tag("CLOSE CURSOR")),
        None => state.close_all_cursors().map(|()| UtilityOutput::tag("CLOSE CURSOR ALL")),
    }
}
