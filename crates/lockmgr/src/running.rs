//! Which transactions run, and whose they are.
//!
//! A waiter must know at once whether the transaction it is about to wait for still runs, and the deadlock detector whose
//! it is; starting and ending one must cost next to nothing. So there is one word for each of the 65,536 latest xids,
//! found by the xid's low bits and holding its high bits and its owner. A transaction that finds its word taken by one
//! that is 65,536 xids older and still runs goes to an overflow map.

use base::{OwnerId, Xid};
use rustc_hash::FxHashMap;
use sync::Mutex;
use sync::atomic::Ordering::{Relaxed, SeqCst};
use sync::atomic::{AtomicU64, AtomicUsize};

/// A model has few words, so that it comes to the overflow.
const INDEX_BITS: u32 = if cfg!(shuttle) { 2 } else { 16 };
const OWNER_BITS: u32 = 64 - (62 - 16);
/// Owners are numbered below this: their number plus one shares a word with an xid's high bits.
pub(crate) const OWNERS_LIMIT: u32 = (1 << OWNER_BITS) - 1;

pub(crate) struct RunningTransactions {
    words: Box<[AtomicU64]>,
    overflow: Mutex<FxHashMap<Xid, OwnerId>>,
    overflow_len: AtomicUsize,
}

/// Neighbouring xids lie in different cache lines. The factor is odd, so that no two of 2^16 share a word.
fn index(xid: Xid) -> usize {
    (xid.0.wrapping_mul(40_503) & ((1 << INDEX_BITS) - 1)) as usize
}

fn pack(xid: Xid, owner: OwnerId) -> u64 {
    (xid.0 >> INDEX_BITS) << OWNER_BITS | u64::from(owner.0 + 1)
}

/// The owner in `word`, if the word is about `xid`, which has this word's index.
fn unpack(word: u64, xid: Xid) -> Option<OwnerId> {
    let owner = (word & u64::from(OWNERS_LIMIT)) as u32;
    (owner != 0 && word >> OWNER_BITS == xid.0 >> INDEX_BITS).then(|| OwnerId(owner - 1))
}

impl RunningTransactions {
    pub(crate) fn new() -> RunningTransactions {
        RunningTransactions {
            words: (0..1 << INDEX_BITS).map(|_| AtomicU64::new(0)).collect(),
            overflow: Mutex::new(FxHashMap::default()),
            overflow_len: AtomicUsize::new(0),
        }
    }

    pub(crate) fn insert(&self, xid: Xid, owner: OwnerId) {
        debug_assert!(xid.is_valid() && xid < Xid::LIMIT);
        if self.words[index(xid)].compare_exchange(0, pack(xid, owner), SeqCst, Relaxed).is_err() {
            let mut overflow = self.overflow.lock();
            overflow.insert(xid, owner);
            self.overflow_len.store(overflow.len(), SeqCst);
        }
    }

    /// Takes `xid` out, and tells whose it was. A waiter that registers and then still finds `xid` here is seen by what
    /// the caller reads next: both sides are sequentially consistent for a word, and take the mutex for the overflow.
    pub(crate) fn remove(&self, xid: Xid) -> Option<OwnerId> {
        let word = &self.words[index(xid)];
        if let Some(owner) = unpack(word.load(Relaxed), xid) {
            word.swap(0, SeqCst);
            return Some(owner);
        }
        let mut overflow = self.overflow.lock();
        let owner = overflow.remove(&xid);
        self.overflow_len.store(overflow.len(), SeqCst);
        owner
    }

    /// Whose `xid` is, if it runs.
    pub(crate) fn owner_of(&self, xid: Xid) -> Option<OwnerId> {
        if let Some(owner) = unpack(self.words[index(xid)].load(SeqCst), xid) {
            return Some(owner);
        }
        if self.overflow_len.load(SeqCst) == 0 {
            return None;
        }
        self.overflow.lock().get(&xid).copied()
    }

    /// Every running transaction and subtransaction. Not a consistent cut; for views.
    pub(crate) fn all(&self) -> Vec<(Xid, OwnerId)> {
        let mut all: Vec<(Xid, OwnerId)> = self.overflow.lock().iter().map(|(xid, owner)| (*xid, *owner)).collect();
        // The inverse of the index's factor gives the low bits back.
        let inverse = inverse_of(40_503);
        for (position, word) in self.words.iter().enumerate() {
            let word = word.load(Relaxed);
            let owner = (word & u64::from(OWNERS_LIMIT)) as u32;
            if owner != 0 {
                let low = (position as u64).wrapping_mul(inverse) & ((1 << INDEX_BITS) - 1);
                all.push((Xid((word >> OWNER_BITS) << INDEX_BITS | low), OwnerId(owner - 1)));
            }
        }
        all
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
fn inverse_of(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse
}
