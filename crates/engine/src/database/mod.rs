//! The database: what all sessions share.

mod background;
mod checkpoint;
mod open;
mod operations;
mod options;
mod twophase;
mod vacuum;

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::settings::{Id, ServerSettings};
use base::{Error, Lsn, Oid, Result, Xid, sqlstate};
use btree::BTreeServices;
use buffer::{BufferPool, FileRemovals};
use clog::StatusStore;
use heap::HeapServices;
use lockmgr::LockManager;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Interrupt, Mutex};
use vfs::descriptors::FileShare;
use wal::{RecordHead, RmgrId, Wal};
use xact::TransactionManager;

pub use checkpoint::CheckpointStatistics;
pub use open::too_few_descriptors;
use operations::{Operation, Operations};
pub use options::OpenOptions;
pub(crate) use options::{delay_policy, integer};
pub(crate) use vacuum::{Vacuumed, raise_oldest, vacuum_relation};

use crate::activity::TableActivity;
use crate::catalog_store::CatalogStore;
use crate::control::{ControlData, ControlFile};
use crate::numbers::Numbers;
use crate::redo::EngineRecord;
use crate::relations::Relations;
use crate::sequence::Sequences;
use crate::session::{Exports, Session};
use crate::temporary::StatementFiles;
use schema::catalog::{Catalog, Catalogs, DATABASE_OID};

use background::Background;
use base::settings::words::ScanLocks;
use checkpoint::Checkpointer;
use vacuum::Frozen;

/// How often a close looks whether operations have ended.
const OPERATIONS_ENDED_EACH: Duration = Duration::from_millis(1);

/// An open database. Clones are handles of the same one.
///
/// Dropping the last handle without [`Database::close`] is as good as a crash: nothing acknowledged is lost, and the next
/// start recovers.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
    background: Arc<Background>,
}

/// The state that the handles and background threads of a database share.
pub(crate) struct Shared {
    pub(crate) options: OpenOptions,
    pub(crate) control: ControlFile,
    pub(crate) wal: Arc<Wal>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) removals: Arc<FileRemovals>,
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
    pub(crate) frozen: Arc<Frozen>,
    pub(crate) exports: Exports,
    pub(crate) statement_files: Arc<StatementFiles>,
    /// How far a close has come; held by the one who closes the database.
    closed: Mutex<Closing>,
    /// Work under way that is in no transaction, or in one that neither has an xid nor a snapshot.
    operations: Operations,
    /// Held by the vacuum thread while it may have a transaction in progress, and by a close while it counts transactions.
    vacuuming: Mutex<()>,
    /// A close waits for the vacuum thread, which is to give up the table it is at.
    is_closing: AtomicBool,
    /// Held by a reload, which may turn `fsync` on or off.
    reloading: Mutex<()>,
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
        removals: Arc<FileRemovals>,
        status: Arc<StatusStore>,
        locks: Arc<LockManager>,
        transactions: Arc<TransactionManager>,
        heaps: Arc<HeapServices>,
        trees: Arc<BTreeServices>,
        relations: Arc<Relations>,
        sequences: Arc<Sequences>,
        frozen: Arc<Frozen>,
        numbers: Numbers,
        catalog: CatalogStore,
    ) -> Shared {
        let data = control.data();
        let statement_files = StatementFiles::new(options.files.statements);
        Shared {
            options,
            control,
            wal,
            pool,
            removals,
            status,
            locks,
            transactions,
            heaps,
            trees,
            relations,
            sequences,
            frozen,
            numbers,
            catalog,
            checkpointer: Checkpointer::new(data.redo),
            exports: Exports::default(),
            statement_files,
            closed: Mutex::new(Closing::NotBegun),
            operations: Operations::default(),
            vacuuming: Mutex::new(()),
            is_closing: AtomicBool::new(false),
            reloading: Mutex::new(()),
            own_versions: AtomicU64::new(0),
            lock: Mutex::new(Some(lock)),
        }
    }

    /// Refuses work once the database is closing.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.transactions.is_closed() { Err(xact::closed()) } else { Ok(()) }
    }

    /// As [`Shared::check_open`], also while a close waits for the vacuum thread.
    pub(crate) fn check_not_closing(&self) -> Result<()> {
        if self.is_closing.load(Ordering::Relaxed) { Err(xact::closed()) } else { self.check_open() }
    }

    /// Begins work that may write although no transaction with an xid or a snapshot does it. The close waits for its end, so
    /// it must not wait for a transaction, and looks now and then whether it is to stop ([`Shared::check_open`]).
    pub(crate) fn begin_operation(&self) -> Result<Operation<'_>> {
        self.operations.begin(|| self.transactions.is_closed()).ok_or_else(xact::closed)
    }

    /// Turns `fsync` on or off. With it on, everything that was written before is durable when this returns. One caller at a time:
    /// a reload, or the close after the last one.
    fn set_fsync(&self, on: bool) {
        if on {
            // First the log: pages must not be durable before it (R1).
            self.wal.set_fsync(true);
            self.pool.set_fsync(true);
        } else {
            self.pool.set_fsync(false);
            self.wal.set_fsync(false);
        }
    }

    /// Takes up the settings that may change while the database is open.
    fn reload(&self) {
        // The settings are read under the latch: a reload that read older ones can't put them in place of newer ones.
        let _one_at_a_time = self.reloading.lock();
        let settings = &self.options.settings;
        self.set_fsync(settings.get(Id::Fsync).as_bool());
        let tuning = self.wal.tuning();
        tuning.set_group_commit(settings.get(Id::GroupCommit).as_bool());
        tuning.set_delay_scope(settings.get(Id::CommitDelayScope).word());
        tuning.set_default_delay(delay_policy(settings));
        tuning.set_walwriter_delay_us(integer(settings, Id::WalWriterDelay) as u64 * 1000);
        self.transactions.tuning().set_early_lock_release(settings.get(Id::EarlyLockRelease).as_bool());
        self.transactions.tuning().set_clog_update(settings.get(Id::ClogUpdate).word());
        self.transactions.set_twophase_state(settings.get(Id::TwophaseState).word());
        let ssi = self.transactions.ssi();
        ssi.set_options(options::ssi(settings));
        ssi.set_names_pivots(settings.get(Id::LogSerializationConflicts).as_bool());
        ssi.set_locks_per_tuple(settings.get(Id::SsiScanLocks).word::<ScanLocks>() == ScanLocks::PerTuple);
    }
}

