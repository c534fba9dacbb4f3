//! One flush, as its leader does it: gather, write, sync, publish.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::Xid;
use sync::Arc;
use sync::atomic::Ordering;

use crate::device::Batch;
use crate::insertion::MakeRoom;
use crate::muster::Leading;
use crate::record::INFO_BATCH_MARK;
use crate::shared::Shared;
use crate::statistics::Counters;
use crate::{DelayPolicy, DelayScope, RecordHead, RmgrId, SiblingsProbe};

/// Looks at the prefix, each with a pause of a few nanoseconds, before the leader lets others have its processor.
const SPINS_BEFORE_YIELD: u32 = 200;
/// Yields in wait of records that the leader does not need itself, before it goes without them.
const YIELDS_FOR_OTHERS: u32 = 4;
/// A delay's rest up to which the leader yields instead of sleeping: sleeping takes at least about as long.
const YIELD_INSTEAD_OF_SLEEP_US: u64 = 150;
/// Yields in a microsecond, at most. A clock that stands still while nobody sleeps, a simulated one, is helped on by sleep.
const YIELDS_PER_US: u64 = if cfg!(shuttle) { 0 } else { 20 };
/// A leader in a longer delay looks this often whether all have joined.
const DELAY_LOOK_US: u64 = 100;

/// How often a leader that goes on with another flush lets others have its processor first. Those whom it has just woken
/// would else find the next flush under way, and wait for the one after it: small cohorts, each at the cost of a sync. With
/// fewer threads than processors it comes back at once.
const YIELDS_BETWEEN_FLUSHES: u32 = if cfg!(shuttle) { 1 } else { 2 };
/// Yields that took longer than this,
const LONG_YIELD_US: u64 = 1_000;
/// while fewer joined than one in this time, went to somebody who computes rather than commits,
const JOIN_AT_LEAST_EACH_US: u64 = 100;
/// and so many flushes do without.
const FLUSHES_WITHOUT_YIELDS: u32 = 100;

/// The current step of a flush's leader. Each session that waits for the flush reports this step as its wait event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlushPhase {
    /// No flush is under way.
    Idle,
    /// It waits for others to join (`CommitDelay`).
    Gathering,
    /// It waits for records to be complete, and writes (`WalWrite`).
    Writing,
    /// It syncs (`WalSync`).
    Syncing,
}

