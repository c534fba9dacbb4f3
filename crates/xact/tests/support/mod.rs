//! A database without tables: log, commit log, locks and transactions over a vfs.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Once, OnceLock};
use std::time::Duration;

use base::{FileNumber, Lsn, Xid};
use buffer::{DoubleWrite, DoubleWriteOptions, FileRemovals, LateLog};
use clog::{ClogBits, StatusStore, StatusStoreOptions, TransactionStatus};
use cohort_xact::twophase::{PreparedOptions, saved};
use cohort_xact::{
    BeginOptions, CommitOutcome, FileRemover, Isolation, ManagerOptions, RecoveredTransactions, SessionSlot,
    TransactionManager, XactRedo,
};
use lockmgr::LockManager;
use rand::Rng;
use rand::rngs::StdRng;
use sync::{Arc, Interrupt, Mutex};
use vfs::{FailStop, Fault, RealVfs, SimulatedOptions, SimulatedVfs, Vfs};
use wal::{DelayPolicy, Epoch, Record, RecordHead, RmgrId, Wal, WalControl, WalOptions};

pub const DIR: &str = "/data";
const TWOPHASE: &str = "twophase";
/// How many prepared transactions there may be.
pub const PREPARED_MAX: u32 = 4;

/// Remembers what was removed, and removes it if there is something to remove it with.
#[derive(Default)]
pub struct RemovedFiles(pub Mutex<Vec<FileNumber>>, pub OnceLock<Arc<FileRemovals>>);

impl FileRemover for RemovedFiles {
    fn remove_file(&self, file: FileNumber, after: Lsn) {
        self.0.lock().push(file);
        if let Some(removals) = self.1.get() {
            removals.hand_over(file, after);
        }
    }

    fn finish_removals(&self) {
        if let Some(removals) = self.1.get() {
            removals.remove_all();
        }
    }
}

pub struct Database {
    pub manager: Arc<TransactionManager>,
    pub removed: Arc<RemovedFiles>,
    /// The findings of recovery.
    pub recovered: RecoveredTransactions,
    /// The data records found by recovery: xid and payload.
    pub found: Vec<(Lsn, Xid, Vec<u8>)>,
    directory: Option<tempfile::TempDir>,
}

/// Where recovery starts: what a control file would say.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub redo: Lsn,
    pub epoch: Epoch,
    pub next_xid: Xid,
}

pub fn small_log() -> WalOptions {
    WalOptions { segment_size_bytes: 1 << 16, buffers_bytes: 1 << 16, segments_ahead: 1, ..WalOptions::default() }
}

impl Database {
    /// A new one on a real file system.
    pub fn new() -> Database {
        Database::with_options(WalOptions { fsync: false, ..small_log() }, 64)
    }

    pub fn with_options(options: WalOptions, slots: u32) -> Database {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
        let mut database = Database::create(&vfs, directory.path(), options, slots);
        database.directory = Some(directory);
        database
    }

    pub fn create(vfs: &Arc<dyn Vfs>, directory: &Path, options: WalOptions, slots: u32) -> Database {
        Database::create_at(vfs, directory, options, slots, Xid::FIRST_NORMAL)
    }

    /// A new one that begins with this xid.
    pub fn create_at(vfs: &Arc<dyn Vfs>, directory: &Path, options: WalOptions, slots: u32, next_xid: Xid) -> Database {
        vfs.create_dir_all(directory).expect("the directory can be made");
        vfs.sync_dir(directory.parent().expect("it isn't the root")).expect("it can be synced");
        let late_log = Arc::new(LateLog::new());
        let status = status_store(vfs, directory, &late_log, next_xid).expect("a status store can be made");
        let wal = Arc::new(Wal::create(vfs.clone(), &directory.join("wal"), options).expect("a log can be made"));
        late_log.attach(wal.clone());
        vfs.create_dir_all(&directory.join(TWOPHASE)).expect("the directory can be made");
        vfs.sync_dir(directory).expect("it can be synced");
        Database::assemble(vfs, directory, wal, status, RecoveredTransactions::default(), Vec::new(), next_xid, slots)
    }

