//! State that the log's handle, its tickets and its threads share.

use std::io;
use std::time::{Duration, Instant};

use base::{Error, Lsn};
use sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use sync::{Arc, Mutex};
use vfs::Vfs;

use crate::hooks::Hooks;
use crate::insertion::Insertion;
use crate::muster::Muster;
use crate::positions::Positions;
use crate::segments::SegmentLayout;
use crate::statistics::Counters;
use crate::threads::Calls;
use crate::turn::Turns;
use crate::{
    DelayPolicy, DelayScope, DelaySetting, Epoch, Inserted, LogDevice, RecordHead, SiblingsProbe, WalOptions,
    WalStatistics, WalTuning,
};

/// Unwritten bytes from which an inserter writes, if nobody does: a big transaction's log goes out as it comes, and not
/// with the next commit's.
const WRITE_BEHIND_BYTES: u64 = 1 << 20;

/// Where syncs are shorter an automatic delay is none: those who would join it are in the next flush soon enough, and what
/// the wait costs the processors is more than a sync saved is worth.
const AUTO_FROM_SYNC_US: u64 = 500;

/// Coroutines don't sleep for less.
const SHORTEST_COROUTINE_SLEEP: Duration = Duration::from_millis(1);

pub(crate) struct Shared {
    pub insertion: Insertion,
    pub positions: Positions,
    pub muster: Muster,
    pub turns: Turns,
    pub hooks: Hooks,
    pub calls: Calls,
    pub device: Box<dyn LogDevice>,
    layout: SegmentLayout,
    /// Held by who writes, so that batches go out in order: leaders, and inserters without room. Guards the end of the
    /// last whole record written. Taken after `Muster`'s and before the device's locks.
    pub writer: Mutex<u64>,
    pub tuning: Arc<WalTuning>,
    pub counters: Counters,
    /// How long a sync takes, smoothed over the last ones.
    pub typical_sync_us: AtomicU64,
    /// Members of the last flush.
    pub last_members: AtomicU64,
    /// Writers when the last flush ended, those it covered included: who is likely to commit again soon.
    pub lately_writing: AtomicU64,
    /// Flushes left that don't let others run first; see [`Shared::let_others_join`].
    pub flushes_without_yields: AtomicU32,
    /// When that was, in microseconds of the clock.
    pub flush_ended_us: AtomicU64,
    /// The time of day when `durable` last advanced, in microseconds since 1970.
    pub durable_at_us: AtomicU64,
    /// [`crate::FlushPhase`] of the flush under way.
    pub phase: AtomicU8,
    probe: Mutex<Option<Arc<dyn SiblingsProbe>>>,
    /// A write or sync failed: nobody is acknowledged any more.
    failed: AtomicBool,
    write_behind_bytes: u64,
    pub vfs: Arc<dyn Vfs>,
}

impl Shared {
    /// A log whose durable end is `end`, a multiple of eight.
    pub fn new(
        device: Box<dyn LogDevice>,
        layout: SegmentLayout,
        end: u64,
        epoch: Epoch,
        options: &WalOptions,
        tuning: Arc<WalTuning>,
    ) -> Shared {
        let buffers_bytes = options.buffers_bytes.next_power_of_two();
        Shared {
            insertion: Insertion::new(end, epoch, buffers_bytes),
            positions: Positions::new(end),
            muster: Muster::new(),
            turns: Turns::new(),
            hooks: Hooks::new(),
            calls: Calls::new(),
            vfs: Arc::clone(&layout.vfs),
            device,
            layout,
            writer: Mutex::new(end),
            tuning,
            counters: Counters::default(),
            typical_sync_us: AtomicU64::new(0),
            last_members: AtomicU64::new(0),
            lately_writing: AtomicU64::new(0),
            flushes_without_yields: AtomicU32::new(0),
            flush_ended_us: AtomicU64::new(0),
            durable_at_us: AtomicU64::new(0),
            phase: AtomicU8::new(0),
            probe: Mutex::new(None),
            failed: AtomicBool::new(false),
            write_behind_bytes: WRITE_BEHIND_BYTES.min(buffers_bytes as u64 / 2),
        }
    }

    #[inline]
    pub fn insert<R>(&self, head: RecordHead, parts: &[&[u8]], under_latch: impl FnOnce(Lsn) -> R) -> (Inserted, R) {
        let (inserted, result) = self.insertion.insert(head, parts, self, under_latch);
        if inserted.end.0 - self.positions.written().min(inserted.end.0) >= self.write_behind_bytes {
            self.write_behind();
        }
        (inserted, result)
    }

    #[cold]
    fn write_behind(&self) {
        if self.writer.try_lock().is_some() {
            self.write_out(None);
        }
        self.check_failed();
    }

    /// See [`crate::Wal::ensure_room`].
    pub fn ensure_room(&self, bytes: usize) {
        use crate::insertion::MakeRoom;
        let capacity = self.insertion.ring().capacity();
        let bytes = (crate::record::size_in_log(bytes) as u64).min(capacity / 2);
        let end = self.insertion.reserved() + bytes;
        if end > self.positions.written() + capacity {
            self.write_at_least(end - capacity);
        }
    }

