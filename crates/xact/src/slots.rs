//! The running set: a slot for every session and prepared transaction.
//!
//! A slot is written by its owner alone, in plain stores on a cache line of its own. It is read by the checkpointer, by
//! vacuum, by views and, once per cohort, by whoever refreshes the removal floor; never to take a snapshot.

use base::{OwnerId, Xid};
use sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, fence};
use sync::{CachePadded, Mutex};

use crate::statistics::EndedCounter;

/// No snapshot is published.
pub(crate) const NO_SNAPSHOT: u64 = 0;
const NO_XID: u64 = 0;

/// Xids are given out.
const OPEN: u8 = 0;
/// A thread is looking whether transactions are in progress. A session that asks for an xid or a snapshot waits these few
/// instructions for the outcome.
const CLOSING: u8 = 1;
/// No top-level transaction gets an xid any more.
const CLOSED: u8 = 2;
/// The owner is about to be given an xid.
const ASSIGNING: u64 = u64::MAX;
const COUNTERS: usize = 8;

/// One owner's part of the running set.
#[repr(align(64))]
pub(crate) struct Slot {
    xid: AtomicU64,
    /// The oldest snapshot the owner uses.
    pub(crate) snapshot: AtomicU64,
    /// Odd while the owner is between the record of an abort and the abort's status bits.
    finishing: AtomicU64,
    /// Of all that had the slot.
    pub(crate) ended: EndedCounter,
}

/// Why a transaction gets no identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoXid {
    /// There are no more.
    NoneLeft,
    /// Nothing may be written any more.
    Closed,
}

/// The slots that are not in use.
struct Free {
    numbers: Vec<u32>,
    /// How many slots are sessions'.
    sessions: u32,
}

pub(crate) struct Slots {
    slots: Box<[Slot]>,
    free: Mutex<Free>,
    /// Slots from here on were never used.
    end: AtomicU32,
    next_xid: CachePadded<AtomicU64>,
    /// Whether top-level transactions get xids: [`OPEN`], [`CLOSING`] or [`CLOSED`].
    openness: AtomicU8,
    /// Transactions with an xid that haven't asked for their commit's flush, in parts that hardly ever share an owner.
    unjoined: Box<[CachePadded<AtomicI64>]>,
}

