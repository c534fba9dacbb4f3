//! Any files, on a disk whose sync takes a while.
//!
//! The gain of group commit depends on how long a sync takes. [`SlowedVfs`] makes a machine with a
//! fast disk measure like a machine with a slow disk: a sync takes at least the given time, hardly
//! using a processor, and one disk does one sync at a time.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::{File, OpenMode, Vfs};

/// Another [`Vfs`] whose syncs take at least a given time, one after the other. Clones share the disk.
#[derive(Clone)]
pub struct SlowedVfs {
    inner: Arc<dyn Vfs>,
    disk: Arc<Disk>,
}

struct Disk {
    sync_latency_us: AtomicU64,
    /// Held while a sync runs: the disk does one at a time. No other lock is taken under it.
    busy: Mutex<()>,
}

impl SlowedVfs {
    /// `inner` with syncs of at least `sync_latency`.
    pub fn new(inner: Arc<dyn Vfs>, sync_latency: Duration) -> SlowedVfs {
        let disk = Disk { sync_latency_us: AtomicU64::new(0), busy: Mutex::new(()) };
        let slowed = SlowedVfs { inner, disk: Arc::new(disk) };
        slowed.set_sync_latency(sync_latency);
        slowed
    }

    /// Changes the latency of the syncs to come.
    pub fn set_sync_latency(&self, sync_latency: Duration) {
        self.disk.sync_latency_us.store(sync_latency.as_micros() as u64, Ordering::Relaxed);
    }

    fn wrap(&self, file: io::Result<Arc<dyn File>>, writes_sync: bool) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SlowedFile { inner: file?, disk: self.disk.clone(), writes_sync }))
    }
}

impl Disk {
    fn sync<R>(&self, sync: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let busy = self.busy.lock();
        let end = Instant::now() + Duration::from_micros(self.sync_latency_us.load(Ordering::Relaxed));
        let result = sync();
        sleep_until(end);
        // In turn: a thread that syncs in a loop must not keep the others from the disk.
        MutexGuard::unlock_fair(busy);
        result
    }
}

/// Sleeps until `end` and hardly longer, without using a processor but for the last few microseconds.
///
/// A thread wakes late, by some tens of microseconds where processors themselves sleep: as much as a fast disk's sync
/// takes. So it asks to be woken earlier by what it overslept lately, and gives way to others for what is left.
fn sleep_until(end: Instant) {
    const SHORTEST: Duration = Duration::from_micros(5);
    const LONGEST_LATENESS: Duration = Duration::from_micros(200);
    thread_local! {
        static LATENESS: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }
    make_sleep_precise();
    // Forgets slowly: of a lateness as long as the sleeps themselves nothing new would ever be learned.
    LATENESS.set(LATENESS.get() * 63 / 64);
    loop {
        let now = Instant::now();
        let left = end.saturating_duration_since(now);
        if left.is_zero() {
            return;
        }
        let lateness = LATENESS.get();
        let asked = left.saturating_sub(lateness);
        if asked < SHORTEST {
            thread::yield_now();
            continue;
        }
        thread::sleep(asked);
        let late = now.elapsed().saturating_sub(asked).min(LONGEST_LATENESS);
        LATENESS.set((lateness * 7 + late) / 8);
    }
}

/// Linux lets a thread oversleep by 50 us unless told otherwise.
fn make_sleep_precise() {
    thread_local! {
        static IS_PRECISE: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_PRECISE.replace(true) {
        #[cfg(target_os = "linux")]
        // Without it sleeps are longer, not wrong.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}

impl Vfs for SlowedVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.wrap(self.inner.open(path, mode), false)
    }

    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.wrap(self.inner.open_datasync(path, mode), true)
    }

    fn open_direct(&self, path: &Path, mode: OpenMode, datasync: bool) -> io::Result<Arc<dyn File>> {
        self.wrap(self.inner.open_direct(path, mode, datasync), datasync)
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
        self.disk.sync(|| self.inner.sync_dir(path))
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

struct SlowedFile {
    inner: Arc<dyn File>,
    disk: Arc<Disk>,
    /// Opened with O_DSYNC.
    writes_sync: bool,
}

impl SlowedFile {
    fn write<R>(&self, write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        if self.writes_sync { self.disk.sync(write) } else { write() }
    }
}

impl File for SlowedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_exact_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write(|| self.inner.write_all_at(bytes, offset))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.sync(|| self.inner.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.disk.sync(|| self.inner.sync_all())
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn allocate_zeroed(&self, len: u64) -> io::Result<()> {
        self.write(|| self.inner.allocate_zeroed(len))
    }
}
