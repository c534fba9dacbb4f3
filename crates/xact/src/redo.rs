//! Redo of transactions' ends.

use base::{FileNumber, Lsn, Result, Xid};
use clog::StatusStore;
use sync::Arc;
use wal::Record;

use crate::FileRemover;

/// Collects what recovery learns about transactions.
pub struct XactRedo {}

/// What recovery learnt.
#[derive(Clone, Debug, Default)]
pub struct RecoveredTransactions {
    /// Above every xid met.
    pub next_xid: Xid,
    /// Xids met that have no outcome: they were running when the log ended, and are aborted now.
    pub in_progress: Vec<Xid>,
    /// Commits redone.
    pub commits: u64,
    /// Catalog-changing commits redone.
    pub catalog_changes: u64,
}

impl XactRedo {
    /// `next_xid`: from the checkpoint.
    pub fn new(status: Arc<StatusStore>, files: Arc<dyn FileRemover>, next_xid: Xid) -> XactRedo {
        todo!()
    }
    /// To be called for every record of every resource manager: notes its xid.
    pub fn note(&mut self, xid: Xid) {
        todo!()
    }
    /// Applies a record of [`wal::RmgrId::XACT`]. Idempotent.
    pub fn apply(&mut self, record: &Record<'_>) -> Result<()> {
        todo!()
    }
    /// At the end of the log.
    pub fn finish(self) -> RecoveredTransactions {
        todo!()
    }
}
