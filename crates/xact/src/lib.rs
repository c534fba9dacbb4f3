//! Transactions: begin, commit, abort, savepoints and snapshots.
//!
//! The life of a commit, and where its steps are:
//!
//! | step | what | where |
//! | --- | --- | --- |
//! | 2 | place in the log, csn, horizon, catalog version: the commit order | [`mod@commit_order`], one function |
//! | 3 | locks go to their heirs | [`mod@transaction`] |
//! | 4, 5 | the ticket, the reply | the caller, with [`wal::Wal::ticket`] |
//! | 6 | status bits of the whole cohort, unlinks, the removal floor | [`mod@retire`], run by the log's leader |
//!
//! All sessions share the [`TransactionManager`]. A [`SessionSlot`] is one session's place in it, and its transaction's
//! state machine. The README lists the invariants, and the code that enforces each of them.

mod checkpoint;
mod commit_order;
mod committed;
mod manager;
mod record;
mod redo;
mod retire;
mod savepoint;
mod session;
mod slots;
mod snapshots;
mod statistics;
mod transaction;
pub mod twophase;

pub use manager::{ClogUpdate, FileRemover, ManagerOptions, RunningTransaction, TransactionManager, XactTuning};
pub use record::{CommitRecord, XactRecord};
pub use redo::{RecoveredTransactions, XactRedo};
pub use savepoint::SavepointId;
pub use session::{BeginOptions, CommitOutcome, Isolation, SessionSlot, SnapshotHold, TransactionState};
pub use statistics::{LatencyHistogram, TransactionStatistics};
pub use transaction::closed;
