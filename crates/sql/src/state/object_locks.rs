//! The locks on descriptions of objects.

use base::lock_mode::{LockMode, WaitPolicy};
use base::{Oid, Result};
use plan::user_types;
use schema::catalog::{Object, class};

/// The lock on an object whose description or privileges change.
pub(crate) const CHANGE_LOCK: LockMode = LockMode::ShareUpdateExclusive;
/// The lock on an object that is dropped.
pub(crate) const DROP_LOCK: LockMode = LockMode::AccessExclusive;

/// Locks an object's description until the transaction ends. To change the description or the privileges takes
/// [`CHANGE_LOCK`], and to drop the object takes [`DROP_LOCK`]. A relation's description is guarded by the relation's lock; this
/// lock guards its privileges.
///
/// # Errors
/// 55P03, 40P01, 57014.
pub(crate) fn hold(engine: &engine::Session, oid: Oid, mode: LockMode) -> Result<()> {
    let class = match engine.catalog().object(oid) {
        Some(Object::Function(_)) => class::FUNCTION,
        Some(Object::Schema(_)) => class::SCHEMA,
        Some(Object::Role(_)) => class::ROLE,
        Some(Object::Custom(def)) if user_types::composite_fields(def).is_some() => {
            engine.lock_relation(oid, mode, WaitPolicy::Block)?;
            def.class
        }
        Some(Object::Custom(def)) => def.class,
        Some(Object::Table(_) | Object::Index(_) | Object::Sequence(_)) => class::RELATION,
        Some(Object::Database(_)) | None => class::DATABASE,
    };
    engine.lock_object(class, oid, mode, WaitPolicy::Block)?;
    Ok(())
}
