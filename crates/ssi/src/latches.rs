//! The latches of this crate and their order.
//!
//! | rank | latch | guards |
//! | --- | --- | --- |
//! | 70 | `SerializableXact` | all conflicts: who runs, who has finished, who depends on whom |
//! | 71 | `PredicateLock` | one bucket of the predicate locks |
//! | 72 | `PredicateRange` | one partition of the locked ranges of indexes |
//! | 73 | `SerializableXid` | xids whose place is taken by another's |
//!
//! Page latches come before all of these, since what was read is noted while its page is latched; the log's insertion latch
//! comes after them, since a commit gets its place under the first. One latch of a class is held at a time, none across a
//! wait.

use sync::LatchClass;

pub(crate) static CONFLICTS: LatchClass = LatchClass::new("SerializableXact", 70);
pub(crate) static LOCKS: LatchClass = LatchClass::new("PredicateLock", 71);
pub(crate) static RANGES: LatchClass = LatchClass::new("PredicateRange", 72);
pub(crate) static XIDS: LatchClass = LatchClass::new("SerializableXid", 73);
