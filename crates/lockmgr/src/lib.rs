//! Locks on relations, rows, transactions and whatever applications number.
#![allow(unused_variables, dead_code)]

mod manager;
mod mode;
mod options;
mod row;
mod tag;
mod view;

pub use manager::LockManager;
pub use mode::{LockMode, ModeSet, RowLockMode};
pub use options::{Granted, LockDuration, LockMark, LockOptions, Scope, WaitPolicy};
pub use row::{RowLockAttempt, RowLocker, RowTurn};
pub use tag::{AdvisoryKey, LockTag};
pub use view::LockView;
