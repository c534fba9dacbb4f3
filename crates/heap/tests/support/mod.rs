//! A database in miniature: log, pages, commit log, locks, and transactions without a transaction manager.
//! It knows no heap and no index, so that both crates' tests can use it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{CommandId, FileNumber, Lsn, OwnerId, Result, Xid};
use buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, LateLog};
use clog::{ClogBits, Snapshot, StatusStore, StatusStoreOptions, TxnCtx};
use lockmgr::{LockManager, LockMark, Scope};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Interrupt, Mutex};
use vfs::{RealVfs, Vfs};
use wal::{Epoch, Record, RecordHead, RmgrId, Wal, WalControl, WalOptions};

pub const OWNERS: u32 = 256;
const COMMIT: u8 = 1;
const ABORT: u8 = 2;

/// The snapshots in use, and the removal floor that they allow.
pub struct Snapshots {
    /// The horizon of a new snapshot.
    pub horizon: AtomicU64,
    floor: AtomicU64,
    in_use: Mutex<Vec<u64>>,
}

impl Snapshots {
    fn new(horizon: Lsn) -> Snapshots {
        let in_use = Mutex::new(vec![u64::MAX; OWNERS as usize]);
        Snapshots { horizon: AtomicU64::new(horizon.0), floor: AtomicU64::new(0), in_use }
    }

    fn take(&self, owner: OwnerId) -> Lsn {
        let mut in_use = self.in_use.lock();
        let horizon = self.horizon.load(Ordering::SeqCst);
        in_use[owner.0 as usize] = horizon;
        Lsn(horizon)
    }

    fn give_back(&self, owner: OwnerId) {
        self.in_use.lock()[owner.0 as usize] = u64::MAX;
    }

    /// Raises the floor to the oldest snapshot in use.
    pub fn raise_floor(&self) {
        let in_use = self.in_use.lock();
        let oldest = in_use.iter().copied().min().unwrap_or(u64::MAX);
        self.floor.fetch_max(oldest.min(self.horizon.load(Ordering::SeqCst)), Ordering::SeqCst);
    }

    pub fn floor(&self) -> Lsn {
        Lsn(self.floor.load(Ordering::Relaxed))
    }
}

/// The fields that a control file would hold.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub redo: Lsn,
    pub epoch: Epoch,
    pub next_xid: Xid,
}

pub struct Db {
    pub vfs: Arc<dyn Vfs>,
    pub pool: Arc<BufferPool>,
    pub wal: Arc<Wal>,
    pub status: Arc<StatusStore>,
    pub locks: Arc<LockManager>,
    pub snapshots: Arc<Snapshots>,
    next_xid: AtomicU64,
    /// Commits whose bits are not set yet.
    unretired: Mutex<Vec<(Xid, Lsn)>>,
    directory: Option<tempfile::TempDir>,
}

#[derive(Clone)]
pub struct Options {
    pub frames: usize,
    pub wal: WalOptions,
}

impl Options {
    pub fn small() -> Options {
        let wal = WalOptions {
            segment_size_bytes: 1 << 18,
            buffers_bytes: 1 << 18,
            segments_ahead: 1,
            ..WalOptions::default()
        };
        Options { frames: 256, wal }
    }

    pub fn large() -> Options {
        Options { frames: 1 << 15, wal: WalOptions { fsync: false, ..WalOptions::default() } }
    }
}

