//! The transaction manager: what all sessions share.

use base::{Error, FileNumber, Lsn, OwnerId, Result, Xid, sqlstate};
use clog::StatusStore;
use lockmgr::LockManager;
use ssi::{Ssi, SsiOptions};
use sync::atomic::Ordering::{Acquire, Relaxed};
use sync::atomic::{AtomicBool, AtomicU64};
use sync::{Arc, Combiner, Interrupt, Mutex};
use wal::{SiblingsProbe, Wal};

pub use clog::ClogUpdate;

use crate::SessionSlot;
use crate::checkpoint::CommitsInPieces;
use crate::committed::Committed;
use crate::retire::Retiring;
use crate::slots::Slots;
use crate::snapshots::Snapshots;
use crate::statistics::LatencyCounter;
use crate::twophase::{PreparedOptions, PreparedTable};

/// Commits that may be waiting to be retired: more than a walwriter's pause of asynchronous ones at full speed.
const RING_CAPACITY: usize = if cfg!(shuttle) { 64 } else { 1 << 17 };

/// Removes the files that committed transactions dropped and aborted ones made.
pub trait FileRemover: Send + Sync {
    /// Takes the file, to forget its pages and unlink it once the log is durable up to `after`. Returns at once: the caller may
    /// be the leader of a flush that a write of the file's pages waits for. A failure is the remover's to report: the
    /// transaction is over.
    fn remove_file(&self, file: FileNumber, after: Lsn);

    /// Returns when all files are removed that were taken before.
    fn finish_removals(&self);
}

/// The settings and recovered values that a transaction manager starts from.
pub struct ManagerOptions {
    /// How many sessions and prepared transactions there may be at once; sessions leave room for
    /// [`PreparedOptions::max`] prepared ones.
    pub slots: u32,
    /// Settings of prepared transactions.
    pub prepared: PreparedOptions,
    /// The first transaction identifier to give out.
    pub next_xid: Xid,
    /// Everything committed up to here is visible: the log's end when it was opened.
    pub horizon: Lsn,
    /// The catalog's version as recovered.
    pub catalog_version: u64,
    /// Removes dropped files.
    pub files: Arc<dyn FileRemover>,
}

/// The settings that can be changed while transactions run.
pub struct XactTuning {
    early_lock_release: AtomicBool,
    status: Arc<StatusStore>,
}

impl XactTuning {
    /// `early_lock_release`: locks go at the log rather than at the disk.
    pub fn early_lock_release(&self) -> bool {
        self.early_lock_release.load(Relaxed)
    }

    /// Changes `early_lock_release`.
    pub fn set_early_lock_release(&self, on: bool) {
        self.early_lock_release.store(on, Relaxed);
    }

    /// `clog_update`: who sets the status bits.
    pub fn clog_update(&self) -> ClogUpdate {
        self.status.clog_update()
    }

