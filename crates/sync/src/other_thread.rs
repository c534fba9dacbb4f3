//! Work that can't give its thread back: done by another thread, for which the coroutine waits.
//!
//! A library's function with a large argument computes for milliseconds to minutes, and nothing in it can suspend. The threads
//! of a [`WorkPool`] do such work one piece at a time. There are few of them, since they compute: a piece that comes when all are
//! busy waits in a queue. The queue has one piece of each waiting session at most. A session that is interrupted takes its piece out of
//! the queue, so that the queue never holds work that nobody waits for, but for a few large values that are to be dropped.
//!
//! One thread does short work only, and another one no long work. So short work, for which a session may hold locks, waits for short work
//! only, and no work whose length has a bound waits for work that a client can make as long as it likes.
//!
//! A piece that runs on although its session has left is *abandoned*. It ends at its next yield point. Until then another thread takes
//! its place, so that sessions that are still there don't wait for it. There is a limit of such threads, since they compute, too.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Error, Result};

use crate::coroutine::{check_interrupt, with_interrupt_in_force};
use crate::facade::{Arc, Condvar, Mutex, thread};
use crate::interrupt::{Interrupt, InterruptKind};
use crate::wait::{Waiter, Woken};

/// How long a piece of work may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// No longer than work on the largest value of the engine takes.
    Short,
    /// Longer, but its length has a bound that no client can move.
    Bounded,
    /// As long as a client's input makes it.
    Long,
}

/// How many values [`Work`] has.
const WORK_KINDS: usize = 3;

/// Runs `work` on another thread and waits for it, so that other coroutines of this thread go on. Outside of coroutines that can
/// suspend it runs here. An interrupt of [`with_interrupt`](crate::with_interrupt) ends the wait at once. If `work` has not begun
/// then, it never does; otherwise it ends at its next [`yield_point`](crate::yield_point), if it has any.
///
/// # Errors
/// The error of the interrupt: 57014, 57P01 or a similar one.
///
/// # Panics
/// If `work` does.
pub fn on_other_thread<R: Send + 'static>(length: Work, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    // In a model's executions nothing outlives an execution, as the pool's threads would.
    if cfg!(shuttle) || !crate::in_coroutine() { Ok(work()) } else { LARGE_VALUES.run(length, work) }
}

/// Has another thread drop `value`, which is large: giving much memory back to the system takes milliseconds. Nobody waits for that. On
/// threads without turns, and while much is being dropped already, it is dropped here.
pub fn drop_on_other_thread<T: Send + 'static>(value: T) {
    /// Counts the values that are being dropped.
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED_NOW.fetch_sub(1, Ordering::Relaxed);
        }
    }
    static DROPPED_NOW: AtomicUsize = AtomicUsize::new(0);

    if !crate::time_slice::thread_has_turns() {
        return;
    }
    let before = DROPPED_NOW.fetch_add(1, Ordering::Relaxed);
    let counted = Counted;
    if before < DROPPED_AT_ONCE_MAX {
        // Without a thread for it, it is dropped with its job.
        let _ = LARGE_VALUES.add(
            Work::Short,
            Box::new(move || {
                drop(value);
                drop(counted);
            }),
        );
    }
}

/// The most values that wait for another thread to drop them, or are being dropped.
const DROPPED_AT_ONCE_MAX: usize = 8;

static LARGE_VALUES: WorkPool = WorkPool::new(PoolOptions {
    name: "large values",
    stack_bytes: None,
    // Two more than there are processors: those that do no long work take little of a processor's time.
    threads_max: || thread_count_of_processors().max(2) + 2,
    idle_time: Some(Duration::from_secs(10)),
});

fn thread_count_of_processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The kind of threads that a pool has.
pub struct PoolOptions {
    /// Their name.
    pub name: &'static str,
    /// The size of their stacks, if not the usual one.
    pub stack_bytes: Option<usize>,
    /// The most threads there may be, those for abandoned work aside: at least two, as one of them does short work only; at least three
    /// if there is bounded work.
    pub threads_max: fn() -> usize,
    /// A thread that had nothing to do for so long ends. With `None` no thread ends.
    pub idle_time: Option<Duration>,
}

/// Threads that do work for others, and the work that waits for them.
pub struct WorkPool {
    options: PoolOptions,
    /// A leaf.
    state: Mutex<State>,
    changed: Condvar,
}

type Job = Box<dyn FnOnce() + Send>;

struct State {
    /// Work that has not begun, by its number. The lowest came first.
    waiting: [BTreeMap<u64, Job>; WORK_KINDS],
    /// Work that has begun, by its number.
    running: BTreeMap<u64, Running>,
    next_number: u64,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
}

struct Running {
    length: Work,
    is_abandoned: bool,
}

impl State {
    const fn new() -> State {
        let waiting = [const { BTreeMap::new() }; WORK_KINDS];
        State { waiting, running: BTreeMap::new(), next_number: 0, threads: 0, idle: 0 }
    }

    /// The next piece of work: what came first of that which may begin.
    fn take(&mut self, threads_max: usize) -> Option<(u64, Job)> {
        let next = |length: Work| {
            let number = self.waiting[length as usize].keys().next()?;
            self.may_begin(length, threads_max).then_some((*number, length))
        };
        let lengths = [Work::Short, Work::Bounded, Work::Long];
        let (number, length) = lengths.into_iter().filter_map(next).min_by_key(|(number, _)| *number)?;
        self.running.insert(number, Running { length, is_abandoned: false });
        self.waiting[length as usize].remove(&number).map(|job| (number, job))
    }

