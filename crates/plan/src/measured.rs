//! Measurements of the nodes of running plans, for EXPLAIN ANALYZE.

use std::time::Duration;

use base::PageUse;

/// The measurements of one node over all its loops.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// How often it was run.
    pub loops: u64,
    /// Rows it gave.
    pub rows: u64,
    /// Rows that its condition took out.
    pub removed_rows: u64,
    /// Time until the first row of each loop.
    pub first: Duration,
    /// Time in all, what is below it included.
    pub total: Duration,
    /// The room that its kept rows took, if it keeps rows; what a MERGE did.
    pub effort: Option<Effort>,
    /// Pages used, what is below it included; counted if that was asked for.
    pub pages: PageUse,
}

/// The details that EXPLAIN ANALYZE tells of some kinds of nodes: room and method of those that keep rows, counts of a MERGE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// A sort.
    Sort {
        /// How, in PostgreSQL's words.
        method: &'static str,
        /// Room taken.
        kilobytes: u64,
        /// In files, not in memory.
        on_disk: bool,
    },
    /// Groups found by hash.
    Groups {
        /// Parts the rows were divided into.
        batches: u64,
        /// The most memory taken.
        kilobytes: u64,
        /// Room taken in files.
        disk_kilobytes: u64,
    },
    /// The rows of a MERGE, by what was done for them.
    Merge {
        /// Inserted.
        inserted: u64,
        /// Updated.
        updated: u64,
        /// Deleted.
        deleted: u64,
        /// Left alone.
        skipped: u64,
    },
    /// The hash table of a join.
    Hash {
        /// Its width.
        buckets: u64,
        /// Parts the rows were divided into.
        batches: u64,
        /// The most memory taken.
        kilobytes: u64,
    },
}
