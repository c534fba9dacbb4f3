//! The disk an experiment runs on: the real one, or one whose syncs take as long as another disk's.

use std::sync::Arc;
use std::time::Duration;

use vfs::{RealVfs, SlowedVfs, Vfs};

/// Which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The machine's own.
    Real,
    /// The machine's own, with syncs of at least this many microseconds, one at a time.
    Slowed {
        /// How long a sync takes.
        sync_us: u64,
    },
}

impl Disk {
    /// Files on this disk.
    pub fn vfs(self) -> Arc<dyn Vfs> {
        let real: Arc<dyn Vfs> = Arc::new(RealVfs::new());
        match self {
            Disk::Real => real,
            Disk::Slowed { sync_us } => Arc::new(SlowedVfs::new(real, Duration::from_micros(sync_us))),
        }
    }

    /// The name in reports.
    pub fn name(self) -> String {
        match self {
            Disk::Real => "real".to_owned(),
            Disk::Slowed { sync_us } if sync_us >= 1000 => format!("{}ms", sync_us as f64 / 1000.0),
            Disk::Slowed { sync_us } => format!("{sync_us}us"),
        }
    }

    /// How a sentence describes it.
    pub fn description(self) -> String {
        match self {
            Disk::Real => "this machine's disk".to_owned(),
            Disk::Slowed { .. } => format!("this machine's disk, slowed to {} a sync", self.name()),
        }
    }
}

impl std::str::FromStr for Disk {
    type Err = String;

    fn from_str(text: &str) -> Result<Disk, String> {
        if text == "real" {
            return Ok(Disk::Real);
        }
        let wrong = || format!("\"{text}\" is no disk; there is real, and a sync's length such as 8.3ms or 100us");
        let (number, factor) = match (text.strip_suffix("ms"), text.strip_suffix("us")) {
            (Some(number), _) => (number, 1000.0),
            (_, Some(number)) => (number, 1.0),
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        if !(0.0..=10_000_000.0).contains(&(number * factor)) {
            return Err(wrong());
        }
        Ok(Disk::Slowed { sync_us: (number * factor) as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_by_the_length_of_a_sync() {
        for text in ["real", "8.3ms", "1ms", "100us"] {
            assert_eq!(text.parse::<Disk>().unwrap().name(), text);
        }
        assert!("fast".parse::<Disk>().is_err());
        assert!("-1ms".parse::<Disk>().is_err());
    }
}
