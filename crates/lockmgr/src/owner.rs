//! The data that the lock manager keeps for each owner.

use std::time::Instant;

use base::{Oid, OwnerId, Tid, Xid};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};
use sync::{Arc, Mutex, Waiter, Waker};

use crate::queue::RowQueue;
use crate::{LockMode, LockTag, RowLockMode};

/// Weak relation locks that an owner can hold without the lock table.
pub(crate) const FAST_SLOTS: usize = 16;

/// To be woken once no latch is held.
pub(crate) type WakeList = SmallVec<[Waker; 4]>;

#[derive(Default)]
pub(crate) struct OwnerSlot {
    /// Weak relation locks, in the words of [`crate::fast_path`]. Written by the owner, and marked by strong lockers.
    pub(crate) fast: [AtomicU64; FAST_SLOTS],
    /// How many of them may be in use. Owner only.
    pub(crate) fast_used: AtomicU32,
    /// The current mark: locks taken now belong to it. Owner only.
    pub(crate) serial: AtomicU32,
    /// Whether strong lockers know to look here. Owner only.
    pub(crate) announced: AtomicBool,
    /// Transactions and subtransactions of the owner that run.
    pub(crate) transactions: AtomicU32,
    /// The lengths of `held` and `rows`, so that an owner with none needn't take the mutexes. Owner only.
    pub(crate) held_len: AtomicU32,
    pub(crate) rows_len: AtomicU32,
    /// Locks in the lock table.
    pub(crate) held: Mutex<FxHashMap<(LockTag, LockMode), HeldLock>>,
    /// Row locks in memory.
    pub(crate) rows: Mutex<HeldRows>,
    /// The owner's wait. Set by the owner under the latch of the queue it joins; taken by the thread that grants the wait, under the
    /// same latch.
    wait: Mutex<Option<Wait>>,
    granted: AtomicBool,
    pub(crate) process_id: AtomicI32,
    /// Whether the owner's long waits are written to the log.
    pub(crate) logs_waits: AtomicBool,
}

/// A lock in the lock table, as its owner sees it.
#[derive(Clone, Copy, Default)]
pub(crate) struct HeldLock {
    /// The mark it was first taken under, if it lasts until the transaction's end.
    pub(crate) transaction: Option<u32>,
    /// How often it was taken for the session.
    pub(crate) session: u32,
}

/// A row lock, as its owner sees it. One that is carried to another version keeps its mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldRow {
    pub(crate) relation: Oid,
    pub(crate) tid: Tid,
    /// The mark it was taken under, or [`PINNED`].
    pub(crate) serial: u32,
}

/// The version belongs to a prepared transaction's record: it must keep its place until that is finished.
pub(crate) const PINNED: u32 = u32::MAX;

/// An owner's row locks, in the order they were taken, as long as no row it locked is updated by somebody else.
#[derive(Default)]
pub(crate) struct HeldRows {
    list: Vec<Option<HeldRow>>,
    /// Places in the list that became empty; they may have been cut off or filled since.
    free: Vec<u32>,
    /// Some lock stands behind one with a later mark, or a place is empty.
    pub(crate) unordered: bool,
}

impl HeldRows {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn get(&self, place: usize) -> Option<HeldRow> {
        *self.list.get(place)?
    }

    /// Adds a lock taken by the owner itself; tells its place.
    pub(crate) fn push(&mut self, row: HeldRow) -> usize {
        self.list.push(Some(row));
        self.list.len() - 1
    }

    /// Adds a lock that came with an update by somebody else; tells its place.
    pub(crate) fn add_carried(&mut self, row: HeldRow) -> usize {
        self.unordered = true;
        while let Some(place) = self.free.pop() {
            if let Some(empty @ None) = self.list.get_mut(place as usize) {
                *empty = Some(row);
                return place as usize;
            }
        }
        self.push(row)
    }

    /// Takes a lock out.
    pub(crate) fn remove(&mut self, place: usize) {
        if place + 1 < self.list.len() {
            self.list[place] = None;
            self.free.push(place as u32);
            self.unordered = true;
        } else {
            self.list.pop();
            while let Some(None) = self.list.last() {
                self.list.pop();
            }
        }
        if self.list.is_empty() {
            self.free.clear();
            self.unordered = false;
            if self.list.capacity() > 1 << 16 {
                self.list.shrink_to_fit();
            }
        }
    }

