//! The lock table: relation, page, object and advisory locks.

use std::collections::VecDeque;
use std::hash::{BuildHasher, BuildHasherDefault};

use base::OwnerId;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use sync::{CachePadded, ExclusiveLatch, ExclusiveLatchGuard};

use crate::latches::LOCK_TABLE;
use crate::owner::{Owners, WakeList};
use crate::{LockMode, LockTag, ModeSet};

const PARTITIONS: usize = if cfg!(shuttle) { 2 } else { 16 };

pub(crate) type Entries = FxHashMap<LockTag, LockEntry>;

/// All locks that are not rows, not transactions and not on the fast path, in partitions.
pub(crate) struct LockTable {
    partitions: Box<[CachePadded<ExclusiveLatch<Entries>>]>,
}

/// One target: its holders, and its waiters in order.
#[derive(Default)]
pub(crate) struct LockEntry {
    pub(crate) holders: SmallVec<[Holder; 2]>,
    pub(crate) queue: VecDeque<QueuedLock>,
    /// How many holders hold each mode, by the mode's number; [`LockEntry::granted`] says which are not zero.
    counts: [u32; 9],
    granted: ModeSet,
}

/// The locks that one owner holds on the target.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    pub(crate) owner: OwnerId,
    /// Locks the owner knows of by its own list.
    pub(crate) modes: ModeSet,
    /// Locks a strong locker moved here from the fast path: the owner's slot is marked.
    pub(crate) transferred: ModeSet,
}

/// An owner that waits in the queue.
#[derive(Clone, Copy)]
pub(crate) struct QueuedLock {
    pub(crate) owner: OwnerId,
    pub(crate) mode: LockMode,
}

impl Holder {
    pub(crate) fn all(&self) -> ModeSet {
        let mut all = self.modes;
        all.insert_all(self.transferred);
        all
    }
}

impl LockTable {
    pub(crate) fn new() -> LockTable {
        let partition = || CachePadded::new(ExclusiveLatch::new(&LOCK_TABLE, Entries::default()));
        LockTable { partitions: (0..PARTITIONS).map(|_| partition()).collect() }
    }

    fn index(tag: &LockTag) -> usize {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(tag);
        // The map inside the partition uses the low and the highest bits.
        (hash >> 40) as usize % PARTITIONS
    }

    pub(crate) fn partition(&self, tag: &LockTag) -> ExclusiveLatchGuard<'_, Entries> {
        self.partitions[Self::index(tag)].lock()
    }

    /// Takes the whole table.
    pub(crate) fn freeze(&self) -> FrozenLockTable<'_> {
        FrozenLockTable { partitions: self.partitions.iter().map(|partition| partition.lock()).collect() }
    }
}

/// The whole lock table, latched.
pub(crate) struct FrozenLockTable<'a> {
    partitions: Vec<ExclusiveLatchGuard<'a, Entries>>,
}

impl FrozenLockTable<'_> {
    pub(crate) fn entry(&self, tag: &LockTag) -> Option<&LockEntry> {
        self.partitions[LockTable::index(tag)].get(tag)
    }

    pub(crate) fn entry_mut(&mut self, tag: &LockTag) -> Option<&mut LockEntry> {
        self.partitions[LockTable::index(tag)].get_mut(tag)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&LockTag, &LockEntry)> {
        self.partitions.iter().flat_map(|partition| partition.iter())
    }
}

/// The place in a queue that a request gets.
pub(crate) enum Admission {
    /// No holder and no waiter conflicts with the request.
    Free,
    /// The request must wait, before the member at this position.
    Wait(usize),
    /// Neither the requester nor this waiter could ever go first: each holds a lock that the other one waits for.
    Deadlock(QueuedLock),
}

impl LockEntry {
    fn holder(&self, owner: OwnerId) -> Option<&Holder> {
        self.holders.iter().find(|holder| holder.owner == owner)
    }

    /// Whether anybody but `owner` holds what excludes `mode`.
    pub(crate) fn excludes(&self, owner: OwnerId, mode: LockMode) -> bool {
        let conflicts = mode.conflicts();
        self.granted.intersects(conflicts)
            && self.holders.iter().any(|holder| holder.owner != owner && holder.all().intersects(conflicts))
    }

    /// Whether `owner` may have `mode` now, or where it must queue.
    ///
    /// It queues behind everybody, unless it holds what somebody in the queue waits for: the other could never go first.
    pub(crate) fn admit(&self, owner: OwnerId, mode: LockMode) -> Admission {
        let held = self.holder(owner).map_or(ModeSet::EMPTY, Holder::all);
        let mut ahead = ModeSet::EMPTY;
        let mut position = self.queue.len();
        for (index, waiter) in self.queue.iter().enumerate() {
            if held.intersects(waiter.mode.conflicts()) {
                let held_by_waiter = self.holder(waiter.owner).map_or(ModeSet::EMPTY, Holder::all);
                if held_by_waiter.intersects(mode.conflicts()) {
                    return Admission::Deadlock(*waiter);
                }
                position = index;
                break;
            }
            ahead.insert(waiter.mode);
        }
        if ahead.intersects(mode.conflicts()) || self.excludes(owner, mode) {
            Admission::Wait(position)
        } else {
            Admission::Free
        }
    }

    pub(crate) fn add(&mut self, owner: OwnerId, mode: LockMode, transferred: bool) {
        let position = self.holders.iter().position(|holder| holder.owner == owner).unwrap_or_else(|| {
            self.holders.push(Holder { owner, modes: ModeSet::EMPTY, transferred: ModeSet::EMPTY });
            self.holders.len() - 1
        });
        let holder = &mut self.holders[position];
        let new = !holder.all().contains(mode);
        if transferred {
            holder.transferred.insert(mode);
        } else {
            holder.modes.insert(mode);
        }
        if new {
            self.counts[mode as usize] += 1;
            self.granted.insert(mode);
        }
    }

    /// Takes a lock away. To be followed by [`LockEntry::grant_waiters`].
    pub(crate) fn remove(&mut self, owner: OwnerId, mode: LockMode, transferred: bool) {
        let Some(position) = self.holders.iter().position(|holder| holder.owner == owner) else { return };
        let holder = &mut self.holders[position];
        let before = holder.all();
        if transferred {
            holder.transferred.remove(mode);
        } else {
            holder.modes.remove(mode);
        }
        let after = holder.all();
        if after.is_empty() {
            self.holders.swap_remove(position);
        }
        if before.contains(mode) && !after.contains(mode) {
            self.counts[mode as usize] -= 1;
            if self.counts[mode as usize] == 0 {
                self.granted.remove(mode);
            }
        }
    }

    /// Grants, in order, every waiter that neither a holder nor an earlier waiter stands in the way of.
    pub(crate) fn grant_waiters(&mut self, owners: &Owners, wake: &mut WakeList) {
        let mut ahead = ModeSet::EMPTY;
        let mut index = 0;
        while let Some(&QueuedLock { owner, mode }) = self.queue.get(index) {
            if ahead.intersects(mode.conflicts()) || self.excludes(owner, mode) {
                ahead.insert(mode);
                index += 1;
            } else {
                self.queue.remove(index);
                self.add(owner, mode, false);
                owners.get(owner).grant(wake);
            }
        }
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }
}
