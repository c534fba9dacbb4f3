//! The three positions of rule R2, `durable <= written <= inserted`, asserted wherever they change.

use sync::CachePadded;
use sync::atomic::{AtomicU64, Ordering};

/// How far the log is written and durable. How far it is inserted is [`crate::insertion::Insertion`]'s to say.
pub(crate) struct Positions {
    /// Everything before was given to the device: its place in the ring may be used again.
    written: CachePadded<AtomicU64>,
    /// Everything before may be acknowledged. At the end of a record.
    durable: CachePadded<AtomicU64>,
    /// Everything before was synced. Equals `durable`, except where `fsync` was off. Batch marks carry this position.
    synced: AtomicU64,
}

impl Positions {
    pub fn new(position: u64) -> Positions {
        Positions {
            written: CachePadded::new(AtomicU64::new(position)),
            durable: CachePadded::new(AtomicU64::new(position)),
            synced: AtomicU64::new(position),
        }
    }

    #[inline]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Sequentially consistent: who says that it waits, and then finds too little durable, will be told by the leader.
    #[inline]
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::SeqCst)
    }

    pub fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Only under the writer's lock.
    pub fn advance_written(&self, to: u64, inserted: u64) {
        let before = self.written();
        assert!(before <= to && to <= inserted, "R2: written {before} may not go to {to} of inserted {inserted}");
        self.written.store(to, Ordering::Release);
    }

    /// Only by the leader, after a sync that covers `to`.
    pub fn advance_synced(&self, to: u64) {
        let written = self.written();
        assert!(to <= written, "R2: synced may not go to {to} of written {written}");
        self.synced.fetch_max(to, Ordering::AcqRel);
    }

    /// Only by the leader, once `to` is synced, or written with `fsync` off.
    pub fn advance_durable(&self, to: u64) {
        let written = self.written();
        assert!(to <= written, "R2: durable may not go to {to} of written {written}");
        self.durable.fetch_max(to, Ordering::SeqCst);
    }
}
