//! Dirty pages to disk.

/// How far a checkpoint's write-out has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushProgress {
    /// Pages written so far.
    pub written: usize,
    /// Pages to write in all.
    pub total: usize,
}
