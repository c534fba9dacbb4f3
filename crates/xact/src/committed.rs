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

// When a commit was asked for is only counted, so a model need not see it.
use std::sync::atomic::AtomicU64 as CountedOnly;

use base::{FileNumber, Lsn, Xid};
use rustc_hash::FxHashMap;
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use sync::{CachePadded, Mutex};

/// Subtransactions and files are in [`Committed::extras`].
pub(crate) const HAS_EXTRAS: u64 = 1;
/// The catalog version must be raised when it becomes visible.
pub(crate) const CHANGES_CATALOG: u64 = 2;
/// The committer has promised to set its status bits itself. Others may take that over as long as it isn't at it.
pub(crate) const OWNER_SETS_BITS: u64 = 4;
/// The committer is at it.
pub(crate) const OWNER_AT_IT: u64 = 8;
/// The committer has done so.
pub(crate) const BITS_ARE_SET: u64 = 16;
const FLAG_BITS: u32 = 8;
const FLAG_MASK: u64 = (1 << FLAG_BITS) - 1;

struct Entry {
    csn: AtomicU64,
    xid: AtomicU64,
    asked_at_us: CountedOnly,
    /// The entry's index beside its flags: a thread whose change comes too late finds another commit's index.
    index_and_flags: AtomicU64,
}

/// Data that only few commits have.
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
    /// When the commit was asked for, if somebody waits until it is durable; else [`NOBODY_WAITS`].
    pub(crate) asked_at_us: u64,
    pub(crate) flags: u64,
}

/// Instead of the time at which an asynchronous commit was asked for.
pub(crate) const NOBODY_WAITS: u64 = 0;

pub(crate) struct Committed {
    entries: Box<[Entry]>,
    tail: CachePadded<AtomicU64>,
    visible: AtomicU64,
    retired: CachePadded<AtomicU64>,
    extras: Mutex<FxHashMap<Xid, Extras>>,
}

impl Committed {
    pub(crate) fn new(capacity: usize) -> Committed {
        let entry = || Entry {
            csn: AtomicU64::new(0),
            xid: AtomicU64::new(0),
            asked_at_us: CountedOnly::new(NOBODY_WAITS),
            index_and_flags: AtomicU64::new(u64::MAX),
        };
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
        entry.asked_at_us.store(commit.asked_at_us, Relaxed);
        entry.index_and_flags.store(index << FLAG_BITS | commit.flags, Relaxed);
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
            asked_at_us: entry.asked_at_us.load(Relaxed),
            flags: entry.index_and_flags.load(Acquire) & FLAG_MASK,
        }
    }

    pub(crate) fn set_visible(&self, index: u64) {
        self.visible.store(index, Release);
    }

    pub(crate) fn set_retired(&self, index: u64) {
        self.retired.store(index, Release);
    }

    /// Changes the flags of the entry with this index, from those that are as `from` says among `mask`. False: they aren't,
    /// or the entry is gone.
    pub(crate) fn change_flags(&self, index: u64, mask: u64, from: u64, to: u64) -> bool {
        let word = &self.entry(index).index_and_flags;
        let mut now = word.load(Acquire);
        while now >> FLAG_BITS == index && now & mask == from {
            match word.compare_exchange_weak(now, now & !mask | to, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(seen) => now = seen,
            }
        }
        false
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
