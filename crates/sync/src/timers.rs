//! Timers that interrupt a session: `statement_timeout` and its kin.
//!
//! A session has one [`Timer`] for each kind of time limit and arms it again and again, for each statement. Most are disarmed
//! long before they are due. So a timer has at most one *entry* in the queue, and arming it looks at the queue only if the entry
//! would come too late:
//!
//! ```text
//!   arm at 10 s:     due = 10     no entry yet: one is queued for 10 s
//!   disarm:          due = none   the entry stays
//!   arm at 12 s:     due = 12     the entry comes early enough: nothing is queued
//!   10 s have passed:             the entry is taken out; it is due at 12 s only, and is queued again
//! ```
//!
//! A statement with a time limit costs two stores, then, and takes no lock. The queue never has more entries than there are timers.
//! A hashed timer wheel would take an entry out for each statement as well, and has coarser times.
//!
//! One thread, started with the first entry, sleeps until the next entry. Under `cfg(shuttle)` there is none, and the model says
//! what time it is.

use std::collections::BTreeMap;
#[cfg(not(shuttle))]
use std::time::Duration;
use std::time::Instant;

use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::{Arc, Condvar, Mutex, spin_hint};
use crate::interrupt::{Interrupt, InterruptKind};

/// The timers of all sessions. When this is dropped, their thread ends.
pub struct Timers(Arc<Shared>);

struct Shared {
    /// Times are counted from here.
    start: Instant,
    /// Guards the entries. A leaf.
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
#[cfg_attr(shuttle, allow(dead_code))]
struct Queue {
    /// By their time and the timer's number.
    entries: BTreeMap<(u64, u64), Arc<State>>,
    next_number: u64,
    is_running: bool,
    is_stopping: bool,
}

/// A time limit of one session. It is disarmed when it is made.
pub struct Timer {
    shared: Arc<Shared>,
    state: Arc<State>,
}

struct State {
    interrupt: Arc<Interrupt>,
    kind: InterruptKind,
    number: u64,
    /// When it is to interrupt, or one of the words below. It is stored before `entry` is loaded.
    due: AtomicU64,
    /// The time of its entry, or 0. It is stored under the queue's lock, and before `due` is loaded.
    entry: AtomicU64,
}

/// It is not armed.
const DISARMED: u64 = 0;
/// Its interrupt is being raised.
const FIRING: u64 = 1;
/// Its interrupt has been raised.
const FIRED: u64 = 2;
/// Times begin above those words.
const FIRST_TIME: u64 = 3;

/// A timer is armed until this is dropped, or until the timer is armed again.
pub struct Armed {
    state: Arc<State>,
    due: u64,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers::new()
    }
}

impl Timers {
    /// No timers.
    pub fn new() -> Timers {
        Timers(Arc::new(Shared { start: Instant::now(), queue: Mutex::new(Queue::default()), changed: Condvar::new() }))
    }

    /// A timer that raises `kind`.
    pub fn timer(&self, interrupt: &Arc<Interrupt>, kind: InterruptKind) -> Timer {
        let number = {
            let mut queue = self.0.queue.lock();
            queue.next_number += 1;
            queue.next_number
        };
        let (due, entry) = (AtomicU64::new(DISARMED), AtomicU64::new(0));
        let state = Arc::new(State { interrupt: Arc::clone(interrupt), kind, number, due, entry });
        Timer { shared: Arc::clone(&self.0), state }
    }

    /// How many entries wait: at most one for each timer.
    pub fn entry_count(&self) -> usize {
        self.0.queue.lock().entries.len()
    }

    /// How many timers are armed.
    pub fn armed_count(&self) -> usize {
        let queue = self.0.queue.lock();
        queue.entries.values().filter(|state| state.due.load(Ordering::SeqCst) >= FIRST_TIME).count()
    }

