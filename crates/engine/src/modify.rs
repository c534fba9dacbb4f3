//! Outcomes of attempts to change or lock a row.

use base::{CommandId, Lsn, Tid};

/// The outcome of an attempt to update, delete or lock a row version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modify {
    /// Done; `tid` is the new version (or the locked, or the deleted one).
    Done {
        /// The version.
        tid: Tid,
    },
    /// The own transaction changed it already, in this command or a later one.
    SelfModified {
        /// The command that did.
        command: CommandId,
    },
    /// Somebody else's committed update. Read committed checks `newest` again and retries there, and is the first to be
    /// let through; repeatable read fails with 40001.
    Updated {
        /// The version it was updated to.
        newest: Tid,
        /// When.
        csn: Lsn,
    },
    /// Somebody else's committed delete.
    Deleted {
        /// When.
        csn: Lsn,
    },
    /// The row is locked by somebody else and was to be skipped.
    Skipped,
}

/// The outcome of an insert with ON CONFLICT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConflictOutcome {
    /// The row was inserted.
    Inserted(Tid),
    /// A row with the same key is there.
    Conflict {
        /// The index whose key it has, by position.
        index_position: usize,
        /// The row, as its index entry names it: follow it with [`crate::Session::newest_version`] or lock it.
        tid: Tid,
    },
}
