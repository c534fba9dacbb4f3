//! Refusals of a read-only transaction, for statements that have plans. `commands` refuses definitions.

use base::lock_mode::LockMode;
use base::{Oid, Result};
use plan::Statement;
use schema::catalog::Persistence;

use super::plan_cache::Planned;
use super::running::query_plan;
use super::session_state::SessionState;

/// 25006 for a change of rows in a read-only transaction, other than those of temporary tables.
pub(crate) fn refuse_changes(state: &SessionState, statement: &Statement) -> Result<()> {
    if statement.is_read_only || !takes_lasting_locks(state, statement, LockMode::RowExclusive) {
        return Ok(());
    }
    Err(executor::read_only_transaction(statement.command.name()))
}

/// 25006 for a query that locks rows in a read-only transaction, other than those of temporary tables.
pub(crate) fn refuse_locks(state: &SessionState, planned: &Planned) -> Result<()> {
    if !takes_lasting_locks(state, &planned.statement, LockMode::RowShare) {
        return Ok(());
    }
    match executor::locking_tag(query_plan(planned)?) {
        Some(tag) => Err(executor::read_only_transaction(tag)),
        None => Ok(()),
    }
}

/// Runs maintenance, which a read-only transaction may do: nothing that a dump would show changes.
///
/// # Errors
/// Those of `maintain`.
pub(crate) fn while_maintaining<T>(state: &SessionState, maintain: impl FnOnce() -> Result<T>) -> Result<T> {
    let was_read_only = state.engine().set_read_only(false);
    let done = maintain();
    state.engine().set_read_only(was_read_only);
    done
}

/// Whether the transaction is read only, and the statement takes a lock of this mode or a stronger one on a table that is not temporary.
fn takes_lasting_locks(state: &SessionState, statement: &Statement, weakest: LockMode) -> bool {
    if !state.engine().transaction_options().read_only {
        return false;
    }
    let catalog = state.engine_catalog();
    let is_temporary = |oid: Oid| catalog.table(oid).is_some_and(|table| table.persistence == Persistence::Temporary);
    statement.locks.iter().any(|(oid, mode)| *mode >= weakest && !is_temporary(*oid))
}
