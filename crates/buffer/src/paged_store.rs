//! The paged status store.
#![allow(unused_variables, dead_code)]

use std::path::Path;

use base::{Lsn, Result};
use sync::Arc;
use vfs::Vfs;

use crate::{DoubleWrite, DurableLog, HEADER_BYTES, PAGE_BYTES};

/// The part of a store page that is its owner's, in bytes.
pub const STORE_PAGE_BYTES: usize = PAGE_BYTES - HEADER_BYTES;

/// How a [`PagedStore`] is set up.
pub struct PagedStoreOptions {
    /// Pages kept in memory.
    pub pages: usize,
    /// The class of its banks' latches.
    pub latch_class: &'static sync::LatchClass,
    /// Pages below this must exist on disk.
    pub missing_allowed_from: u64,
}

/// Counts since the start, as in `pg_stat_slru`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagedStoreStatistics {
    /// Pages made as zeros.
    pub zeroed: u64,
    /// Pages found in memory.
    pub hits: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Pages written to disk.
    pub writes: u64,
    /// Flushes of all dirty pages.
    pub flushes: u64,
    /// Truncations.
    pub truncates: u64,
}

/// A small page cache over files of 32 pages.
pub struct PagedStore {}

impl PagedStore {
    /// Opens the store in `directory`.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: PagedStoreOptions,
    ) -> Result<PagedStore> {
        todo!()
    }
}
