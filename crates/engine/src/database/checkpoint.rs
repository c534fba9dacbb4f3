//! Checkpoints: fuzzy, paced, and never ahead of the log.
//!
//! 1. The redo point is taken at the log's insertion point, between commits, never within one.
//! 2. The barrier: every commit, abort and prepare below the redo point has set its status bits, and the files that commits
//!    below it dropped are unlinked. Without it a commit whose record lies below the redo point could lose its bit: redo would
//!    never see it again. Every file is cut whose cutting was logged below the redo point.
//! 3. The commit log is written, then every page that was changed below the redo point. Prepared transactions whose record
//!    lies below it are saved, once.
//! 4. `control` names the new redo point. Only now may log segments before it go.
//!
//! A crash anywhere in between leaves the old redo point in force.

use std::time::{Duration, Instant};

use base::settings::Id;
use base::{Lsn, Result, Xid};
use buffer::FlushProgress;
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Condvar, Interrupt, Mutex, Waiter, Waker, Woken};
use wal::{RecordHead, RmgrId};

use super::{Shared, integer};
use crate::redo::EngineRecord;

/// Counts of checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointStatistics {
    /// Begun because `checkpoint_timeout` had passed.
    pub timed: u64,
    /// Begun because the log had grown, or somebody asked.
    pub requested: u64,
    /// Microseconds spent.
    pub write_us: u64,
    /// Pages written.
    pub pages: u64,
    /// The last one's redo point.
    pub redo: Lsn,
}

/// Why a checkpoint is done, and how fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// `checkpoint_timeout`: spread over part of the time to the next.
    Timed,
    /// The log has grown: spread likewise.
    LogGrown,
    /// Somebody waits for it.
    Asked,
    /// The last one.
    Closing,
}

impl Reason {
    /// The reason as the server log states it, in PostgreSQL's words.
    fn words(self) -> &'static str {
        match self {
            Reason::Timed => "time",
            Reason::LogGrown => "wal",
            Reason::Asked => "immediate force wait",
            Reason::Closing => "shutdown immediate",
        }
    }
}

/// The state that checkpoints share.
pub(crate) struct Checkpointer {
    /// Held through a checkpoint, so that there is one at a time. Outermost. With background threads only two threads
    /// take it: the checkpointer and the thread that closes the database.
    running: Mutex<()>,
    /// Guards the counts; a leaf.
    statistics: Mutex<CheckpointStatistics>,
    /// How many wait for a checkpoint: no pauses as long as somebody does.
    hurry: AtomicUsize,
    /// Guards those who wait for the thread to do one; a leaf.
    requests: Mutex<Vec<Waker>>,
    /// Wakes a pausing checkpoint, or an idle thread. A leaf.
    pause: Mutex<()>,
    woken: Condvar,
}

