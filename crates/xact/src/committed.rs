//! Transactions that have committed and are not yet retired, in commit order.
//!
//! A ring, filled in step 2 of a commit under the log's insertion latch: what is at or below any position of the log is
//! complete for whoever has passed that latch. Three marks follow each other around it:
//!
//! ```text
//!    retired            visible              tail
//!       |                  |                   |
//!  -----+------------------+-------------------+----->
//!   bits |  csn set, seen   |  in the log, not  |
//!   set  |  by snapshots    |  yet to be seen   |
//! ```
//!
//! `visible` is `tail` but with `early_lock_release` off.

use base::{FileNumber, Lsn, Xid};
use rustc_hash::FxHashMap;
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use sync::{CachePadded, Mutex};

/// Subtransactions and files are in [`Committed::extras`].
pub(crate) const HAS_EXTRAS: u64 = 1;
/// The catalog version must be raised when it becomes visible.
pub(crate) const CHANGES_CATALOG: u64 = 2;
/// The committer sets its status bits itself.
pub(crate) const OWNER_SETS_BITS: u64 = 4;
/// The committer has done so.
pub(crate) const BITS_ARE_SET: u64 = 8;

struct Entry {
    csn: AtomicU64,
    xid: AtomicU64,
    flags: AtomicU64,
}

/// What few commits have.
#[derive(Clone, Default)]
pub(crate) struct Extras {
    pub(crate) children: Vec<Xid>,
    pub(crate) dropped_files: Vec<FileNumber>,
}

/// One commit, as read from the ring.
#[derive(Clone, Copy)]
pub(crate) struct CommittedTransaction {
    pub(crate) csn: Lsn,
    pub(crate) xid: Xid,
    pub(crate) flags: u64,
}

pub(crate) struct Committed {
    entries: Box<[Entry]>,
    tail: CachePadded<AtomicU64>,
    visible: AtomicU64,
    retired: CachePadded<AtomicU64>,
    extras: Mutex<FxHashMap<Xid, Extras>>,
}

impl Committed {
    pub(crate) fn new(capacity: usize) -> Committed {
        let entry = || Entry { csn: AtomicU64::new(0), xid: AtomicU64::new(0), flags: AtomicU64::new(0) };
        Committed {
            entries: (0..capacity.next_power_of_two()).map(|_| entry()).collect(),
            tail: CachePadded::new(AtomicU64::new(0)),
            visible: AtomicU64::new(0),
            retired: CachePadded::new(AtomicU64::new(0)),
            extras: Mutex::new(FxHashMap::default()),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(crate) fn tail(&self) -> u64 {
        self.tail.load(Acquire)
    }

    pub(crate) fn visible(&self) -> u64 {
        self.visible.load(Acquire)
    }

    pub(crate) fn retired(&self) -> u64 {
        self.retired.load(Acquire)
    }

    /// How many are not retired.
    pub(crate) fn len(&self) -> u64 {
        let retired = self.retired();
        self.tail().saturating_sub(retired)
    }

    fn entry(&self, index: u64) -> &Entry {
        &self.entries[index as usize & (self.entries.len() - 1)]
    }

    /// Adds a commit, once `before` has been done with its index. Only under the log's insertion latch. Returns the index.
    pub(crate) fn push(&self, commit: CommittedTransaction, before: impl FnOnce(u64)) -> u64 {
        let index = self.tail.load(Relaxed);
        debug_assert!(index - self.retired.load(Relaxed) < self.capacity(), "room was made before");
        let entry = self.entry(index);
        entry.csn.store(commit.csn.0, Relaxed);
        entry.xid.store(commit.xid.0, Relaxed);
        entry.flags.store(commit.flags, Relaxed);
        before(index);
        self.tail.store(index + 1, Release);
        index
    }

    /// The commit with this index, which is between `retired` and `tail`.
    pub(crate) fn get(&self, index: u64) -> CommittedTransaction {
        let entry = self.entry(index);
        CommittedTransaction {
            csn: Lsn(entry.csn.load(Relaxed)),
            xid: Xid(entry.xid.load(Relaxed)),
            flags: entry.flags.load(Acquire),
        }
    }

    pub(crate) fn set_visible(&self, index: u64) {
        self.visible.store(index, Release);
    }

    pub(crate) fn set_retired(&self, index: u64) {
        self.retired.store(index, Release);
    }

    /// Changes an entry's flags; what they were.
    pub(crate) fn change_flags(&self, index: u64, set: u64, clear: u64) -> u64 {
        let flags = &self.entry(index).flags;
        let mut now = flags.load(Acquire);
        while let Err(seen) = flags.compare_exchange_weak(now, (now | set) & !clear, AcqRel, Acquire) {
            now = seen;
        }
        now
    }

    pub(crate) fn put_extras(&self, xid: Xid, extras: Extras) {
        self.extras.lock().insert(xid, extras);
    }

    pub(crate) fn extras(&self, xid: Xid) -> Extras {
        self.extras.lock().get(&xid).cloned().unwrap_or_default()
    }

    pub(crate) fn take_extras(&self, xid: Xid) -> Extras {
        self.extras.lock().remove(&xid).unwrap_or_default()
    }
}
