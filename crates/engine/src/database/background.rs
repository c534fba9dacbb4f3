//! The database's own threads: checkpointer, vacuum, the one that tidies up after transactions, and the one that removes
//! files.
//!
//! Flusher and walwriter are threads of the log; retiring is what a flush's leader does after it has woken its cohort.
//! A panic in one of these ends the process: what it was about may be half done, and nobody would do it again (rule R4).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::settings::Id;
use sync::{Condvar, Mutex};

use super::checkpoint::Reason;
use super::twophase::OrphanWatch;
use super::{Database, Shared, integer};

/// How long the thread that removes files sleeps when there is nothing to do.
const REMOVER_SLEEP: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
/// How often prepared transactions are looked through for old ones.
const ORPHANS_EVERY: Duration = Duration::from_secs(1);
/// Pages the cleaner writes per tick at most: 32 MiB/s.
const CLEAN_PAGES: usize = 400;

/// The threads of one open folder. Ended by [`Background::stop`], or when the last handle is dropped.
#[derive(Default)]
pub(super) struct Background {
    stop: Arc<Stop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    shared: Mutex<Option<Arc<Shared>>>,
}

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits; true if the threads are to end.
    fn wait(&self, duration: Duration) -> bool {
        let deadline = Instant::now() + duration;
        let mut asked = self.asked.lock();
        while !*asked {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.changed.wait_for(&mut asked, left);
        }
        true
    }

    fn is_asked(&self) -> bool {
        *self.asked.lock()
    }
}

impl Background {
    /// Whether the threads run.
    pub(super) fn is_running(&self) -> bool {
        self.shared.lock().is_some()
    }

    pub(super) fn start(&self, shared: &Arc<Shared>) {
        shared.wal.start_flusher_thread();
        let delay_ms = integer(&shared.options.settings, Id::WalWriterDelay).max(1);
        shared.wal.start_walwriter(Duration::from_millis(delay_ms as u64));
        *self.shared.lock() = Some(shared.clone());
        self.spawn("checkpointer", shared, checkpointer);
        self.spawn("tidy", shared, |shared, stop| {
            let (mut orphans, mut looked) = (OrphanWatch::default(), Instant::now());
            while !stop.wait(TICK) {
                tidy(shared);
                if looked.elapsed() >= ORPHANS_EVERY {
                    looked = Instant::now();
                    orphans.look(shared);
                }
            }
        });
        self.spawn("vacuum", shared, vacuum);
        self.spawn("file remover", shared, |shared, stop| {
            shared.removals.set_has_thread(true);
            while !stop.is_asked() {
                shared.removals.remove_all();
                shared.removals.wait_for_work(REMOVER_SLEEP);
            }
            shared.removals.set_has_thread(false);
        });
    }

    fn spawn(&self, name: &'static str, shared: &Arc<Shared>, run: fn(&Arc<Shared>, &Stop)) {
        let (shared, stop) = (shared.clone(), self.stop.clone());
        let thread = std::thread::Builder::new().name(format!("cohort {name}")).spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&shared, &stop))) {
                let reason = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("it panicked");
                // A simulated process that has ended panics here again; its thread is over either way.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    shared.options.vfs.fail_stop(&format!("background thread {name}: {reason}"))
                }));
            }
        });
        match thread {
            Ok(thread) => self.threads.lock().push(thread),
            Err(error) => shared_fail(name, &error),
        }
    }

    /// Ends the threads and waits for them.
    pub(super) fn stop(&self) {
        let Some(shared) = self.shared.lock().take() else { return };
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        shared.checkpointer.hurry();
        shared.removals.set_has_thread(false);
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            let _ = thread.join();
        }
        if !std::thread::panicking() {
            shared.wal.stop();
        }
    }
}

#[cold]
fn shared_fail(name: &str, error: &std::io::Error) {
    // Without its threads the database works, only slower and larger.
    log::warn!("could not start the {name} thread: {error}");
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

fn checkpointer(shared: &Arc<Shared>, stop: &Stop) {
    let mut last = Instant::now();
    while !stop.is_asked() {
        shared.checkpointer.idle(TICK);
        let requests = shared.checkpointer.take_requests();
        let timeout = Duration::from_secs(integer(&shared.options.settings, Id::CheckpointTimeout).max(1) as u64);
        let reason = if !requests.is_empty() {
            Reason::Asked
        } else if shared.log_has_grown() {
            Reason::LogGrown
        } else if last.elapsed() >= timeout {
            Reason::Timed
        } else {
            continue;
        };
        last = Instant::now();
        // Nothing but the last checkpoint's own record since: there is nothing to do.
        if reason != Reason::Timed || shared.wal.reserved().0 - shared.checkpointer.statistics().redo.0 > 256 {
            shared.checkpoint(reason);
        }
        shared.checkpointer.answer(requests);
    }
    // Requests that came too late get no checkpoint of their own: the closing checkpoint serves them.
    shared.checkpointer.answer(shared.checkpointer.take_requests());
}

/// Lets go of commit positions that no snapshot needs, and writes pages that will be evicted soon.
pub(super) fn tidy(shared: &Shared) {
    let oldest = shared.transactions.refresh_removal_floor();
    if let Err(error) = shared.status.trim(oldest, shared.wal.durable()) {
        // Kept until the next time; who needs a status that can't be read is told so.
        log::warn!("could not let go of old commit positions: {error}");
    }
    shared.pool.clean_ahead(CLEAN_PAGES);
}

fn vacuum(shared: &Arc<Shared>, stop: &Stop) {
    loop {
        let nap = integer(&shared.options.settings, Id::AutovacuumNaptime).max(1) as u64;
        if stop.wait(Duration::from_secs(nap)) {
            return;
        }
        if !shared.options.settings.get(Id::Autovacuum).as_bool() {
            continue;
        }
        // A handle without threads of its own: it must not keep those it is one of.
        let database = Database::assemble(shared.clone());
        if let Err(error) = database.vacuum_where_needed() {
            log::warn!("background vacuum: {error}");
        }
    }
}
