//! Transactions: begin, commit, abort, savepoints and snapshots.
#![allow(unused_variables, dead_code)]

mod checkpoint;
mod manager;
mod record;
mod redo;
mod session;
pub mod twophase;

pub use checkpoint::CheckpointBarrier;
pub use manager::{ClogUpdate, FileRemover, ManagerOptions, RunningTransaction, TransactionManager, XactTuning};
pub use record::{CommitRecord, XactRecord};
pub use redo::{RecoveredTransactions, XactRedo};
pub use session::{BeginOptions, CommitOutcome, Isolation, SavepointId, SessionSlot, SnapshotHold, TransactionState};
