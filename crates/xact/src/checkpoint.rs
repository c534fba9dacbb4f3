//! The demands of a checkpoint on transactions.
//!
//! A checkpoint promises that nothing below its redo point need be read again. A commit below it whose status bits are set
//! only afterwards would be lost. So the checkpointer takes the redo point first, then waits for all that was placed below
//! it, and only then writes the commit log, the pages and the control file.

use std::time::{Duration, Instant};

use base::Lsn;
use sync::Waiter;
use sync::atomic::AtomicU32;
use sync::atomic::Ordering::SeqCst;

use crate::TransactionManager;

/// Commits that are between the pieces of their record, and redo points that wait until there is none.
///
/// Either may wait for long, a commit for room in the log, and so neither holds a lock: it would block threads whose other
/// sessions are waited for.
#[derive(Default)]
pub(crate) struct CommitsInPieces {
    under_way: AtomicU32,
    kept_out: AtomicU32,
}

/// Ends what it stands for when dropped.
pub(crate) struct Counted<'a>(&'a AtomicU32);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl CommitsInPieces {
    /// A commit begins; it waits while a redo point is about to be taken.
    pub(crate) fn begin(&self) -> Counted<'_> {
        loop {
            self.under_way.fetch_add(1, SeqCst);
            let begun = Counted(&self.under_way);
            // Either this sees the keeper, or the keeper sees the commit.
            if self.kept_out.load(SeqCst) == 0 {
                return begun;
            }
            drop(begun);
            pause();
        }
    }

    /// Waits until no commit is under way, and keeps others from beginning.
    fn keep_out(&self) -> Counted<'_> {
        self.kept_out.fetch_add(1, SeqCst);
        let keeping = Counted(&self.kept_out);
        while self.under_way.load(SeqCst) != 0 {
            pause();
        }
        keeping
    }
}

const LOOK_AGAIN_AFTER: Duration = Duration::from_micros(200);

impl TransactionManager {
    /// Takes a checkpoint's redo point: runs `f` at the log's insertion point, where no transaction is between the pieces
    /// of its commit. (Redo that began between them would miss subtransactions.)
    pub fn take_redo_point<R>(&self, f: impl FnOnce(Lsn) -> R) -> R {
        let _none_begins = self.pieces.keep_out();
        self.wal().at_insertion_point(f)
    }

    /// Waits until every commit, abort and prepare with a record below `redo` has set its status bits and done its
    /// unlinks. Flushes the log up to `redo`.
    pub fn checkpoint_barrier(&self, redo: Lsn) {
        self.wal().flush(redo);
        self.retire(self.wal().durable());
        while !self.is_retired_up_to(redo) {
            pause();
            // A committer that sets its own bits may be held up by its client.
            self.take_promises_over();
            self.retire(self.wal().durable());
        }
        // An abort that is at it now may have its record on either side of the redo point.
        let aborts: Vec<_> =
            self.slots.used().filter_map(|(owner, slot)| slot.finishing().map(|finish| (owner, finish))).collect();
        for (owner, finish) in aborts {
            while !self.slots.get(owner).has_finished(finish) {
                pause();
            }
        }
        self.files.finish_removals();
    }
}

/// Lets others run, in a thread or in a coroutine.
fn pause() {
    Waiter::new().wait(Some(Instant::now() + LOOK_AGAIN_AFTER), None);
}
