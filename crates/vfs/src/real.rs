//! The files of the operating system.

use std::any::Any;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::whole;
use crate::{File, OpenMode, Vfs};

/// Only the server's own user may see a database's files.
const FILE_PERMISSIONS: u32 = 0o600;
const DIRECTORY_PERMISSIONS: u32 = 0o700;

/// How much [`File::allocate_zeroed`] writes at a time.
const ZEROS_BYTES: usize = 256 << 10;

/// The files of the operating system.
#[derive(Clone, Debug)]
pub struct RealVfs {
    start: Instant,
}

impl Default for RealVfs {
    fn default() -> RealVfs {
        RealVfs::new()
    }
}

impl RealVfs {
    /// The operating system's files; the clock starts at 0 now.
    pub fn new() -> RealVfs {
        RealVfs { start: Instant::now() }
    }
}

fn open_with_flags(path: &Path, mode: OpenMode, flags: i32) -> io::Result<Arc<dyn File>> {
    let mut options = fs::OpenOptions::new();
    options.read(true).mode(FILE_PERMISSIONS).custom_flags(flags);
    match mode {
        OpenMode::Read => &mut options,
        OpenMode::ReadWrite => options.write(true),
        OpenMode::Create => options.write(true).create(true).truncate(false),
        OpenMode::CreateNew => options.write(true).create_new(true),
    };
    Ok(Arc::new(RealFile { file: options.open(path)? }))
}

impl Vfs for RealVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        open_with_flags(path, mode, 0)
    }

    fn open_datasync(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        open_with_flags(path, mode, rustix::fs::OFlags::DSYNC.bits() as i32)
    }

    #[cfg(target_os = "linux")]
    fn open_direct(&self, path: &Path, mode: OpenMode, datasync: bool) -> io::Result<Arc<dyn File>> {
        let mut flags = rustix::fs::OFlags::DIRECT;
        flags.set(rustix::fs::OFlags::DSYNC, datasync);
        open_with_flags(path, mode, flags.bits() as i32)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_direct(&self, _path: &Path, _mode: OpenMode, _datasync: bool) -> io::Result<Arc<dyn File>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(DIRECTORY_PERMISSIONS).create(path)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_PERMISSIONS)
            .open(path)?;
        // The lock belongs to the open file: closing it, by drop or by the end of the process, lets it go.
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        Ok(Box::new(file))
    }

    fn now_micros(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }

    fn fail_stop(&self, message: &str) -> ! {
        if log::log_enabled!(log::Level::Error) {
            log::error!(severity = "PANIC"; "{message}");
            log::logger().flush();
        } else {
            // A process must not end without a word because nobody has installed a logger.
            eprintln!("PANIC:  {message}");
        }
        std::process::abort();
    }
}

struct RealFile {
    file: fs::File,
}

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        whole::read_up_to(buffer, offset, |buffer, offset| self.file.read_at(buffer, offset))
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        whole::read_exact(buffer, offset, |buffer, offset| self.file.read_at(buffer, offset))
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        whole::write_all(bytes, offset, |bytes, offset| self.file.write_at(bytes, offset))
    }

    // The standard library calls again after EINTR, which says that nothing was tried; any other error comes out.
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate_zeroed(&self, len: u64) -> io::Result<()> {
        let mut end = self.len()?;
        let zeros = vec![0; ZEROS_BYTES.min(len.saturating_sub(end) as usize)];
        while end < len {
            let size_bytes = (zeros.len() as u64).min(len - end);
            self.write_all_at(&zeros[..size_bytes as usize], end)?;
            end += size_bytes;
        }
        Ok(())
    }
}
