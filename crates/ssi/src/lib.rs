//! Serializable snapshot isolation.
//!
//! A serializable transaction reads from a snapshot like any other, and nobody waits for it. Its reads are noted as
//! predicate locks. If another transaction's write touches such a lock, or the reader meets a version that its snapshot doesn't
//! show, the two transactions have an rw-conflict. If two such conflicts in a row could be part of a cycle, one transaction is
//! sacrificed with 40001. [`Ssi`] is the state that all of them share, [`SerializableTransaction`] is one transaction. The
//! crate's README has the chapter.
//!
//! ```text
//!   reader                                      writer
//!   ------                                      ------
//!   notes the lock (page latched, or before)    writes the version or entry (page latched)
//!   reads; meets a version it doesn't see:      looks for locks on what it wrote:
//!     reader -> maker of the version              holder -> writer
//! ```

mod conflicts;
mod latches;
mod lock_table;
mod manager;
mod reason;
mod records;
mod retries;
mod stripes;
mod summary;
mod target;
mod transaction;
mod xid_map;

#[cfg(test)]
mod tests;

pub use lock_table::KeyRange;
pub use manager::{Entrance, PredicateLock, PredicatePlace, Ssi, SsiOptions};
pub use reason::{Reason, Statistics};
pub use retries::{Retries, RetryTurn};
pub use transaction::SerializableTransaction;
