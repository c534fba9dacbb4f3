//! A statement's knowledge of its transaction: the snapshot and the context that `heap` and `btree` are given.

use std::time::Duration;

use base::{CommandId, FileNumber, Lsn, OwnerId, Tid, Xid};
use sync::Interrupt;
use sync::atomic::{AtomicU64, Ordering};

use crate::{StatusStore, TransactionStatus};

/// The changes that a statement sees: those of the transactions committed at or below one position of the log, and those of
/// its own transaction by earlier commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Sees exactly the transactions whose commit sequence number is at or below this.
    pub csn: Lsn,
    /// Sees its own transaction's changes by commands before this one.
    pub command: CommandId,
}

impl Snapshot {
    /// Whether it sees a transaction that committed at `csn`.
    #[inline]
    pub fn sees(&self, csn: Lsn) -> bool {
        csn <= self.csn
    }
}

/// A listener that is told what a serializable transaction reads. The calls come while the page is latched: they must not wait.
pub trait ReadWatch {
    /// The snapshot shows this version.
    fn saw(&self, heap: FileNumber, version: Tid);

    /// A version was met that another transaction has made, or that it has removed, without the snapshot showing that.
    /// `committed`: at which csn, if it has.
    fn met(&self, by: Xid, committed: Option<Lsn>);

    /// The check of a constraint has met a row that `by` made or took away, which the transaction's snapshot doesn't show: `by` comes
    /// before it.
    fn succeeds(&self, by: Xid, committed: Lsn);

    /// The commits that the transaction's own snapshot shows. Checks of constraints see later ones, too.
    fn snapshot(&self) -> Lsn;

    /// Whether [`ReadWatch::saw`] is to be called for each version of a scan, though the scan was noted as a whole.
    fn locks_per_tuple(&self) -> bool;
}

/// A running transaction, as the crates below the transaction manager see it.
#[derive(Clone, Copy)]
pub struct TxnCtx<'a> {
    /// The current subtransaction's xid (or the transaction's); invalid until one is assigned.
    pub xid: Xid,
    /// The top-level transaction's xid; invalid until one is assigned.
    pub top_xid: Xid,
    /// The current statement's snapshot.
    pub snapshot: Snapshot,
    /// The current command.
    pub command: CommandId,
    /// The outcomes of other transactions.
    pub status: &'a StatusStore,
    /// The session's highest csn met so far (R3); raised by [`TxnCtx::observe`].
    pub observed: &'a AtomicU64,
    /// The session's slot.
    pub owner: OwnerId,
    /// How the session is told to stop.
    pub interrupt: &'a Interrupt,
    /// `lock_timeout`; none: wait for ever.
    pub lock_timeout: Option<Duration>,
    /// `deadlock_timeout`.
    pub deadlock_timeout: Duration,
    /// The listener that is told of reads. Present only in a serializable transaction, and not for reads of catalogs.
    pub watch: Option<&'a dyn ReadWatch>,
}

impl TxnCtx<'_> {
    /// Notes that the session met `csn`: its replies from now on wait until the log is durable up to there (R3).
    #[inline]
    pub fn observe(&self, csn: Lsn) {
        // Helpers of the session's scans may raise it, too; mostly it is high enough already.
        if csn.0 > self.observed.load(Ordering::Relaxed) {
            self.observed.fetch_max(csn.0, Ordering::Relaxed);
        }
    }

    /// Whether `xid` is this transaction or one of its subtransactions.
    #[inline]
    pub fn is_own(&self, xid: Xid) -> bool {
        self.top_xid.is_valid()
            && (xid == self.top_xid
                || xid == self.xid
                || (xid > self.top_xid && self.status.top_of(xid) == self.top_xid))
    }

    /// Returns the outcome of `xid`. A commit that is met is observed.
    #[inline]
    pub fn status_of(&self, xid: Xid) -> TransactionStatus {
        let status = self.status.status(xid);
        if let TransactionStatus::Committed(csn) = status {
            self.observe(csn);
        }
        status
    }

    /// Whether the snapshot sees the commit of `xid`, which is not of this transaction. A commit that is seen is observed.
    #[inline]
    pub fn sees_commit_of(&self, xid: Xid) -> bool {
        match self.status.status(xid) {
            TransactionStatus::Committed(csn) if self.snapshot.sees(csn) => {
                self.observe(csn);
                true
            }
            _ => false,
        }
    }
}
