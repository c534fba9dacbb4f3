//! A disk that exists only in memory, crashes at any call, and fails on order.
//!
//! It keeps every file and every directory twice, as readers see it and as it is on the disk, and
//! the changes in between. A sync settles the changes. A crash decides about those that are not
//! settled ([`Survival`]):
//!
//! - Each 512-byte sector is as it was at any of its moments since the sync.
//! - Each file's length is as it was at any of its moments since the sync.
//! - Each making, removal or renaming of a name is there, or is not.
//!
//! States that no order of write-back could leave behind are not tried. Every other state is legal,
//! and a program whose data outlives all of them needs no luck.
//!
//! The disk does not simulate sectors torn in the middle, bits that rot (see
//! [`SimulatedVfs::flip_bit`]), or a disk that lies about syncs other than by [`Fault::FailSync`].

mod content;
mod disk;
mod names;
mod survival;

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::whole;
use crate::{DIRECT_BLOCK_BYTES, File, OpenMode, Vfs};
use disk::{Disk, SyncTarget};
use names::{NodeNumber, Tree};
pub use survival::Survival;

/// The end of a simulated process that ends itself by [`Vfs::fail_stop`]: the payload of the thread's panic, for
/// `catch_unwind` or `JoinHandle::join`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailStop(pub String);

/// A failure on order. Calls of a kind are counted from 1, from the moment the disk was made; each fault comes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power fails at this call, counted over all calls that change the disk or sync it: any part of its effect may
    /// survive, and no later call is answered.
    CrashAtCall(u64),
    /// The n-th write fails (EIO), after any part of it.
    FailWrite(u64),
    /// The n-th sync of a file or directory fails (EIO). As on Linux, what it did not write is no longer known to be
    /// unwritten: later syncs succeed without writing it, and readers see it until the power fails.
    FailSync(u64),
    /// The n-th sync of a directory fails (EIO), as [`Fault::FailSync`] says.
    FailDirectorySync(u64),
    /// The n-th sync of a directory fails for want of room (ENOSPC), as [`Fault::FailSync`] says.
    NoSpaceForDirectorySync(u64),
    /// The n-th call that cuts a file or extends it with a hole fails (EIO), and changes nothing.
    FailSetLength(u64),
    /// The n-th removal of a file's name fails (EIO), and changes nothing.
    FailRemoval(u64),
    /// The n-th read fails (EIO).
    FailRead(u64),
    /// The n-th write and all after it that need new space fail (ENOSPC), after the part that needs none. Comes again
    /// until [`SimulatedVfs::clear_faults`].
    NoSpaceFromWrite(u64),
    /// The n-th write is cut short without error.
    ShortWrite(u64),
    /// The n-th write is interrupted by a signal (EINTR) before it wrote anything.
    InterruptedWrite(u64),
    /// The n-th read is interrupted by a signal (EINTR).
    InterruptedRead(u64),
}

/// How a [`SimulatedVfs`] behaves.
#[derive(Clone, Debug)]
pub struct SimulatedOptions {
    /// Decides everything that is left open.
    pub seed: u64,
    /// Which unsynced changes live through a crash.
    pub survival: Survival,
    /// The failures to come, and their moments.
    pub faults: Vec<Fault>,
}

impl SimulatedOptions {
    /// Nothing goes wrong before a crash, and that leaves what the seed says.
    pub fn new(seed: u64) -> SimulatedOptions {
        SimulatedOptions { seed, survival: Survival::Seeded, faults: Vec::new() }
    }
}

/// A disk in memory. Clones share it.
///
/// ```
/// use cohort_vfs::{Fault, OpenMode, SimulatedVfs, Vfs};
///
/// let disk = SimulatedVfs::new(1);
/// let file = disk.open("/file".as_ref(), OpenMode::CreateNew).unwrap();
/// disk.sync_dir("/".as_ref()).unwrap();
/// file.write_all_at(b"safe", 0).unwrap();
/// file.sync_data().unwrap();
/// disk.add_fault(Fault::CrashAtCall(disk.io_calls() + 1));
/// assert!(file.write_all_at(b"open", 0).is_err());
///
/// let disk = disk.crash();
/// let mut bytes = [0; 4];
/// disk.open("/file".as_ref(), OpenMode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
/// assert!(&bytes == b"safe" || &bytes == b"open");
/// ```
#[derive(Clone)]
pub struct SimulatedVfs {
    shared: Arc<Shared>,
}

