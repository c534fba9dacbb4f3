//! The records of transactions' ends.

use base::{FileNumber, Result, Xid};
use wal::Record;

/// What a commit record says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CommitRecord {
    /// When, in microseconds since 2000-01-01 00:00 UTC.
    pub at_micros: i64,
    /// Subtransactions that committed with it, those named by earlier pieces included once redo has joined them.
    pub children: Vec<Xid>,
    /// Files to remove.
    pub dropped_files: Vec<FileNumber>,
    /// Whether it changed the catalog.
    pub changes_catalog: bool,
}

/// A record of this resource manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum XactRecord {
    /// The transaction committed.
    Commit(CommitRecord),
    /// The transaction, or a savepoint's subtree, aborted: the record's xid and these.
    Abort {
        /// Subtransactions that aborted with it.
        children: Vec<Xid>,
        /// Files it had made.
        created_files: Vec<FileNumber>,
    },
    /// A piece of a commit with very many subtransactions.
    Children(Vec<Xid>),
}

impl XactRecord {
    /// Reads a record. Takes any bytes: XX001 if they are no record.
    pub fn decode(record: &Record<'_>) -> Result<XactRecord> {
        todo!()
    }
    /// One line for `waldump`.
    pub fn describe(&self) -> String {
        todo!()
    }
}