impl Slots {
    pub(crate) fn new(count: u32, next_xid: Xid) -> Slots {
        let slot = || Slot {
            xid: AtomicU64::new(NO_XID),
            snapshot: AtomicU64::new(NO_SNAPSHOT),
            finishing: AtomicU64::new(0),
            ended: EndedCounter::default(),
        };
        Slots {
            slots: (0..count).map(|_| slot()).collect(),
            free: Mutex::new(Free { numbers: (0..count).rev().collect(), sessions: 0 }),
            end: AtomicU32::new(0),
            next_xid: CachePadded::new(AtomicU64::new(next_xid.0)),
            openness: AtomicU8::new(OPEN),
            unjoined: (0..COUNTERS).map(|_| CachePadded::new(AtomicI64::new(0))).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes a free slot for a session, which leaves room for `prepared_max` prepared transactions. The lowest numbered if
    /// none was given back yet.
    pub(crate) fn take_for_session(&self, prepared_max: u32) -> Option<OwnerId> {
        let mut free = self.free.lock();
        if free.sessions >= (self.slots.len() as u32).saturating_sub(prepared_max) {
            return None;
        }
        let taken = self.take_from(&mut free)?;
        free.sessions += 1;
        Some(taken)
    }

    /// Takes a free slot for a prepared transaction, or for its session in place of the one that it keeps.
    pub(crate) fn take(&self) -> Option<OwnerId> {
        self.take_from(&mut self.free.lock())
    }

    fn take_from(&self, free: &mut Free) -> Option<OwnerId> {
        let number = free.numbers.pop()?;
        self.end.fetch_max(number + 1, SeqCst);
        Some(OwnerId(number))
    }

    /// The session is over.
    pub(crate) fn give_back_by_session(&self, owner: OwnerId) {
        self.give_back(owner);
        self.free.lock().sessions -= 1;
    }

    pub(crate) fn give_back(&self, owner: OwnerId) {
        debug_assert_eq!(self.get(owner).xid.load(Relaxed), NO_XID);
        debug_assert_eq!(self.get(owner).snapshot.load(Relaxed), NO_SNAPSHOT);
        self.free.lock().numbers.push(owner.0);
    }

    /// The slot is that of a prepared transaction of an earlier start.
    pub(crate) fn restore(&self, owner: OwnerId, xid: Xid) {
        self.get(owner).xid.store(xid.0, SeqCst);
    }

    pub(crate) fn get(&self, owner: OwnerId) -> &Slot {
        &self.slots[owner.0 as usize]
    }

    /// Every slot ever used.
    pub(crate) fn used(&self) -> impl Iterator<Item = (OwnerId, &Slot)> {
        let end = self.end.load(SeqCst) as usize;
        self.slots[..end].iter().enumerate().map(|(number, slot)| (OwnerId(number as u32), slot))
    }

    /// Refuses xids to top-level transactions from now on, if `is_quiet`. That is asked while nobody gets an xid: a look at the slots
    /// then finds every transaction that got one, and every snapshot whose taker has not learnt the outcome
    /// ([`Slots::are_closed`]). If it is not quiet, nobody was refused anything.
    pub(crate) fn close_if(&self, is_quiet: impl FnOnce() -> bool) {
        self.openness.store(CLOSING, SeqCst);
        fence(SeqCst);
        let outcome = if is_quiet() { CLOSED } else { OPEN };
        self.openness.store(outcome, SeqCst);
    }

    #[inline]
    pub(crate) fn are_closed(&self) -> bool {
        match self.openness.load(Relaxed) {
            OPEN => false,
            _ => self.await_outcome(),
        }
    }

    /// Whether it is closed, once that is decided.
    #[cold]
    fn await_outcome(&self) -> bool {
        loop {
            match self.openness.load(SeqCst) {
                CLOSING => {
                    sync::spin_hint();
                    sync::thread::yield_now();
                }
                outcome => return outcome == CLOSED,
            }
        }
    }

    /// How many owners have an xid, or a snapshot in use; `except` those in this list.
    pub(crate) fn in_progress(&self, except: &[OwnerId]) -> usize {
        let is_busy = |slot: &Slot| slot.xid().is_some() || slot.snapshot.load(Acquire) != NO_SNAPSHOT;
        self.used().filter(|(owner, slot)| is_busy(slot) && !except.contains(owner)).count()
    }

    /// Gives out the next xid, to a top-level transaction of `owner`.
    ///
    /// A thread that reads `next_xid` and then the slots finds each lower xid in its slot, or [`ASSIGNING`] there. This
    /// function waits for nothing between the two stores, as other threads may spin until the second.
    pub(crate) fn assign_top(&self, owner: OwnerId) -> Result<Xid, NoXid> {
        let slot = self.get(owner);
        let assigned = loop {
            slot.xid.store(ASSIGNING, Release);
            // Either this thread sees that another one closes, or the closing thread sees the slot.
            fence(SeqCst);
            match self.openness.load(Relaxed) {
                OPEN => break self.assign().ok_or(NoXid::NoneLeft),
                CLOSED => break Err(NoXid::Closed),
                _ => {
                    slot.xid.store(NO_XID, Release);
                    self.await_outcome();
                }
            }
        };
        match assigned {
            Ok(xid) => {
                slot.xid.store(xid.0, Release);
                self.count_unjoined(owner, 1);
            }
            Err(_) => slot.xid.store(NO_XID, Release),
        }
        assigned
    }

    /// Gives out the next xid, to a subtransaction: its top-level transaction has one.
    pub(crate) fn assign(&self) -> Option<Xid> {
        let xid = Xid(self.next_xid.fetch_add(1, SeqCst));
        if xid >= Xid::LIMIT {
            self.next_xid.fetch_sub(1, SeqCst);
            return None;
        }
        Some(xid)
    }

    /// The owner's transaction has its outcome.
    pub(crate) fn clear(&self, owner: OwnerId) {
        self.get(owner).xid.store(NO_XID, Release);
    }

    /// One more or one less that may still join a cohort.
    pub(crate) fn count_unjoined(&self, owner: OwnerId, change: i64) {
        self.unjoined[owner.0 as usize % COUNTERS].fetch_add(change, Relaxed);
    }

    pub(crate) fn unjoined(&self) -> usize {
        let sum: i64 = self.unjoined.iter().map(|part| part.load(Relaxed)).sum();
        usize::try_from(sum).unwrap_or(0)
    }

    pub(crate) fn next_xid(&self) -> Xid {
        Xid(self.next_xid.load(SeqCst))
    }

    /// The transactions that have an xid and no outcome.
    pub(crate) fn running(&self) -> Vec<(OwnerId, Xid)> {
        self.used().filter_map(|(owner, slot)| slot.xid().map(|xid| (owner, xid))).collect()
    }

    /// At or below every xid without an outcome, those given out later included.
    pub(crate) fn oldest_running(&self) -> Xid {
        let next = self.next_xid();
        self.used().filter_map(|(_, slot)| slot.xid()).min().map_or(next, |oldest| oldest.min(next))
    }
}

impl Slot {
    /// The owner's top-level xid.
    fn xid(&self) -> Option<Xid> {
        loop {
            match self.xid.load(SeqCst) {
                NO_XID => return None,
                // Its owner is a few instructions away from knowing it, or was put aside by the scheduler there.
                ASSIGNING => {
                    sync::spin_hint();
                    sync::thread::yield_now();
                }
                xid => return Some(Xid(xid)),
            }
        }
    }

    /// Runs `finish`, which inserts a record and sets the bits that it justifies.
    pub(crate) fn while_finishing<R>(&self, finish: impl FnOnce() -> R) -> R {
        let before = self.finishing.load(Relaxed);
        self.finishing.store(before + 1, SeqCst);
        let result = finish();
        self.finishing.store(before + 2, Release);
        result
    }

    /// Returns the number of the finish in progress, if there is one, for a later call of [`Slot::has_finished`].
    pub(crate) fn finishing(&self) -> Option<u64> {
        let now = self.finishing.load(SeqCst);
        (now % 2 == 1).then_some(now)
    }

    pub(crate) fn has_finished(&self, finishing: u64) -> bool {
        self.finishing.load(Acquire) != finishing
    }
}
