//! The machine a run was on.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use vfs::OpenMode;

use crate::disk::Disk;

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its processor's name.
    pub processor: String,
    /// Threads that can run at a time.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The kernel's version.
    pub kernel: String,
    /// The disk the experiments' databases lie on; unknown where another server has them.
    pub disk: Option<MachineDisk>,
}

/// The disk the experiments' databases lie on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineDisk {
    /// The folder.
    pub folder: String,
    /// Its file system.
    pub file_system: String,
    /// Median time of a sync after 8 kB were written, in microseconds.
    pub sync_us: Option<u64>,
}

impl Machine {
    /// This one; `has_databases`: the databases lie on it.
    pub fn here(has_databases: bool) -> Machine {
        let refresh = sysinfo::RefreshKind::nothing()
            .with_cpu(sysinfo::CpuRefreshKind::nothing())
            .with_memory(sysinfo::MemoryRefreshKind::nothing().with_ram());
        let system = sysinfo::System::new_with_specifics(refresh).ok();
        let processor = system.as_ref().and_then(|system| system.cpus().first()).map(|cpu| cpu.brand().trim());
        Machine {
            processor: processor.filter(|brand| !brand.is_empty()).unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: system.map_or(0, |system| system.total_memory()),
            kernel: sysinfo::System::kernel_version().unwrap_or_else(|_| "unknown".to_owned()),
            disk: has_databases.then(|| MachineDisk::of(&std::env::temp_dir())),
        }
    }
}

impl MachineDisk {
    fn of(folder: &Path) -> MachineDisk {
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let refresh = sysinfo::DiskRefreshKind::nothing();
        let disks = sysinfo::Disks::new_with_refreshed_list_specifics(refresh);
        let over = disks.iter().flat_map(|disks| disks.iter()).filter(|disk| whole.starts_with(disk.mount_point()));
        let nearest = over.max_by_key(|disk| disk.mount_point().as_os_str().len());
        MachineDisk {
            folder: folder.display().to_string(),
            file_system: nearest
                .map_or_else(|| "unknown".to_owned(), |disk| disk.file_system().to_string_lossy().into_owned()),
            sync_us: measure_sync_us(folder).ok(),
        }
    }
}

/// The median of up to a hundred syncs, each after 8 kB were written over zeros, within half a second.
fn measure_sync_us(folder: &Path) -> std::io::Result<u64> {
    const BLOCK_BYTES: usize = 8192;
    const BLOCKS: u64 = 128;
    let folder = tempfile::Builder::new().prefix("cohort-lab-").tempdir_in(folder)?;
    let file = Disk::Real.vfs().open(&folder.path().join("sync"), OpenMode::Create)?;
    file.allocate_zeroed(BLOCKS * BLOCK_BYTES as u64)?;
    file.sync_all()?;
    let (begun, mut micros) = (Instant::now(), Vec::new());
    while micros.len() < 100 && begun.elapsed() < Duration::from_millis(500) {
        let started = Instant::now();
        file.write_all_at(&[0x5A; BLOCK_BYTES], (micros.len() * BLOCK_BYTES) as u64)?;
        file.sync_data()?;
        micros.push(started.elapsed().as_micros() as u64);
    }
    micros.sort_unstable();
    Ok(micros[micros.len() / 2])
}