/// How far a close has come. One that fails goes on from there when it is tried again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    NotBegun,
    /// No transaction gets an xid or a snapshot any more. The rest is still to be done.
    Refusing,
    Done,
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

    /// Ends the background threads, writes everything out and marks the database as closed. Nothing is written any more
    /// after this returns. From then on a session gets 57P01 for every transaction that it begins. In a transaction that
    /// it had begun before, it gets 57P01 for the next statement or change.
    ///
    /// # Errors
    /// 55006 if transactions are in progress that have changed something or have a snapshot in use; the database stays
    /// open then. Errors of reading from the disk; then the next call goes on with the work that is left.
    pub fn close(&self) -> Result<()> {
        let mut closing = self.shared.closed.lock();
        if *closing == Closing::NotBegun {
            self.refuse_transactions()?;
            *closing = Closing::Refusing;
        }
        if *closing == Closing::Refusing {
            self.finish_close()?;
            *closing = Closing::Done;
        }
        Ok(())
    }

    fn refuse_transactions(&self) -> Result<()> {
        let shared = &self.shared;
        // The vacuum thread's own transactions are in nobody's way.
        shared.is_closing.store(true, Ordering::Relaxed);
        let vacuuming = shared.vacuuming.lock();
        let refused = shared.transactions.close();
        drop(vacuuming);
        shared.is_closing.store(false, Ordering::Relaxed);
        refused
            .map_err(|count| Error::new(sqlstate::OBJECT_IN_USE, format!("there are {count} transactions in progress")))
    }

    /// Ends what is under way and writes everything out. May be done again after an error.
    fn finish_close(&self) -> Result<()> {
        let shared = &self.shared;
        self.background.stop();
        while !shared.operations.are_over() {
            // One may have asked for a checkpoint when there was nobody left to make it.
            shared.checkpointer.answer(shared.checkpointer.take_requests());
            std::thread::sleep(OPERATIONS_ENDED_EACH);
        }
        // Files that are still to be removed need not be synced. Sequences among them need not be written back.
        shared.transactions.checkpoint_barrier(shared.wal.reserved());
        // With `fsync` off, too: what opens it next may rely on the disk.
        shared.set_fsync(true);
        shared.sequences.close(&shared.pool, &shared.wal)?;
        shared.close_checkpoint();
        shared.wal.stop();
        *shared.lock.lock() = None;
        Ok(())
    }

    /// A new session in the database `postgres`.
    ///
    /// # Errors
    /// 53300 when there are too many; 57P01 when the database is closed.
    pub fn session(&self) -> Result<Session> {
        self.session_in(DATABASE_OID)
    }

    /// A new session in the database `oid`. Without such a database it sees only the objects that all databases share.
    ///
    /// # Errors
    /// As [`Database::session`].
    pub fn session_in(&self, oid: Oid) -> Result<Session> {
        self.shared.check_open()?;
        Session::new(self.clone(), oid)
    }

    /// Writes out all that was changed before now, so that recovery would begin here.
    ///
    /// # Errors
    /// 57P01 if the database is closed.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpoint_unless(None)
    }

    /// The same, except that an interrupt ends the wait.
    pub(crate) fn checkpoint_unless(&self, interrupt: Option<&Interrupt>) -> Result<()> {
        let _operation = self.shared.begin_operation()?;
        if self.background.is_running() {
            return self.shared.checkpointer.request_and_wait(interrupt);
        }
        self.shared.checkpoint_now();
        Ok(())
    }

    /// Looks for tables with many dead rows and vacuums them, as the background thread does. Returns how many.
    ///
    /// # Errors
    /// Errors of a vacuum.
    pub fn vacuum_where_needed(&self) -> Result<usize> {
        self.shared.check_open()?;
        vacuum::vacuum_where_needed(self)
    }

    /// Lets go of what no snapshot needs any more, as the background thread does many times a second. Nothing to do once the
    /// database is closed.
    pub fn tidy(&self) {
        if let Ok(_operation) = self.shared.begin_operation() {
            background::tidy(&self.shared);
        }
    }

    /// Writes a record that gives its place in the log a name, and returns the record's end. The record is not flushed.
    ///
    /// # Errors
    /// 57P01 if the database is closed.
    pub fn create_restore_point(&self, name: &str) -> Result<Lsn> {
        let _operation = self.shared.begin_operation()?;
        let head = RecordHead { rmgr: RmgrId::ENGINE, info: EngineRecord::RESTORE_POINT, xid: Xid::INVALID };
        Ok(self.shared.wal.insert(head, &[name.as_bytes()]).end)
    }

    /// Takes up settings that may change while the database is open. With `fsync` turned on, what was written without it is
    /// synced when this returns. Nothing to do once the database is closed.
    pub fn reload(&self) {
        if let Ok(_operation) = self.shared.begin_operation() {
            self.shared.reload();
        }
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

    /// How many files of each kind it may have open.
    pub fn file_share(&self) -> FileShare {
        self.shared.options.files
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

    /// The latest committed catalog of the database `postgres`. An answer that is read from it reveals the commits up to [`Catalog::csn`],
    /// so its session counts as having observed that position.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(self.catalogs().of(DATABASE_OID))
    }

    /// The latest committed catalogs of all databases. An answer that is read from them reveals commits, see [`Database::catalog`].
    pub fn catalogs(&self) -> Arc<Catalogs> {
        self.shared.catalog.latest(&self.shared)
    }

    /// The counts so far.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            wal: self.shared.wal.statistics(),
            buffer: self.shared.pool.statistics(),
            checkpoints: self.shared.checkpointer.statistics(),
            transactions: self.shared.transactions.statistics(),
        }
    }

    /// The activity of a table since the database was opened; `None` if nothing was counted. Its number is that of
    /// [`Catalog::unique`].
    pub fn table_activity(&self, unique: Oid) -> Option<Arc<TableActivity>> {
        self.shared.relations.known_activity(unique)
    }

    /// The random number given to the database when it was made.
    pub fn system_identifier(&self) -> u64 {
        self.shared.control.data().system_identifier
    }

    /// The current contents of the control file.
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
