//! The latches of this crate and their order.
//!
//! | rank | latch | guards |
//! | --- | --- | --- |
//! | 60 | `LockManager` | one partition of the lock table: entries, their holders and queues |
//! | 61 | `RowLock` | one partition of the row table: row locks in memory, and which queue a row has |
//! | 62 | `RowQueue` | the members of one row's queue, in order |
//! | 63 | `XidWait` | one partition of the waits for transactions' ends |
//! | - | an owner's mutexes | its wait, its locks, its rows: leaves, under which nothing is taken |
//!
//! Several of one class are taken in the order of their index; queues two at a time only by who holds the partitions
//! of both. The deadlock detector looks into queues last, without waiting for their latches. Page latches come before all of these. Nobody is woken while any of them is held.

use sync::LatchClass;

pub(crate) static LOCK_TABLE: LatchClass = LatchClass::new("LockManager", 60).several_at_once();
pub(crate) static ROW_TABLE: LatchClass = LatchClass::new("RowLock", 61).several_at_once();
pub(crate) static ROW_QUEUE: LatchClass = LatchClass::new("RowQueue", 62).several_at_once();
pub(crate) static XID_WAIT: LatchClass = LatchClass::new("XidWait", 63).several_at_once();
