//! The locks of prepared transactions.
//!
//! A prepared transaction keeps the owner number it ran under, so each of its locks stays where it is: the session goes on under
//! another number. Locks that a session holds beyond its transactions move to the session's new number. The transaction's locks
//! are written to the log, so that a restart can take them again.
//!
//! A row lock in memory is written down by the place of the version it is on, so that version must keep its place for
//! as long as the lock lasts. [`LockManager::forget_row`] refuses to forget it, and also the versions to which updates carry the lock.

use base::{Oid, OwnerId, Result, Tid, Xid};
use smallvec::SmallVec;
use sync::atomic::Ordering::Relaxed;

use crate::fast_path::StrongCounts;
use crate::owner::{HeldLock, HeldRow, PINNED};
use crate::row_table::{Locker, RowKey};
use crate::{AdvisoryKey, LockManager, LockMode, LockOptions, LockTag, RowLockMode, WaitPolicy};

/// Locks that last until a prepared transaction is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedLocks {
    /// Relations, pages, objects and advisory keys.
    pub locks: Vec<(LockTag, LockMode)>,
    /// Rows locked in memory.
    pub rows: Vec<PreparedRowLock>,
}

/// A row lock in memory that lasts until a prepared transaction is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedRowLock {
    /// The relation.
    pub relation: Oid,
    /// The version that is locked.
    pub tid: Tid,
    /// How strongly.
    pub mode: RowLockMode,
}

const LOCK_BYTES: usize = 14;
const ROW_BYTES: usize = 11;

const RELATION: u8 = 0;
const PAGE: u8 = 1;
const ADVISORY_ONE: u8 = 2;
const ADVISORY_TWO: u8 = 3;
const OBJECT: u8 = 4;
const ADVISORY_ONE_IN: u8 = 5;
const ADVISORY_TWO_IN: u8 = 6;

impl PreparedLocks {
    /// As bytes: how many locks (u32), and for each its kind and mode (u8 each) and two numbers (u32, u64); then for each row
    /// its relation and block (u32 each), slot (u16) and mode (u8).
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + LOCK_BYTES * self.locks.len() + ROW_BYTES * self.rows.len());
        bytes.extend_from_slice(&(self.locks.len() as u32).to_le_bytes());
        for (tag, mode) in &self.locks {
            let (kind, first, second) = match *tag {
                LockTag::Relation(relation) => (RELATION, relation.0, 0),
                LockTag::Page { relation, block } => (PAGE, relation.0, u64::from(block)),
                LockTag::Advisory(AdvisoryKey::One(key)) => (ADVISORY_ONE, 0, key as u64),
                LockTag::Advisory(AdvisoryKey::Two(high, low)) => (ADVISORY_TWO, high as u32, u64::from(low as u32)),
                LockTag::AdvisoryIn { database, key: AdvisoryKey::One(key) } => {
                    (ADVISORY_ONE_IN, database.0, key as u64)
                }
                LockTag::AdvisoryIn { database, key: AdvisoryKey::Two(high, low) } => {
                    (ADVISORY_TWO_IN, database.0, u64::from(high as u32) << 32 | u64::from(low as u32))
                }
                LockTag::Object { class, object } => (OBJECT, class.0, object),
                // These have calls, and lists, of their own.
                LockTag::Row { .. } | LockTag::Xid(_) => continue,
            };
            bytes.extend_from_slice(&[kind, *mode as u8]);
            bytes.extend_from_slice(&first.to_le_bytes());
            bytes.extend_from_slice(&second.to_le_bytes());
        }
        for row in &self.rows {
            bytes.extend_from_slice(&row.relation.0.to_le_bytes());
            bytes.extend_from_slice(&row.tid.block.to_le_bytes());
            bytes.extend_from_slice(&row.tid.slot.to_le_bytes());
            bytes.push(row.mode as u8);
        }
        bytes
    }

    /// Reads what [`PreparedLocks::encode`] wrote; `None` if it didn't. Takes any bytes.
    pub fn decode(bytes: &[u8]) -> Option<PreparedLocks> {
        let (count, bytes) = bytes.split_first_chunk()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (locks, rows) = bytes.split_at_checked(count.checked_mul(LOCK_BYTES)?)?;
        let (locks, _) = locks.as_chunks::<LOCK_BYTES>();
        let (rows, []) = rows.as_chunks::<ROW_BYTES>() else { return None };
        Some(PreparedLocks {
            locks: locks.iter().map(decode_lock).collect::<Option<_>>()?,
            rows: rows.iter().map(decode_row).collect::<Option<_>>()?,
        })
    }
}

