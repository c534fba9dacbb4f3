//! The commit order, in one function.
//!
//! A transaction is committed for every other session at the moment its commit record has its place in the log: that
//! place is its commit sequence number. Under the log's insertion latch, and so in log order, three things happen to each
//! commit: its csn is set, the horizon is raised to it, and the catalog version is raised if it changed the catalog. The
//! record's bytes are copied outside.
//!
//! With `early_lock_release` off they happen when the commit is durable: [`TransactionManager::make_visible`] does them, in
//! the same order, for all that has become durable. A commit that comes while others are not yet visible must not
//! overtake them, whatever the setting says by then.

use base::Lsn;
use sync::atomic::Ordering::Release;

use wal::{DelayPolicy, RecordHead};

use crate::TransactionManager;
use crate::committed::{CHANGES_CATALOG, CommittedTransaction};

/// Where a commit was placed.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) csn: Lsn,
    pub(crate) index: u64,
    /// It is not visible before it is durable.
    pub(crate) deferred: bool,
}

impl TransactionManager {
    /// Step 2 of a commit. From here on it can't be undone (rule R4).
    /// `commit` lacks its csn, which is its place.
    pub(crate) fn place_commit(
        &self,
        head: RecordHead,
        payload: &[u8],
        commit: CommittedTransaction,
        visible_early: bool,
    ) -> Placed {
        let (inserted, (index, deferred)) = self.wal().insert_then(head, &[payload], |csn| {
            let commit = CommittedTransaction { csn, ..commit };
            let mut deferred = true;
            let index = self.committed.push(commit, |index| {
                if visible_early && self.committed.visible() == index {
                    self.become_visible(commit);
                    self.committed.set_visible(index + 1);
                    deferred = false;
                }
            });
            (index, deferred)
        });
        Placed { csn: inserted.end, index, deferred }
    }

    fn become_visible(&self, commit: CommittedTransaction) {
        // First: an answer that shows anything of this commit waits for the disk up to this mark (rule R3).
        self.snapshots.note_placed(commit.csn);
        self.status().set_committed(commit.xid, commit.csn);
        if commit.flags & CHANGES_CATALOG != 0 {
            // Before the horizon: a snapshot that sees the change finds the version raised.
            self.catalog_version.fetch_add(1, Release);
        }
        self.snapshots.raise_horizon(commit.csn);
    }

    /// Waits until the commits that have their place are visible, if that is not at once.
    pub(crate) fn show_placed_commits(&self, delay: DelayPolicy) {
        if self.committed.visible() < self.committed.tail() {
            self.wal().wait_durable(self.wal().reserved(), delay);
            self.make_visible(self.wal().durable());
        }
    }

    /// Makes the deferred commits up to `durable` visible.
    pub(crate) fn make_visible(&self, durable: Lsn) {
        if self.committed.visible() >= self.committed.tail() {
            return;
        }
        let _one_at_a_time = self.making_visible.lock();
        let tail = self.committed.tail();
        let mut index = self.committed.visible();
        while index < tail {
            let commit = self.committed.get(index);
            if commit.csn > durable {
                break;
            }
            self.become_visible(commit);
            index += 1;
            self.committed.set_visible(index);
        }
    }
}
