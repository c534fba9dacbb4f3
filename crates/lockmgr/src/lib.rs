//! Locks on relations, rows, transactions and whatever applications number.
//!
//! Three tables, because they are used so differently:
//!
//! | table | what for | when nobody is in the way |
//! | --- | --- | --- |
//! | [lock table](LockManager::lock) | relations, pages, catalog objects, advisory keys, in eight modes | weak relation locks never get there: a word in the owner's slot |
//! | [row table](LockManager::wait_for_row) | queues of the waiters for a row, and row locks in memory | an update of a free row never gets there: the tuple names its holder |
//! | [running transactions](LockManager::transaction_started) | each transaction's owner, and its waiters | one word written at its start and its end |
//!
//! All waits have the same shape: the waiter registers under a latch, lets the latch go, spins a moment, and sleeps by
//! [`sync::Waiter`], which parks a thread and suspends a coroutine. The thread that grants the wait takes it out of the queue
//! under the same latch, and wakes the waiter when it holds no latch. After `deadlock_timeout` a waiter looks for a deadlock.
//!
//! The README says what the queues guarantee and why.

mod circle;
mod deadlock;
mod error;
mod fast_path;
mod latches;
mod manager;
mod options;
mod owner;
mod prepared;
mod queue;
mod row;
mod row_table;
mod running;
mod table;
mod tag;
mod view;
mod wait;
mod wait_graph;
mod xid_wait;

pub use base::lock_mode::{LockMode, ModeSet, RowLockMode, WaitPolicy};
pub use deadlock::DetectorWork;
pub use manager::LockManager;
pub use options::{Granted, LockDuration, LockMark, LockOptions, Scope};
pub use prepared::{PreparedLocks, PreparedRowLock};
pub use row::{KeptTurn, RowLockAttempt, RowLocker, RowTurn};
pub use tag::{AdvisoryKey, LockTag};
pub use view::LockView;
pub use wait_graph::{OtherWaits, WaitGraph};
