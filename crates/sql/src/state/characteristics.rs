//! The characteristics of transactions: isolation level, read only, deferrable.

use base::settings::Id;
use base::settings::words::IsolationLevel;
use base::{Error, Result, sqlstate};
use engine::{Isolation, TransactionOptions};
use syntax::tree::TransactionModes;

use super::session_state::SessionState;
use executor::client::{Client, Severity};

/// How the transaction in progress runs, or the next one would.
pub(crate) fn characteristics(state: &SessionState) -> TransactionOptions {
    let engine = state.engine();
    if engine.in_transaction() {
        return engine.transaction_options();
    }
    drop(engine);
    default_options(state)
}

pub(crate) fn default_options(state: &SessionState) -> TransactionOptions {
    let cached = state.cached();
    TransactionOptions {
        isolation: isolation_of(cached.default_isolation),
        read_only: cached.default_read_only,
        deferrable: cached.default_deferrable,
    }
}

/// The same, for a transaction that is about to begin.
pub(crate) fn options_to_begin(state: &SessionState) -> TransactionOptions {
    state.is_read_uncommitted.set(state.cached().default_isolation == IsolationLevel::ReadUncommitted);
    default_options(state)
}

/// The isolation level's name, as SHOW gives it.
pub(crate) fn isolation_name(state: &SessionState) -> &'static str {
    if !state.engine().in_transaction() {
        return state.cached().default_isolation.word();
    }
    let level = match state.engine().transaction_options().isolation {
        Isolation::ReadCommitted if state.is_read_uncommitted.get() => IsolationLevel::ReadUncommitted,
        Isolation::ReadCommitted => IsolationLevel::ReadCommitted,
        Isolation::RepeatableRead => IsolationLevel::RepeatableRead,
        Isolation::Serializable => IsolationLevel::Serializable,
    };
    level.word()
}

/// `SET transaction_isolation = ...` and its kin.
pub(crate) fn set_characteristic(state: &SessionState, id: Id, text: &str, client: &mut dyn Client) -> Result<()> {
    let value = base::settings::parse(id, text)?;
    let modes = match id {
        Id::TransactionIsolation => TransactionModes { isolation: Some(value.word()), ..TransactionModes::default() },
        Id::TransactionReadOnly => TransactionModes { read_only: Some(value.as_bool()), ..TransactionModes::default() },
        _ => TransactionModes { deferrable: Some(value.as_bool()), ..TransactionModes::default() },
    };
    set_modes(state, modes, client)
}

/// `SET TRANSACTION ...`: of the transaction in progress.
///
/// # Errors
/// 25001 after its first query.
pub fn set_modes(state: &SessionState, modes: TransactionModes, client: &mut dyn Client) -> Result<()> {
    // A function in an index may run SET TRANSACTION while the engine's session is borrowed.
    let engine = state.engine();
    if !engine.in_transaction() {
        drop(engine);
        let warning =
            Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "SET TRANSACTION can only be used in transaction blocks");
        state.notice(Severity::Warning, &warning, client);
        return Ok(());
    }
    let options = apply_modes(engine.transaction_options(), modes);
    engine.set_transaction_options(options)?;
    note_level(state, modes);
    Ok(())
}

/// Keeps what the level is called that `modes` name.
pub(crate) fn note_level(state: &SessionState, modes: TransactionModes) {
    if let Some(level) = modes.isolation {
        state.is_read_uncommitted.set(level == IsolationLevel::ReadUncommitted);
    }
}

/// The level as the engine knows it: it has three.
fn isolation_of(level: IsolationLevel) -> Isolation {
    match level {
        IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        IsolationLevel::Serializable => Isolation::Serializable,
    }
}

/// `options` changed as `modes` say.
pub(crate) fn apply_modes(mut options: TransactionOptions, modes: TransactionModes) -> TransactionOptions {
    if let Some(level) = modes.isolation {
        options.isolation = isolation_of(level);
    }
    options.read_only = modes.read_only.unwrap_or(options.read_only);
    options.deferrable = modes.deferrable.unwrap_or(options.deferrable);
    options
}
