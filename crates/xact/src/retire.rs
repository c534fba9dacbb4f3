//! Step 6 of a commit: the status bits of a whole cohort, off the reply path.
//!
//! The log's leader comes here after each flush. Every other thread that flushes (the checkpointer, a walwriter, a session
//! that finds the ring full) comes here too, so that asynchronous commits are retired as well.

use std::cell::Cell;

use base::{Lsn, Xid};
use clog::{ClogBits, ClogUpdate};
use smallvec::SmallVec;
use sync::atomic::Ordering::Relaxed;

use crate::committed::{BITS_ARE_SET, Extras, HAS_EXTRAS, OWNER_AT_IT, OWNER_SETS_BITS};
use crate::session::Completion;
use crate::{CommitOutcome, TransactionManager};

/// The csn store is trimmed when so many xids have been given out since the last time: a page of it.
const TRIM_EVERY_XIDS: u64 = 1024;
/// Commits whose bits are set in one go, at most.
const BATCH: usize = 4096;

/// How far the committer is with the bits it has promised to set.
const OWNER_PROMISE: u64 = OWNER_SETS_BITS | OWNER_AT_IT | BITS_ARE_SET;

/// The working state of the thread that retires commits; there is one such thread at a time.
#[derive(Default)]
pub(crate) struct Retiring {
    bits: Vec<(Xid, ClogBits)>,
    /// Index of the first commit whose time is not counted yet.
    pub(crate) counted: u64,
}

impl TransactionManager {
    /// Sets the status bits of, and forgets, all transactions committed up to `durable`. The log's leader calls this after
    /// each flush. If another thread is already retiring, that thread goes on up to the position that is durable by then.
    pub fn retire(&self, durable: Lsn) {
        self.make_visible(durable);
        self.retire_all(durable);
        self.snapshots.try_raise_floor(&self.slots);
        self.trim();
    }

    /// Setting bits may evict a page of the commit log. The eviction may flush the log, and the leader of that flush comes
    /// here again. So a thread that finds another one retiring never waits.
    fn retire_all(&self, durable: Lsn) {
        self.retire_if(|| self.committed.len() > 0, durable);
    }

    fn retire_if(&self, is_wanted: impl FnOnce() -> bool, durable: Lsn) {
        let durable = Cell::new(durable);
        let retire = |retiring: &mut Retiring| {
            self.count_latencies(durable.get(), retiring);
            while self.retire_batch(durable.get(), retiring) {}
        };
        let has_more = || {
            durable.set(self.wal().durable());
            self.can_retire(durable.get())
        };
        self.retiring.run_if(is_wanted, retire, has_more);
    }

    /// Whether the next commit can be retired.
    fn can_retire(&self, durable: Lsn) -> bool {
        let next = self.committed.retired();
        if next >= self.committed.visible().min(self.committed.tail()) {
            return false;
        }
        let commit = self.committed.get(next);
        commit.csn <= durable && commit.flags & OWNER_SETS_BITS == 0
    }

    /// Retires the next few commits; false if there are no more.
    fn retire_batch(&self, durable: Lsn, retiring: &mut Retiring) -> bool {
        let first = self.committed.retired();
        let end = self.committed.visible().min(self.committed.tail()).min(first + BATCH as u64);
        retiring.bits.clear();
        let mut with_extras: SmallVec<[(u64, Extras); 4]> = SmallVec::new();
        let mut last = Lsn::ZERO;
        let mut index = first;
        while index < end {
            let commit = self.committed.get(index);
            if commit.csn > durable || commit.flags & OWNER_SETS_BITS != 0 {
                break;
            }
            let bits_needed = commit.flags & BITS_ARE_SET == 0;
            if bits_needed {
                retiring.bits.push((commit.xid, ClogBits::Committed));
            }
            if commit.flags & HAS_EXTRAS != 0 {
                let extras = self.committed.extras(commit.xid);
                if bits_needed {
                    retiring.bits.extend(extras.children.iter().map(|child| (*child, ClogBits::Committed)));
                }
                with_extras.push((index, extras));
            }
            last = commit.csn;
            index += 1;
        }
        if index == first {
            return false;
        }
        if !retiring.bits.is_empty() {
            self.status().set_bits(&retiring.bits, last);
        }
        for (index, extras) in with_extras {
            let commit = self.committed.get(index);
            extras.dropped_files.iter().for_each(|file| self.files.remove_file(*file, commit.csn));
            self.committed.take_extras(commit.xid);
        }
        self.committed.set_retired(index);
        true
    }