fn decode_lock(bytes: &[u8; LOCK_BYTES]) -> Option<(LockTag, LockMode)> {
    let [kind, mode, a, b, c, d, second @ ..] = *bytes;
    let (first, second) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(second));
    let tag = match kind {
        RELATION => LockTag::Relation(Oid(first)),
        PAGE => LockTag::Page { relation: Oid(first), block: second as u32 },
        ADVISORY_ONE => LockTag::Advisory(AdvisoryKey::One(second as i64)),
        ADVISORY_TWO => LockTag::Advisory(AdvisoryKey::Two(first as i32, second as i32)),
        ADVISORY_ONE_IN => LockTag::AdvisoryIn { database: Oid(first), key: AdvisoryKey::One(second as i64) },
        ADVISORY_TWO_IN => {
            let key = AdvisoryKey::Two((second >> 32) as i32, second as i32);
            LockTag::AdvisoryIn { database: Oid(first), key }
        }
        OBJECT => LockTag::Object { class: Oid(first), object: second },
        _ => return None,
    };
    LockMode::ALL.iter().find(|known| **known as u8 == mode).map(|mode| (tag, *mode))
}

fn decode_row(bytes: &[u8; ROW_BYTES]) -> Option<PreparedRowLock> {
    let [a, b, c, d, e, f, g, h, i, j, mode] = *bytes;
    let block = u32::from_le_bytes([e, f, g, h]);
    let tid = Tid { block, slot: u16::from_le_bytes([i, j]) };
    let mode = RowLockMode::ALL.into_iter().find(|known| *known as u8 == mode)?;
    Some(PreparedRowLock { relation: Oid(u32::from_le_bytes([a, b, c, d])), tid, mode })
}

impl LockManager {
    /// Whether the owner holds something both for its session and for its transaction: the two could not part.
    pub fn holds_for_session_and_transaction(&self, owner: OwnerId) -> bool {
        let slot = self.owners.get(owner);
        if slot.held_len.load(Relaxed) == 0 {
            return false;
        }
        let held = slot.held.lock();
        let mut of_session = held.iter().filter(|(_, lock)| lock.session > 0).map(|((tag, _), _)| tag);
        let of_transaction =
            |tag: &LockTag| held.iter().any(|((other, _), lock)| other == tag && lock.transaction.is_some());
        of_session.any(of_transaction)
    }

    /// Returns the locks that the owner's transaction holds, for the record of its PREPARE. From now on the versions that it has
    /// locked in memory keep their places.
    pub fn prepare(&self, owner: OwnerId) -> PreparedLocks {
        let slot = self.owners.get(owner);
        let mut locks: Vec<(LockTag, LockMode)> =
            StrongCounts::held(slot).map(|lock| (LockTag::Relation(lock.relation()), lock.mode())).collect();
        if slot.held_len.load(Relaxed) != 0 {
            let held = slot.held.lock();
            locks.extend(held.iter().filter(|(_, lock)| lock.transaction.is_some()).map(|(key, _)| *key));
        }
        let pinned = if slot.rows_len.load(Relaxed) == 0 { Vec::new() } else { slot.rows.lock().pin_all() };
        let mut rows = Vec::with_capacity(pinned.len());
        for (place, row) in pinned {
            let key = RowKey { relation: row.relation, tid: row.tid };
            let partition = self.rows.partition(&key);
            let lockers = partition.get(&key).map_or(&[][..], |entry| &entry.lockers);
            let own = lockers.iter().find(|locker| locker.owner == owner && locker.place() == place);
            rows.extend(own.map(|own| PreparedRowLock { relation: row.relation, tid: row.tid, mode: own.mode() }));
        }
        PreparedLocks { locks, rows }
    }

    /// The relations that the owner's transaction has locked.
    pub fn relations_of(&self, owner: OwnerId) -> Vec<Oid> {
        let slot = self.owners.get(owner);
        let mut relations: Vec<Oid> = StrongCounts::held(slot).map(|lock| lock.relation()).collect();
        if slot.held_len.load(Relaxed) != 0 {
            relations.extend(slot.held.lock().keys().filter_map(|(tag, _)| match tag {
                LockTag::Relation(relation) => Some(*relation),
                _ => None,
            }));
        }
        relations
    }

