//! The write-ahead log: records are inserted in memory, flushed by cohorts, and read back after a crash.

mod device;
mod flush;
mod hooks;
mod insertion;
mod muster;
mod options;
mod positions;
mod reader;
mod record;
mod recovery;
mod ring;
mod segments;
mod shared;
mod statistics;
mod threads;
mod ticket;
mod turn;
mod wal;

pub use device::{Batch, LogDevice};
pub use options::{DelayPolicy, DelayScope, DelaySetting, SyncMethod, WalOptions, WalTuning};
pub use reader::{LogEnd, WalReader};
pub use record::{Epoch, Inserted, PAYLOAD_MAX_BYTES, Record, RecordHead, RmgrId, decode};
pub use recovery::WalControl;
pub use statistics::{Histogram, WalStatistics};
pub use ticket::CommitTicket;
pub use wal::{SiblingsProbe, Wal};
