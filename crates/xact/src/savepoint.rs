//! Savepoints: subtransactions.
//!
//! Each open savepoint is a level of a stack, with an xid of its own once it writes. A subtransaction's csn entry points to
//! the *top-level* xid from the start, so that a commit becomes visible by one store however many subtransactions there were
//! (R8). Subtransactions that were released into their parent are remembered in one list for all levels. A level knows where
//! its part begins, so that releasing and rolling back cost nothing per level around.
//!
//! ```text
//!   stack:      top      a        b        c          released: [x1 x2 | x3 | x4 x5 |]
//!   xid:        100      101      -        104                        a    b       c   begin here
//! ```

use base::{Error, FileNumber, Result, Xid, sqlstate};
use lockmgr::{LockMark, Scope};

use crate::session::{SessionSlot, TransactionState};

/// Names a savepoint of the transaction in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SavepointId(pub u32);

/// A level of the stack.
pub(crate) struct Savepoint {
    id: SavepointId,
    /// Invalid until it writes.
    pub(crate) xid: Xid,
    locks: LockMark,
    /// The next three fields: where the entries of this level, and of the levels inside it, begin in the session's lists.
    released: usize,
    dropped_files: usize,
    created_files: usize,
    changes_catalog: bool,
    must_wait: bool,
    /// Whether the transaction was read-only around it: so it is again after it.
    read_only: bool,
}

impl SessionSlot {
    /// Opens a savepoint.
    pub fn savepoint(&mut self) -> SavepointId {
        let id = SavepointId(self.savepoints.last().map_or(1, |last| last.id.0 + 1));
        let savepoint = self.new_level(id);
        self.savepoints.push(savepoint);
        id
    }

    fn new_level(&self, id: SavepointId) -> Savepoint {
        Savepoint {
            id,
            xid: Xid::INVALID,
            locks: self.manager.locks().mark(self.owner),
            released: self.released.len(),
            dropped_files: self.dropped_files.len(),
            created_files: self.created_files.len(),
            changes_catalog: self.changes_catalog,
            must_wait: self.must_wait,
            read_only: self.options.read_only,
        }
    }

    fn level_of(&self, savepoint: SavepointId) -> Result<usize> {
        self.savepoints
            .binary_search_by_key(&savepoint, |level| level.id)
            .map_err(|_| Error::new(sqlstate::INVALID_SAVEPOINT_SPECIFICATION, "savepoint does not exist"))
    }

    /// Closes a savepoint and those in it, keeping what was done.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn release(&mut self, savepoint: SavepointId) -> Result<()> {
        let level = self.level_of(savepoint)?;
        self.options.read_only = self.savepoints[level].read_only;
        for closed in self.savepoints.drain(level..) {
            if closed.xid.is_valid() {
                self.released.push(closed.xid);
            }
        }
        Ok(())
    }

    /// Undoes what was done since the savepoint, which stays open.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn rollback_to(&mut self, savepoint: SavepointId) -> Result<()> {
        let level = self.level_of(savepoint)?;
        self.undo(level);
        self.state = TransactionState::Active;
        Ok(())
    }

    /// Undoes what was done on this level of the stack and above; the level stays open.
    pub(crate) fn undo(&mut self, level: usize) {
        let undone = &self.savepoints[level];
        let savepoint = undone.id;
        let (mark, created_from) = (undone.locks, undone.created_files);
        let mut aborted = self.released.split_off(undone.released);
        self.dropped_files.truncate(undone.dropped_files);
        (self.changes_catalog, self.must_wait) = (undone.changes_catalog, undone.must_wait);
        self.options.read_only = undone.read_only;
        aborted.extend(self.savepoints[level..].iter().map(|level| level.xid).filter(|xid| xid.is_valid()));
        let created_files: Vec<FileNumber> = self.created_files.split_off(created_from);
        if let Some((first, others)) = aborted.split_first() {
            let end = self.write_abort(*first, others, &created_files);
            created_files.iter().for_each(|file| self.manager.files.remove_file(*file, end));
        }
        let locks = self.manager.locks();
        locks.unlock_all(self.owner, Scope::Subtransaction(mark));
        for xid in &aborted {
            locks.transaction_ended(*xid);
            sync::let_others_run();
        }
        self.savepoints.truncate(level);
        let level = self.new_level(savepoint);
        self.savepoints.push(level);
    }

    /// The innermost open savepoint.
    pub fn innermost(&self) -> Option<SavepointId> {
        self.savepoints.last().map(|level| level.id)
    }

    /// How deep savepoints are nested now.
    pub fn depth(&self) -> usize {
        self.savepoints.len()
    }

    /// All subtransactions that end with the transaction.
    pub(crate) fn all_children(&self) -> Vec<Xid> {
        let open = self.savepoints.iter().map(|level| level.xid).filter(|xid| xid.is_valid());
        self.released.iter().copied().chain(open).collect()
    }
}
