//! The files of the operating system.
#![allow(unused_variables)]
use super::*;

/// The files of the operating system.
#[derive(Clone, Debug, Default)]
pub struct RealVfs {}

impl RealVfs {
    /// The operating system's files; the clock starts at 0 now.
    pub fn new() -> RealVfs {
        RealVfs::default()
    }
}

impl Vfs for RealVfs {
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
