//! The engine: opening and recovering a database, checkpoints, vacuum, the catalog, and the row API that programs embed.

mod activity;
pub mod catalog;
mod database;
pub mod key;
mod large;
mod modify;
pub mod row;
mod scan;
mod session;
mod table;

pub use activity::TableActivity;
pub use btree::{Direction, KeyRange};
pub use clog::Snapshot;
pub use database::{CheckpointStatistics, Database, OpenOptions, Statistics};
pub use lockmgr::{AdvisoryKey, Granted, LockMode, LockTag, LockView, RowLockMode, WaitPolicy};
pub use modify::{ConflictOutcome, Modify};
pub use scan::{IndexScan, TableScan};
pub use session::{PortalSnapshot, SampleSummary, Session, TransactionOptions, VacuumOptions, VacuumSummary};
pub use table::{Index, Table};
pub use wal::{CommitTicket, DelayPolicy, DelaySetting};
pub use xact::{Isolation, SavepointId};
