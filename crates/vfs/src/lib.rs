//! Files, directories, sync and clock behind one trait: real, slowed and simulated.
//!
//! Everything the engine puts on a disk goes through [`Vfs`] and [`File`]. [`RealVfs`] is the
//! operating system; [`SlowedVfs`] makes a fast disk measure as a slow one; [`SimulatedVfs`] crashes
//! at any call and fails on order, so that durability can be proved rather than hoped for. The README
//! says what callers rely on and what each kind of disk does.

pub mod descriptors;
mod real;
mod simulated;
mod slowed;
mod whole;

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use real::RealVfs;
pub use simulated::{FailStop, Fault, HookedCall, SimulatedOptions, SimulatedVfs, Survival};
pub use slowed::SlowedVfs;

/// The block size of direct writes: each write past the operating system's cache is a multiple of it. Disks ask for 512 or
/// 4096; file systems cache pages of 4096.
pub const DIRECT_BLOCK_BYTES: usize = 4096;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// For reading and writing; made if it does not exist, and never truncated.
    Create,
    /// For reading and writing; an error if it exists.
    CreateNew,
}

/// A place where files live, and the clock that goes with it.
pub trait Vfs: Send + Sync + 'static {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;

    /// Opens a file whose every write is durable when it returns, as after [`File::sync_data`] (`O_DSYNC`).
    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;

    /// Opens a file whose writes go to the disk past the operating system's cache (`O_DIRECT`), and are not durable before a
    /// sync unless `datasync` asks for it. Offset and length of a write, and the place of its bytes in memory, are multiples
    /// of [`DIRECT_BLOCK_BYTES`]. `InvalidInput` or `Unsupported` where files can't be opened so.
    fn open_direct(&self, path: &Path, mode: OpenMode, datasync: bool) -> io::Result<Arc<dyn File>>;

    /// Whether a file or directory of this name exists.
    fn exists(&self, path: &Path) -> bool;

    /// Removes a file's name. Lasting only after [`Vfs::sync_dir`].
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, in place of any file that has it. Lasting only after [`Vfs::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes a directory and all those above it. Lasting only after [`Vfs::sync_dir`] of those above.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, sorted.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Makes the names in a directory lasting.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory and all that is in it; no error if there is none.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Takes the lock of a data directory on the file `path`, which is made if needed. Held until the returned value is
    /// dropped or the process ends. `WouldBlock` if another process, or another holder in this one, has it.
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>>;

    /// Microseconds since some start; never goes back.
    fn now_micros(&self) -> u64;

    /// Sleeps, on this clock.
    fn sleep(&self, duration: Duration);

    /// The end of this process: no acknowledgement may follow. Real: a message on stderr and `abort`. Simulated: the disk
    /// counts as crashed and the thread panics with [`FailStop`]; not to be called while a thread unwinds already.
    fn fail_stop(&self, message: &str) -> !;
}

/// An open file. Reads and writes carry their position; nothing is buffered here.
#[allow(clippy::len_without_is_empty)]
pub trait File: Send + Sync {
    /// Reads `buffer.len()` bytes, or fewer only if the file ends there; how many.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads exactly `buffer.len()` bytes, or fails with `UnexpectedEof`.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes`, extending the file if needed. Short writes and EINTR are taken up inside. After an error any
    /// part may have been written.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the file's bytes durable, and its length as far as reading them needs it. After an error nothing is known about
    /// what was written since the last success, and trying again proves nothing.
    fn sync_data(&self) -> io::Result<()>;

    /// As [`File::sync_data`], with all of the file's metadata.
    fn sync_all(&self) -> io::Result<()>;

    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the file or extends it with a hole that reads as zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Extends the file to `len` by writing zeros, so that the space is allocated *and* initialised: later writes into it
    /// change no metadata. Does not sync. Does nothing to a file that is as long already.
    fn allocate_zeroed(&self, len: u64) -> io::Result<()>;
}
