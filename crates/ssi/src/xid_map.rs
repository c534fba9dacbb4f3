//! From xids to serializable transactions.
//!
//! A word pair for each of the latest xids, without a latch; a transaction that outlives so many others' starts that its place
//! would be taken again is found in an overflow map.

use base::Xid;
use rustc_hash::FxHashMap;
use sync::ExclusiveLatch;
use sync::atomic::AtomicU64;
use sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::latches;
use crate::records::XactId;

const PLACES: usize = if cfg!(any(test, shuttle)) { 8 } else { 1 << 14 };

/// Places that share a cache line.
const PER_LINE: usize = 4;
const LINES: usize = PLACES / PER_LINE;

/// No xid is in the place; or one is about to be.
const FREE: u64 = 0;
const BEING_TAKEN: u64 = u64::MAX;

#[derive(Default)]
struct Place {
    xid: AtomicU64,
    id: AtomicU64,
}

pub(crate) struct XidMap {
    places: Box<[Place]>,
    overflow: ExclusiveLatch<FxHashMap<Xid, XactId>>,
    /// How many are in the overflow map.
    overflowing: AtomicU64,
}

impl XidMap {
    pub(crate) fn new() -> XidMap {
        XidMap {
            places: (0..PLACES).map(|_| Place::default()).collect(),
            overflow: ExclusiveLatch::new(&latches::XIDS, FxHashMap::default()),
            overflowing: AtomicU64::new(0),
        }
    }

    fn place(&self, xid: Xid) -> &Place {
        // Xids that follow each other are given to different processors: so each of them gets another cache line.
        let (line, word) = (xid.0 as usize % LINES, xid.0 as usize / LINES % PER_LINE);
        &self.places[line * PER_LINE + word]
    }

    /// Enters the xid. Must be called before anything is written with it.
    pub(crate) fn insert(&self, xid: Xid, id: XactId) {
        let place = self.place(xid);
        if place.xid.compare_exchange(FREE, BEING_TAKEN, Acquire, Relaxed).is_ok() {
            // A thread that sees the id sees that the place was taken, too.
            place.id.store(id.to_bits(), Release);
            place.xid.store(xid.0, Release);
        } else {
            self.overflowing.fetch_add(1, Relaxed);
            self.overflow.lock().insert(xid, id);
        }
    }

    pub(crate) fn get(&self, xid: Xid) -> Option<XactId> {
        let place = self.place(xid);
        if place.xid.load(Acquire) == xid.0 {
            let id = place.id.load(Acquire);
            // If it has gone meanwhile, its transaction has, and `id` may be another's.
            return (place.xid.load(Relaxed) == xid.0).then(|| XactId::from_bits(id));
        }
        if self.overflowing.load(Relaxed) == 0 { None } else { self.overflow.lock().get(&xid).copied() }
    }

    pub(crate) fn remove(&self, xid: Xid) {
        if self.place(xid).xid.compare_exchange(xid.0, FREE, Release, Relaxed).is_err()
            && self.overflow.lock().remove(&xid).is_some()
        {
            self.overflowing.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_xid_is_found_while_it_is_there_however_many_share_its_place() {
        let map = XidMap::new();
        let id = |xid: u64| XactId::new(xid as u32, 7);
        (10..30).for_each(|xid| map.insert(Xid(xid), id(xid)));
        assert!((10..30).all(|xid| map.get(Xid(xid)) == Some(id(xid))));
        assert_eq!(map.get(Xid(30)), None);
        (10..30).step_by(3).for_each(|xid| map.remove(Xid(xid)));
        for xid in 10..30 {
            assert_eq!(map.get(Xid(xid)), (xid % 3 != 1).then(|| id(xid)));
        }
        (10..30).for_each(|xid| map.remove(Xid(xid)));
        assert_eq!(map.overflowing.load(Relaxed), 0);
        assert!((10..30).all(|xid| map.get(Xid(xid)).is_none()));
    }
}