/// A call that runs the hook; the hook runs before the call except for `Opened`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookedCall<'a> {
    /// A file is about to be opened.
    Open(&'a Path),
    /// A file has been opened, and the caller is about to hear of it.
    Opened(&'a Path),
    /// A file is about to be cut, or extended with a hole.
    SetLength,
    /// A file's name is about to be removed.
    Remove(&'a Path),
    /// A directory is about to be synced.
    SyncDirectory(&'a Path),
}

type Hook = Arc<dyn Fn(HookedCall<'_>) + Send + Sync>;

struct Shared {
    /// Guards everything on the disk; nothing is waited for while it is held.
    disk: Mutex<Disk>,
    /// Not held while the hook runs.
    hook: Mutex<Option<Hook>>,
    /// This disk's time.
    now_us: AtomicU64,
}

impl SimulatedVfs {
    /// An empty disk on which nothing goes wrong before a crash.
    pub fn new(seed: u64) -> SimulatedVfs {
        SimulatedVfs::with_options(SimulatedOptions::new(seed))
    }

    /// An empty disk.
    pub fn with_options(options: SimulatedOptions) -> SimulatedVfs {
        SimulatedVfs::with_tree(options, Tree::new())
    }

    fn with_tree(options: SimulatedOptions, tree: Tree) -> SimulatedVfs {
        SimulatedVfs::of(Disk::new(options, tree))
    }

    /// The disk that comes after another one, for a process that may have as many files open as the one before.
    fn succeeding(before: &Disk, options: SimulatedOptions, tree: Tree) -> SimulatedVfs {
        let mut disk = Disk::new(options, tree);
        disk.set_open_max(before.open_max());
        SimulatedVfs::of(disk)
    }

    fn of(disk: Disk) -> SimulatedVfs {
        let disk = Mutex::new(disk);
        let shared = Shared { disk, hook: Mutex::new(None), now_us: AtomicU64::new(0) };
        SimulatedVfs { shared: Arc::new(shared) }
    }

    /// Adds a failure to those on order.
    pub fn add_fault(&self, fault: Fault) {
        self.shared.disk.lock().add_fault(fault);
    }

    /// Nothing is to go wrong any more.
    pub fn clear_faults(&self) {
        self.shared.disk.lock().clear_faults();
    }

    /// Has `hook` run before each call of some kinds, on the caller's thread: for tests that need something else to happen at
    /// that moment. It may use the disk. A second hook takes the place of the first.
    pub fn set_hook(&self, hook: impl Fn(HookedCall<'_>) + Send + Sync + 'static) {
        *self.shared.hook.lock() = Some(Arc::new(hook));
    }

    fn run_hook(&self, call: HookedCall<'_>) {
        let hook = self.shared.hook.lock().clone();
        if let Some(hook) = hook {
            hook(call);
        }
    }

    /// Cuts the power: every later call on this disk fails, and the disk that comes back holds what survived. Its seed
    /// follows from this one's.
    pub fn crash(&self) -> SimulatedVfs {
        let options = self.shared.disk.lock().successor();
        self.crash_with(options)
    }

    /// As [`SimulatedVfs::crash`]: `options` decide what survives, and are those of the disk that comes back. Can be done
    /// again with other options, on a disk that has crashed, for another outcome of the same crash.
    pub fn crash_with(&self, options: SimulatedOptions) -> SimulatedVfs {
        let mut disk = self.shared.disk.lock();
        disk.power_off();
        let tree = disk.after_crash(options.seed, options.survival);
        SimulatedVfs::succeeding(&disk, options, tree)
    }

    /// The disk that a crash now would leave; this one goes on.
    pub fn survivor(&self, options: SimulatedOptions) -> SimulatedVfs {
        let disk = self.shared.disk.lock();
        let tree = disk.after_crash(options.seed, options.survival);
        SimulatedVfs::succeeding(&disk, options, tree)
    }

    /// Ends the process but not the power: every later call on this disk fails, and the new one holds everything, what
    /// was not synced still being so.
    pub fn kill(&self) -> SimulatedVfs {
        let mut disk = self.shared.disk.lock();
        disk.power_off();
        let options = disk.successor();
        let tree = disk.tree().clone();
        SimulatedVfs::succeeding(&disk, options, tree)
    }

    /// How many calls were made that change the disk or sync it: what [`Fault::CrashAtCall`] counts.
    pub fn io_calls(&self) -> u64 {
        self.shared.disk.lock().calls()
    }

    /// How many writes were made: what the faults of writes count.
    pub fn writes(&self) -> u64 {
        self.shared.disk.lock().writes()
    }

    /// How many syncs were made, of files and directories: what [`Fault::FailSync`] counts.
    pub fn syncs(&self) -> u64 {
        self.shared.disk.lock().syncs()
    }

    /// How many syncs of directories were made: what [`Fault::FailDirectorySync`] counts.
    pub fn directory_syncs(&self) -> u64 {
        self.shared.disk.lock().directory_syncs()
    }

    /// How many calls were made that set a file's length: what [`Fault::FailSetLength`] counts.
    pub fn set_lengths(&self) -> u64 {
        self.shared.disk.lock().set_lengths()
    }

    /// How many files' names were removed, one by one: what [`Fault::FailRemoval`] counts.
    pub fn removals(&self) -> u64 {
        self.shared.disk.lock().removals()
    }

    /// How many reads were made: what [`Fault::FailRead`] counts.
    pub fn reads(&self) -> u64 {
        self.shared.disk.lock().reads()
    }

    /// From now on so many files may be open at a time, locked ones among them; one more fails with EMFILE, and so does a look at
    /// a directory or its sync, which takes a handle for a moment. Holds for the disks that come after this one, too.
    pub fn set_open_max(&self, open_max: usize) {
        self.shared.disk.lock().set_open_max(open_max);
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        self.shared.disk.lock().open_files()
    }

    /// How many files were open at a time, at the most.
    pub fn most_open(&self) -> usize {
        self.shared.disk.lock().most_open()
    }

    /// How many calls were refused with EMFILE.
    pub fn opens_refused(&self) -> u64 {
        self.shared.disk.lock().opens_refused()
    }

    /// Whether the power is off.
    pub fn is_crashed(&self) -> bool {
        self.shared.disk.lock().is_crashed()
    }

    /// A copy of all that readers see: path and bytes of each file, sorted.
    pub fn contents(&self) -> Vec<(String, Vec<u8>)> {
        self.shared.disk.lock().tree().contents()
    }

    /// Flips one bit, on the disk and in the cache: damage that no crash explains.
    pub fn flip_bit(&self, path: &Path, byte: u64, bit: u8) -> io::Result<()> {
        let mut disk = self.shared.disk.lock();
        let node = disk.look()?.find_file(path)?;
        if disk.tree_mut().change_file(node).0.flip_bit(byte, bit) {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "there is no such byte"))
        }
    }

    fn disk(&self) -> parking_lot::MutexGuard<'_, Disk> {
        // Time passes, so that loops that look at the clock end.
        self.shared.now_us.fetch_add(1, Ordering::Relaxed);
        self.shared.disk.lock()
    }

    fn open_file(&self, path: &Path, mode: OpenMode, writes_sync: bool) -> io::Result<Arc<dyn File>> {
        self.run_hook(HookedCall::Open(path));
        let mut disk = self.disk();
        disk.open_handle()?;
        let found = disk.look().and_then(|tree| tree.find_file(path));
        let node = match (mode, found) {
            (OpenMode::CreateNew, _) => disk.change_names(|tree| tree.create_file(path)),
            (OpenMode::Create, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                disk.change_names(|tree| tree.create_file(path))
            }
            (_, found) => found,
        };
        let node = node.inspect_err(|_| disk.close_handle())?;
        drop(disk);
        let is_writable = mode != OpenMode::Read;
        let file = SimulatedFile { vfs: self.clone(), node, is_writable, writes_sync };
        self.run_hook(HookedCall::Opened(path));
        Ok(Arc::new(file))
    }
}

impl std::fmt::Debug for SimulatedVfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let disk = self.shared.disk.lock();
        f.debug_struct("SimulatedVfs")
            .field("seed", &disk.seed())
            .field("io_calls", &disk.calls())
            .field("is_crashed", &disk.is_crashed())
            .finish_non_exhaustive()
    }
}

