//! The facade over the csn store and the commit log.
#![allow(unused_variables, dead_code)]

use std::path::Path;

use base::{Lsn, Result, Xid};
use buffer::{DoubleWrite, DurableLog};
use sync::Arc;
use vfs::Vfs;

use crate::{Clog, ClogBits, ClogUpdate};

/// What became of a transaction.
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
    /// Transactions whose csn is kept in memory; rounded up to a power of two. Older ones that somebody may still ask for
    /// spill to a file.
    pub csn_window: usize,
    /// Who sets the status bits.
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
            clog_update: ClogUpdate::Cohort,
            oldest_xid: Xid::FIRST_NORMAL,
            next_xid_at_checkpoint: Xid::FIRST_NORMAL,
        }
    }
}

/// What became of every transaction.
pub struct StatusStore {}

impl StatusStore {
    /// Opens the commit log in `data_dir/clog` and an empty csn store. Until [`StatusStore::start`] nothing may be asked but
    /// the bits, which redo sets by [`StatusStore::set_bits`].
    pub fn open(
        vfs: Arc<dyn Vfs>,
        data_dir: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: StatusStoreOptions,
    ) -> Result<StatusStore> {
        todo!()
    }

    /// Begins normal work: xids from `first_xid` on belong to this start. One below it is prepared
    /// ([`StatusStore::restore_prepared`]), or committed in the commit log, or aborted.
    pub fn start(&self, first_xid: Xid) {
        todo!()
    }

    /// Makes a prepared transaction of an earlier start known as in progress, with its subtransactions.
    pub fn restore_prepared(&self, xid: Xid, children: &[Xid]) {
        todo!()
    }

    /// Must be called when `xid` is given out, before anybody can meet it.
    #[inline]
    pub fn assigned(&self, xid: Xid) {
        todo!()
    }

    /// What became of `xid`, following a subtransaction to its top-level transaction. A few nanoseconds and wait-free for a
    /// recent xid. A commit log that can't be read ends the process.
    #[inline]
    pub fn status(&self, xid: Xid) -> TransactionStatus {
        todo!()
    }

    /// As [`StatusStore::status`], with an error for a commit log that can't be read.
    pub fn try_status(&self, xid: Xid) -> Result<TransactionStatus> {
        todo!()
    }

    /// The top-level transaction of a subtransaction; `xid` itself if it is none or finished long ago.
    #[inline]
    pub fn top_of(&self, xid: Xid) -> Xid {
        todo!()
    }

    /// Step 2 of a commit: `xid` and all that point to it are committed at `csn`.
    #[inline]
    pub fn set_committed(&self, xid: Xid, csn: Lsn) {
        todo!()
    }

    /// `xid` is aborted. Subtransactions that point to it are too; those of a rolled back subtree are set one by one.
    pub fn set_aborted(&self, xid: Xid) {
        todo!()
    }

    /// `sub` is a subtransaction of the top-level transaction `top`.
    pub fn set_parent(&self, sub: Xid, top: Xid) {
        todo!()
    }

    /// Sets status bits, one pass and one latch acquisition per page: what the leader does for its cohort, and redo.
    /// `lsn`: the end of the last record that justifies them.
    pub fn set_bits(&self, bits: &[(Xid, ClogBits)], lsn: Lsn) {
        todo!()
    }

    /// Sets the bits of one finished transaction and its subtransactions by itself: aborts, and commits under
    /// [`ClogUpdate::Group`] and [`ClogUpdate::Each`].
    pub fn set_transaction_bits(&self, xid: Xid, children: &[Xid], bits: ClogBits, lsn: Lsn) {
        todo!()
    }

    /// Who sets the status bits of commits.
    #[inline]
    pub fn clog_update(&self) -> ClogUpdate {
        todo!()
    }

    /// Changes who sets the status bits of commits.
    pub fn set_clog_update(&self, mode: ClogUpdate) {
        todo!()
    }

    /// Lets go of csns that nobody needs: `oldest_snapshot` is the oldest one in use, `durable` how far the log is durable.
    pub fn trim(&self, oldest_snapshot: Lsn, durable: Lsn) {
        todo!()
    }

    /// Makes all bits set so far durable: a checkpoint's first write.
    pub fn checkpoint(&self) {
        todo!()
    }

    /// Forgets the bits of xids below `oldest`: none of them is left in any table, or all are frozen.
    pub fn truncate(&self, oldest: Xid) -> Result<()> {
        todo!()
    }

    /// The commit log itself.
    pub fn clog(&self) -> &Clog {
        todo!()
    }
}