    /// Recovers what a crash left.
    pub fn recover(
        vfs: &Arc<dyn Vfs>,
        directory: &Path,
        control: Control,
        options: WalOptions,
        slots: u32,
    ) -> base::Result<Database> {
        buffer::doublewrite::recover(&**vfs, directory)?;
        let late_log = Arc::new(LateLog::new());
        let status = status_store(vfs, directory, &late_log, control.next_xid)?;
        let removed: Arc<RemovedFiles> = Arc::default();
        let mut redo = XactRedo::new(status.clone(), removed.clone(), control.next_xid);
        let mut found = Vec::new();
        let wal_control = WalControl {
            redo: control.redo,
            epoch: control.epoch,
            durable_floor: control.redo,
            page_lsn_met: Arc::default(),
        };
        let wal = Wal::recover(vfs.clone(), &directory.join("wal"), wal_control, options, |record: &Record<'_>| {
            redo.note(record.head.xid);
            if record.head.rmgr == RmgrId::XACT {
                redo.apply(record)
            } else {
                found.push((record.end, record.head.xid, record.payload.to_vec()));
                Ok(())
            }
        })?;
        let wal = Arc::new(wal);
        late_log.attach(wal.clone());
        let mut recovered = redo.finish();
        let next_xid = recovered.next_xid.max(control.next_xid);
        let is_finished = |xid| Ok(status.clog().get(xid)? != ClogBits::InProgress);
        let saved = saved::load(&**vfs, &directory.join(TWOPHASE), &recovered.prepared, is_finished)?;
        recovered.prepared.extend(saved);
        Ok(Database::assemble(vfs, directory, wal, status, recovered, found, next_xid, slots))
    }

    #[allow(clippy::too_many_arguments)]
    fn assemble(
        vfs: &Arc<dyn Vfs>,
        directory: &Path,
        wal: Arc<Wal>,
        status: Arc<StatusStore>,
        recovered: RecoveredTransactions,
        found: Vec<(Lsn, Xid, Vec<u8>)>,
        next_xid: Xid,
        slots: u32,
    ) -> Database {
        status.start(next_xid);
        let removed: Arc<RemovedFiles> = Arc::default();
        let slots = slots + PREPARED_MAX;
        let locks = Arc::new(LockManager::new(slots));
        let horizon = wal.reserved();
        let prepared = PreparedOptions { max: PREPARED_MAX, vfs: vfs.clone(), directory: directory.join(TWOPHASE) };
        let options = ManagerOptions { slots, prepared, next_xid, horizon, catalog_version: 1, files: removed.clone() };
        let manager = TransactionManager::new(wal, status, locks, options);
        for prepared in &recovered.prepared {
            manager.restore_prepared(prepared.clone()).expect("it can be restored");
        }
        Database { manager, removed, recovered, found, directory: None }
    }

    pub fn session(&self) -> SessionSlot {
        self.manager.register_session(Arc::new(Interrupt::new())).expect("a slot is free")
    }

    pub fn status(&self, xid: Xid) -> TransactionStatus {
        self.manager.status().status(xid)
    }

    pub fn wal(&self) -> &Arc<Wal> {
        self.manager.wal()
    }

    /// Waits as a session does before it replies.
    pub fn reply(&self, outcome: &CommitOutcome) {
        self.wal().wait_durable(outcome.gate, DelayPolicy::NONE);
        self.manager.complete(outcome);
    }

    /// Everything is durable and retired.
    pub fn settle(&self) {
        self.wal().flush(self.wal().reserved());
        self.manager.retire(self.wal().durable());
    }
}

fn status_store(
    vfs: &Arc<dyn Vfs>,
    directory: &Path,
    log: &Arc<LateLog>,
    next_xid: Xid,
) -> base::Result<Arc<StatusStore>> {
    let area = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default())?;
    let options = StatusStoreOptions {
        csn_window: 4096,
        transaction_buffers: 16,
        next_xid_at_checkpoint: next_xid,
        oldest_xid: if next_xid.0 > 1 << 31 { next_xid } else { Xid::FIRST_NORMAL },
        ..StatusStoreOptions::default()
    };
    let status = StatusStore::open(vfs.clone(), directory, log.clone(), area, options);
    status.map(Arc::new)
}

