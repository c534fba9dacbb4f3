//! Helpers of this crate's tests: a log that is only a number, and a set-up of a pool on it.
#![allow(dead_code)]

pub mod watch;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::{FileNumber, Lsn};
use cohort_buffer::{BufferPool, BufferPoolOptions, DoubleWrite, DoubleWriteOptions, DurableLog, PageId};
use sync::Arc;
use vfs::Vfs;

/// A log of which only the positions exist.
#[derive(Default)]
pub struct TestLog {
    inserted: AtomicU64,
    durable: AtomicU64,
    pub flushes: AtomicU64,
}

impl TestLog {
    /// A log that went on after a crash from `durable`.
    pub fn from(durable: Lsn) -> TestLog {
        TestLog { inserted: AtomicU64::new(durable.0), durable: AtomicU64::new(durable.0), ..TestLog::default() }
    }

    pub fn insert(&self) -> Lsn {
        Lsn(self.inserted.fetch_add(8, Ordering::SeqCst) + 8)
    }

    pub fn inserted(&self) -> Lsn {
        Lsn(self.inserted.load(Ordering::SeqCst))
    }
}

impl DurableLog for TestLog {
    fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::SeqCst))
    }

    fn flush(&self, upto: Lsn) {
        assert!(upto <= self.inserted(), "a page carries an LSN that the log never had");
        self.flushes.fetch_add(1, Ordering::SeqCst);
        self.durable.fetch_max(upto.0, Ordering::SeqCst);
    }
}

/// A pool, and what it stands on.
pub struct Stand {
    pub log: Arc<TestLog>,
    pub doublewrite: Arc<DoubleWrite>,
    pub pool: Arc<BufferPool>,
}

impl Stand {
    pub fn open(vfs: Arc<dyn Vfs>, data_dir: &Path, frames: usize, log: TestLog) -> base::Result<Stand> {
        let failed = |error| base::Error::io("could not make the data directory", &error);
        vfs.create_dir_all(data_dir).map_err(failed)?;
        vfs.sync_dir(data_dir.parent().unwrap()).map_err(failed)?;
        let log = Arc::new(log);
        let doublewrite = DoubleWrite::open(vfs.clone(), data_dir, DoubleWriteOptions::default())?;
        let options = BufferPoolOptions { frames, ..BufferPoolOptions::default() };
        let pool = BufferPool::new(vfs, &data_dir.join("base"), log.clone(), Arc::clone(&doublewrite), options)?;
        let pool = Arc::new(pool);
        Ok(Stand { log, doublewrite, pool })
    }

    /// Adds `number` to the counter at `offset` of a page, as a logged change.
    pub fn add(&self, page: PageId, offset: usize, number: u64) -> base::Result<Lsn> {
        let pinned = self.pool.pin(page)?;
        let mut view = pinned.write();
        let lsn = self.log.insert();
        let value = get(&view, offset) + number;
        put(&mut view, offset, value);
        view.set_lsn(lsn);
        Ok(lsn)
    }

    pub fn read(&self, page: PageId, offset: usize) -> base::Result<u64> {
        Ok(get(&self.pool.pin(page)?.read(), offset))
    }
}

pub fn get(page: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(page[offset..offset + 8].try_into().unwrap())
}

pub fn put(page: &mut [u8], offset: usize, value: u64) {
    page[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

pub const FILE: FileNumber = FileNumber(16384);

pub fn page(block: u32) -> PageId {
    PageId::new(FILE, block)
}

/// A directory that a simulated disk does not have yet.
pub fn data_dir() -> PathBuf {
    PathBuf::from("/data")
}

/// How many random rounds a test does: `COHORT_TEST_ROUNDS` times as many as by default.
pub fn rounds(default: u64) -> u64 {
    let factor: u64 = std::env::var("COHORT_TEST_ROUNDS").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1);
    default * factor
}
