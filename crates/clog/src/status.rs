//! The outcome of every transaction: the facade over the csn store and the commit log.
//!
//! | question | answered by |
//! | --- | --- |
//! | an xid whose page is in the csn store's window | that entry: wait-free |
//! | one that left the window and may still matter | spilled page or stragglers |
//! | one that was trimmed | the commit log: committed (older than every snapshot) or aborted |
//! | one of an earlier start | prepared, if it was restored as such; else committed in the commit log; else aborted |

use std::path::Path;

use base::{Lsn, Result, Xid};
use buffer::{DoubleWrite, DurableLog};
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use vfs::Vfs;
use vfs::descriptors::FileShare;

use crate::csn::{CsnStore, Entry};
use crate::{Clog, ClogBits, ClogUpdate, CsnStatistics};

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Not finished: running, or prepared.
    InProgress,
    /// Committed, with its commit sequence number; [`Lsn::ZERO`] if that is older than every snapshot.
    Committed(Lsn),
    /// Aborted, or lost in a crash.
    Aborted,
}

/// How a [`StatusStore`] is set up.
#[derive(Clone, Copy, Debug)]
pub struct StatusStoreOptions {
    /// Pages of the commit log kept in memory (`transaction_buffers`); rounded up to banks of 16.
    pub transaction_buffers: usize,
    /// Transactions whose csn is kept in memory; rounded up to a power of two of 4096 at least. Older ones that somebody
    /// may still ask for spill to a file. Memory is taken as it is first used, 8 bytes per transaction.
    pub csn_window: usize,
    /// Files of spilled csns that are open at a time; more are closed and opened again.
    pub spilled_files: usize,
    /// The way to set the status bits.
    pub clog_update: ClogUpdate,
    /// The oldest xid whose bits are still kept.
    pub oldest_xid: Xid,
    /// The next xid at the time of the checkpoint that recovery starts from: bits of older ones must be on disk.
    pub next_xid_at_checkpoint: Xid,
}

impl Default for StatusStoreOptions {
    fn default() -> Self {
        StatusStoreOptions {
            transaction_buffers: 64,
            csn_window: 1 << 22,
            spilled_files: FileShare::of_process().spilled,
            clog_update: ClogUpdate::Cohort,
            oldest_xid: Xid::FIRST_NORMAL,
            next_xid_at_checkpoint: Xid::FIRST_NORMAL,
        }
    }
}

/// The outcomes of all transactions.
pub struct StatusStore {
    csn: CsnStore,
    clog: Clog,
    /// Xids below have no bits any more.
    oldest_xid: AtomicU64,
    vfs: Arc<dyn Vfs>,
}

impl StatusStore {
    /// Opens the commit log in `data_dir/clog` and an empty csn store, which spills to `data_dir/csn`. Until
    /// [`StatusStore::start`] nothing may be asked but what the bits say; redo sets them by [`StatusStore::set_bits`].
    pub fn open(
        vfs: Arc<dyn Vfs>,
        data_dir: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: StatusStoreOptions,
    ) -> Result<StatusStore> {
        let clog = Clog::open(Arc::clone(&vfs), &data_dir.join("clog"), log, doublewrite, &options)?;
        let csn = CsnStore::new(Arc::clone(&vfs), &data_dir.join("csn"), &options)?;
        Ok(StatusStore { csn, clog, oldest_xid: AtomicU64::new(options.oldest_xid.0), vfs })
    }

    /// Begins normal work: xids from `first_xid` on belong to this start. One below it is prepared
    /// ([`StatusStore::restore_prepared`]), or committed in the commit log, or aborted.
    pub fn start(&self, first_xid: Xid) {
        self.clog.extend(first_xid);
        self.csn.start(first_xid);
    }

    /// Makes a prepared transaction of an earlier start known as in progress, with its subtransactions.
    pub fn restore_prepared(&self, xid: Xid, children: &[Xid]) {
        self.csn.restore(xid, Entry::InProgress);
        for &child in children {
            self.csn.restore(child, Entry::Child(xid));
        }
    }

    /// Must be called when `xid` is given out, before anybody can meet it. Xids are given out in order.
    #[inline]
    pub fn assigned(&self, xid: Xid) {
        if !self.csn.has_page(xid) {
            let last = self.csn.extend(xid);
            // A page of the commit log exists from the moment its first xid is given out, or a checkpoint could leave a
            // hole that looks like damage.
            self.clog.extend(last);
        }
    }

    /// Returns the outcome of `xid`, following a subtransaction to its top-level transaction. For a recent xid this takes a few
    /// nanoseconds and is wait-free. A commit log that can't be read ends the process.
    #[inline]
    pub fn status(&self, xid: Xid) -> TransactionStatus {
        match self.csn.recent(xid) {
            Some(Entry::Committed(csn)) => TransactionStatus::Committed(csn),
            Some(Entry::InProgress) => TransactionStatus::InProgress,
            Some(Entry::Aborted) => TransactionStatus::Aborted,
            Some(Entry::Child(top)) => match self.csn.recent(top) {
                Some(Entry::Committed(csn)) => TransactionStatus::Committed(csn),
                Some(Entry::InProgress) => TransactionStatus::InProgress,
                _ => self.status_or_fail_stop(top),
            },
            None => self.status_or_fail_stop(xid),
        }
    }

    #[cold]
    fn status_or_fail_stop(&self, xid: Xid) -> TransactionStatus {
        match self.try_status(xid) {
            Ok(status) => status,
            Err(error) => self.vfs.fail_stop(&error.to_string()),
        }
    }