pub const REPEATABLE_READ: BeginOptions =
    BeginOptions { isolation: Isolation::RepeatableRead, read_only: false, deferrable: false };

/// The power fails at this call from now.
pub fn crash_at(disk: &SimulatedVfs, calls_from_now: u64) {
    disk.add_fault(Fault::CrashAtCall(disk.io_calls() + calls_from_now));
}

pub fn shared(disk: &SimulatedVfs) -> Arc<dyn Vfs> {
    Arc::new(disk.clone())
}

/// A new database on a simulated disk, and where its recovery begins.
pub fn create(disk: &SimulatedVfs) -> (Database, Control) {
    let database = Database::create(&shared(disk), Path::new(DIR), small_log(), 32);
    database.wal().flush(database.wal().reserved());
    let redo = Lsn(small_log().segment_size_bytes);
    (database, Control { redo, epoch: Epoch::FIRST, next_xid: Xid::FIRST_NORMAL })
}

/// Does the steps of the engine's checkpoint, up to writing the control file.
pub fn checkpoint(database: &Database) -> Control {
    let manager = &database.manager;
    let (redo, next_xid) = manager.take_redo_point(|redo| (redo, manager.next_xid()));
    manager.checkpoint_barrier(redo);
    manager.status().checkpoint();
    manager.save_prepared(redo);
    Control { redo, epoch: database.wal().epoch(), next_xid }
}

/// Recovers what a crash left, though recovery itself may be cut short, again and again.
pub fn recover_at_last(mut disk: SimulatedVfs, control: Control, random: &mut StdRng) -> (Database, SimulatedVfs) {
    let database = loop {
        if random.random_bool(0.4) {
            crash_at(&disk, random.random_range(1..30));
        }
        let recovered = until_fail_stop(|| Database::recover(&shared(&disk), Path::new(DIR), control, small_log(), 32));
        match recovered {
            Some(Ok(database)) if !disk.is_crashed() => break database,
            Some(Err(error)) if !disk.is_crashed() => panic!("recovery failed: {error}"),
            other => bury(other),
        }
        disk = disk.crash_with(SimulatedOptions::new(random.random()));
    };
    disk.clear_faults();
    (database, disk)
}

/// Begins, and writes one data record.
pub fn begin_writing(session: &mut SessionSlot, payload: &[u8]) -> Xid {
    session.begin(BeginOptions::default());
    let xid = session.assign_xid().expect("xids are left");
    write(session, xid, payload);
    xid
}

pub fn write(session: &SessionSlot, xid: Xid, payload: &[u8]) {
    session.manager().wal().insert(RecordHead { rmgr: RmgrId::HEAP, info: 0, xid }, &[payload]);
}

/// One whole transaction.
pub fn commit_one(session: &mut SessionSlot, payload: &[u8]) -> (Xid, CommitOutcome) {
    let xid = begin_writing(session, payload);
    (xid, session.commit())
}

/// How many seeds a random test tries: `COHORT_SEEDS`, or `usual`. `COHORT_SEED` picks one. Says which one failed.
pub fn for_each_seed(usual: u64, test: impl Fn(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("COHORT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("COHORT_SEEDS").unwrap_or(usual),
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("failed with COHORT_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

/// Runs a part of a simulated process; `None` if it ended by fail-stop.
pub fn until_fail_stop<R>(part: impl FnOnce() -> R) -> Option<R> {
    static SILENT: Once = Once::new();
    SILENT.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<FailStop>() {
                usual(info);
            }
        }));
    });
    match catch_unwind(AssertUnwindSafe(part)) {
        Ok(result) => Some(result),
        Err(panic) if panic.is::<FailStop>() => None,
        Err(other) => resume_unwind(other),
    }
}

/// Drops what belongs to a simulated process that is gone: its rollbacks find no disk.
pub fn bury<T>(remains: T) {
    let _ = until_fail_stop(|| drop(remains));
}

/// How long a test may run, by `COHORT_TEST_SECONDS`.
pub fn test_duration(default: Duration) -> Duration {
    let seconds = std::env::var("COHORT_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    seconds.map_or(default, Duration::from_secs_f64)
}
