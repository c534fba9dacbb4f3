//! The write-ahead log: records are inserted in memory, flushed by cohorts, and read back after a crash.
//!
//! [`Wal::insert`] gives a record its place and its bytes; the record's *end* is its name everywhere else. A record is safe
//! once [`Wal::durable`] has reached its end. Committers wait for that in company: whoever finds nobody flushing flushes for
//! all, and the others, its *cohort*, are told. How they wait is theirs: as threads ([`Wal::wait_durable`]), as coroutines
//! (the same call), as futures ([`CommitTicket`]), or not at all, being told by a listener ([`Wal::request_flush`]).
//!
//! The log sees records as a resource manager's number and bytes, and knows nothing of what they mean.
//!
//! | module | subject |
//! | --- | --- |
//! | [`record`] | how a record lies in the log |
//! | [`insertion`], [`ring`] | placing and copying records, and how far the log is complete |
//! | [`muster`] | who leads and who waits: the state machine |
//! | [`flush`] | one flush, as its leader does it |
//! | [`turn`] | `group_commit = off` |
//! | [`hooks`], [`ticket`], [`threads`] | who is told, who holds a ticket, who works in the background |
//! | [`device`], [`segments`] | where the log is kept |
//! | [`recovery`], [`reader`] | where the log ends, and reading it |
//!
//! ```
//! use std::{path::Path, sync::Arc};
//! use base::Xid;
//! use cohort_wal::{DelayPolicy, Epoch, RecordHead, RmgrId, Wal, WalControl, WalOptions};
//! # fn main() -> base::Result<()> {
//! let disk = vfs::SimulatedVfs::new(1);
//! let wal = Wal::create(Arc::new(disk.clone()), Path::new("/wal"), WalOptions::default())?;
//! let begin = wal.durable();
//! let head = RecordHead { rmgr: RmgrId::XACT, info: 0, xid: Xid(3) };
//! let committed = wal.insert(head, &[b"what the ", b"transaction did"]);
//! wal.wait_durable(committed.end, DelayPolicy::NONE);
//! wal.insert(head, &[b"never waited for"]);
//!
//! let disk = disk.crash();
//! let control = WalControl { redo: begin, epoch: Epoch::FIRST, durable_floor: begin, page_lsn_met: Arc::default() };
//! let mut redone = Vec::new();
//! Wal::recover(Arc::new(disk), Path::new("/wal"), control, WalOptions::default(), |record| {
//!     redone.push(record.payload.to_vec());
//!     Ok(())
//! })?;
//! assert_eq!(redone, [b"what the transaction did"]);
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]
#![allow(rustdoc::private_intra_doc_links)]

mod blocks;
mod checksum;
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
pub use flush::FlushPhase;
pub use options::{DelayPolicy, DelayScope, DelaySetting, SyncMethod, WalOptions, WalTuning};
pub use reader::{LogEnd, WalReader};
pub use record::{Epoch, Inserted, PAYLOAD_MAX_BYTES, Record, RecordHead, RmgrId, decode};
pub use recovery::WalControl;
pub use statistics::{Histogram, WalStatistics};
pub use ticket::CommitTicket;
pub use wal::{SiblingsProbe, Wal};
