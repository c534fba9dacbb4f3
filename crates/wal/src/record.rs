//! How a record lies in the log.

use base::{Lsn, Xid};

/// Whose record it is: which redo handler reads its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RmgrId(pub u8);

impl RmgrId {
    /// The log itself: batch marks and ends of recovery. Redo never sees these.
    pub const WAL: RmgrId = RmgrId(0);
    /// Commits, aborts, prepares.
    pub const XACT: RmgrId = RmgrId(1);
    /// Tuples.
    pub const HEAP: RmgrId = RmgrId(2);
    /// Index entries.
    pub const BTREE: RmgrId = RmgrId(3);
    /// Files, catalog version, checkpoints.
    pub const ENGINE: RmgrId = RmgrId(4);
    /// Pages as such.
    pub const BUFFER: RmgrId = RmgrId(5);
    /// Sequences.
    pub const SEQUENCE: RmgrId = RmgrId(6);
}

/// The number of a start of the database: every record carries the one it was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The epoch of a new log.
    pub const FIRST: Epoch = Epoch(1);
}

/// What an inserter says about its record besides the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// Whose record it is.
    pub rmgr: RmgrId,
    /// What kind, in its resource manager's own numbers.
    pub info: u8,
    /// The transaction it belongs to, or [`Xid::INVALID`].
    pub xid: Xid,
}

/// Where a record was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its first byte.
    pub start: Lsn,
    /// Its end, exclusive: its name everywhere else (CSN, page LSN, gates).
    pub end: Lsn,
}

/// A record as read back.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its first byte.
    pub start: Lsn,
    /// Its end, exclusive.
    pub end: Lsn,
    /// The start of the database it was written in.
    pub epoch: Epoch,
    /// Owner, kind and transaction.
    pub head: RecordHead,
    /// The bytes its inserter gave, its parts joined.
    pub payload: &'a [u8],
}

/// Decodes the record at the beginning of `bytes`, which lie at `at` in the log; `None` if there is no valid one.
/// Takes any bytes: never panics.
pub fn decode(bytes: &[u8], at: Lsn) -> Option<Record<'_>> {
    let _ = (bytes, at);
    todo!()
}
