//! Weak relation locks without the shared lock table.
//!
//! Nearly all relation locks are AccessShare, RowShare or RowExclusive, which never exclude each other. Such a lock is one
//! word in its owner's slot. Strong lockers find it there:
//!
//! ```text
//!  weak:   slot.store(lock)           strong: strong[relation] += 1
//!          strong[relation] == 0 ?            for every owner: mark its slot, enter the lock in the lock table
//! ```
//!
//! All four are sequentially consistent, so that either the weak locker sees the count and takes the slow path, or the
//! strong one sees the lock. A marked lock is in the lock table, and is released there.

use base::{Oid, OwnerId};
use sync::atomic::AtomicU32;
use sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};

use crate::owner::{FAST_SLOTS, OwnerSlot, Owners};
use crate::{Granted, LockMode};

const STRONG_COUNTERS: usize = if cfg!(shuttle) { 2 } else { 1024 };

/// A word of a slot:
///
/// ```text
/// 63 ....... 32 | 31 .. 30 | 29          | 28 .. 0
/// relation      | mode     | transferred | mark
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FastLock(u64);

const TRANSFERRED: u64 = 1 << 29;
const SERIAL_MASK: u64 = TRANSFERRED - 1;
/// Relation and mode.
const KEY_MASK: u64 = !(TRANSFERRED | SERIAL_MASK);

impl FastLock {
    fn new(relation: Oid, mode: LockMode, serial: u32) -> FastLock {
        debug_assert!(mode.is_weak());
        FastLock(u64::from(relation.0) << 32 | (mode as u64) << 30 | u64::from(serial))
    }

    pub(crate) fn from_word(word: u64) -> Option<FastLock> {
        (word != 0).then_some(FastLock(word))
    }

    pub(crate) fn relation(self) -> Oid {
        Oid((self.0 >> 32) as u32)
    }

    pub(crate) fn mode(self) -> LockMode {
        LockMode::from_number((self.0 >> 30 & 3) as u8)
    }

    pub(crate) fn is_transferred(self) -> bool {
        self.0 & TRANSFERRED != 0
    }

    pub(crate) fn serial(self) -> u32 {
        (self.0 & SERIAL_MASK) as u32
    }
}

/// How many strong locks are held or waited for, by relation (several relations may share a counter).
pub(crate) struct StrongCounts {
    counts: Box<[AtomicU32]>,
    /// Owners numbered below this may hold fast locks.
    owners_end: AtomicU32,
}

impl StrongCounts {
    pub(crate) fn new() -> StrongCounts {
        StrongCounts {
            counts: (0..STRONG_COUNTERS).map(|_| AtomicU32::new(0)).collect(),
            owners_end: AtomicU32::new(0),
        }
    }

    fn count(&self, relation: Oid) -> &AtomicU32 {
        &self.counts[(relation.0.wrapping_mul(0x9E37_79B1) >> 22) as usize % STRONG_COUNTERS]
    }

    /// From now on nobody takes the fast path for this relation.
    pub(crate) fn announce(&self, relation: Oid) {
        self.count(relation).fetch_add(1, SeqCst);
    }

    /// Takes an announcement back.
    pub(crate) fn withdraw(&self, relation: Oid) {
        self.count(relation).fetch_sub(1, SeqCst);
    }

    /// Tries to lock `relation` for `owner` without the lock table. `None`: not possible now.
    pub(crate) fn lock(&self, slot: &OwnerSlot, owner: OwnerId, relation: Oid, mode: LockMode) -> Option<Granted> {
        let serial = slot.serial_now();
        if u64::from(serial) > SERIAL_MASK || relation == Oid::INVALID {
            return None;
        }
        let lock = FastLock::new(relation, mode, serial);
        let used = slot.fast_used.load(Relaxed) as usize;
        let mut free = used;
        for (position, word) in slot.fast[..used].iter().enumerate() {
            let word = word.load(Relaxed);
            if word & KEY_MASK == lock.0 & KEY_MASK {
                return Some(Granted::AlreadyHeld);
            }
            if word == 0 && free == used {
                free = position;
            }
        }
        if free == FAST_SLOTS || self.count(relation).load(Relaxed) != 0 {
            return None;
        }
        if !slot.announced.load(Relaxed) {
            self.owners_end.fetch_max(owner.0 + 1, SeqCst);
            slot.announced.store(true, Relaxed);
        }
        slot.fast[free].store(lock.0, SeqCst);
        if self.count(relation).load(SeqCst) != 0 {
            // A strong locker may or may not have seen it. If it has, the lock is granted, in the lock table.
            if slot.fast[free].compare_exchange(lock.0, 0, SeqCst, SeqCst).is_ok() {
                return None;
            }
        }
        if free == used {
            slot.fast_used.store(used as u32 + 1, Relaxed);
        }
        Some(Granted::Acquired)
    }

    /// Marks every fast lock on `relation`, giving each to `transfer`, which enters it in the lock table. To be called under
    /// the latch of the relation's partition after [`StrongCounts::announce`].
    pub(crate) fn transfer(&self, owners: &Owners, relation: Oid, mut transfer: impl FnMut(OwnerId, LockMode)) {
        let end = self.owners_end.load(SeqCst) as usize;
        for (owner, slot) in owners.iter().take(end) {
            for word in &slot.fast {
                let seen = word.load(SeqCst);
                let Some(lock) = FastLock::from_word(seen) else { continue };
                if lock.relation() == relation
                    && !lock.is_transferred()
                    && word.compare_exchange(seen, seen | TRANSFERRED, SeqCst, SeqCst).is_ok()
                {
                    transfer(owner, lock.mode());
                }
            }
        }
    }

    /// Releases the owner's fast locks taken after mark `after` (all, if absent); those that are in the lock table are given
    /// to `in_table`.
    pub(crate) fn unlock(&self, slot: &OwnerSlot, after: Option<u32>, mut in_table: impl FnMut(Oid, LockMode)) {
        let used = slot.fast_used.load(Relaxed) as usize;
        if used == 0 {
            return;
        }
        let mut kept = 0;
        for (position, word) in slot.fast[..used].iter().enumerate() {
            let Some(lock) = FastLock::from_word(word.load(Relaxed)) else { continue };
            if after.is_some_and(|mark| lock.serial() <= mark) {
                kept = position + 1;
                continue;
            }
            let Some(lock) = FastLock::from_word(word.swap(0, AcqRel)) else { continue };
            if lock.is_transferred() {
                in_table(lock.relation(), lock.mode());
            }
        }
        slot.fast_used.store(kept as u32, Relaxed);
    }

    /// Takes one fast lock out, to be kept otherwise: its mark, and whether it is in the lock table.
    pub(crate) fn take(&self, slot: &OwnerSlot, relation: Oid, mode: LockMode) -> Option<FastLock> {
        let key = FastLock::new(relation, mode, 0).0;
        let used = slot.fast_used.load(Relaxed) as usize;
        let word = slot.fast[..used].iter().find(|word| word.load(Relaxed) & KEY_MASK == key)?;
        FastLock::from_word(word.swap(0, AcqRel))
    }

    /// The owner's fast locks.
    pub(crate) fn held(slot: &OwnerSlot) -> impl Iterator<Item = FastLock> {
        slot.fast.iter().filter_map(|word| FastLock::from_word(word.load(SeqCst)))
    }
}
