//! The row table: row locks in memory, and which queue a row has.

use std::hash::{BuildHasher, BuildHasherDefault};

use base::{Oid, OwnerId, Tid, Xid};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use sync::atomic::AtomicU32;
use sync::atomic::Ordering::{Relaxed, SeqCst};
use sync::{Arc, CachePadded, ExclusiveLatch, ExclusiveLatchGuard};

use crate::RowLockMode;
use crate::latches::ROW_TABLE;
use crate::queue::RowQueue;

const PARTITIONS: usize = if cfg!(shuttle) { 2 } else { 64 };

/// A row, by the place of its newest version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RowKey {
    pub(crate) relation: Oid,
    pub(crate) tid: Tid,
}

/// The locks and the queue of one row.
#[derive(Default)]
pub(crate) struct RowEntry {
    pub(crate) lockers: SmallVec<[Locker; 1]>,
    pub(crate) queue: Option<Arc<RowQueue>>,
}

/// One lock on a row, in 16 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Locker {
    pub(crate) xid: Xid,
    pub(crate) owner: OwnerId,
    /// Where the owner's list has it (30 bits), and the mode (2 bits).
    place_and_mode: u32,
}

/// Row locks one owner may hold.
pub(crate) const ROWS_PER_OWNER_MAX: usize = 1 << 30;

impl Locker {
    pub(crate) fn new(xid: Xid, owner: OwnerId, place: usize, mode: RowLockMode) -> Locker {
        debug_assert!(place < ROWS_PER_OWNER_MAX);
        Locker { xid, owner, place_and_mode: (place as u32) << 2 | mode as u32 }
    }

    pub(crate) fn place(&self) -> usize {
        (self.place_and_mode >> 2) as usize
    }

    pub(crate) fn mode(&self) -> RowLockMode {
        match self.place_and_mode & 3 {
            0 => RowLockMode::KeyShare,
            1 => RowLockMode::Share,
            2 => RowLockMode::NoKeyUpdate,
            _ => RowLockMode::Update,
        }
    }
}

impl RowEntry {
    pub(crate) fn is_unused(&self) -> bool {
        self.lockers.is_empty() && self.queue.is_none()
    }

    /// Somebody else's lock that excludes `mode`: of several that of the eldest transaction, as in PostgreSQL.
    pub(crate) fn conflict(&self, owner: OwnerId, mode: RowLockMode) -> Option<&Locker> {
        let conflicting =
            self.lockers.iter().filter(|locker| locker.owner != owner && locker.mode().conflicts_with(mode));
        conflicting.min_by_key(|locker| locker.xid)
    }

    /// Whether `owner` has a lock on the row, of any strength.
    pub(crate) fn is_held_by(&self, owner: OwnerId) -> bool {
        self.lockers.iter().any(|locker| locker.owner == owner)
    }
}

/// Rows that are locked in memory or waited for, in partitions. All versions of a row on one page are in one partition.
pub(crate) struct RowTable {
    partitions: Box<[CachePadded<Partition>]>,
}

struct Partition {
    /// How many entries there are: most often none, and then nobody needs the latch.
    len: AtomicU32,
    entries: ExclusiveLatch<FxHashMap<RowKey, RowEntry>>,
}

/// One partition, latched.
pub(crate) struct LatchedPartition<'a> {
    len: &'a AtomicU32,
    entries: ExclusiveLatchGuard<'a, FxHashMap<RowKey, RowEntry>>,
}

impl LatchedPartition<'_> {
    pub(crate) fn get(&self, key: &RowKey) -> Option<&RowEntry> {
        self.entries.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &RowKey) -> Option<&mut RowEntry> {
        self.entries.get_mut(key)
    }

    pub(crate) fn entry(&mut self, key: RowKey) -> &mut RowEntry {
        let entry = self.entries.entry(key).or_default();
        // One may have been added; counting it early only costs a reader the latch.
        self.len.fetch_max(1, SeqCst);
        entry
    }

    /// Forgets the row if nothing is known of it any more.
    pub(crate) fn tidy(&mut self, key: &RowKey) {
        if self.entries.get(key).is_some_and(RowEntry::is_unused) {
            self.entries.remove(key);
            // The memory of ten million row locks is given back when the locks are gone.
            if self.entries.is_empty() && self.entries.capacity() > 1 << 16 {
                self.entries.shrink_to_fit();
            }
        }
        self.count();
    }

    fn count(&self) {
        self.len.store(self.entries.len().min(u32::MAX as usize) as u32, SeqCst);
    }
}

/// The partitions of two rows, latched: one or two.
pub(crate) struct LatchedPair<'a> {
    first: LatchedPartition<'a>,
    second: Option<LatchedPartition<'a>>,
    first_index: usize,
}

impl<'a> LatchedPair<'a> {
    pub(crate) fn of(&mut self, key: &RowKey) -> &mut LatchedPartition<'a> {
        match &mut self.second {
            Some(second) if RowTable::index(key) != self.first_index => second,
            _ => &mut self.first,
        }
    }
}

impl RowTable {
    pub(crate) fn new() -> RowTable {
        let partition =
            || Partition { len: AtomicU32::new(0), entries: ExclusiveLatch::new(&ROW_TABLE, FxHashMap::default()) };
        RowTable { partitions: (0..PARTITIONS).map(|_| CachePadded::new(partition())).collect() }
    }

    fn index(key: &RowKey) -> usize {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one((key.relation, key.tid.block));
        (hash >> 40) as usize % PARTITIONS
    }

    /// Whether the row's partition knows of any row at all: one load.
    pub(crate) fn may_know(&self, key: &RowKey) -> bool {
        self.partitions[Self::index(key)].len.load(Relaxed) != 0
    }

    pub(crate) fn partition(&self, key: &RowKey) -> LatchedPartition<'_> {
        self.latch(Self::index(key))
    }

    pub(crate) fn pair(&self, one: &RowKey, other: &RowKey) -> LatchedPair<'_> {
        let (a, b) = (Self::index(one), Self::index(other));
        let (low, high) = (a.min(b), a.max(b));
        let first = self.latch(low);
        let second = (high != low).then(|| self.latch(high));
        LatchedPair { first, second, first_index: low }
    }

    pub(crate) fn freeze(&self) -> Vec<LatchedPartition<'_>> {
        (0..self.partitions.len()).map(|index| self.latch(index)).collect()
    }

    fn latch(&self, index: usize) -> LatchedPartition<'_> {
        let partition = &self.partitions[index];
        LatchedPartition { len: &partition.len, entries: partition.entries.lock() }
    }
}