    /// Raises the interrupts that are due at `now`.
    pub fn fire(&self, now: Instant) {
        let now = self.0.time(now);
        let due = self.0.queue.lock().take_due(now);
        raise(due);
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.0.queue.lock().is_stopping = true;
        self.0.changed.notify_one();
    }
}

impl Timer {
    /// Raises the interrupt at `when`, unless what is returned is dropped before. A time limit that is set already is replaced.
    pub fn arm(&self, when: Instant) -> Armed {
        let state = &self.state;
        let due = self.shared.time(when);
        state.due.store(due, Ordering::SeqCst);
        if !(FIRST_TIME..=due).contains(&state.entry.load(Ordering::SeqCst)) {
            self.shared.queue_entry(state, due);
        }
        Armed { state: Arc::clone(state), due }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        let entry = self.state.entry.load(Ordering::SeqCst);
        queue.entries.remove(&(entry, self.state.number));
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        let State { due, interrupt, kind, .. } = &*self.state;
        let mut found = match due.compare_exchange(self.due, DISARMED, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return,
            Err(found) => found,
        };
        // It fires at this moment: another thread is about to raise the interrupt.
        while found == FIRING {
            spin_hint();
            found = due.load(Ordering::SeqCst);
        }
        // It has fired as the statement ended: the next one is not to suffer for it.
        if found == FIRED {
            due.store(DISARMED, Ordering::SeqCst);
            interrupt.clear(*kind);
        }
    }
}

impl Shared {
    fn time(&self, when: Instant) -> u64 {
        FIRST_TIME + when.saturating_duration_since(self.start).as_nanos() as u64
    }

    /// Sees to it that the timer has an entry at `due` or before.
    fn queue_entry(self: &Arc<Self>, state: &Arc<State>, due: u64) {
        let mut queue = self.queue.lock();
        let entry = state.entry.load(Ordering::SeqCst);
        if (FIRST_TIME..=due).contains(&entry) {
            return;
        }
        queue.entries.remove(&(entry, state.number));
        queue.insert(state, due);
        let is_first = queue.entries.first_key_value().is_some_and(|(key, _)| *key == (due, state.number));
        #[cfg(not(shuttle))]
        self.run_in_thread(&mut queue);
        drop(queue);
        if is_first {
            self.changed.notify_one();
        }
    }

    #[cfg(not(shuttle))]
    fn run_in_thread(self: &Arc<Self>, queue: &mut Queue) {
        if queue.is_running {
            return;
        }
        queue.is_running = true;
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name("timers".to_owned()).spawn(move || shared.run());
        if let Err(error) = thread {
            log::error!("could not start the timer thread, timeouts have no effect: {error}");
            queue.is_running = false;
        }
    }

    #[cfg(not(shuttle))]
    fn run(&self) {
        let mut queue = self.queue.lock();
        while !queue.is_stopping {
            let Some((next, _)) = queue.entries.first_key_value().map(|(key, _)| *key) else {
                self.changed.wait(&mut queue);
                continue;
            };
            let now = self.time(Instant::now());
            if next > now {
                self.changed.wait_for(&mut queue, Duration::from_nanos(next - now));
                continue;
            }
            let due = queue.take_due(now);
            // No lock is held across a wake.
            drop(queue);
            raise(due);
            queue = self.queue.lock();
        }
    }
}

impl Queue {
    fn insert(&mut self, state: &Arc<State>, at: u64) {
        state.entry.store(at, Ordering::SeqCst);
        self.entries.insert((at, state.number), Arc::clone(state));
    }

    /// Takes out the timers with an entry at `now` or before, and queues those again that are due later. Returns the
    /// timers that are due now, each with the time it was set to.
    fn take_due(&mut self, now: u64) -> Vec<(Arc<State>, u64)> {
        let mut due_now = Vec::new();
        while let Some(first) = self.entries.first_entry() {
            if first.key().0 > now {
                break;
            }
            let state = first.remove();
            state.entry.store(0, Ordering::SeqCst);
            match state.due.load(Ordering::SeqCst) {
                DISARMED | FIRING | FIRED => {}
                due if due > now => self.insert(&state, due),
                due => due_now.push((state, due)),
            }
        }
        due_now
    }
}