/// Redo of everything but transactions: the record, and the pages.
pub type Redo<'a> = &'a mut dyn FnMut(&Record<'_>, &BufferPool) -> Result<()>;

impl Db {
    /// A new one on a real file system, for this test alone.
    pub fn new(options: Options) -> Db {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let vfs: Arc<dyn Vfs> = Arc::new(RealVfs::new());
        let mut db = Db::create(&vfs, directory.path(), options).expect("a database can be made");
        db.directory = Some(directory);
        db
    }

    pub fn create(vfs: &Arc<dyn Vfs>, directory: &Path, options: Options) -> Result<Db> {
        let failed = |error| base::Error::io("mkdir", &error);
        vfs.create_dir_all(directory).map_err(failed)?;
        vfs.sync_dir(directory.parent().expect("it is not the root")).map_err(failed)?;
        let late_log = Arc::new(LateLog::new());
        let (pool, status) = stores(vfs, directory, &late_log, Xid::FIRST_NORMAL, options.frames)?;
        let wal = Arc::new(Wal::create(vfs.clone(), &directory.join("wal"), options.wal)?);
        late_log.attach(wal.clone());
        Ok(Db::assemble(vfs, pool, wal, status, Xid::FIRST_NORMAL))
    }

    /// Recovers what a crash left.
    pub fn recover(
        vfs: &Arc<dyn Vfs>,
        directory: &Path,
        control: Control,
        options: Options,
        redo: Redo<'_>,
        page_lsn_met: Arc<AtomicU64>,
    ) -> Result<Db> {
        buffer::doublewrite::recover(&**vfs, directory)?;
        let late_log = Arc::new(LateLog::new());
        let (pool, status) = stores(vfs, directory, &late_log, control.next_xid, options.frames)?;
        let mut next_xid = control.next_xid;
        let wal_control =
            WalControl { redo: control.redo, epoch: control.epoch, durable_floor: control.redo, page_lsn_met };
        let wal = Wal::recover(vfs.clone(), &directory.join("wal"), wal_control, options.wal, |record| {
            next_xid = next_xid.max(Xid(record.head.xid.0 + 1));
            match (record.head.rmgr, record.head.info) {
                (RmgrId::XACT, COMMIT) => status.set_bits(&[(record.head.xid, ClogBits::Committed)], record.end),
                (RmgrId::XACT, _) => status.set_bits(&[(record.head.xid, ClogBits::Aborted)], record.end),
                _ => redo(record, &pool)?,
            }
            Ok(())
        })?;
        let wal = Arc::new(wal);
        late_log.attach(wal.clone());
        Ok(Db::assemble(vfs, pool, wal, status, next_xid))
    }

    fn assemble(vfs: &Arc<dyn Vfs>, pool: BufferPool, wal: Arc<Wal>, status: StatusStore, next_xid: Xid) -> Db {
        status.start(next_xid);
        Db {
            vfs: vfs.clone(),
            pool: Arc::new(pool),
            snapshots: Arc::new(Snapshots::new(wal.reserved())),
            wal,
            status: Arc::new(status),
            locks: Arc::new(LockManager::new(OWNERS)),
            next_xid: AtomicU64::new(next_xid.0),
            unretired: Mutex::default(),
            directory: None,
        }
    }

    pub fn next_xid(&self) -> Xid {
        Xid(self.next_xid.load(Ordering::SeqCst))
    }

    pub fn begin(&self, owner: u32) -> Txn<'_> {
        let owner = OwnerId(owner);
        // Xids are given out in order, and known before anybody can meet them.
        let xid = {
            let _order = self.unretired.lock();
            let xid = Xid(self.next_xid.load(Ordering::SeqCst));
            self.status.assigned(xid);
            self.next_xid.store(xid.0 + 1, Ordering::SeqCst);
            xid
        };
        self.locks.transaction_started(xid, owner);
        let snapshot = Snapshot { csn: self.snapshots.take(owner), command: CommandId(0) };
        Txn {
            db: self,
            owner,
            xid,
            top_xid: xid,
            snapshot,
            command: CommandId(0),
            observed: AtomicU64::new(0),
            interrupt: Interrupt::new(),
            children: Vec::new(),
            ended: false,
        }
    }

    /// Everything so far is durable, and its bits are set.
    pub fn settle(&self) {
        self.wal.flush(self.wal.reserved());
        let durable = self.wal.durable();
        let mut unretired = self.unretired.lock();
        let (ready, rest) = unretired.drain(..).partition(|(_, csn)| *csn <= durable);
        *unretired = rest;
        drop(unretired);
        let ready: Vec<(Xid, Lsn)> = ready;
        let bits: Vec<_> = ready.iter().map(|(xid, _)| (*xid, ClogBits::Committed)).collect();
        self.status.set_bits(&bits, durable);
        self.snapshots.raise_floor();
        self.status.trim(self.snapshots.floor(), durable).expect("the csn store can spill");
    }

    /// Nobody runs meanwhile.
    pub fn checkpoint(&self) -> Control {
        let redo = self.wal.at_insertion_point(|end| end);
        self.settle();
        self.status.checkpoint();
        self.pool.flush_dirty(redo, &mut |_| {});
        Control { redo, epoch: self.wal.epoch(), next_xid: self.next_xid() }
    }

    /// Where redo begins if there was no checkpoint.
    pub fn first_control(&self, options: &Options) -> Control {
        Control { redo: Lsn(options.wal.segment_size_bytes), epoch: Epoch::FIRST, next_xid: Xid::FIRST_NORMAL }
    }
}

fn stores(
    vfs: &Arc<dyn Vfs>,
    directory: &Path,
    log: &Arc<LateLog>,
    next_xid: Xid,
    frames: usize,
) -> Result<(BufferPool, StatusStore)> {
    let area = DoubleWrite::open(vfs.clone(), directory, DoubleWriteOptions::default())?;
    let base_dir: PathBuf = directory.join("base");
    let pool = BufferPool::new(
        vfs.clone(),
        &base_dir,
        log.clone(),
        area.clone(),
        BufferPoolOptions { frames, ..BufferPoolOptions::default() },
    )?;
    let options = StatusStoreOptions {
        csn_window: 1 << 16,
        transaction_buffers: 16,
        next_xid_at_checkpoint: next_xid,
        ..StatusStoreOptions::default()
    };
    let status = StatusStore::open(vfs.clone(), directory, log.clone(), area, options)?;
    Ok((pool, status))
}

