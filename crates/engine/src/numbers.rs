//! Identifiers that are given out once and never again: object identifiers and file numbers.

use base::{FileNumber, Oid, Xid};
use sync::Mutex;
use sync::atomic::{AtomicU64, Ordering};
use wal::{RecordHead, RmgrId, Wal};

use crate::redo::EngineRecord;

/// Object identifiers are reserved in the log so many at a time.
const OIDS_PER_RECORD: u32 = 8192;

/// The next identifiers.
pub(crate) struct Numbers {
    /// Next to give out, and the first not reserved. Guards nothing else; a leaf but for the log's insertion.
    oids: Mutex<(u32, u32)>,
    next_file: AtomicU64,
}

impl Numbers {
    pub(crate) fn new(next_oid: u32, next_file: u64) -> Numbers {
        Numbers { oids: Mutex::new((next_oid, next_oid)), next_file: AtomicU64::new(next_file) }
    }

    /// A new object identifier. The record that reserves it lies before any that names it, so nothing is flushed.
    /// They start again at the first normal one after 2^30: the caller looks whether one is still in use.
    pub(crate) fn allocate_oid(&self, wal: &Wal) -> Oid {
        let mut oids = self.oids.lock();
        if oids.0 < Oid::FIRST_NORMAL.0 || oids.0 >= Oid::ARRAY_TYPE_BIT {
            *oids = (Oid::FIRST_NORMAL.0, Oid::FIRST_NORMAL.0);
        }
        if oids.0 == oids.1 {
            oids.1 = oids.0.saturating_add(OIDS_PER_RECORD);
            let head = RecordHead { rmgr: RmgrId::ENGINE, info: EngineRecord::OIDS_RESERVED, xid: Xid::INVALID };
            wal.insert(head, &[&oids.1.to_le_bytes()]);
        }
        let oid = Oid(oids.0);
        oids.0 = oids.0.wrapping_add(1);
        oid
    }

    /// Returns a new file number. The operation that makes the file logs the number.
    pub(crate) fn allocate_file(&self) -> FileNumber {
        FileNumber(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns bounds for recovery: it must not give out object identifiers below the first or file numbers below the
    /// second.
    pub(crate) fn reserved(&self) -> (u32, u64) {
        (self.oids.lock().1, self.next_file.load(Ordering::Relaxed))
    }
}
