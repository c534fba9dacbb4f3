//! Stubs for what the sources under test use without effect on orderings: counters, checks of debug builds, files.

use std::collections::BTreeMap;

use base::{FileNumber, Result, Xid};

use crate::Mutex;

/// The bytes of a page.
pub const PAGE_BYTES: usize = 8192;

/// A page of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PageId {
    /// The file.
    pub file: FileNumber,
    /// The block in it.
    pub block: u32,
}

impl PageId {
    /// Block `block` of `file`.
    pub fn new(file: FileNumber, block: u32) -> PageId {
        PageId { file, block }
    }
}

/// Counters of the use of pages.
pub mod meter {
    #[derive(Default)]
    pub(crate) struct Used {
        pub(crate) dirtied: u64,
    }

    pub(crate) fn count(f: impl FnOnce(&mut Used)) {
        f(&mut Used::default());
    }
}

/// Which latches a thread holds.
pub mod held {
    use super::LatchClass;

    pub(crate) fn check_order(_class: &'static LatchClass) {}
    pub(crate) fn taken(_class: &'static LatchClass) {}
    pub(crate) fn released(_class: &'static LatchClass) {}
}

/// Kinds of latches.
pub mod latch_class {
    pub use super::LatchClass;

    pub(crate) enum Count {
        Shared,
        Exclusive,
        Blocked,
        Spins,
        Dequeued,
    }

    impl LatchClass {
        pub(crate) fn enlist(&'static self) {}
        pub(crate) fn count(&self, _kind: Count, _times: u64) {}
        pub(crate) fn learn(&self, _rounds: u32, _in_vain: bool) {}

        pub(crate) fn spin_rounds(&self) -> u32 {
            0
        }
    }
}

/// A kind of latch.
pub struct LatchClass {
    /// Its name.
    pub name: &'static str,
}

impl LatchClass {
    /// A kind of this name.
    pub const fn new(name: &'static str, _rank: u16) -> LatchClass {
        LatchClass { name }
    }

    /// See crate `sync`.
    pub const fn several_at_once(self) -> LatchClass {
        self
    }
}

/// Counters of transactions.
pub mod statistics {
    #[derive(Default)]
    pub(crate) struct EndedCounter;
}

/// A disk that nothing is read from.
pub trait Vfs: Send + Sync {}

/// [`Vfs`].
pub struct NoFiles;

impl Vfs for NoFiles {}

/// The settings of a store that the store of csns looks at.
pub struct StatusStoreOptions {
    pub csn_window: usize,
    pub spilled_files: usize,
}

/// Spilled pages, in memory.
pub mod spill {
    use std::path::Path;

    use super::{BTreeMap, Mutex, Result, Vfs};
    use crate::Arc;

    pub(crate) struct Spill(Mutex<BTreeMap<u64, Vec<u64>>>);

    impl Spill {
        pub(crate) fn new(_vfs: Arc<dyn Vfs>, _directory: &Path, _open_max: usize) -> Result<Spill> {
            Ok(Spill(Mutex::new(BTreeMap::new())))
        }

        pub(crate) fn write(&self, page: u64, entries: &[u64]) {
            self.0.lock().insert(page, entries.to_vec());
        }

        pub(crate) fn read_entry(&self, page: u64, entry: u64) -> u64 {
            self.0.lock()[&page][entry as usize]
        }

        pub(crate) fn read_page(&self, page: u64) -> Vec<u64> {
            self.0.lock()[&page].clone()
        }

        pub(crate) fn remove(&self, page: u64) {
            self.0.lock().remove(&page);
        }
    }
}

/// Status bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ClogBits {
    /// No outcome yet.
    InProgress,
    /// Committed.
    Committed,
    /// Aborted.
    Aborted,
}

impl ClogBits {
    pub(crate) fn is_final(self) -> bool {
        self != ClogBits::InProgress
    }
}

/// A commit log of nothing but commits.
pub struct Clog;

impl Clog {
    pub(crate) fn get(&self, _xid: Xid) -> Result<ClogBits> {
        Ok(ClogBits::Committed)
    }

    pub(crate) fn get_range(&self, _first: Xid, count: u64) -> Result<Vec<ClogBits>> {
        Ok(vec![ClogBits::Committed; count as usize])
    }
}
