//! Counts of pages, as EXPLAIN (BUFFERS) tells them.

/// Pages used, and pages' worth of temporary files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageUse {
    /// Found in the cache.
    pub hits: u64,
    /// Read from disk.
    pub reads: u64,
    /// Clean ones that were changed.
    pub dirtied: u64,
    /// Written to make room, or added to a file.
    pub written: u64,
    /// Bytes read from temporary files.
    pub temporary_bytes_read: u64,
    /// Bytes written to temporary files.
    pub temporary_bytes_written: u64,
}

impl PageUse {
    /// Returns the use since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &PageUse) -> PageUse {
        PageUse {
            hits: self.hits - earlier.hits,
            reads: self.reads - earlier.reads,
            dirtied: self.dirtied - earlier.dirtied,
            written: self.written - earlier.written,
            temporary_bytes_read: self.temporary_bytes_read - earlier.temporary_bytes_read,
            temporary_bytes_written: self.temporary_bytes_written - earlier.temporary_bytes_written,
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(&self, other: &PageUse) -> PageUse {
        PageUse {
            hits: self.hits + other.hits,
            reads: self.reads + other.reads,
            dirtied: self.dirtied + other.dirtied,
            written: self.written + other.written,
            temporary_bytes_read: self.temporary_bytes_read + other.temporary_bytes_read,
            temporary_bytes_written: self.temporary_bytes_written + other.temporary_bytes_written,
        }
    }
}
