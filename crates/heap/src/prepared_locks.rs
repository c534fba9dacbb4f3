//! Row locks of prepared transactions, given back after a restart.

use base::{Error, OwnerId, Result, Tid, Xid};
use clog::TransactionStatus;
use lockmgr::RowLockMode;

use crate::heap::Heap;
use crate::page::{Page, PageMut};
use crate::tuple::flag;

impl Heap {
    /// Locks the version at `tid` for a prepared transaction, and those that later updates have made from it: as it was before
    /// the restart. None of them can have gone, since who had locked them was prepared.
    ///
    /// # Errors
    /// XX001 if the version is not there; 58030 if its page can't be read.
    pub fn restore_row_lock(&self, owner: OwnerId, xid: Xid, tid: Tid, mode: RowLockMode) -> Result<()> {
        let mut at = tid;
        let mut made_by = None;
        loop {
            let pinned = self.pin(at.block)?;
            let mut guard = pinned.write();
            let Some(tuple) = Page::new(&guard).tuple(at.slot) else {
                return Err(Error::corrupted(format!(
                    "the row at {at:?} that a prepared transaction has locked is gone"
                )));
            };
            if made_by.is_some_and(|xid| xid != tuple.xmin()) {
                return Ok(());
            }
            let (xmax, next) = (tuple.xmax(), tuple.ctid());
            let is_updated = xmax.is_valid()
                && !tuple.has(flag::DELETED)
                && next != at
                && self.services.status.status(xmax) != TransactionStatus::Aborted;
            if let Some(mut tuple) = PageMut::new(&mut guard).tuple(at.slot) {
                tuple.add_flags(flag::LOCKED_IN_MEMORY);
            }
            guard.mark_dirty_hint();
            self.services.locks.restore_row_lock(owner, xid, self.relation, at, mode);
            if !is_updated {
                return Ok(());
            }
            (at, made_by) = (next, Some(xmax));
        }
    }
}