    /// See [`crate::Wal::wait_durable`].
    pub fn wait_durable(&self, upto: u64, policy: DelayPolicy) {
        if self.positions.durable() >= upto {
            Counters::add(&self.counters.already_durable, 1);
            return;
        }
        self.check_placed(upto);
        if let Some(delay) = self.delay_before_joining(policy) {
            Counters::add(&self.counters.committers_delayed, 1);
            sleep(delay);
        }
        if self.tuning.group_commit() {
            self.wait_in_cohort(upto, policy, None);
        } else {
            self.wait_in_turn(upto, policy);
        }
    }

    /// See [`crate::Wal::flush`].
    ///
    /// The caller may block a worker's thread. It must not queue for a turn (`group_commit = off`): the turn may belong to
    /// a suspended coroutine of that same worker, which could then never pass the turn on.
    pub fn flush_for_pages(&self, upto: u64) {
        if self.positions.durable() >= upto {
            Counters::add(&self.counters.already_durable, 1);
            return;
        }
        self.check_placed(upto);
        self.wait_in_cohort(upto, self.tuning.default_delay(), None);
    }

    /// See [`crate::Wal::delay_before_joining`].
    pub fn delay_before_joining(&self, policy: DelayPolicy) -> Option<Duration> {
        if self.tuning.delay_scope() == DelayScope::Leader || !self.tuning.fsync() || self.delay_us(policy) == 0 {
            return None;
        }
        self.has_siblings(&*self.siblings_probe()?, policy).then(|| Duration::from_micros(self.delay_us(policy)))
    }

    /// Whether enough other transactions run for a delay to apply (rule R6).
    pub fn has_siblings(&self, probe: &dyn SiblingsProbe, policy: DelayPolicy) -> bool {
        let others = probe.writers().max(self.lately_writing(policy)).saturating_sub(1);
        others > 0 && others >= policy.siblings as usize
    }

    /// Writers at the end of the last flush, if that ended no longer ago than a delay lasts. The sessions that it woke are
    /// between two transactions: in PostgreSQL, which shows them as running until they have been woken, they count too.
    pub fn lately_writing(&self, policy: DelayPolicy) -> usize {
        let since_us = self.vfs.now_micros().saturating_sub(self.flush_ended_us.load(Ordering::Relaxed));
        if since_us > self.delay_us(policy) { 0 } else { self.lately_writing.load(Ordering::Relaxed) as usize }
    }

    /// The longest that a delay of this policy lasts.
    pub fn delay_us(&self, policy: DelayPolicy) -> u64 {
        match policy.delay {
            DelaySetting::Off => 0,
            DelaySetting::Micros(delay_us) => u64::from(delay_us),
            DelaySetting::Auto => match self.typical_sync_us.load(Ordering::Relaxed) {
                short if short < AUTO_FROM_SYNC_US => 0,
                typical_us => typical_us / 2,
            },
        }
    }

    /// A position that was never given out can't become durable: a damaged page asks for it.
    pub fn check_placed(&self, upto: u64) {
        let reserved = self.insertion.reserved();
        if upto > reserved {
            self.fail_stop(&format!(
                "a flush of the write-ahead log up to {} was requested, but it ends at {}",
                Lsn(upto),
                Lsn(reserved)
            ));
        }
    }

    pub fn siblings_probe(&self) -> Option<Arc<dyn SiblingsProbe>> {
        self.probe.lock().clone()
    }

    pub fn set_siblings_probe(&self, probe: Arc<dyn SiblingsProbe>) {
        *self.probe.lock() = Some(probe);
    }

    pub fn statistics(&self) -> WalStatistics {
        let (records, bytes) = self.insertion.counts();
        let mut statistics = WalStatistics { records, bytes, ..self.counters.read() };
        self.device.count(&mut statistics);
        statistics
    }

    /// A write or sync failed: the process ends (rule R4).
    #[cold]
    pub fn fail(&self, what: &str, error: &io::Error) -> ! {
        self.fail_stop(&Error::io(what, error).to_string())
    }

    #[cold]
    fn fail_stop(&self, message: &str) -> ! {
        self.failed.store(true, Ordering::SeqCst);
        self.wake_all();
        self.turns.wake_all();
        self.vfs.fail_stop(message)
    }

    /// Does not return if the log has failed: a thread that waits for another thread must not outlive it. This matters only
    /// under simulation, where [`Vfs::fail_stop`] ends one thread and not the process.
    pub fn check_failed(&self) {
        if self.failed.load(Ordering::SeqCst) {
            self.vfs.fail_stop("the write-ahead log has failed");
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// Where readers find the log.
    pub fn layout(&self) -> &SegmentLayout {
        &self.layout
    }
}

/// Sleeps as a thread or as a coroutine. The scheduler that resumes coroutines at deadlines may be late by a millisecond,
/// the step of its poll. A coroutine therefore waits out a shorter delay by giving way to others.
fn sleep(delay: Duration) {
    let end = Instant::now() + delay;
    if sync::in_coroutine() && delay < SHORTEST_COROUTINE_SLEEP {
        while Instant::now() < end {
            sync::yield_now();
        }
    } else {
        sync::Waiter::new().wait(Some(end), None);
    }
}