    /// The session goes on as `to`: what it holds for itself, not for its transaction, goes with it.
    pub fn move_session(&self, from: OwnerId, to: OwnerId) {
        let (slot, target) = (self.owners.get(from), self.owners.get(to));
        target.logs_waits.store(slot.logs_waits.swap(false, Relaxed), Relaxed);
        target.process_id.store(slot.process_id.swap(0, Relaxed), Relaxed);
        if slot.held_len.load(Relaxed) == 0 {
            return;
        }
        let mut moved: SmallVec<[((LockTag, LockMode), HeldLock); 8]> = SmallVec::new();
        {
            let mut held = slot.held.lock();
            held.retain(|key, lock| {
                if lock.session > 0 {
                    moved.push((*key, HeldLock { transaction: None, session: lock.session }));
                    lock.session = 0;
                }
                lock.transaction.is_some()
            });
            slot.held_len.store(held.len() as u32, Relaxed);
        }
        for ((tag, mode), lock) in moved {
            {
                let mut entries = self.table.partition(&tag);
                let entry = entries.entry(tag).or_default();
                // Both in one step: nobody may come in between.
                entry.remove(from, mode, false);
                entry.add(to, mode, false);
            }
            let mut held = target.held.lock();
            held.insert((tag, mode), lock);
            target.held_len.store(held.len() as u32, Relaxed);
        }
    }

    /// Gives a prepared transaction of an earlier start its locks back, but for those on rows; from now on others may wait for
    /// it.
    ///
    /// # Errors
    /// 55P03 if another one has a lock that excludes one of them.
    pub fn restore_prepared(
        &self,
        owner: OwnerId,
        xids: impl Iterator<Item = Xid>,
        locks: &PreparedLocks,
        options: &LockOptions<'_>,
    ) -> Result<()> {
        xids.for_each(|xid| self.transaction_started(xid, owner));
        let options = LockOptions { wait: WaitPolicy::NoWait, ..*options };
        locks.locks.iter().try_for_each(|(tag, mode)| self.lock(owner, *tag, *mode, &options).map(|_| ()))
    }

    /// Gives a prepared transaction of an earlier start a lock on a version of a row back.
    pub fn restore_row_lock(&self, owner: OwnerId, xid: Xid, relation: Oid, tid: Tid, mode: RowLockMode) {
        let key = RowKey { relation, tid };
        let mut partition = self.rows.partition(&key);
        let slot = self.owners.get(owner);
        let mut rows = slot.rows.lock();
        let place = rows.push(HeldRow { relation, tid, serial: PINNED });
        slot.rows_len.store(rows.len() as u32, Relaxed);
        partition.entry(key).lockers.push(Locker::new(xid, owner, place, mode));
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn some() -> PreparedLocks {
        let row = |slot, mode| PreparedRowLock { relation: Oid(7), tid: Tid { block: 1 << 30, slot }, mode };
        PreparedLocks {
            locks: vec![
                (LockTag::Relation(Oid(1)), LockMode::RowExclusive),
                (LockTag::Page { relation: Oid(2), block: 9 }, LockMode::Share),
                (LockTag::Advisory(AdvisoryKey::One(-5)), LockMode::Exclusive),
                (LockTag::Advisory(AdvisoryKey::Two(-1, i32::MIN)), LockMode::Exclusive),
                (LockTag::AdvisoryIn { database: Oid(7), key: AdvisoryKey::One(-5) }, LockMode::Share),
                (LockTag::AdvisoryIn { database: Oid(7), key: AdvisoryKey::Two(i32::MIN, -1) }, LockMode::Exclusive),
                (LockTag::Object { class: Oid(3), object: u64::MAX }, LockMode::AccessExclusive),
            ],
            rows: RowLockMode::ALL.into_iter().map(|mode| row(mode as u16 + 1, mode)).collect(),
        }
    }

    #[test]
    fn locks_read_back_as_written() {
        for locks in [PreparedLocks::default(), some()] {
            assert_eq!(PreparedLocks::decode(&locks.encode()), Some(locks));
        }
    }

    // invariants: row 26
    #[test]
    fn damaged_locks_are_none_at_all() {
        let bytes = some().encode();
        for cut in 0..bytes.len() {
            if let Some(cut) = PreparedLocks::decode(&bytes[..cut]) {
                assert!(cut.rows.len() < some().rows.len());
            }
            for value in [0, 9, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[cut] = value;
                let _ = PreparedLocks::decode(&damaged);
            }
        }
        assert_eq!(PreparedLocks::decode(&[]), None);
    }
}
