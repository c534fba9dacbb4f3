//! Work that can't give its thread back: done by another thread, for which the coroutine waits.
//!
//! A library's function with a large argument computes for milliseconds to minutes, and nothing in it can suspend. The threads
//! of a [`WorkPool`] do such work one piece at a time. There are few of them, since they compute: a piece that comes when all are
//! busy waits in a queue. The queue has one piece of each waiting session at most. A session that is interrupted takes its piece out of
//! the queue, so that the queue never holds work that nobody waits for.
//!
//! One thread does short work only. So short work, for which a session may hold locks, never waits for long work.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use base::{Error, Result};

use crate::coroutine::{check_interrupt, with_interrupt_in_force};
use crate::facade::{Arc, Condvar, Mutex, thread};
use crate::interrupt::{Interrupt, InterruptKind};
use crate::wait::{Waiter, Woken};

/// How long a piece of work may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// No longer than work on the largest value of the engine takes.
    Short,
    /// As long as a client's input makes it.
    Long,
}

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

static LARGE_VALUES: WorkPool = WorkPool::new(PoolOptions {
    name: "large values",
    stack_bytes: None,
    // One more than there are processors: one thread does short work only, which takes little of a processor's time.
    threads_max: || thread_count_of_processors().max(2) + 1,
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
    /// The most threads there may be: at least two, as one of them does short work only.
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
    short: BTreeMap<u64, Job>,
    long: BTreeMap<u64, Job>,
    next_number: u64,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
    /// Threads that do long work.
    busy_long: usize,
}

impl State {
    /// The next piece of work: what came first, but no long work for the last thread.
    fn take(&mut self, threads_max: usize) -> Option<(Work, Job)> {
        let may_be_long = self.busy_long + 1 < threads_max;
        let first = |jobs: &BTreeMap<u64, Job>| jobs.keys().next().copied();
        match (first(&self.short), first(&self.long).filter(|_| may_be_long)) {
            (None, None) => None,
            (Some(short), long) if long.is_none_or(|long| short < long) => {
                self.short.remove(&short).map(|job| (Work::Short, job))
            }
            _ => {
                self.busy_long += 1;
                self.long.pop_first().map(|(_, job)| (Work::Long, job))
            }
        }
    }

    fn jobs(&mut self, length: Work) -> &mut BTreeMap<u64, Job> {
        match length {
            Work::Short => &mut self.short,
            Work::Long => &mut self.long,
        }
    }

    fn waiting(&self) -> usize {
        self.short.len() + self.long.len()
    }
}

impl WorkPool {
    /// A pool without threads.
    pub const fn new(options: PoolOptions) -> WorkPool {
        let state =
            State { short: BTreeMap::new(), long: BTreeMap::new(), next_number: 0, threads: 0, idle: 0, busy_long: 0 };
        WorkPool { options, state: Mutex::new(state), changed: Condvar::new() }
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
        if state.idle <= state.waiting() && state.threads < (self.options.threads_max)() {
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
        }
        let number = state.next_number;
        state.next_number += 1;
        state.jobs(length).insert(number, job);
        drop(state);
        self.changed.notify_one();
        Ok(number)
    }

    /// The work of a thread of the pool.
    fn work(&self) {
        let threads_max = (self.options.threads_max)();
        let mut state = self.state.lock();
        let mut has_idled_enough = false;
        loop {
            if let Some((length, job)) = state.take(threads_max) {
                drop(state);
                job();
                state = self.state.lock();
                state.busy_long -= usize::from(length == Work::Long);
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

/// A session's piece of work. If the session leaves without its answer, the work leaves the queue, or is told to stop.
struct Entry {
    pool: &'static WorkPool,
    length: Work,
    number: u64,
    stop: Arc<Interrupt>,
    is_answered: bool,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let job = self.pool.state.lock().jobs(self.length).remove(&self.number);
        if job.is_none() {
            self.stop.raise(InterruptKind::Cancel);
        }
    }
}
