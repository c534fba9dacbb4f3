//! Redo of transactions' ends.
//!
//! A commit redone sets its status bits, those of its subtransactions too, and removes the files it dropped; both can be
//! done again. Nothing is done for a transaction without an end: after a restart an xid that is not prepared and has no
//! commit bit counts as aborted. Transactions that were prepared and not finished are collected.

use base::{Result, Xid};
use clog::{ClogBits, StatusStore};
use rustc_hash::{FxHashMap, FxHashSet};
use sync::Arc;
use wal::Record;

use crate::twophase::RecoveredPrepared;
use crate::{FileRemover, XactRecord};

/// Collects what recovery learns about transactions.
pub struct XactRedo {
    status: Arc<StatusStore>,
    files: Arc<dyn FileRemover>,
    next_xid: Xid,
    in_progress: FxHashSet<Xid>,
    prepared: FxHashMap<Xid, RecoveredPrepared>,
    /// Pieces of commits whose record is still to come.
    pieces: FxHashMap<Xid, Vec<Xid>>,
    bits: Vec<(Xid, ClogBits)>,
    commits: u64,
    catalog_changes: u64,
}

/// The findings of recovery about transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveredTransactions {
    /// Above every xid met.
    pub next_xid: Xid,
    /// Xids met that have no outcome, in order: they were running when the log ended, and are aborted now.
    pub in_progress: Vec<Xid>,
    /// Those that were prepared and not finished, by xid. Checkpoints may have [saved](crate::twophase::saved::load) others.
    pub prepared: Vec<RecoveredPrepared>,
    /// Commits redone.
    pub commits: u64,
    /// Catalog-changing commits redone.
    pub catalog_changes: u64,
}

impl XactRedo {
    /// `next_xid`: from the checkpoint.
    pub fn new(status: Arc<StatusStore>, files: Arc<dyn FileRemover>, next_xid: Xid) -> XactRedo {
        XactRedo {
            status,
            files,
            next_xid,
            in_progress: FxHashSet::default(),
            prepared: FxHashMap::default(),
            pieces: FxHashMap::default(),
            bits: Vec::new(),
            commits: 0,
            catalog_changes: 0,
        }
    }

    /// To be called for every record of every resource manager: notes its xid.
    pub fn note(&mut self, xid: Xid) {
        if xid.is_normal() {
            self.in_progress.insert(xid);
            self.next_xid = self.next_xid.max(Xid(xid.0 + 1));
        }
    }

    /// Applies a record of [`wal::RmgrId::XACT`]. Idempotent.
    ///
    /// # Errors
    /// XX001 if it is no record of a transaction's end.
    pub fn apply(&mut self, record: &Record<'_>) -> Result<()> {
        let xid = record.head.xid;
        self.note(xid);
        let (bits, children, files) = match XactRecord::decode(record)? {
            XactRecord::Prepare(prepared) => {
                for xid in prepared.children.iter().chain([&xid]) {
                    self.note(*xid);
                    self.in_progress.remove(xid);
                }
                let payload = record.payload.to_vec();
                let found = RecoveredPrepared { xid, start: record.start, end: record.end, payload, is_saved: false };
                self.prepared.insert(xid, found);
                return Ok(());
            }
            XactRecord::Commit(commit) | XactRecord::CommitPrepared(commit) => {
                self.commits += 1;
                self.catalog_changes += u64::from(commit.changes_catalog);
                let mut children = self.pieces.remove(&xid).unwrap_or_default();
                children.extend(commit.children);
                (ClogBits::Committed, children, commit.dropped_files)
            }
            XactRecord::Abort { children, created_files }
            | XactRecord::RollbackPrepared { children, created_files } => (ClogBits::Aborted, children, created_files),
            XactRecord::Children(children) => {
                self.pieces.entry(xid).or_default().extend(children);
                return Ok(());
            }
        };
        self.prepared.remove(&xid);
        for child in &children {
            self.note(*child);
        }
        self.bits.clear();
        self.bits.extend(children.iter().chain([&xid]).map(|xid| (*xid, bits)));
        for (xid, _) in &self.bits {
            self.in_progress.remove(xid);
        }
        self.status.set_bits(&self.bits, record.end);
        files.iter().for_each(|file| self.files.remove_file(*file, record.end));
        Ok(())
    }

    /// At the end of the log.
    pub fn finish(self) -> RecoveredTransactions {
        let mut in_progress: Vec<Xid> = self.in_progress.into_iter().collect();
        in_progress.sort();
        let mut prepared: Vec<RecoveredPrepared> = self.prepared.into_values().collect();
        prepared.sort_by_key(|prepared| prepared.xid);
        RecoveredTransactions {
            next_xid: self.next_xid,
            in_progress,
            prepared,
            commits: self.commits,
            catalog_changes: self.catalog_changes,
        }
    }
}