/// A running transaction.
pub struct Txn<'a> {
    pub db: &'a Db,
    pub owner: OwnerId,
    pub xid: Xid,
    pub top_xid: Xid,
    pub snapshot: Snapshot,
    pub command: CommandId,
    pub observed: AtomicU64,
    interrupt: Interrupt,
    children: Vec<Xid>,
    ended: bool,
}

/// A savepoint: the subtransaction outside it, and the locks held then.
pub struct Savepoint {
    outer: Xid,
    mark: LockMark,
    children: usize,
}

impl Txn<'_> {
    pub fn ctx(&self) -> TxnCtx<'_> {
        TxnCtx {
            xid: self.xid,
            top_xid: self.top_xid,
            snapshot: self.snapshot,
            command: self.command,
            status: &self.db.status,
            observed: &self.observed,
            owner: self.owner,
            interrupt: &self.interrupt,
            lock_timeout: Some(Duration::from_secs(20)),
            deadlock_timeout: Duration::from_millis(200),
            watch: None,
        }
    }

    /// The next command sees what the ones before it did.
    pub fn next_command(&mut self) {
        self.command.0 += 1;
        self.snapshot.command = self.command;
    }

    /// Read committed: sees what is committed now.
    pub fn new_snapshot(&mut self) {
        self.snapshot.csn = self.db.snapshots.take(self.owner);
        self.next_command();
    }

    pub fn savepoint(&mut self) -> Savepoint {
        let db = self.db;
        let savepoint = Savepoint { outer: self.xid, mark: db.locks.mark(self.owner), children: self.children.len() };
        let _order = db.unretired.lock();
        self.xid = Xid(db.next_xid.load(Ordering::SeqCst));
        db.status.assigned(self.xid);
        db.status.set_parent(self.xid, self.top_xid);
        db.next_xid.store(self.xid.0 + 1, Ordering::SeqCst);
        db.locks.transaction_started(self.xid, self.owner);
        self.children.push(self.xid);
        savepoint
    }

    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        let end = self.db.wal.insert(RecordHead { rmgr: RmgrId::XACT, info: ABORT, xid: self.xid }, &[]).end;
        for child in self.children.drain(savepoint.children..) {
            self.db.status.set_aborted(child);
            self.db.status.set_transaction_bits(child, &[], ClogBits::Aborted, end);
            self.db.locks.transaction_ended(child);
        }
        self.db.locks.unlock_all(self.owner, Scope::Subtransaction(savepoint.mark));
        self.xid = savepoint.outer;
        self.next_command();
    }

    /// Returns the csn.
    pub fn commit(mut self) -> Lsn {
        let db = self.db;
        db.wal.ensure_room(64);
        let head = RecordHead { rmgr: RmgrId::XACT, info: COMMIT, xid: self.top_xid };
        let (inserted, ()) = db.wal.insert_then(head, &[], |end| {
            db.status.set_committed(self.top_xid, end);
            db.snapshots.horizon.fetch_max(end.0, Ordering::SeqCst);
        });
        {
            let mut unretired = db.unretired.lock();
            unretired.push((self.top_xid, inserted.end));
            unretired.extend(self.children.iter().map(|child| (*child, inserted.end)));
        }
        self.end();
        inserted.end
    }

    pub fn abort(self) {}

    fn end(&mut self) {
        self.ended = true;
        self.db.locks.unlock_all(self.owner, Scope::Transaction);
        for child in &self.children {
            self.db.locks.transaction_ended(*child);
        }
        self.db.locks.transaction_ended(self.top_xid);
        self.db.snapshots.give_back(self.owner);
    }
}

impl Drop for Txn<'_> {
    /// A transaction that was not committed aborts.
    fn drop(&mut self) {
        if self.ended || std::thread::panicking() {
            return;
        }
        let db = self.db;
        let end = db.wal.insert(RecordHead { rmgr: RmgrId::XACT, info: ABORT, xid: self.top_xid }, &[]).end;
        for child in &self.children {
            db.status.set_aborted(*child);
        }
        db.status.set_aborted(self.top_xid);
        db.status.set_transaction_bits(self.top_xid, &self.children, ClogBits::Aborted, end);
        self.end();
    }
}

/// The blocks of a file, as they are in memory.
pub fn pages_of(pool: &BufferPool, file: FileNumber) -> Vec<Vec<u8>> {
    (0..pool.block_count(file).expect("the file exists"))
        .map(|block| pool.pin(buffer::PageId::new(file, block)).expect("the page is sound").read().to_vec())
        .collect()
}

/// How much longer than by default a random test runs, by `COHORT_TEST_SCALE`.
pub fn scale() -> u64 {
    std::env::var("COHORT_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}