    /// Whether a free thread may take work of this kind.
    fn may_begin(&self, length: Work, threads_max: usize) -> bool {
        let has_room = |least: Work, limit: usize| {
            let counted = || self.running.values().filter(|running| running.length >= least);
            let abandoned = counted().filter(|running| running.is_abandoned).count();
            counted().count() - abandoned.min(replacements_max(threads_max)) < limit
        };
        let has_bounded_room = || has_room(Work::Bounded, threads_max - 1);
        match length {
            Work::Short => true,
            Work::Bounded => has_bounded_room(),
            Work::Long => has_bounded_room() && has_room(Work::Long, threads_max.saturating_sub(2).max(1)),
        }
    }

    /// How many threads there may be now.
    fn threads_limit(&self, threads_max: usize) -> usize {
        let abandoned = self.running.values().filter(|running| running.is_abandoned).count();
        threads_max + abandoned.min(replacements_max(threads_max))
    }

    fn waiting(&self) -> usize {
        self.waiting.iter().map(BTreeMap::len).sum()
    }
}

/// The most threads that take the places of those with abandoned work.
fn replacements_max(threads_max: usize) -> usize {
    2 * threads_max
}

impl WorkPool {
    /// A pool without threads.
    pub const fn new(options: PoolOptions) -> WorkPool {
        WorkPool { options, state: Mutex::new(State::new()), changed: Condvar::new() }
    }

    /// Has `work` done by a thread of the pool and waits for it, as [`on_other_thread`] says.
    ///
    /// # Errors
    /// The error of the interrupt, or that of the system if it refuses the first thread.
    ///
    /// # Panics
    /// If `work` does.
    pub fn run<R: Send + 'static>(&'static self, length: Work, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
        let answer = Arc::new(Mutex::new(None));
        let stop = Arc::new(Interrupt::new());
        let waiter = Waiter::new();
        let job: Job = {
            let (answer, stop, waker) = (Arc::clone(&answer), Arc::clone(&stop), waiter.waker());
            Box::new(move || {
                let result = catch_unwind(AssertUnwindSafe(|| crate::with_interrupt(&stop, work)));
                *answer.lock() = Some(result);
                waker.wake();
            })
        };
        let number = self.add(length, job)?;
        // A coroutine that is dropped while it waits leaves by unwinding.
        let mut entry = Entry { pool: self, length, number, stop, is_answered: false };
        while with_interrupt_in_force(|interrupt| waiter.wait(None, interrupt)) == Woken::Interrupted {
            check_interrupt()?;
        }
        entry.is_answered = true;
        let result = answer.lock().take();
        match result {
            Some(Ok(value)) => Ok(value),
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(Error::internal("work on another thread has no answer")),
        }
    }

    /// How many pieces of work wait for a thread.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting()
    }

    fn add(&'static self, length: Work, job: Job) -> Result<u64> {
        let mut state = self.state.lock();
        if state.idle <= state.waiting() {
            self.add_thread(&mut state)?;
        }
        let number = state.next_number;
        state.next_number += 1;
        state.waiting[length as usize].insert(number, job);
        drop(state);
        self.changed.notify_one();
        Ok(number)
    }

    /// Makes a thread if there may be one more.
    fn add_thread(&'static self, state: &mut State) -> Result<()> {
        if state.threads >= state.threads_limit((self.options.threads_max)()) {
            return Ok(());
        }
        let mut builder = thread::Builder::new().name(self.options.name.to_owned());
        if let Some(stack_bytes) = self.options.stack_bytes {
            builder = builder.stack_size(stack_bytes);
        }
        match builder.spawn(|| self.work()) {
            Ok(_) => state.threads += 1,
            Err(error) if state.threads == 0 => {
                return Err(Error::io(format!("could not start a thread for {}", self.options.name), &error));
            }
            // Those that are there will come to it.
            Err(_) => {}
        }
        Ok(())
    }

    /// The session of a piece of work has left.
    fn abandon(&'static self, number: u64, length: Work, stop: &Interrupt) {
        let mut state = self.state.lock();
        let job = state.waiting[length as usize].remove(&number);
        let Some(running) = state.running.get_mut(&number) else {
            drop(state);
            return drop(job);
        };
        running.is_abandoned = true;
        if state.idle < state.waiting() {
            // The threads that are there may do.
            let _ = self.add_thread(&mut state);
        }
        drop(state);
        self.changed.notify_one();
        stop.raise(InterruptKind::Cancel);
    }

    /// The work of a thread of the pool.
    fn work(&self) {
        let threads_max = (self.options.threads_max)();
        let mut state = self.state.lock();
        let mut has_idled_enough = false;
        loop {
            // Others than those that are too many take what waits.
            if state.threads > state.threads_limit(threads_max) {
                self.changed.notify_one();
                break;
            }
            if let Some((number, job)) = state.take(threads_max) {
                drop(state);
                job();
                state = self.state.lock();
                state.running.remove(&number);
                has_idled_enough = false;
                continue;
            }
            if has_idled_enough {
                break;
            }
            state.idle += 1;
            match self.options.idle_time {
                Some(limit) => has_idled_enough = self.changed.wait_for(&mut state, limit).timed_out(),
                None => self.changed.wait(&mut state),
            }
            state.idle -= 1;
        }
        state.threads -= 1;
    }
}

/// A session's piece of work. If the session leaves without its answer, the work leaves the queue, or is abandoned and told to stop.
struct Entry {
    pool: &'static WorkPool,
    length: Work,
    number: u64,
    stop: Arc<Interrupt>,
    is_answered: bool,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_answered {
            self.pool.abandon(self.number, self.length, &self.stop);
        }
    }
}
