//! The errors for a client that doesn't get a lock.

use base::{Error, sqlstate};

use crate::LockTag;
use crate::manager::ADVISORY_LOCKS_MAX;

/// NOWAIT found the target locked.
#[cold]
pub(crate) fn not_available(tag: &LockTag) -> Error {
    let message = match tag {
        LockTag::Relation(relation) => format!("could not obtain lock on relation with OID {relation}"),
        LockTag::Row { relation, .. } => format!("could not obtain lock on row in relation with OID {relation}"),
        other => format!("could not obtain lock on {}", other.kind()),
    };
    Error::new(sqlstate::LOCK_NOT_AVAILABLE, message)
}

/// `lock_timeout` passed.
#[cold]
pub(crate) fn timed_out() -> Error {
    Error::new(sqlstate::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
}

/// The waiter is the victim of a deadlock; `lines` describes the circle.
#[cold]
pub(crate) fn deadlock(lines: String) -> Error {
    Error::new(sqlstate::DEADLOCK_DETECTED, "deadlock detected").detail(lines).hint("See server log for query details.")
}

/// Somebody holds so many locks that nothing but himself limits that it would take all memory.
#[cold]
pub(crate) fn too_many() -> Error {
    Error::new(sqlstate::OUT_OF_MEMORY, "out of shared memory")
        .hint(format!("A session may hold {ADVISORY_LOCKS_MAX} advisory locks."))
}