    /// Changes `clog_update`.
    pub fn set_clog_update(&self, mode: ClogUpdate) {
        self.status.set_clog_update(mode);
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
pub struct TransactionManager {
    wal: Arc<Wal>,
    status: Arc<StatusStore>,
    locks: Arc<LockManager>,
    ssi: Arc<Ssi>,
    tuning: XactTuning,
    pub(crate) files: Arc<dyn FileRemover>,
    pub(crate) slots: Slots,
    pub(crate) snapshots: Snapshots,
    pub(crate) committed: Committed,
    pub(crate) catalog_version: AtomicU64,
    /// Held by the one who makes deferred commits visible.
    pub(crate) making_visible: Mutex<()>,
    /// Held by the one who retires. May be held across reading a page of the commit log.
    pub(crate) retiring: Combiner<Retiring>,
    /// Written by who holds `retiring`.
    pub(crate) commit_latency: LatencyCounter,
    /// `next_xid` when the csn store was last trimmed.
    pub(crate) trimmed_at: AtomicU64,
    pub(crate) pieces: CommitsInPieces,
    pub(crate) prepared: PreparedTable,
}

impl TransactionManager {
    /// A manager whose hooks are registered with the log: retiring after each flush, and the count of siblings.
    pub fn new(
        wal: Arc<Wal>,
        status: Arc<StatusStore>,
        locks: Arc<LockManager>,
        options: ManagerOptions,
    ) -> Arc<TransactionManager> {
        let manager = Arc::new(TransactionManager {
            tuning: XactTuning { early_lock_release: AtomicBool::new(true), status: status.clone() },
            wal,
            status,
            locks,
            ssi: Ssi::new(SsiOptions::default()),
            files: options.files,
            slots: Slots::new(options.slots, options.next_xid),
            snapshots: Snapshots::new(options.horizon),
            committed: Committed::new(RING_CAPACITY.max(4 * options.slots as usize)),
            catalog_version: AtomicU64::new(options.catalog_version),
            making_visible: Mutex::new(()),
            retiring: Combiner::default(),
            commit_latency: LatencyCounter::default(),
            trimmed_at: AtomicU64::new(options.next_xid.0),
            pieces: CommitsInPieces::default(),
            prepared: PreparedTable::new(options.prepared),
        });
        // Weak, because the manager owns the log.
        let retirer = Arc::downgrade(&manager);
        manager.wal.add_retire_hook(Arc::new(move |durable| {
            if let Some(manager) = retirer.upgrade() {
                manager.retire(durable);
            }
        }));
        manager.wal.set_siblings_probe(Arc::new(Siblings(Arc::downgrade(&manager))));
        manager
    }

    /// A place for one more session. 53300 "sorry, too many clients already" when all are taken.
    pub fn register_session(self: &Arc<Self>, interrupt: Arc<Interrupt>) -> Result<SessionSlot> {
        let owner = self
            .slots
            .take_for_session(self.prepared.max())
            .ok_or_else(|| Error::new(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already").fatal())?;
        Ok(SessionSlot::new(self.clone(), owner, interrupt))
    }

    /// The log.
    pub fn wal(&self) -> &Arc<Wal> {
        &self.wal
    }

    /// Outcomes of transactions.
    pub fn status(&self) -> &Arc<StatusStore> {
        &self.status
    }

    /// The lock manager.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// The state that serializable transactions share.
    pub fn ssi(&self) -> &Arc<Ssi> {
        &self.ssi
    }

    /// The settings that can be changed while transactions run.
    pub fn tuning(&self) -> &XactTuning {
        &self.tuning
    }

    /// Every transaction with a CSN at or below this is visible to new snapshots.
    pub fn horizon(&self) -> Lsn {
        self.snapshots.horizon()
    }

    /// At or above the CSN of every commit of which the caller has seen anything, however little: its status, a lock that
    /// it gave up, a catalog version. To be read after that. An answer that does not come from a visibility check waits
    /// until the log is durable up to here (rule R3): the horizon would be too low for a commit that is about to raise it.
    #[inline]
    pub fn newest_commit(&self) -> Lsn {
        self.snapshots.placed()
    }

    /// Returns when every commit that shows in any way shows in every way: snapshots taken from here on see its rows.
    pub fn await_commit_in_progress(&self) {
        self.wal.at_insertion_point(|_| ());
        // Commits that wait for the disk first become visible outside of that latch.
        drop(self.making_visible.lock());
    }

    /// Raised in the commit of every transaction that changed the catalog.
    #[inline]
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Acquire)
    }

    /// The identifier that the next writing transaction gets.
    pub fn next_xid(&self) -> Xid {
        self.slots.next_xid()
    }

    /// At or below every running transaction's xid: nothing older is in progress. Reads all slots.
    pub fn oldest_running_xid(&self) -> Xid {
        self.slots.oldest_running()
    }

    /// The transactions in progress. Reads all slots.
    pub fn running(&self) -> Vec<RunningTransaction> {
        self.slots.running().into_iter().map(|(owner, xid)| RunningTransaction { owner, xid }).collect()
    }

    /// Refuses xids from now on, with 57P01, unless transactions are in progress: then nothing changes, and they are counted.
    /// In progress is what has an xid or a snapshot in use; prepared transactions may stay.
    ///
    /// # Errors
    /// How many transactions are in progress.
    pub fn close(&self) -> std::result::Result<(), usize> {
        let in_progress = || {
            let prepared: Vec<OwnerId> = self.prepared_transactions().iter().map(|prepared| prepared.owner).collect();
            self.slots.in_progress(&prepared)
        };
        // Nobody waits for an attempt that has no chance.
        let mut count = in_progress();
        if count == 0 {
            self.slots.close_if(|| {
                count = in_progress();
                count == 0
            });
        }
        if count == 0 { Ok(()) } else { Err(count) }
    }

    /// Whether the database is closed. If a session takes a snapshot and then finds false here, [`TransactionManager::close`] sees
    /// that snapshot. Waits for a `close` that is about to be decided.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.slots.are_closed()
    }

    /// The snapshot that this session publishes: the oldest it uses.
    pub fn snapshot_of(&self, owner: OwnerId) -> Option<Lsn> {
        let published = self.slots.get(owner).snapshot.load(Acquire);
        (published != crate::slots::NO_SNAPSHOT).then_some(Lsn(published))
    }

    /// No snapshot in use, or taken later, is older. Raises the floor and reads all slots.
    pub fn oldest_snapshot(&self) -> Lsn {
        self.snapshots.raise_floor(&self.slots)
    }

    /// Versions whose remover's CSN is at or below this are dead to everyone. As of the last cohort; one load.
    #[inline]
    pub fn removal_floor(&self) -> Lsn {
        self.snapshots.floor()
    }

    /// Brings [`TransactionManager::removal_floor`] up to date; what vacuum does first. Returns the new floor.
    pub fn refresh_removal_floor(&self) -> Lsn {
        self.snapshots.raise_floor(&self.slots)
    }

    /// As [`TransactionManager::refresh_removal_floor`], unless somebody is at it: for callers that hold a latch.
    pub fn try_refresh_removal_floor(&self) -> Lsn {
        self.snapshots.try_raise_floor(&self.slots);
        self.removal_floor()
    }

    /// How many commits wait to be retired.
    pub fn unretired(&self) -> u64 {
        self.committed.len()
    }
}

/// The answers to the questions of the log's leader (rule R6). Two sums over a few counters; no slot is read.
struct Siblings(sync::Weak<TransactionManager>);

impl SiblingsProbe for Siblings {
    fn writers(&self) -> usize {
        self.0.upgrade().map_or(0, |manager| manager.writers())
    }

    fn unjoined_writers(&self) -> usize {
        self.0.upgrade().map_or(0, |manager| manager.unjoined_writers())
    }
}

impl SiblingsProbe for TransactionManager {
    fn writers(&self) -> usize {
        // Those that have committed still hold their place in the running set, in PostgreSQL's terms, until durable.
        self.unjoined_writers() + self.committed.len() as usize
    }

    fn unjoined_writers(&self) -> usize {
        self.slots.unjoined().saturating_sub(self.locks.waiting_writers())
    }
}
