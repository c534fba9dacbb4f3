//! The lock manager.

use base::{Oid, OwnerId, Result, Xid};

use crate::{Granted, LockMark, LockMode, LockOptions, LockTag, LockView, Scope};

/// All locks of a database.
pub struct LockManager {}

impl LockManager {
    /// A lock manager for owners numbered below `owners_max`.
    pub fn new(owners_max: u32) -> LockManager {
        todo!()
    }

    /// The database and process numbers that messages and views speak of.
    pub fn set_database(&self, database: Oid) {
        todo!()
    }

    /// The process number by which messages call an owner; its own number unless set.
    pub fn set_process_id(&self, owner: OwnerId, process_id: i32) {
        todo!()
    }

    /// Locks a relation, page, object or advisory key; rows and transactions have calls of their own.
    ///
    /// Errors: 55P03 (NOWAIT: "could not obtain lock", timeout: "canceling statement due to lock timeout"), 40P01
    /// "deadlock detected", 57014 when interrupted.
    pub fn lock(&self, owner: OwnerId, tag: LockTag, mode: LockMode, options: &LockOptions<'_>) -> Result<Granted> {
        todo!()
    }

    /// Releases one session-level acquisition. False: it wasn't held.
    pub fn unlock(&self, owner: OwnerId, tag: LockTag, mode: LockMode) -> bool {
        todo!()
    }

    /// Releases all of an owner's locks in this scope: relation, object, advisory and row locks.
    pub fn unlock_all(&self, owner: OwnerId, scope: Scope) {
        todo!()
    }

    /// Marks the present point in the owner's sequence of locks; for a savepoint.
    pub fn mark(&self, owner: OwnerId) -> LockMark {
        todo!()
    }

    /// From now on others may wait for `xid`, a transaction or subtransaction of `owner`.
    pub fn transaction_started(&self, xid: Xid, owner: OwnerId) {
        todo!()
    }

    /// `xid` has its outcome, which is visible: wakes whoever waits for it.
    pub fn transaction_ended(&self, xid: Xid) {
        todo!()
    }

    /// Waits until `xid` has ended. `Ok(false)`: skipped. Errors as for [`LockManager::lock`].
    pub fn wait_for_xid(&self, owner: OwnerId, xid: Xid, options: &LockOptions<'_>) -> Result<bool> {
        todo!()
    }

    /// The owner of a running transaction or subtransaction.
    pub fn owner_of(&self, xid: Xid) -> Option<OwnerId> {
        todo!()
    }

    /// Whether the owner holds this lock in this mode.
    pub fn holds(&self, owner: OwnerId, tag: LockTag, mode: LockMode) -> bool {
        todo!()
    }

    /// All locks held and waited for.
    pub fn snapshot(&self) -> Vec<LockView> {
        todo!()
    }

    /// Who keeps this owner waiting: holders, and those ahead of it in its queue.
    pub fn blocking_owners(&self, owner: OwnerId) -> Vec<OwnerId> {
        todo!()
    }

    /// What the owner waits for.
    pub fn waiting_for(&self, owner: OwnerId) -> Option<(LockTag, LockMode)> {
        todo!()
    }

    /// Whether the owner waits for a lock.
    pub fn is_waiting(&self, owner: OwnerId) -> bool {
        todo!()
    }

    /// How many owners wait for a lock.
    pub fn waiting_count(&self) -> usize {
        todo!()
    }
}