impl Vfs for SimulatedVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.open_file(path, mode, false)
    }

    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.open_file(path, mode, true)
    }

    fn open_direct(&self, path: &Path, mode: OpenMode, datasync: bool) -> io::Result<Arc<dyn File>> {
        let inner = self.open_file(path, mode, datasync)?;
        Ok(Arc::new(DirectFile { inner }))
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk().look().is_ok_and(|tree| tree.find(path).is_ok())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.run_hook(HookedCall::Remove(path));
        self.disk().remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk().change_names(|tree| tree.rename(from, to))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk().change_names(|tree| tree.create_directories(path))
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk().with_directory(|disk| disk.look()?.list(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.run_hook(HookedCall::SyncDirectory(path));
        self.disk().with_directory(|disk| disk.sync(SyncTarget::Directory(path)))
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        match self.disk().change_names(|tree| tree.remove_directory(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        let file = self.open(path, OpenMode::Create)?;
        let mut disk = self.disk();
        let node = disk.look()?.find_file(path)?;
        if !disk.lock(node) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimulatedLock { vfs: self.clone(), node, _file: file }))
    }

    fn now_micros(&self) -> u64 {
        self.shared.now_us.load(Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) {
        self.shared.now_us.fetch_add(duration.as_micros() as u64, Ordering::Relaxed);
        // Simulated time is free, but a thread that only sleeps must not take the processor from those that work.
        thread::sleep((duration / 100).min(Duration::from_millis(1)));
    }

    fn fail_stop(&self, message: &str) -> ! {
        let mut disk = self.shared.disk.lock();
        if !disk.is_crashed() {
            eprintln!("a simulated process stops: {message}");
        }
        disk.power_off();
        drop(disk);
        // Past the panic hook: this is an outcome that the harness expects, not a failure of the test.
        std::panic::resume_unwind(Box::new(FailStop(message.to_owned())));
    }
}

struct SimulatedLock {
    vfs: SimulatedVfs,
    node: NodeNumber,
    _file: Arc<dyn File>,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.vfs.shared.disk.lock().unlock(self.node);
    }
}

struct SimulatedFile {
    vfs: SimulatedVfs,
    node: NodeNumber,
    is_writable: bool,
    /// Opened with O_DSYNC.
    writes_sync: bool,
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.vfs.shared.disk.lock().close_handle();
    }
}