impl Shared {
    fn enter(&self, phase: FlushPhase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub fn phase(&self) -> FlushPhase {
        let phase = self.phase.load(Ordering::Relaxed);
        let all = [FlushPhase::Idle, FlushPhase::Gathering, FlushPhase::Writing, FlushPhase::Syncing];
        all.into_iter().find(|candidate| *candidate as u8 == phase).unwrap_or(FlushPhase::Idle)
    }

    /// Makes the log durable up to `needed` or further. Only the leader calls this. It writes no more than `limit`.
    pub fn flush_once(&self, leader: Leading, needed: u64, policy: DelayPolicy, limit: Option<u64>) {
        self.gather(policy);
        self.enter(FlushPhase::Writing);
        let members = self.take_joined();
        self.last_members.store(members, Ordering::Relaxed);
        let target = if self.insertion.reserved() > self.positions.written() { self.insert_batch_mark() } else { 0 };
        self.await_inserted(needed, target);
        let whole = self.write_out(limit);
        self.enter(FlushPhase::Syncing);
        self.make_durable(whole);
        self.positions.advance_durable(whole);
        self.durable_at_us.store(time_of_day_us(), Ordering::Relaxed);
        if self.delay_us(policy) > 0 {
            self.note_writers();
        }
        self.enter(FlushPhase::Idle);

        let led =
            if leader == Leading::Flusher { &self.counters.led_by_flusher } else { &self.counters.led_by_committer };
        Counters::add(led, 1);
        self.counters.cohort_members.add(members);
    }

    /// Returns the probe for transactions that could still join the flush if it waited a moment. Returns nothing if `policy`
    /// or rule R6 asks for no such wait.
    fn siblings_to_wait_for(&self, policy: DelayPolicy) -> Option<Arc<dyn SiblingsProbe>> {
        if self.delay_us(policy) == 0 || !self.tuning.fsync() || self.tuning.delay_scope() == DelayScope::Each {
            return None;
        }
        let probe = self.siblings_probe()?;
        let expected = self.lately_writing(policy);
        (self.has_siblings(&*probe, policy) && !self.all_have_joined(&*probe, expected)).then_some(probe)
    }

    /// Notes the number of writing transactions at the end of a flush, before the members it covered are forgotten.
    fn note_writers(&self) {
        let writers = self.siblings_probe().map_or(0, |probe| probe.writers());
        self.lately_writing.store(writers as u64, Ordering::Relaxed);
        self.flush_ended_us.store(self.vfs.now_micros(), Ordering::Relaxed);
    }

    /// Whether nobody is left who could join: neither one who writes now nor, of the `expected`, one who was just woken.
    fn all_have_joined(&self, probe: &dyn SiblingsProbe, expected: usize) -> bool {
        let unjoined = probe.unjoined_writers();
        unjoined == 0
            && (expected == 0
                // Until those the last flush covered are forgotten they would be taken for joined again.
                || (self.hooks.have_retired(self.positions.durable()) && probe.writers() >= expected))
    }

    /// Whether a leader with this policy would wait now.
    pub fn delay_applies(&self, policy: DelayPolicy) -> bool {
        self.siblings_to_wait_for(policy).is_some()
    }

    /// Waits for others to join.
    fn gather(&self, policy: DelayPolicy) {
        let Some(probe) = self.siblings_to_wait_for(policy) else { return };
        self.enter(FlushPhase::Gathering);
        let delay_us = self.delay_us(policy);
        let begin = self.vfs.now_micros();
        let mut waited_us = 0;
        let mut cut_short = false;
        let mut yields = 0;
        let expected = self.lately_writing(policy);
        while waited_us < delay_us && !cut_short {
            let rest_us = delay_us - waited_us;
            if rest_us <= YIELD_INSTEAD_OF_SLEEP_US && yields <= YIELD_INSTEAD_OF_SLEEP_US * YIELDS_PER_US {
                yields += 1;
                sync::thread::yield_now();
            } else {
                self.vfs.sleep(Duration::from_micros(DELAY_LOOK_US.min(rest_us)));
            }
            waited_us = self.vfs.now_micros() - begin;
            cut_short = self.all_have_joined(&*probe, expected);
        }
        Counters::add(&self.counters.delays_taken, 1);
        Counters::add(&self.counters.delays_cut_short, u64::from(cut_short));
        Counters::add(&self.counters.delay_time_us, waited_us);
    }

    /// Between two flushes of one leader: lets those run whom the last one covered, so that they join the next.
    pub fn let_others_join(&self) {
        let without = self.flushes_without_yields.load(Ordering::Relaxed);
        if without > 0 {
            self.flushes_without_yields.store(without - 1, Ordering::Relaxed);
            return;
        }
        let (begin, joined) = (self.vfs.now_micros(), self.joined());
        for _ in 0..YIELDS_BETWEEN_FLUSHES {
            sync::thread::yield_now();
        }
        let took_us = self.vfs.now_micros() - begin;
        if took_us > LONG_YIELD_US && self.joined() < joined + took_us / JOIN_AT_LEAST_EACH_US {
            self.flushes_without_yields.store(FLUSHES_WITHOUT_YIELDS, Ordering::Relaxed);
        }
    }

    /// Ends the batch with a record that says how far the log was synced when it was written. Returns its end.
    pub(crate) fn insert_batch_mark(&self) -> u64 {
        let head = RecordHead { rmgr: RmgrId::WAL, info: INFO_BATCH_MARK, xid: Xid::INVALID };
        let synced = self.positions.synced().to_le_bytes();
        self.insertion.insert(head, &[&synced], self, |_| ()).0.end.0
    }

    /// Waits until the log is inserted up to `needed`, and a moment for it to be up to `target`: an inserter at work needs
    /// a few dozen nanoseconds, unless it has lost its processor.
    fn await_inserted(&self, needed: u64, target: u64) {
        let (mut spins, mut yields) = (0, 0);
        loop {
            let prefix = self.insertion.advance();
            if prefix.whole >= needed && (prefix.whole >= target || yields >= YIELDS_FOR_OTHERS) {
                return;
            }
            if spins < SPINS_BEFORE_YIELD && !cfg!(shuttle) {
                spins += 1;
                sync::spin_hint();
            } else {
                yields += 1;
                sync::thread::yield_now();
            }
        }
    }

    /// Writes all that is inserted, up to `limit`. Returns the end of the last whole record written.
    pub fn write_out(&self, limit: Option<u64>) -> u64 {
        let mut written_whole = self.writer.lock();
        // After a failed write the device's state is not known; where failing ends a thread only, others come by here.
        self.check_failed();
        let prefix = self.insertion.advance();
        let from = self.positions.written();
        let to = limit.map_or(prefix.inserted, |limit| limit.min(prefix.inserted));
        if to > from {
            let begin = self.vfs.now_micros();
            // SAFETY: all before `inserted` is completed, and its place is not used again before `written` has passed it,
            // which only this thread can do while it holds the writer's lock.
            #[allow(unsafe_code)]
            let bytes = unsafe { self.insertion.ring().pieces(from, to) };
            let batch = Batch { epoch: self.insertion.epoch(), start: from, bytes };
            if let Err(error) = self.device.append(&batch) {
                self.fail("could not write to the write-ahead log", &error);
            }
            self.positions.advance_written(to, prefix.inserted);
            if self.layout().number_of(from) != self.layout().number_of(to) {
                self.call_preparer();
            }
            *written_whole = prefix.whole.min(to);
            Counters::add(&self.counters.writes, 1);
            Counters::add(&self.counters.write_time_us, self.vfs.now_micros() - begin);
        }
        *written_whole
    }

    /// Syncs what is written, up to `upto`, unless `fsync` is off.
    fn make_durable(&self, upto: u64) {
        if !self.tuning.fsync() || self.positions.synced() >= upto {
            return;
        }
        let begin = self.vfs.now_micros();
        match self.device.make_durable(upto) {
            Ok(durable) => assert!(durable >= upto, "the device returns when all that was asked for is durable"),
            Err(error) => self.fail("could not sync the write-ahead log", &error),
        }
        self.positions.advance_synced(upto);
        let sync_us = self.vfs.now_micros() - begin;
        self.counters.sync_time_us.add(sync_us);
        let typical_us = self.typical_sync_us.load(Ordering::Relaxed);
        self.typical_sync_us.store(typical_us - typical_us / 8 + sync_us / 8, Ordering::Relaxed);
    }
}

/// Microseconds since 1970: the clock of commit records, which says how long ago a commit got its place.
fn time_of_day_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

impl MakeRoom for Shared {
    #[inline]
    fn written(&self) -> u64 {
        self.positions.written()
    }

    #[cold]
    fn write_at_least(&self, position: u64) {
        Counters::add(&self.counters.buffers_full, 1);
        loop {
            self.write_out(None);
            if self.positions.written() >= position {
                return;
            }
            // Somebody before us is still copying.
            self.check_failed();
            sync::thread::yield_now();
        }
    }
}
