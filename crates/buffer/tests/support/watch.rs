//! A file system that looks at every page that is written.

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use base::Lsn;
use cohort_buffer::{DurableLog, PAGE_BYTES, page_lsn};
use sync::Arc;
use vfs::{File, OpenMode, Vfs};

/// Fails the test when a page gets to any file before the log that justifies it (R1).
pub struct WatchingVfs<V> {
    pub inner: V,
    pub log: Arc<OnceLock<Arc<dyn DurableLog>>>,
}

impl<V: Vfs> WatchingVfs<V> {
    pub fn new(inner: V) -> WatchingVfs<V> {
        WatchingVfs { inner, log: Arc::default() }
    }
}

struct WatchedFile {
    inner: Arc<dyn File>,
    log: Arc<OnceLock<Arc<dyn DurableLog>>>,
}

impl<V: Vfs> Vfs for WatchingVfs<V> {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(WatchedFile { inner: self.inner.open(path, mode)?, log: Arc::clone(&self.log) }))
    }
    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.inner.open_datasync(path, mode)
    }
    fn open_direct(&self, path: &Path, mode: OpenMode, datasync: bool) -> io::Result<Arc<dyn File>> {
        self.inner.open_direct(path, mode, datasync)
    }
    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_dir(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_dir_all(path)
    }
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.inner.lock_exclusive(path)
    }
    fn now_micros(&self) -> u64 {
        self.inner.now_micros()
    }
    fn sleep(&self, duration: Duration) {
        self.inner.sleep(duration);
    }
    fn fail_stop(&self, message: &str) -> ! {
        self.inner.fail_stop(message)
    }
}

impl File for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_exact_at(buffer, offset)
    }
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let durable = self.log.get().map_or(Lsn::ZERO, |log| log.durable());
        for page in bytes.chunks_exact(PAGE_BYTES).filter(|page| !page.starts_with(b"COHORTDW")) {
            assert!(
                page_lsn(page) <= durable,
                "a page of {} is written, the log is durable to {durable}",
                page_lsn(page)
            );
        }
        self.inner.write_all_at(bytes, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.inner.sync_all()
    }
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }
    fn allocate_zeroed(&self, len: u64) -> io::Result<()> {
        self.inner.allocate_zeroed(len)
    }
}