    /// Whether every commit at or below `lsn` has its bits and has handed over the files that it dropped.
    pub(crate) fn is_retired_up_to(&self, lsn: Lsn) -> bool {
        let retired = self.committed.retired();
        retired >= self.committed.tail() || self.committed.get(retired).csn > lsn
    }

    /// With `clog_update` = `group` or `each`: the committer's own update of the commit log, once its commit is durable and
    /// before it replies. Nothing to do otherwise.
    pub fn complete(&self, outcome: &CommitOutcome) {
        let (Some(Completion { index, xid }), Some(csn)) = (outcome.completion, outcome.csn) else { return };
        if !self.committed.change_flags(index, OWNER_PROMISE, OWNER_SETS_BITS, OWNER_SETS_BITS | OWNER_AT_IT) {
            return;
        }
        let extras = self.committed.get(index).flags & HAS_EXTRAS != 0;
        let children = if extras { self.committed.extras(xid).children } else { Vec::new() };
        self.status().set_transaction_bits(xid, &children, ClogBits::Committed, csn);
        self.committed.change_flags(index, OWNER_PROMISE, OWNER_SETS_BITS | OWNER_AT_IT, BITS_ARE_SET);
        self.retire_if(|| self.committed.retired() == index, self.wal().durable());
    }

    /// The committer vanishes before it could complete: the leader does it.
    pub(crate) fn give_completion_up(&self, outcome: &CommitOutcome) {
        if let Some(Completion { index, .. }) = outcome.completion
            && self.committed.change_flags(index, OWNER_PROMISE, OWNER_SETS_BITS, 0)
        {
            self.retire_all(self.wal().durable());
        }
    }

    /// Does for slow committers what they have promised to do themselves, unless they are at it.
    pub(crate) fn take_promises_over(&self) {
        for index in self.committed.retired()..self.committed.tail() {
            self.committed.change_flags(index, OWNER_PROMISE, OWNER_SETS_BITS, 0);
        }
    }

    /// Whether commits set their bits themselves now.
    pub(crate) fn owners_set_bits(&self) -> bool {
        self.status().clog_update() != ClogUpdate::Cohort
    }

    /// Lets go of csns that nobody needs, now and then.
    fn trim(&self) {
        let next = self.next_xid().0;
        if next - self.trimmed_at.load(Relaxed) < TRIM_EVERY_XIDS {
            return;
        }
        self.trimmed_at.store(next, Relaxed);
        let settled = self.snapshots.floor().min(self.wal().durable());
        // Pages that can't be trimmed now stay. If the commit log is unreadable, the next query for a status reports it.
        let _ = self.status().trim(self.snapshots.floor(), settled);
    }

    /// Sees to it that one more commit finds room in the ring.
    #[cold]
    pub(crate) fn make_ring_room(&self) {
        while self.ring_is_full() {
            let all = self.wal().inserted();
            self.wal().flush(all);
            self.retire(self.wal().durable());
            if self.ring_is_full() {
                self.take_promises_over();
                sync::thread::yield_now();
            }
        }
    }

    /// Every session may be past this check with a commit of its own.
    pub(crate) fn ring_is_full(&self) -> bool {
        self.committed.len() + self.slots.len() as u64 >= self.committed.capacity()
    }
}
