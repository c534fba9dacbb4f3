//! What became of each transaction: the commit log (two bits each, in pages, for ever), the csn store (when each recent one
//! committed), and what is asked of them: [`Snapshot`]s and [`TxnCtx`].

mod bits;
mod clog;
mod context;
mod csn;
mod status;

pub use base::OwnerId;
pub use bits::ClogBits;
pub use clog::{Clog, ClogUpdate};
pub use context::{Snapshot, TxnCtx};
pub use status::{StatusStore, StatusStoreOptions, TransactionStatus};
