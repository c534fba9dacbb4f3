//! The write-ahead log: records are inserted in memory, flushed by cohorts, and read back after a crash.

mod options;
mod reader;
mod record;
mod recovery;
mod statistics;
mod ticket;
mod wal;

pub use options::{DelayPolicy, DelayScope, DelaySetting, SyncMethod, WalOptions, WalTuning};
pub use reader::{LogEnd, WalReader};
pub use record::{Epoch, Inserted, Record, RecordHead, RmgrId, decode};
pub use recovery::{WalControl, WalDamage};
pub use statistics::{Histogram, WalStatistics};
pub use ticket::CommitTicket;
pub use wal::{SiblingsProbe, Wal};