fn raise(due: Vec<(Arc<State>, u64)>) {
    for (state, due) in due {
        // From here on, a thread that disarms the timer waits until it has fired, and clears the interrupt.
        if state.due.compare_exchange(due, FIRING, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            state.interrupt.raise(state.kind);
            // It may have been armed again meanwhile.
            let _ = state.due.compare_exchange(FIRING, FIRED, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
}

impl std::fmt::Debug for Timers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timers").field("entry_count", &self.entry_count()).finish()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn many_statements_with_long_limits_leave_one_entry() {
        let (timers, interrupt) = (Timers::new(), Arc::new(Interrupt::new()));
        let statement = timers.timer(&interrupt, InterruptKind::StatementTimeout);
        let transaction = timers.timer(&interrupt, InterruptKind::TransactionTimeout);
        for number in 0..10_000 {
            let _transaction = transaction.arm(Instant::now() + 10 * DAY);
            // Longer and shorter ones in turn.
            let _statement = statement.arm(Instant::now() + [24 * DAY, DAY, 60 * DAY][number % 3]);
            assert!(timers.entry_count() <= 2);
            assert_eq!(timers.armed_count(), 2);
        }
        assert_eq!(timers.armed_count(), 0);
        drop((statement, transaction));
        assert_eq!(timers.entry_count(), 0);
        assert!(!interrupt.pending());
    }

    #[test]
    fn what_is_due_fires_once_and_what_is_disarmed_does_not() {
        let (timers, interrupt) = (Timers::new(), Arc::new(Interrupt::new()));
        let timer = timers.timer(&interrupt, InterruptKind::StatementTimeout);
        let now = Instant::now() + DAY;
        let armed = timer.arm(now);
        timers.fire(now - Duration::from_secs(1));
        assert!(!interrupt.pending());
        timers.fire(now);
        assert_eq!(interrupt.take(), Some(InterruptKind::StatementTimeout));
        timers.fire(now);
        assert!(!interrupt.pending());
        drop(armed);
        drop(timer.arm(now));
        // Armed again for later: the entry comes too early, and is queued again.
        let armed = timer.arm(now + DAY);
        timers.fire(now);
        assert!(!interrupt.pending());
        timers.fire(now + DAY);
        assert!(interrupt.pending());
        drop(armed);
        assert!(!interrupt.pending(), "the next statement does not suffer for it");
    }

    #[test]
    fn what_replaces_a_limit_is_not_disarmed_with_it() {
        let (timers, interrupt) = (Timers::new(), Arc::new(Interrupt::new()));
        let timer = timers.timer(&interrupt, InterruptKind::StatementTimeout);
        let now = Instant::now();
        let first = timer.arm(now + DAY);
        let second = timer.arm(now + 2 * DAY);
        drop(first);
        timers.fire(now + 2 * DAY);
        assert!(interrupt.pending());
        drop(second);
    }

    #[test]
    fn the_thread_fires_in_time() {
        let (timers, interrupt) = (Timers::new(), Arc::new(Interrupt::new()));
        let long = timers.timer(&interrupt, InterruptKind::TransactionTimeout);
        let short = timers.timer(&interrupt, InterruptKind::StatementTimeout);
        let _long = long.arm(Instant::now() + DAY);
        let _short = short.arm(Instant::now() + Duration::from_millis(5));
        let waiter = crate::Waiter::new();
        let woken = waiter.wait(Some(Instant::now() + Duration::from_secs(30)), Some(&interrupt));
        assert_eq!(woken, crate::Woken::Interrupted);
        assert_eq!(interrupt.take(), Some(InterruptKind::StatementTimeout));
    }
}