impl SimulatedFile {
    fn check_writable(&self) -> io::Result<()> {
        if self.is_writable {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file was opened for reading"))
        }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.vfs.disk().read(self.node, buffer, offset)
    }
}

impl File for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        whole::read_up_to(buffer, offset, |buffer, offset| self.read(buffer, offset))
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        whole::read_exact(buffer, offset, |buffer, offset| self.read(buffer, offset))
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        whole::write_all(bytes, offset, |bytes, offset| {
            self.vfs.disk().write(self.node, bytes, offset, self.writes_sync)
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.vfs.disk().sync(SyncTarget::File(self.node))
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.vfs.disk().look()?.file(self.node).bytes().len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.vfs.run_hook(HookedCall::SetLength);
        self.vfs.disk().set_length(self.node, len)
    }

    fn allocate_zeroed(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        while self.len()? < len {
            match self.vfs.disk().extend_with_zeros(self.node, len, self.writes_sync) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => other.map(|_| ())?,
            }
        }
        Ok(())
    }
}

/// A simulated file that takes no writes but such as a direct file of the operating system takes anywhere.
struct DirectFile {
    inner: Arc<dyn File>,
}

impl File for DirectFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_exact_at(buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let places = [offset as usize, bytes.len(), bytes.as_ptr().addr()];
        if places.iter().any(|place| !place.is_multiple_of(DIRECT_BLOCK_BYTES)) {
            return Err(io::ErrorKind::InvalidInput.into());
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
