//! Row waits and row locks.

use base::{OwnerId, Result, Tid, Xid};

use crate::{LockManager, LockOptions, RowLockMode};

/// What an attempt to lock a row found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLockAttempt {
    /// The owner holds the lock now.
    Acquired,
    /// The owner held one at least as strong before.
    AlreadyHeld,
    /// This transaction holds a lock that excludes it: wait for it with [`LockManager::wait_for_row`].
    Conflict(Xid),
}

/// Somebody who holds a lock on a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowLocker {
    /// Its session.
    pub owner: OwnerId,
    /// Its transaction or subtransaction.
    pub xid: Xid,
    /// How strongly.
    pub mode: RowLockMode,
}

/// The right of a row's heir to try next: while it lives, everybody else in the row's queue sleeps.
///
/// Drop it when the row turned out not to be wanted: the next in the queue is woken.
#[must_use = "dropping it wakes the next in the queue"]
pub struct RowTurn<'a> {
    manager: &'a LockManager,
    owner: OwnerId,
}

impl RowTurn<'_> {
    /// The heir has changed or locked the row: the rest of the queue now waits for the end of `by` (the heir's
    /// current xid), under the row's newest version `tid`. To be called after the page latch is released.
    pub fn updated(self, tid: Tid, by: Xid) {
        todo!()
    }

    /// Somebody else (`holder`) was faster: waits for it, still at the head of the queue. `tid` as in
    /// [`LockManager::wait_for_row`].
    pub fn wait_again(&mut self, tid: Tid, holder: Xid, options: &LockOptions<'_>) -> Result<()> {
        todo!()
    }
}

impl Drop for RowTurn<'_> {
    fn drop(&mut self) {}
}

impl LockManager {
    /// Queues for a row that `holder` has changed or locked, and returns when it is this owner's turn to look at
    /// the row again: `holder` has ended and everybody who came before has had their turn.
    ///
    /// `tid` names the row: the version that `holder` made (the old one's `ctid`) if it updated the row, the
    /// version itself if it deleted or only locked it. No latch may be held. With [`Xid::INVALID`] as the holder
    /// the owner waits only for those queued before it.
    ///
    /// Errors: 55P03 (NOWAIT, lock timeout), 40P01, 57014. `Ok(None)`: skipped.
    pub fn wait_for_row(
        &self,
        owner: OwnerId,
        relation: base::Oid,
        tid: Tid,
        holder: Xid,
        mode: RowLockMode,
        options: &LockOptions<'_>,
    ) -> Result<Option<RowTurn<'_>>> {
        todo!()
    }

    /// Whether a newcomer who finds the row free must queue behind those who have waited too long
    /// already (call [`LockManager::wait_for_row`] with [`Xid::INVALID`]). Costs one load when nobody waits.
    pub fn must_queue(&self, owner: OwnerId, relation: base::Oid, tid: Tid) -> bool {
        todo!()
    }

    /// Tries to lock a row in memory for transaction `xid` (the current subtransaction's). Never waits: to be called
    /// under the page latch, so that no update slips between the look at the tuple and the lock.
    pub fn try_lock_row(&self, owner: OwnerId, xid: Xid, relation: base::Oid, tid: Tid, mode: RowLockMode) -> RowLockAttempt {
        todo!()
    }

    /// Somebody else's lock in memory that excludes `mode` on this row, if any. To be called under the page latch.
    pub fn row_conflict(&self, owner: OwnerId, relation: base::Oid, tid: Tid, mode: RowLockMode) -> Option<RowLocker> {
        todo!()
    }

    /// All who hold a lock in memory on this row.
    pub fn row_lockers(&self, relation: base::Oid, tid: Tid) -> Vec<RowLocker> {
        todo!()
    }

    /// An update made `new` out of `old`: locks and queue go with the row. To be called under the page latch before
    /// the new version can be reached.
    pub fn move_row(&self, relation: base::Oid, old: Tid, new: Tid) {
        todo!()
    }

    /// Whether anybody holds a lock on this row or queues for it: its line pointer must not be reused.
    pub fn has_row_entry(&self, relation: base::Oid, tid: Tid) -> bool {
        todo!()
    }
}
