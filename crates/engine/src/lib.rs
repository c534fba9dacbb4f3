//! The engine: opening and recovering a database, checkpoints, vacuum, the catalog, and the row API that programs embed.

mod activity;
mod build;
mod catalog_store;
mod control;
mod database;
pub mod key;
mod large;
mod modify;
mod numbers;
pub mod redo;
mod relations;
mod scan;
mod sequence;
mod session;
mod shared_scan;
mod table;
mod temporary;

/// The names of the reasons for which serializable transactions are sacrificed.
pub const SERIALIZATION_FAILURES: [&str; ssi::Reason::KINDS] = ssi::Reason::NAMES;

pub use activity::TableActivity;
pub use base::lock_mode::{LockMode, RowLockMode, WaitPolicy};
pub use btree::{Direction, KeyRange};
pub use buffer::{PageId, PageMeter, PageReader, PagedStoreStatistics, count_use};
pub use clog::{ClogUpdate, Snapshot, TransactionStatus};
pub use control::{CONTROL_FILE, ControlData, FORMAT_VERSION, read_control};
pub use database::{CheckpointStatistics, Database, OpenOptions, Statistics, too_few_descriptors};
pub use heap::{PageTuples, Version};
pub use lockmgr::{AdvisoryKey, Granted, LockTag, LockView, OtherWaits};
pub use modify::{ConflictOutcome, Modify};
pub use scan::{IndexScan, TableScan};
/// The data that the row API takes and gives: programs that embed the engine need no other crate.
pub use schema::{catalog, row};
pub use session::{
    CheckSummary, Finisher, PortalSnapshot, PossibleDuplicate, SampleSummary, Session, TransactionOptions,
    VacuumOptions, VacuumSummary,
};
pub use shared_scan::SharedScan;
pub use ssi::{PredicateLock, PredicatePlace};
pub use table::{Index, Table};
pub use temporary::{StatementFile, TemporaryFile};
pub use wal::{CommitTicket, DelayPolicy, DelaySetting, Histogram, WalStatistics};
pub use xact::twophase::{Gid, PreparedTransaction, TwophaseState};
pub use xact::{Isolation, LatencyHistogram, SavepointId, TransactionStatistics};