    /// As [`StatusStore::status`], with an error for a commit log that can't be read.
    pub fn try_status(&self, xid: Xid) -> Result<TransactionStatus> {
        match self.entry(xid) {
            Some(Entry::Committed(csn)) => Ok(TransactionStatus::Committed(csn)),
            Some(Entry::InProgress) => Ok(TransactionStatus::InProgress),
            Some(Entry::Aborted) => Ok(TransactionStatus::Aborted),
            // A top-level transaction is nobody's child.
            Some(Entry::Child(top)) => self.try_status(top),
            None => self.status_by_bits(xid),
        }
    }

    #[inline]
    fn entry(&self, xid: Xid) -> Option<Entry> {
        self.csn.recent(xid).or_else(|| if xid.is_normal() { self.csn.not_recent(xid) } else { None })
    }

    /// The status of an xid that is nowhere in the csn store.
    fn status_by_bits(&self, xid: Xid) -> Result<TransactionStatus> {
        if !xid.is_valid() {
            return Ok(TransactionStatus::Aborted);
        }
        // Before bits are given up, every row of an aborted transaction is gone and every other frozen.
        if !xid.is_normal() || xid.0 < self.oldest_xid.load(Ordering::Relaxed) {
            return Ok(TransactionStatus::Committed(Lsn::ZERO));
        }
        Ok(match self.clog.get(xid)? {
            ClogBits::Committed => TransactionStatus::Committed(Lsn::ZERO),
            ClogBits::Aborted => TransactionStatus::Aborted,
            ClogBits::InProgress | ClogBits::SubCommitted => {
                debug_assert!(xid < self.csn.first_xid(), "{xid:?} of this start was trimmed before its bits were set");
                TransactionStatus::Aborted
            }
        })
    }

    /// The top-level transaction of a subtransaction; `xid` itself if it is none or finished long ago.
    #[inline]
    pub fn top_of(&self, xid: Xid) -> Xid {
        match self.entry(xid) {
            Some(Entry::Child(top)) => top,
            _ => xid,
        }
    }

    /// Step 2 of a commit: `xid` and all that point to it are committed at `csn`.
    #[inline]
    pub fn set_committed(&self, xid: Xid, csn: Lsn) {
        debug_assert!(xid.is_normal() && csn > Lsn::ZERO);
        self.csn.set(xid, Entry::Committed(csn));
    }

    /// `xid` is aborted. Subtransactions that point to it are too; those of a rolled back subtree are set one by one.
    pub fn set_aborted(&self, xid: Xid) {
        debug_assert!(xid.is_normal());
        self.csn.set(xid, Entry::Aborted);
    }

    /// `sub` is a subtransaction of the top-level transaction `top`, whose xid is lower.
    pub fn set_parent(&self, sub: Xid, top: Xid) {
        debug_assert!(top.is_normal() && top < sub);
        self.csn.set(sub, Entry::Child(top));
    }

    /// Sets status bits, one pass and one latch acquisition per page: what the leader does for its cohort, and redo.
    /// `lsn`: the end of the last record that justifies them.
    pub fn set_bits(&self, bits: &[(Xid, ClogBits)], lsn: Lsn) {
        self.clog.set_bits(bits, lsn);
    }

    /// Sets the bits of one finished transaction and its subtransactions by itself: aborts, and commits under
    /// [`ClogUpdate::Group`] and [`ClogUpdate::Each`]. The caller holds no latch: it may be suspended until the group's
    /// leader is done.
    ///
    /// `lsn`: the end of the record that justifies the bits; [`Lsn::ZERO`] for an abort that a crash would mean anyway.
    pub fn set_transaction_bits(&self, xid: Xid, children: &[Xid], bits: ClogBits, lsn: Lsn) {
        self.clog.set_transaction(xid, children, bits, lsn);
    }

    /// The current way to set the status bits of commits.
    #[inline]
    pub fn clog_update(&self) -> ClogUpdate {
        self.clog.update()
    }

    /// Changes the way to set the status bits of commits.
    pub fn set_clog_update(&self, mode: ClogUpdate) {
        self.clog.set_update(mode);
    }

    /// Lets go of csns that nobody needs: `oldest_snapshot` is the oldest one in use, `durable` how far the log is durable.
    /// XX001 or 58030 if the commit log can't be read; then nothing is let go.
    pub fn trim(&self, oldest_snapshot: Lsn, durable: Lsn) -> Result<()> {
        self.csn.trim(&self.clog, oldest_snapshot.min(durable))
    }

    /// Makes all bits set so far durable: a checkpoint's first write. Waits for the log as far as the bits need it.
    pub fn checkpoint(&self) {
        self.clog.flush();
    }

    /// Forgets the bits of xids below `oldest`: none of them is left in any table, or all are frozen.
    pub fn truncate(&self, oldest: Xid) -> Result<()> {
        self.oldest_xid.fetch_max(oldest.0, Ordering::Relaxed);
        self.clog.truncate(oldest)
    }

    /// The oldest xid whose bits are still kept.
    pub fn oldest_xid(&self) -> Xid {
        Xid(self.oldest_xid.load(Ordering::Relaxed))
    }

    /// The commit log itself.
    pub fn clog(&self) -> &Clog {
        &self.clog
    }

    /// How much the csn store holds outside its window.
    pub fn csn_statistics(&self) -> CsnStatistics {
        self.csn.statistics()
    }
}
