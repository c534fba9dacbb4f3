//! A disk that exists only in memory, and fails on order.
#![allow(unused_variables)]
use super::*;

/// What a simulated process panics with when it ends itself by [`Vfs::fail_stop`].
#[derive(Clone, Debug)]
pub struct FailStop(pub String);

/// Which unsynced changes live through a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// The seed decides between all the following.
    Seeded,
    /// None.
    Nothing,
    /// All.
    Everything,
    /// Those before some moment.
    Prefix,
    /// Any: each change, each 512-byte sector for itself.
    AnySubset,
}

/// A failure on order. Calls of a kind are counted from 1, from the moment the disk was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power fails at this call, counted over all calls that change the disk or sync it: it has begun and may have any part of its effect.
    CrashAtCall(u64),
    /// The n-th write fails (EIO); a part of it may have happened.
    FailWrite(u64),
    /// The n-th sync (of a file or a directory) fails with EIO; what it should have made durable is dropped from the cache's dirty list, so that later syncs succeed and do not write it.
    FailSync(u64),
    /// The n-th read fails (EIO).
    FailRead(u64),
    /// The n-th write and all after it that need new space fail with ENOSPC, after as much of it as fits a sector.
    NoSpaceFromWrite(u64),
    /// The n-th write is cut short once, without error.
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
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
}

/// A disk in memory.
#[derive(Clone)]
pub struct SimulatedVfs {}

impl SimulatedVfs {
    /// An empty disk on which nothing goes wrong before a crash.
    pub fn new(seed: u64) -> SimulatedVfs {
        todo!()
    }
    /// An empty disk.
    pub fn with_options(options: SimulatedOptions) -> SimulatedVfs {
        todo!()
    }
    /// Adds a failure to those on order.
    pub fn add_fault(&self, fault: Fault) {
        todo!()
    }
    /// Cuts the power: every later call on this disk fails, and the disk that comes back holds what survived.
    pub fn crash(&self) -> SimulatedVfs {
        todo!()
    }
    /// As [`SimulatedVfs::crash`], with the new disk's seed, survival and failures given.
    pub fn crash_with(&self, options: SimulatedOptions) -> SimulatedVfs {
        todo!()
    }
    /// Ends the process but not the power: every later call on this disk fails, and the new one holds everything, what
    /// was not synced still being so.
    pub fn kill(&self) -> SimulatedVfs {
        todo!()
    }
    /// How many calls were made that change the disk or sync it: what [`Fault::CrashAtCall`] counts.
    pub fn io_calls(&self) -> u64 {
        todo!()
    }
    /// Whether the power is off.
    pub fn is_crashed(&self) -> bool {
        todo!()
    }
    /// A byte-exact copy of everything a reader sees now: path and content of each file, sorted.
    pub fn contents(&self) -> Vec<(String, Vec<u8>)> {
        todo!()
    }
    /// Flips one bit, on the disk and in the cache: damage that no crash explains.
    pub fn flip_bit(&self, path: &Path, byte: u64, bit: u8) -> io::Result<()> {
        todo!()
    }
}

impl Vfs for SimulatedVfs {
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
