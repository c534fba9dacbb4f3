//! The outcome of each transaction: the commit log (two bits for each transaction, in pages, for ever), and the csn store
//! (the commit position of each recent transaction). Statements ask them through a [`Snapshot`] and a [`TxnCtx`].
//!
//! | module | subject |
//! | --- | --- |
//! | `status` | [`StatusStore`], the facade |
//! | `csn`, `spill` | the csn store: its window, the pages that leave the window, the files it spills to |
//! | `clog`, `bits` | the commit log and its two bits per transaction |
//! | `group` | the group at the commit log's latch |
//! | `context` | [`Snapshot`] and [`TxnCtx`], which `heap` and `btree` are given |

mod bits;
mod clog;
mod context;
mod csn;
mod group;
mod spill;
mod status;

pub use base::OwnerId;
pub use bits::ClogBits;
pub use clog::{Clog, ClogUpdate};
pub use context::{ReadWatch, Snapshot, TxnCtx};
pub use csn::CsnStatistics;
pub use group::GroupStatistics;
pub use status::{StatusStore, StatusStoreOptions, TransactionStatus};
