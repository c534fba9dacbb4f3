//! COMMIT and ROLLBACK in procedures and DO blocks.
//!
//! They are allowed where nothing around the code needs the transaction: in what a CALL or DO of the client runs, and what
//! that calls by CALL or DO in turn. The rows that loops are still to get are gathered first, and outlive the transaction.

use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::expression::told_from;
use super::frame::Frame;
use super::tree::StatementKind;
use crate::state::session_of;
use executor::Run;

/// Ends the transaction and begins another.
///
/// # Errors
/// 2D000 where that can't be, and what the commit raises.
pub fn end(commit: bool, chain: bool, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<()> {
    let refused = |message: &str| Err(Error::new(sqlstate::INVALID_TRANSACTION_TERMINATION, message));
    let state = session_of(run);
    if !frame.may_end_transaction {
        return refused("invalid transaction termination");
    }
    if state.subtransactions.get() > 0 {
        let what = if commit { "commit" } else { "roll back" };
        return refused(&format!("cannot {what} while a subtransaction is active"));
    }
    if state.unholdable_loops.get() > 0 {
        return Err(Error::new(
            sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot perform transaction commands inside a cursor loop that is not read-only",
        ));
    }
    let result = told_from(frame, None, run, |run| {
        state.hold_looped_cursors(&mut *run.client)?;
        state.end_within_procedure(commit, chain, &mut *run.client)
    });
    refresh(run);
    result
}

/// Whether what a CALL or DO here calls may end the transaction.
pub fn may_be_ended_below(frame: &Frame<'_>, run: &Run<'_, '_>) -> bool {
    frame.may_end_transaction && session_of(run).subtransactions.get() == 0
}

/// Reads again the session's state that a run keeps: a called procedure may have ended the transaction.
pub fn refresh(run: &mut Run<'_, '_>) {
    let state = session_of(run);
    (run.catalog, run.format) = (state.catalog(), Arc::clone(&state.format()));
    run.transaction_timestamp = state.transaction_timestamp.get();
}

/// Behind COMMIT and ROLLBACK there is no snapshot, until a statement needs one.
///
/// # Errors
/// As beginning a statement.
pub fn ensure_snapshot(kind: &StatementKind, run: &Run<'_, '_>) -> Result<()> {
    let needs_none = match kind {
        StatementKind::EndTransaction { .. } => true,
        // SET TRANSACTION must come before the first snapshot.
        StatementKind::Sql { statement, .. } => {
            statement.text.trim_start().get(..3).is_some_and(|word| word.eq_ignore_ascii_case("set"))
        }
        _ => false,
    };
    let engine = run.state.engine();
    if needs_none || engine.is_in_statement() { Ok(()) } else { engine.push_snapshot() }
}

/// Runs a round of a loop over rows that something else than a plain query has given.
///
/// # Errors
/// Those of `round`.
pub fn unholdable<'a, 'p, T>(run: &mut Run<'a, 'p>, round: impl FnOnce(&mut Run<'a, 'p>) -> Result<T>) -> Result<T> {
    let loops = &session_of(run).unholdable_loops;
    loops.set(loops.get() + 1);
    let result = round(run);
    loops.set(loops.get() - 1);
    result
}
