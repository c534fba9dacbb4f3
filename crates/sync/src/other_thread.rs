//! Work that can't give its thread back: done by another thread, for which the coroutine waits.
//!
//! A library's function with a large argument computes for milliseconds to minutes, and nothing in it can suspend. The threads
//! here do such work one piece at a time. There are few of them, since they compute: what comes when all are busy waits.

use base::Result;

/// Runs `work` on another thread and waits for it, so that other coroutines of this thread go on. Outside of coroutines that can
/// suspend it runs here. An interrupt of [`with_interrupt`](crate::with_interrupt) ends the wait at once; `work`, of
/// which nobody wants to know then, ends at its next [`yield_point`](crate::yield_point), if it has any.
///
/// # Errors
/// The error of the interrupt: 57014, 57P01 or a similar one.
///
/// # Panics
/// If `work` does.
pub fn on_other_thread<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    if cfg!(shuttle) || !crate::in_coroutine() { Ok(work()) } else { pool::run_and_wait(work) }
}

mod pool {
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    use base::{Error, Result};

    use crate::coroutine::{check_interrupt, with_interrupt_in_force};
    use crate::facade::Arc;
    use crate::interrupt::{Interrupt, InterruptKind};
    use crate::wait::{Waiter, Woken};

    type Job = Box<dyn FnOnce() + Send>;

    /// A thread that had nothing to do for so long ends.
    const IDLE_TIME: Duration = Duration::from_secs(10);

    static POOL: Pool =
        Pool { state: Mutex::new(State { jobs: VecDeque::new(), threads: 0, idle: 0 }), changed: Condvar::new() };

    struct Pool {
        /// A leaf.
        state: Mutex<State>,
        changed: Condvar,
    }

    struct State {
        jobs: VecDeque<Job>,
        threads: usize,
        idle: usize,
    }

    pub(super) fn run_and_wait<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
        let answer = Arc::new(Mutex::new(None));
        let stop = Arc::new(Interrupt::new());
        let waiter = Waiter::new();
        let job: Job = {
            let (answer, stop, waker) = (Arc::clone(&answer), Arc::clone(&stop), waiter.waker());
            Box::new(move || {
                if !stop.pending() {
                    let result = catch_unwind(AssertUnwindSafe(|| crate::with_interrupt(&stop, work)));
                    *lock(&answer) = Some(result);
                }
                waker.wake();
            })
        };
        POOL.add(job)?;
        while with_interrupt_in_force(|interrupt| waiter.wait(None, interrupt)) == Woken::Interrupted {
            if let Err(error) = check_interrupt() {
                stop.raise(InterruptKind::Cancel);
                return Err(error);
            }
        }
        let result = lock(&answer).take();
        match result {
            Some(Ok(value)) => Ok(value),
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(Error::internal("work on another thread has no answer")),
        }
    }

    impl Pool {
        fn add(&self, job: Job) -> Result<()> {
            let mut state = lock(&self.state);
            let threads_max = std::thread::available_parallelism().map_or(1, usize::from).max(2);
            if state.idle <= state.jobs.len() && state.threads < threads_max {
                let made = std::thread::Builder::new().name("large values".to_owned()).spawn(|| POOL.run());
                match made {
                    Ok(_) => state.threads += 1,
                    Err(error) if state.threads == 0 => {
                        return Err(Error::io("could not start a thread for large values", &error));
                    }
                    // Those that are there will come to it.
                    Err(_) => {}
                }
            }
            state.jobs.push_back(job);
            drop(state);
            self.changed.notify_one();
            Ok(())
        }

        fn run(&self) {
            let mut state = lock(&self.state);
            loop {
                if let Some(job) = state.jobs.pop_front() {
                    drop(state);
                    job();
                    state = lock(&self.state);
                    continue;
                }
                state.idle += 1;
                let (woken, wait) = self.changed.wait_timeout(state, IDLE_TIME).unwrap_or_else(PoisonError::into_inner);
                state = woken;
                state.idle -= 1;
                if wait.timed_out() && state.jobs.is_empty() {
                    break;
                }
            }
            state.threads -= 1;
        }
    }

    /// Nothing panics while these locks are held, so poison means nothing.
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
