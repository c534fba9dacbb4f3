//! The double-write area.
#![allow(unused_variables, dead_code)]

use std::path::Path;

use base::Result;
use sync::Arc;
use vfs::Vfs;

/// How data files are written.
#[derive(Clone, Copy, Debug)]
pub struct DoubleWriteOptions {
    /// Whether pages go through the area before they are written in place.
    pub enabled: bool,
    /// Whether anything is synced at all.
    pub fsync: bool,
}

impl Default for DoubleWriteOptions {
    fn default() -> Self {
        DoubleWriteOptions { enabled: true, fsync: true }
    }
}

/// The double-write area of a data directory; shared by the page cache and the commit log.
pub struct DoubleWrite {}

/// What [`recover`] found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Copies with a valid checksum in the area.
    pub copies: usize,
    /// Pages that were torn, or older than their copy, in place and were restored.
    pub restored: usize,
}

impl DoubleWrite {
    /// Opens (or makes) the area `data_dir/doublewrite`. [`recover`] must have run before.
    pub fn open(vfs: Arc<dyn Vfs>, data_dir: &Path, options: DoubleWriteOptions) -> Result<Arc<DoubleWrite>> {
        todo!()
    }
}

/// Restores torn pages of `base/` and `clog/` from the area `data_dir/doublewrite`: the newest valid copy wins.
/// Runs at every start before any page is read. Safe to be killed and run again.
pub fn recover(vfs: &dyn Vfs, data_dir: &Path) -> Result<Recovered> {
    todo!()
}
