//! On what it was measured.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// The machine and its disk, as far as figures depend on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_gb: u64,
    pub kernel: String,
    pub file_system: String,
}

impl Machine {
    /// This machine, with the file system that `directory` lies on.
    pub fn here(directory: &Path) -> Result<Machine> {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let after = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let memory_kb = after(&memory, "MemTotal").and_then(|size| size.split(' ').next()?.parse::<u64>().ok());
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Machine {
            processor: after(&processors, "model name").unwrap_or_else(|| "unknown processor".into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gb: memory_kb.unwrap_or(0).div_ceil(1 << 20),
            kernel: kernel.trim().to_owned(),
            file_system: file_system(directory)?,
        })
    }

    pub fn in_words(&self) -> String {
        let Machine { processor, cores, memory_gb, kernel, file_system } = self;
        format!("{processor}, {cores} cores, {memory_gb} GB, Linux {kernel}, {file_system}")
    }
}

/// The type of the file system that `directory` lies on.
///
/// # Errors
/// If the folder can't be used, or lies in memory: nothing is durable there.
pub fn file_system(directory: &Path) -> Result<String> {
    let shown = directory.display();
    let directory = directory.canonicalize().with_context(|| format!("can't use the folder \"{shown}\""))?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mount = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (_, at, kind) = (words.next()?, words.next()?, words.next()?);
        directory.starts_with(at).then_some((at.len(), kind))
    });
    // Of mounts over the same place the last one is seen.
    let kind = mount.max_by_key(|(length, _)| *length).map_or("unknown file system", |(_, kind)| kind);
    if ["tmpfs", "ramfs"].contains(&kind) {
        bail!("\"{shown}\" lies in memory ({kind}), where no commit is durable: choose another folder with --dir");
    }
    Ok(kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_memory_and_missing_ones_are_refused() {
        assert!(file_system(Path::new("/no such folder")).is_err());
        if std::fs::read_to_string("/proc/self/mounts").unwrap().contains(" /dev/shm tmpfs") {
            assert!(file_system(Path::new("/dev/shm")).unwrap_err().to_string().contains("in memory"));
        }
    }
}