    /// Pins all, and tells where they are. No mark is older than another from now on.
    pub(crate) fn pin_all(&mut self) -> Vec<(usize, HeldRow)> {
        let mut pinned = Vec::with_capacity(self.list.len());
        for (place, row) in self.list.iter_mut().enumerate() {
            if let Some(row) = row {
                row.serial = PINNED;
                pinned.push((place, *row));
            }
        }
        pinned
    }

    /// Whether the lock at this place is on a version that must keep its place.
    pub(crate) fn is_pinned(&self, place: usize) -> bool {
        self.get(place).is_some_and(|row| row.serial == PINNED)
    }

    /// The place and lock nearest to the end, before `end`, that was taken after mark `after`.
    pub(crate) fn last_after(&self, end: usize, after: Option<u32>) -> Option<(usize, HeldRow)> {
        for (place, row) in self.list[..end.min(self.list.len())].iter().enumerate().rev() {
            match row {
                Some(row) if after.is_none_or(|mark| row.serial > mark) => return Some((place, *row)),
                Some(_) if !self.unordered => return None,
                _ => {}
            }
        }
        None
    }
}

/// A wait in progress.
pub(crate) struct Wait {
    pub(crate) target: WaitTarget,
    pub(crate) since: Instant,
    /// Since when it has been waiting for the same transaction, or for the front of the same queue.
    pub(crate) target_since: Instant,
    /// It has looked for a deadlock and sleeps without a time to look again.
    pub(crate) has_looked: bool,
    /// It ends at `lock_timeout`.
    pub(crate) has_limit: bool,
    waker: Waker,
    /// It was chosen as a deadlock's victim and is about to leave: it keeps nobody waiting any more.
    pub(crate) doomed: bool,
}

/// The target of an owner's wait.
#[derive(Clone)]
pub(crate) enum WaitTarget {
    /// An entry of the lock table.
    Lock { tag: LockTag, mode: LockMode },
    /// A row: for the end of `holder` if at the head of the queue, else (invalid) for its turn to be the head.
    Row { queue: Arc<RowQueue>, mode: RowLockMode, holder: Xid },
    /// The end of a transaction.
    Xid(Xid),
}

impl Wait {
    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Goes on as another waiter: one that has been woken can't sleep again.
    pub(crate) fn renew(&mut self, waiter: &Waiter) {
        self.waker = waiter.waker();
    }
}

impl OwnerSlot {
    /// Registers a wait. To be called under the latch of the queue that the owner joins.
    pub(crate) fn begin_wait(&self, target: WaitTarget) -> Waiter {
        let waiter = Waiter::new();
        self.granted.store(false, Relaxed);
        let since = Instant::now();
        let waker = waiter.waker();
        let wait =
            Wait { target, since, target_since: since, has_looked: false, has_limit: false, waker, doomed: false };
        *self.wait.lock() = Some(wait);
        waiter
    }

    /// Ends the wait successfully. To be called under the latch of the queue that the owner has just been taken from.
    pub(crate) fn grant(&self, wake: &mut WakeList) {
        let mut wait = self.wait.lock();
        if let Some(wait) = wait.take() {
            wake.push(wait.waker);
        }
        // Under the mutex: an owner that finds no wait finds it granted.
        self.granted.store(true, Release);
    }

    /// Ends the wait without success. To be called under the latch of the queue that the owner has left.
    pub(crate) fn cancel_wait(&self) {
        *self.wait.lock() = None;
    }

    /// Whether the latest wait was granted.
    pub(crate) fn is_granted(&self) -> bool {
        self.granted.load(Acquire)
    }

    /// Looks at the wait in progress.
    pub(crate) fn with_wait<R>(&self, look: impl FnOnce(&mut Wait) -> R) -> Option<R> {
        self.wait.lock().as_mut().map(look)
    }

    /// The mark that a lock taken now belongs to.
    pub(crate) fn serial_now(&self) -> u32 {
        self.serial.load(Relaxed)
    }
}

/// The owners, by number.
pub(crate) struct Owners(Box<[OwnerSlot]>);

impl Owners {
    pub(crate) fn new(owners_max: u32) -> Owners {
        Owners((0..owners_max).map(|_| OwnerSlot::default()).collect())
    }

    pub(crate) fn get(&self, owner: OwnerId) -> &OwnerSlot {
        &self.0[owner.0 as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (OwnerId, &OwnerSlot)> {
        self.0.iter().enumerate().map(|(number, slot)| (OwnerId(number as u32), slot))
    }
}
