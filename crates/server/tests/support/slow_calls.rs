//! Real files whose slow calls are slow for certain, and which note those that a worker's thread makes. Syncs do nothing but take their
//! time, since nothing crashes: what is measured doesn't depend on the machine's disk.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vfs::{File, OpenMode, RealVfs, Vfs};

/// A call that may take as long as the disk likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Sync,
    SyncDirectory,
    Remove,
    SetLength,
    Rename,
}

/// The calls that workers made, by the part of the data directory they were about, and how often.
pub type Met = BTreeMap<(Call, String), usize>;

/// The disk. Clones share it.
#[derive(Clone)]
pub struct SlowCalls {
    inner: RealVfs,
    watch: Arc<Watch>,
}

#[derive(Default)]
struct Watch {
    latency_us: AtomicU64,
    /// Calls that are not slow, by the part of the data directory they are about.
    swift: Mutex<Vec<(Call, &'static str)>>,
    met: Mutex<Met>,
}

impl SlowCalls {
    /// A disk that is not slow yet.
    pub fn new() -> SlowCalls {
        SlowCalls { inner: RealVfs::new(), watch: Arc::default() }
    }

    /// How long each slow call takes at least, from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.watch.latency_us.store(latency.as_micros() as u64, Ordering::SeqCst);
    }

    /// These calls take no time of their own, from now on.
    pub fn set_swift(&self, calls: &[(Call, &'static str)]) {
        *self.watch.swift.lock().unwrap() = calls.to_vec();
    }

    /// The calls of workers since this was asked last.
    pub fn take_met(&self) -> Met {
        std::mem::take(&mut self.watch.met.lock().unwrap())
    }

    fn wrap(&self, path: &Path, file: io::Result<Arc<dyn File>>) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SlowFile { inner: file?, path: path.to_owned(), watch: self.watch.clone() }))
    }
}

impl Watch {
    fn call<R>(&self, call: Call, path: &Path, run: impl FnOnce() -> R) -> R {
        let part = part_of(path);
        let is_swift = self.swift.lock().unwrap().contains(&(call, part.as_str()));
        if is_worker() {
            *self.met.lock().unwrap().entry((call, part)).or_default() += 1;
        }
        if !is_swift {
            std::thread::sleep(Duration::from_micros(self.latency_us.load(Ordering::SeqCst)));
        }
        run()
    }
}

/// Whether the caller is a worker of the server.
fn is_worker() -> bool {
    std::thread::current().name().is_some_and(|name| name.starts_with("worker "))
}

/// The first name within the data directory.
fn part_of(path: &Path) -> String {
    let mut names = path.iter().skip_while(|name| *name != "data").skip(1);
    names.next().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

impl Vfs for SlowCalls {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.wrap(path, self.inner.open(path, mode))
    }

    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.wrap(path, self.inner.open_datasync(path, mode))
    }

    fn open_direct(&self, path: &Path, mode: OpenMode, datasync: bool) -> io::Result<Arc<dyn File>> {
        self.wrap(path, self.inner.open_direct(path, mode, datasync))
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.watch.call(Call::Remove, path, || self.inner.remove_file(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watch.call(Call::Rename, to, || self.inner.rename(from, to))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.watch.call(Call::SyncDirectory, path, || Ok(()))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.watch.call(Call::Remove, path, || self.inner.remove_dir_all(path))
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

struct SlowFile {
    inner: Arc<dyn File>,
    path: PathBuf,
    watch: Arc<Watch>,
}

impl File for SlowFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_exact_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.watch.call(Call::Sync, &self.path, || Ok(()))
    }

    fn sync_all(&self) -> io::Result<()> {
        self.watch.call(Call::Sync, &self.path, || Ok(()))
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watch.call(Call::SetLength, &self.path, || self.inner.set_len(len))
    }

    fn allocate_zeroed(&self, len: u64) -> io::Result<()> {
        self.inner.allocate_zeroed(len)
    }
}
