//! Any files, on a disk whose sync takes a while.
#![allow(unused_variables)]
use super::*;

/// Another [`Vfs`] whose syncs take at least a given time, one after the other.
pub struct SlowedVfs {}

impl SlowedVfs {
    /// `inner` with syncs of at least `sync_latency`.
    pub fn new(inner: Arc<dyn Vfs>, sync_latency: Duration) -> SlowedVfs {
        todo!()
    }
    /// Changes the latency of the syncs to come.
    pub fn set_sync_latency(&self, sync_latency: Duration) {
        todo!()
    }
}

impl Vfs for SlowedVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        todo!()
    }
    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        todo!()
    }
    fn exists(&self, path: &Path) -> bool {
        todo!()
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        todo!()
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        todo!()
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        todo!()
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<String>> {
        todo!()
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        todo!()
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        todo!()
    }
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        todo!()
    }
    fn now_micros(&self) -> u64 {
        todo!()
    }
    fn sleep(&self, duration: Duration) {
        todo!()
    }
    fn fail_stop(&self, message: &str) -> ! {
        todo!()
    }
}
