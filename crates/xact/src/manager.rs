//! The transaction manager.

use base::{FileNumber, Lsn, OwnerId, Result, Xid};
use clog::StatusStore;
use lockmgr::LockManager;
use sync::{Arc, Interrupt};
use wal::{SiblingsProbe, Wal};

pub use clog::ClogUpdate;

use crate::{CommitOutcome, SessionSlot};

/// Removes the files that committed transactions dropped and aborted ones made.
pub trait FileRemover: Send + Sync {
    /// Forgets the file's pages and unlinks it. A failure is the remover's to report: the transaction is over.
    fn remove_file(&self, file: FileNumber);
}

/// What a transaction manager starts from.
pub struct ManagerOptions {
    /// How many sessions and prepared transactions there may be at once.
    pub slots: u32,
    /// The first transaction identifier to give out.
    pub next_xid: Xid,
    /// Everything committed up to here is visible: the log's end when it was opened.
    pub horizon: Lsn,
    /// The catalog's version as recovered.
    pub catalog_version: u64,
    /// Removes dropped files.
    pub files: Arc<dyn FileRemover>,
}

/// What can be changed while transactions run.
pub struct XactTuning {}

impl XactTuning {
    /// `early_lock_release`: locks go at the log rather than at the disk.
    pub fn early_lock_release(&self) -> bool {
        todo!()
    }
    /// Changes `early_lock_release`.
    pub fn set_early_lock_release(&self, on: bool) {
        todo!()
    }
    /// `clog_update`: who sets the status bits.
    pub fn clog_update(&self) -> ClogUpdate {
        todo!()
    }
    /// Changes `clog_update`.
    pub fn set_clog_update(&self, mode: ClogUpdate) {
        todo!()
    }
}

/// A transaction that has an xid and no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningTransaction {
    /// Whose it is.
    pub owner: OwnerId,
    /// Its top-level identifier.
    pub xid: Xid,
}

/// All transactions of a database.
pub struct TransactionManager {}

impl TransactionManager {
    /// A manager whose hooks are registered with the log: retiring after each flush, and the count of siblings.
    pub fn new(
        wal: Arc<Wal>,
        status: Arc<StatusStore>,
        locks: Arc<LockManager>,
        options: ManagerOptions,
    ) -> Arc<TransactionManager> {
        todo!()
    }

    /// A place for one more session. 53300 "sorry, too many clients already" when all are taken.
    pub fn register_session(self: &Arc<Self>, interrupt: Arc<Interrupt>) -> Result<SessionSlot> {
        todo!()
    }

    /// The log.
    pub fn wal(&self) -> &Arc<Wal> {
        todo!()
    }
    /// Outcomes of transactions.
    pub fn status(&self) -> &Arc<StatusStore> {
        todo!()
    }
    /// The lock manager.
    pub fn locks(&self) -> &Arc<LockManager> {
        todo!()
    }
    /// What can be changed while transactions run.
    pub fn tuning(&self) -> &XactTuning {
        todo!()
    }
    /// Every transaction with a CSN at or below this is visible to new snapshots.
    pub fn horizon(&self) -> Lsn {
        todo!()
    }
    /// Raised in the commit of every transaction that changed the catalog.
    pub fn catalog_version(&self) -> u64 {
        todo!()
    }
    /// The identifier that the next writing transaction gets.
    pub fn next_xid(&self) -> Xid {
        todo!()
    }
    /// At or below every running transaction's xid: nothing older is in progress. Reads all slots.
    pub fn oldest_running_xid(&self) -> Xid {
        todo!()
    }
    /// The transactions in progress. Reads all slots.
    pub fn running(&self) -> Vec<RunningTransaction> {
        todo!()
    }
    /// No snapshot in use, or taken later, is older. Raises the floor and reads all slots.
    pub fn oldest_snapshot(&self) -> Lsn {
        todo!()
    }
    /// Versions whose remover's CSN is at or below this are dead to everyone. As of the last cohort; one load.
    pub fn removal_floor(&self) -> Lsn {
        todo!()
    }
    /// Brings [`TransactionManager::removal_floor`] up to date; what vacuum does first. Returns the new floor.
    pub fn refresh_removal_floor(&self) -> Lsn {
        todo!()
    }
    /// Sets the status bits of, and forgets, all transactions committed up to `durable`. What the log's leader does after
    /// each flush.
    pub fn retire(&self, durable: Lsn) {
        todo!()
    }
    /// Everything committed up to here has its status bits and has done its unlinks.
    pub fn retired(&self) -> Lsn {
        todo!()
    }
    /// With `clog_update` = `group` or `each`: the committer's own update of the commit log, once its commit is durable and
    /// before it replies. Nothing to do otherwise.
    pub fn complete(&self, outcome: &CommitOutcome) {
        todo!()
    }
    /// Takes a checkpoint's redo point: runs `f` at the log's insertion point, where no transaction is between the pieces
    /// of its commit.
    pub fn take_redo_point<R>(&self, f: impl FnOnce(Lsn) -> R) -> R {
        todo!()
    }
    /// Waits until every commit, abort and prepare with a record below `redo` has set its status bits and done its
    /// unlinks. Flushes the log up to `redo`.
    pub fn checkpoint_barrier(&self, redo: Lsn) {
        todo!()
    }
}

impl SiblingsProbe for TransactionManager {
    fn writers(&self) -> usize {
        todo!()
    }
    fn unjoined_writers(&self) -> usize {
        todo!()
    }
}
