//! The database: what all sessions share.

mod background;
mod checkpoint;
mod open;
mod options;
mod twophase;
mod vacuum;

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use base::settings::{Id, ServerSettings};
use base::{Error, Lsn, Oid, OwnerId, Result, sqlstate};
use btree::BTreeServices;
use buffer::BufferPool;
use clog::StatusStore;
use heap::HeapServices;
use lockmgr::LockManager;
use rustc_hash::FxHashSet;
use sync::Mutex;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::Wal;
use xact::TransactionManager;

pub use checkpoint::CheckpointStatistics;
pub use options::OpenOptions;
pub(crate) use options::{delay_policy, integer};
pub(crate) use vacuum::{Vacuumed, raise_oldest, vacuum_relation};

use crate::activity::TableActivity;
use crate::catalog::Catalog;
use crate::catalog::store::CatalogStore;
use crate::control::{ControlData, ControlFile};
use crate::numbers::Numbers;
use crate::relations::Relations;
use crate::sequence::Sequences;
use crate::session::{Exports, Session};

use background::Background;
use checkpoint::Checkpointer;
use vacuum::Frozen;

/// An open database. Clones are handles of the same one.
///
/// Dropping the last handle without [`Database::close`] is as good as a crash: nothing acknowledged is lost, and the next
/// start recovers.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
    background: Arc<Background>,
}

/// What the handles and background threads of a database share.
pub(crate) struct Shared {
    pub(crate) options: OpenOptions,
    pub(crate) control: ControlFile,
    pub(crate) wal: Arc<Wal>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) status: Arc<StatusStore>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) transactions: Arc<TransactionManager>,
    pub(crate) heaps: Arc<HeapServices>,
    pub(crate) trees: Arc<BTreeServices>,
    pub(crate) relations: Arc<Relations>,
    pub(crate) sequences: Arc<Sequences>,
    pub(crate) numbers: Numbers,
    pub(crate) catalog: CatalogStore,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) frozen: Frozen,
    pub(crate) exports: Exports,
    /// New transactions are refused.
    closing: AtomicBool,
    /// Numbers for the catalog versions that only their own transaction sees.
    pub(crate) own_versions: AtomicU64,
    /// Held as long as the database is open; given up by [`Database::close`].
    lock: Mutex<Option<Box<dyn Any + Send + Sync>>>,
}

impl Shared {
    #[allow(clippy::too_many_arguments)]
    fn new(
        options: OpenOptions,
        control: ControlFile,
        lock: Box<dyn Any + Send + Sync>,
        wal: Arc<Wal>,
        pool: Arc<BufferPool>,
        status: Arc<StatusStore>,
        locks: Arc<LockManager>,
        transactions: Arc<TransactionManager>,
        heaps: Arc<HeapServices>,
        trees: Arc<BTreeServices>,
        relations: Arc<Relations>,
        sequences: Arc<Sequences>,
        numbers: Numbers,
        catalog: CatalogStore,
    ) -> Shared {
        let data = control.data();
        Shared {
            options,
            control,
            wal,
            pool,
            status,
            locks,
            transactions,
            heaps,
            trees,
            relations,
            sequences,
            numbers,
            catalog,
            checkpointer: Checkpointer::new(data.redo),
            frozen: Frozen::new(data.oldest_xid),
            exports: Exports::default(),
            closing: AtomicBool::new(false),
            own_versions: AtomicU64::new(0),
            lock: Mutex::new(Some(lock)),
        }
    }

    /// Refuses work once the database is closing.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closing.load(Ordering::Relaxed) { Err(closed()) } else { Ok(()) }
    }

    /// Takes up the settings that may change while the database is open.
    fn reload(&self) {
        let settings = &self.options.settings;
        let tuning = self.wal.tuning();
        tuning.set_fsync(settings.get(Id::Fsync).as_bool());
        tuning.set_group_commit(settings.get(Id::GroupCommit).as_bool());
        tuning.set_delay_scope(options::delay_scope(settings));
        tuning.set_default_delay(delay_policy(settings));
        tuning.set_walwriter_delay_us(integer(settings, Id::WalWriterDelay) as u64 * 1000);
        self.transactions.tuning().set_early_lock_release(settings.get(Id::EarlyLockRelease).as_bool());
        self.transactions.tuning().set_clog_update(options::clog_update(settings));
        self.transactions.set_twophase_state(options::twophase_state(settings));
        let ssi = self.transactions.ssi();
        ssi.set_options(options::ssi(settings));
        ssi.set_names_pivots(settings.get(Id::LogSerializationConflicts).as_bool());
        ssi.set_locks_per_tuple(settings.get(Id::SsiScanLocks).as_word() == Some(1));
    }
}

#[cold]
fn closed() -> Error {
    Error::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
}

