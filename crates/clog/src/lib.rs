//! What became of each transaction: the commit log (two bits each, in pages, for ever), the csn store (when each recent one
//! committed), and what is asked of them: [`Snapshot`]s and [`TxnCtx`].
//!
//! | module | subject |
//! | --- | --- |
//! | `status` | [`StatusStore`], the facade |
//! | `csn`, `spill` | the csn store: its window, what leaves it, the file it spills to |
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
