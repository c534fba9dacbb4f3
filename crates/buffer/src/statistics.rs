//! What the page cache counts.

/// Counts since the pool was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatistics {
    /// Pages found in the cache. Counted without atomic read-modify-write: a lower bound.
    pub hits: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Frames taken from one page for another.
    pub evictions: u64,
    /// Pages added to files.
    pub extensions: u64,
    /// Pages written because their frame was wanted.
    pub written_by_eviction: u64,
    /// Pages written by the page cleaner.
    pub written_by_cleaner: u64,
    /// Pages written by checkpoints and file flushes.
    pub written_by_checkpoint: u64,
    /// Batches written through the double-write area.
    pub batches: u64,
    /// Syncs of data files and of the double-write area.
    pub syncs: u64,
}