impl Database {
    /// Opens a database: recovers it if it was not closed, and makes it if the directory is empty.
    ///
    /// # Errors
    /// F0001 if it is open elsewhere; 58P01 if it doesn't exist; 55000 if it is not whole; 0A000 if its format is newer;
    /// XX001 if it is damaged; 58030, 53100 for what the disk fails with.
    pub fn open(options: OpenOptions) -> Result<Database> {
        open::open(options)
    }

    fn assemble(shared: Arc<Shared>) -> Database {
        Database { shared, background: Arc::new(Background::default()) }
    }

    fn start_background(&self) {
        if self.shared.options.background {
            self.background.start(&self.shared);
        }
    }

    /// Ends the background threads, writes everything out and marks the database as closed. Sessions get 57P01 for every
    /// transaction they begin from now on.
    ///
    /// # Errors
    /// 55006 if transactions are in progress; the database stays open then.
    pub fn close(&self) -> Result<()> {
        let shared = &self.shared;
        if shared.closing.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let prepared: FxHashSet<OwnerId> =
            shared.transactions.prepared_transactions().iter().map(|prepared| prepared.owner).collect();
        let mut running = shared.transactions.running();
        running.retain(|transaction| !prepared.contains(&transaction.owner));
        if !running.is_empty() {
            let running = running.len();
            shared.closing.store(false, Ordering::SeqCst);
            return Err(Error::new(sqlstate::OBJECT_IN_USE, format!("there are {running} transactions in progress")));
        }
        self.background.stop();
        shared.sequences.write_back(&shared.pool, &shared.wal)?;
        shared.close_checkpoint();
        shared.wal.stop();
        *shared.lock.lock() = None;
        Ok(())
    }

    /// A new session.
    ///
    /// # Errors
    /// 53300 when there are too many; 57P01 when the database is closed.
    pub fn session(&self) -> Result<Session> {
        self.shared.check_open()?;
        Session::new(self.clone())
    }

    /// Writes out all that was changed before now, so that recovery would begin here.
    ///
    /// # Errors
    /// 57P01 if the database is closed.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.check_open()?;
        if self.background.is_running() {
            self.shared.checkpointer.request_and_wait();
        } else {
            self.shared.checkpoint_now();
        }
        Ok(())
    }

    /// Looks for tables with many dead rows and vacuums them, as the background thread does. Returns how many.
    ///
    /// # Errors
    /// Whatever a vacuum fails with.
    pub fn vacuum_where_needed(&self) -> Result<usize> {
        self.shared.check_open()?;
        vacuum::vacuum_where_needed(self)
    }

    /// Lets go of what no snapshot needs any more, as the background thread does many times a second.
    pub fn tidy(&self) {
        background::tidy(&self.shared);
    }

    /// Takes up settings that may change while the database is open.
    pub fn reload(&self) {
        self.shared.reload();
    }

    /// The log.
    pub fn wal(&self) -> &Arc<Wal> {
        &self.shared.wal
    }

    /// The transaction manager: horizon, running transactions, tuning.
    pub fn transactions(&self) -> &Arc<TransactionManager> {
        &self.shared.transactions
    }

    /// The lock manager: views of locks and waits.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.shared.locks
    }

    /// Outcomes of transactions.
    pub fn status(&self) -> &Arc<StatusStore> {
        &self.shared.status
    }

    /// The page cache.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.shared.pool
    }

    /// The settings that hold for everybody.
    pub fn settings(&self) -> &Arc<ServerSettings> {
        &self.shared.options.settings
    }

    /// The latest committed catalog. Who answers from it has observed [`Catalog::csn`].
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog.latest(&self.shared)
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            wal: self.shared.wal.statistics(),
            buffer: self.shared.pool.statistics(),
            checkpoints: self.shared.checkpointer.statistics(),
            transactions: self.shared.transactions.statistics(),
        }
    }

    /// What has happened to the table `oid` since the database was opened; `None` if nothing.
    pub fn table_activity(&self, oid: Oid) -> Option<Arc<TableActivity>> {
        self.shared.relations.known_activity(oid)
    }

    /// The random number given to the database when it was made.
    pub fn system_identifier(&self) -> u64 {
        self.shared.control.data().system_identifier
    }

    /// What the control file says now.
    pub fn control(&self) -> ControlData {
        self.shared.control.data()
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.shared.options.directory
    }

    /// Every commit up to here is visible to new snapshots.
    pub fn horizon(&self) -> Lsn {
        self.shared.transactions.horizon()
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.directory().display())
    }
}

/// Counts of everything below the row API.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Of the log.
    pub wal: wal::WalStatistics,
    /// Of the page cache.
    pub buffer: buffer::BufferStatistics,
    /// Of checkpoints.
    pub checkpoints: CheckpointStatistics,
    /// Of transactions.
    pub transactions: xact::TransactionStatistics,
}
