//! Temporary objects: a schema for each session that wants one, gone when the session is.

use base::{Oid, Result};
use engine::catalog::{BOOTSTRAP_ROLE, Catalog, Persistence, SchemaDef, TEMPORARY_SCHEMA_PREFIX};
use engine::{Database, TransactionOptions};

use super::ddl::Ddl;
use crate::session::SessionState;
use crate::tree::OnCommit;

/// The session's temporary schema, made when it is first needed.
pub(super) fn schema(ddl: &mut Ddl<'_>) -> Result<Oid> {
    ddl.state.refuse_if_restricted("create temporary table")?;
    let catalog = ddl.catalog();
    // A transaction that made it may have been rolled back.
    if let Some(oid) = ddl.state.temporary_schema.get()
        && catalog.schema(oid).is_some()
    {
        return Ok(oid);
    }
    let name = format!("{TEMPORARY_SCHEMA_PREFIX}{}", ddl.state.info.number);
    let oid = match catalog.schema_by_name(&name) {
        // A session of this number ended without cleaning up.
        Some(leftover) => {
            let leftover = leftover.oid;
            drop_contents(&ddl.engine(), &catalog, leftover)?;
            ddl.state.changed_catalog.set(true);
            leftover
        }
        None => {
            let oid = ddl.allocate_oid();
            ddl.create(SchemaDef { oid, name, owner: BOOTSTRAP_ROLE, comment: None })?;
            oid
        }
    };
    ddl.state.set_temporary_schema(oid);
    Ok(oid)
}

/// Drops everything in a schema; nothing outside of a temporary one depends on it.
fn drop_contents(engine: &engine::Session, catalog: &Catalog, schema: Oid) -> Result<()> {
    let mut objects: Vec<Oid> =
        catalog.objects().filter(|object| object.schema() == schema).map(engine::catalog::Object::oid).collect();
    objects.sort();
    objects.into_iter().rev().try_for_each(|oid| engine.drop_object(oid))
}

/// Drops all that is temporary in the session: DISCARD TEMP.
pub(super) fn discard(state: &SessionState) -> Result<()> {
    let Some(schema) = state.temporary_schema.get() else { return Ok(()) };
    state.changed_catalog.set(true);
    drop_contents(&state.engine(), &state.engine_catalog(), schema)
}

/// The session ends, outside of any transaction: its temporary objects go.
pub fn end_session(state: &SessionState) {
    let Some(schema) = state.temporary_schema.take() else { return };
    let catalog = state.engine_catalog();
    if catalog.schema(schema).is_none() {
        return;
    }
    let mut engine = state.engine_mut();
    loop {
        let dropped = engine.begin(TransactionOptions::default()).and_then(|()| {
            drop_contents(&engine, &catalog, schema)?;
            engine.drop_object(schema)?;
            engine.commit()
        });
        if dropped.is_ok() {
            return;
        }
        // Nobody is there to be told. What is left over goes when the number is used again, or at the next start.
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
/// 58030 and the like.
pub fn remove_leftovers(database: &Database) -> Result<()> {
    let catalog = database.catalog();
    let leftovers: Vec<Oid> =
        catalog.schemas().map(|schema| schema.oid).filter(|schema| catalog.is_temporary(*schema)).collect();
    if leftovers.is_empty() {
        return Ok(());
    }
    let mut session = database.session()?;
    session.begin(TransactionOptions::default())?;
    for schema in leftovers {
        drop_contents(&session, &catalog, schema)?;
        session.drop_object(schema)?;
    }
    session.commit_and_wait()
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
                    // A read-only transaction may have filled it.
                    engine.lift_read_only();
                    engine.truncate(&table)?;
                    state.changed_catalog.set(true);
                }
            }
            OnCommit::Drop => {
                for index in catalog.indexes_of(oid) {
                    engine.drop_object(index.oid)?;
                }
                let owned =
                    catalog.sequences().filter(|sequence| sequence.owned_by.is_some_and(|(table, _)| table == oid));
                for sequence in owned {
                    engine.drop_object(sequence.oid)?;
                }
                engine.drop_object(oid)?;
                state.changed_catalog.set(true);
            }
        }
    }
    Ok(())
}

/// Whether a relation of this persistence may refer to one of `other`'s, as foreign keys and views do.
pub(super) fn may_outlive(own: Persistence, other: Persistence) -> bool {
    own == Persistence::Temporary || other != Persistence::Temporary
}

/// Whether the transaction in progress has used or made anything temporary.
pub fn was_used(state: &SessionState) -> bool {
    let Some(schema) = state.temporary_schema.get() else { return false };
    let engine = state.engine();
    let (now, before) = (engine.catalog(), engine.database().catalog());
    let is_temporary = |catalog: &Catalog, oid: &Oid| {
        *oid == schema || catalog.object(*oid).is_some_and(|object| object.schema() == schema)
    };
    engine.objects_of_transaction().iter().any(|oid| is_temporary(&now, oid) || is_temporary(&before, oid))
}
