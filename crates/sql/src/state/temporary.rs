//! Temporary objects: how they end, with their transaction, their session or at the next start.

use std::sync::Arc;
use std::time::Duration;

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Oid, Result};
use engine::{Database, TransactionOptions};
use plan::privileges::{self, ColumnAcls};
use schema::catalog::{Catalog, Object, RelationKind, TableDef};
use syntax::tree::OnCommit;

use super::object_locks::{DROP_LOCK, hold};
use super::read_only::while_maintaining;
use super::session_state::SessionState;

/// Drops everything in a schema; nothing outside of a temporary one depends on it.
pub(crate) fn drop_contents(engine: &engine::Session, schema: Oid) -> Result<()> {
    let catalog = engine.catalog();
    let mut objects: Vec<Oid> =
        catalog.objects().filter(|object| object.schema() == schema).map(schema::catalog::Object::oid).collect();
    objects.sort();
    objects.into_iter().rev().try_for_each(|oid| drop_locked(engine, oid))
}

/// Drops an object, with what was granted on it, once nobody else changes it: a vacuum, or another session, may do so even if the
/// object is temporary.
fn drop_locked(engine: &engine::Session, oid: Oid) -> Result<()> {
    let lock_relation = |oid| engine.lock_relation(oid, LockMode::AccessExclusive, WaitPolicy::Block);
    match engine.catalog().object(oid) {
        Some(Object::Index(index)) => {
            lock_relation(index.table)?;
            lock_relation(oid)?;
        }
        Some(Object::Table(_) | Object::Sequence(_)) => {
            lock_relation(oid)?;
        }
        _ => {}
    }
    hold(engine, oid, DROP_LOCK)?;
    let catalog = engine.catalog();
    if catalog.object(oid).is_none() {
        return Ok(());
    }
    let granted = [privileges::stored_object(&catalog, oid), ColumnAcls::stored_object(&catalog, oid)];
    granted.into_iter().flatten().try_for_each(|granted| engine.drop_object(granted))?;
    engine.drop_object(oid)
}

/// Drops all that is temporary in the session: DISCARD TEMP.
pub(crate) fn discard(state: &SessionState) -> Result<()> {
    let Some(schema) = state.temporary_schema.get() else { return Ok(()) };
    let is_own = |table: &&Arc<TableDef>| table.schema == schema && table.kind == RelationKind::Table;
    for table in state.engine_catalog().tables().filter(is_own) {
        state.check_not_in_use(table.oid, "DROP TABLE", &table.name)?;
    }
    state.changed_catalog.set(true);
    while_maintaining(state, || drop_contents(&state.engine(), schema))
}

/// How long the end of a session waits for those who have locked its temporary objects.
const WAIT_AT_END_MAX: Duration = Duration::from_secs(5);
/// The same for the start of a server.
const WAIT_AT_START_MAX: Duration = Duration::from_millis(10);

/// The session ends, outside of any transaction: its temporary objects go.
pub fn end_session(state: &SessionState) {
    let Some(schema) = state.temporary_schema.take() else { return };
    let catalog = state.engine_catalog();
    if catalog.schema(schema).is_none() {
        return;
    }
    let mut engine = state.engine_mut();
    engine.set_lock_timeout(Some(WAIT_AT_END_MAX));
    loop {
        let dropped = engine.begin(TransactionOptions::default()).and_then(|()| {
            drop_contents(&engine, schema)?;
            engine.drop_object(schema)?;
            engine.commit()
        });
        if dropped.is_ok() {
            return;
        }
        // No client is left to hear of the error. The objects left over are dropped when the number is used again, or at the next start.
        let _ = engine.rollback();
        // A session that ends already has nothing to stop for.
        if state.interrupt().take().is_none() {
            return;
        }
    }
}

/// Drops what sessions that ended with the server have left over. Before the first session connects.
///
/// # Errors
/// 55P03 for what a prepared transaction has locked, which stays; 58030 and the like.
pub fn remove_leftovers(database: &Database) -> Result<()> {
    database.catalogs().databases().try_for_each(|catalog| remove_leftovers_of(database, catalog))
}

/// The same in one database of the folder.
fn remove_leftovers_of(database: &Database, catalog: &Catalog) -> Result<()> {
    let leftovers: Vec<Oid> =
        catalog.schemas().map(|schema| schema.oid).filter(|schema| catalog.is_temporary(*schema)).collect();
    if leftovers.is_empty() {
        return Ok(());
    }
    let mut session = database.session_in(catalog.database())?;
    // Nobody but a prepared transaction holds locks now, and that may do so for ever.
    session.set_lock_timeout(Some(WAIT_AT_START_MAX));
    let mut outcome = Ok(());
    for schema in leftovers {
        let dropped = session.begin(TransactionOptions::default()).and_then(|()| {
            drop_contents(&session, schema)?;
            session.drop_object(schema)?;
            session.commit_and_wait()
        });
        if dropped.is_err() {
            // It may have failed before it began.
            let _ = session.rollback();
            outcome = dropped;
        }
    }
    outcome
}

/// The transaction is about to commit: ON COMMIT DELETE ROWS and DROP.
///
/// # Errors
/// 58030 and the like.
pub fn before_commit(state: &SessionState) -> Result<()> {
    if state.on_commit.borrow().is_empty() {
        return Ok(());
    }
    let catalog = state.engine_catalog();
    let engine = state.engine();
    state.on_commit.borrow_mut().retain(|(oid, _)| catalog.table(*oid).is_some());
    let actions = state.on_commit.borrow().clone();
    for (oid, action) in actions {
        match action {
            OnCommit::PreserveRows => {}
            OnCommit::DeleteRows => {
                let table = engine.open_table(oid)?;
                if table.block_count()? > 0 {
                    engine.lock_relation(oid, LockMode::AccessExclusive, WaitPolicy::Block)?;
                    let table = engine.open_table(oid)?;
                    // A read-only transaction may have filled it.
                    engine.lift_read_only();
                    engine.truncate(&table)?;
                    state.changed_catalog.set(true);
                }
            }
            OnCommit::Drop => {
                let owned =
                    catalog.sequences().filter(|sequence| sequence.owned_by.is_some_and(|(table, _)| table == oid));
                let parts = catalog.indexes_of(oid).iter().map(|index| index.oid).chain(owned.map(|owned| owned.oid));
                parts.chain([oid]).try_for_each(|oid| drop_locked(&engine, oid))?;
                state.changed_catalog.set(true);
            }
        }
    }
    Ok(())
}

/// Whether the transaction in progress has used or made anything temporary, of whichever session. A prepared transaction
/// must not keep its locks on it: that session could not end, and the next start could not remove it.
pub fn was_used(state: &SessionState) -> bool {
    let engine = state.engine();
    let (now, catalogs) = (engine.catalog(), engine.database().catalogs());
    let before = catalogs.of(engine.database_oid());
    let is_temporary = |catalog: &Catalog, oid: &Oid| {
        catalog.is_temporary(*oid) || catalog.object(*oid).is_some_and(|object| catalog.is_temporary(object.schema()))
    };
    engine.objects_of_transaction().iter().any(|oid| is_temporary(&now, oid) || is_temporary(before, oid))
}