impl Checkpointer {
    pub(crate) fn new(redo: Lsn) -> Checkpointer {
        Checkpointer {
            running: Mutex::new(()),
            statistics: Mutex::new(CheckpointStatistics { redo, ..CheckpointStatistics::default() }),
            hurry: AtomicUsize::new(0),
            requests: Mutex::new(Vec::new()),
            pause: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    pub(crate) fn statistics(&self) -> CheckpointStatistics {
        *self.statistics.lock()
    }

    /// Lets a checkpoint under way run at full speed, from now on.
    pub(super) fn hurry(&self) {
        self.hurry.fetch_add(1, Ordering::SeqCst);
        let _pause = self.pause.lock();
        self.woken.notify_all();
    }

    fn in_hurry(&self) -> bool {
        self.hurry.load(Ordering::SeqCst) > 0
    }

    /// Waits until woken by [`Checkpointer::hurry`] or for so long.
    pub(super) fn idle(&self, duration: Duration) {
        let mut pause = self.pause.lock();
        if !self.in_hurry() {
            self.woken.wait_for(&mut pause, duration);
        }
    }

    /// Asks the thread for a checkpoint and waits for it. The wait is a session's: it may suspend a coroutine. When the session is
    /// interrupted, the wait ends and the checkpoint goes on.
    ///
    /// # Errors
    /// Of the interrupt.
    pub(super) fn request_and_wait(&self, interrupt: Option<&Interrupt>) -> Result<()> {
        let waiter = Waiter::new();
        self.requests.lock().push(waiter.waker());
        self.hurry();
        while waiter.wait(None, interrupt) != Woken::Woken {
            if let Some(interrupt) = interrupt {
                interrupt.check()?;
            }
        }
        Ok(())
    }

    /// Takes those who wait for a checkpoint that begins now.
    pub(super) fn take_requests(&self) -> Vec<Waker> {
        std::mem::take(&mut *self.requests.lock())
    }

    /// Wakes those whose checkpoint is done.
    pub(super) fn answer(&self, requests: Vec<Waker>) {
        self.hurry.fetch_sub(requests.len(), Ordering::SeqCst);
        for waker in requests {
            waker.wake();
        }
    }
}

impl Shared {
    /// A checkpoint at full speed, done when this returns.
    pub(crate) fn checkpoint_now(&self) {
        self.checkpoint(Reason::Asked);
    }

    /// The checkpoint after which there is nothing to redo.
    pub(crate) fn close_checkpoint(&self) {
        // Hints too: the next start should find the pages as they are.
        self.pool.flush_all();
        self.checkpoint(Reason::Closing);
    }

    /// Whether the log has grown so far that a checkpoint is due.
    pub(crate) fn log_has_grown(&self) -> bool {
        let settings = &self.options.settings;
        let target = settings_float(settings, Id::CheckpointCompletionTarget);
        // While one checkpoint runs, the log of the one before must be kept too.
        let limit = (integer(settings, Id::MaxWalSize) << 20) as f64 / (1.0 + target);
        let redo = self.checkpointer.statistics().redo;
        self.wal.reserved().0.saturating_sub(redo.0) as f64 > limit
    }

    /// A checkpoint, done when this returns.
    pub(crate) fn checkpoint(&self, reason: Reason) {
        let _running = self.checkpointer.running.lock();
        let begun = Instant::now();
        let is_logged = self.options.settings.get(Id::LogCheckpoints).as_bool();
        if is_logged {
            log::info!("checkpoint starting: {}", reason.words());
        }
        let (redo, next_xid, oldest_xid, catalog_version) = self.transactions.take_redo_point(|lsn| {
            (lsn, self.transactions.next_xid(), self.frozen.oldest(), self.transactions.catalog_version())
        });
        let (next_oid, next_file) = self.numbers.reserved();
        self.removals.try_failed_again();
        self.transactions.checkpoint_barrier(redo);
        self.pool.finish_truncations();
        self.status.checkpoint();
        let mut pages = 0;
        self.pool.flush_dirty(redo, &mut |progress| {
            pages = progress.written as u64;
            if matches!(reason, Reason::Timed | Reason::LogGrown) {
                self.pace(begun, progress);
            }
        });
        if reason != Reason::Closing {
            let head = RecordHead { rmgr: RmgrId::ENGINE, info: EngineRecord::CHECKPOINT_COMPLETED, xid: Xid::INVALID };
            self.wal.insert(head, &[&redo.0.to_le_bytes()]);
        }
        self.transactions.save_prepared(redo);
        self.wal.flush(self.wal.reserved());
        self.control.update(|data| {
            data.closed = reason == Reason::Closing;
            data.epoch = self.wal.epoch().0;
            data.redo = redo;
            data.durable_floor = self.wal.durable();
            data.next_xid = next_xid;
            data.oldest_xid = oldest_xid;
            data.next_oid = next_oid;
            data.next_file = next_file;
            data.catalog_version = catalog_version;
        });
        // The control file has been written. Only now may log segments and status bits go that it no longer needs. If
        // they can't be removed, the next checkpoint tries again.
        if let Err(error) = self.wal.recycle_before(redo) {
            log::warn!("could not recycle log segments: {error}");
        }
        if let Err(error) = self.status.truncate(oldest_xid) {
            log::warn!("could not truncate the commit log: {error}");
        }
        let mut statistics = self.checkpointer.statistics.lock();
        match reason {
            Reason::Timed => statistics.timed += 1,
            Reason::LogGrown | Reason::Asked | Reason::Closing => statistics.requested += 1,
        }
        if is_logged {
            let distance_kb = redo.0.saturating_sub(statistics.redo.0) / 1024;
            let total = begun.elapsed().as_secs_f64();
            log::info!("checkpoint complete: wrote {pages} buffers; total={total:.3} s; distance={distance_kb} kB");
        }
        statistics.write_us += begun.elapsed().as_micros() as u64;
        statistics.pages += pages;
        statistics.redo = redo;
    }

    /// Pauses between batches, so that the writing is spread over the time until the next checkpoint, or over the log
    /// that may be written until then, whichever is used up faster.
    fn pace(&self, begun: Instant, progress: FlushProgress) {
        if self.checkpointer.in_hurry() || progress.total == 0 {
            return;
        }
        let settings = &self.options.settings;
        let target = settings_float(settings, Id::CheckpointCompletionTarget);
        let timeout = integer(settings, Id::CheckpointTimeout).max(1) as f64;
        let done = progress.written as f64 / progress.total as f64;
        let elapsed = begun.elapsed().as_secs_f64() / (timeout * target.max(0.01));
        if done > elapsed && done < 1.0 && !self.log_has_grown() {
            let ahead = Duration::from_secs_f64((done - elapsed) * timeout * target);
            self.checkpointer.idle(ahead.min(Duration::from_millis(100)));
        }
    }
}

fn settings_float(settings: &base::settings::ServerSettings, id: Id) -> f64 {
    match settings.get(id) {
        base::settings::Value::Float(value) => value,
        _ => 0.0,
    }
}
