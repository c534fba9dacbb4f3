//! `cohort test-fsync`: how long this disk takes to make a write durable.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::{Error, Result};
use clap::Args;
use vfs::{DIRECT_BLOCK_BYTES, File, OpenMode, RealVfs, Vfs};

/// Arguments of `cohort test-fsync`.
#[derive(Args)]
pub struct TestFsyncArguments {
    /// A folder on the disk to measure; a file in it is made and removed.
    directory: PathBuf,
    /// Seconds for each measurement.
    #[arg(short = 's', long, value_name = "N", default_value_t = 2)]
    seconds: u64,
}

const BLOCK_BYTES: usize = 8192;
/// The file is as long as a log segment, zero-filled as one.
const FILE_BYTES: u64 = 16 << 20;

/// Measures and prints.
///
/// # Errors
/// When the folder can't be written to.
pub fn run(arguments: &TestFsyncArguments) -> Result<()> {
    let vfs = RealVfs::new();
    let path = arguments.directory.join("cohort-test-fsync.tmp");
    let result = measure_all(&vfs, &path, Duration::from_secs(arguments.seconds.max(1)));
    if vfs.exists(&path) {
        vfs.remove_file(&path)
            .map_err(|error| Error::io(format!("could not remove \"{}\"", path.display()), &error))?;
    }
    result
}

fn measure_all(vfs: &RealVfs, path: &Path, length: Duration) -> Result<()> {
    let io = |error: std::io::Error| Error::io(format!("could not use \"{}\"", path.display()), &error);
    let file = vfs.open(path, OpenMode::Create).map_err(io)?;
    file.allocate_zeroed(FILE_BYTES).and_then(|()| file.sync_all()).map_err(io)?;
    println!("One write of {BLOCK_BYTES} bytes over zero-filled space, made durable, again and again:");
    println!("{:<18} {:>12} {:>12} {:>12} {:>12}", "wal_sync_method", "median us", "99 % us", "worst us", "per second");
    measure("fdatasync", file.as_ref(), length, |file| file.sync_data()).map_err(io)?;
    measure("fsync", file.as_ref(), length, |file| file.sync_all()).map_err(io)?;
    drop(file);
    let file = vfs.open_datasync(path, OpenMode::ReadWrite).map_err(io)?;
    measure("open_datasync", file.as_ref(), length, |_| Ok(())).map_err(io)?;
    drop(file);
    match vfs.open_direct(path, OpenMode::ReadWrite, false) {
        Ok(file) => measure("fdatasync, direct", file.as_ref(), length, |file| file.sync_data()).map_err(io),
        Err(error) => {
            println!("wal_direct_io would have no effect here: {error}");
            Ok(())
        }
    }
}

fn measure(
    name: &str,
    file: &dyn File,
    length: Duration,
    sync: impl Fn(&dyn File) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // A direct file takes bytes from the start of a block in memory only.
    let memory = [0x5A; BLOCK_BYTES + DIRECT_BLOCK_BYTES];
    let start = memory.as_ptr().align_offset(DIRECT_BLOCK_BYTES);
    let block = &memory[start..start + BLOCK_BYTES];
    let mut micros = Vec::new();
    let started = Instant::now();
    let mut offset = 0;
    while started.elapsed() < length {
        let before = Instant::now();
        file.write_all_at(block, offset)?;
        sync(file)?;
        micros.push(before.elapsed().as_micros());
        offset = (offset + BLOCK_BYTES as u64) % FILE_BYTES;
    }
    let per_second = micros.len() as f64 / started.elapsed().as_secs_f64();
    micros.sort_unstable();
    let at = |part: usize| micros[(micros.len() - 1) * part / 100];
    println!("{name:<18} {:>12} {:>12} {:>12} {per_second:>12.0}", at(50), at(99), at(100));
    Ok(())
}
