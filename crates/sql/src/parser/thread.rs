//! Threads with large stacks, for texts that are long: they may be nested deep, and parsing them takes its time.
//!
//! There are a few at most, made when all others are busy. Texts wait in the order in which they came; one thread takes only
//! those that aren't very long, so that these don't wait for seconds.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use base::{Error, Result};
use sync::Waiter;

/// Enough for what the grammar's own limits let through: its parser stack has 10,000 entries.
const STACK_BYTES: usize = 256 << 20;
/// So many at most.
const THREADS_MAX: usize = 4;
/// A text longer than this is very long.
const VERY_LONG_BYTES: usize = 1 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// Texts that wait, and those who work on them.
struct Parsers {
    waiting: VecDeque<(usize, Job)>,
    threads: usize,
    idle: usize,
    /// Very long texts that are being parsed.
    very_long: usize,
}

static PARSERS: Mutex<Parsers> = Mutex::new(Parsers { waiting: VecDeque::new(), threads: 0, idle: 0, very_long: 0 });
static ARRIVED: Condvar = Condvar::new();

impl Parsers {
    /// The next text to work on. The last thread that is free is not for a very long one.
    fn take(&mut self) -> Option<(usize, Job)> {
        let may_be_very_long = self.very_long + 1 < THREADS_MAX;
        let next = self.waiting.iter().position(|(length, _)| may_be_very_long || *length <= VERY_LONG_BYTES)?;
        let (length, job) = self.waiting.remove(next)?;
        self.very_long += usize::from(length > VERY_LONG_BYTES);
        Some((length, job))
    }
}

/// Runs `work` on a text of so many bytes on a large stack and waits for it; other sessions of this worker go on meanwhile.
pub(super) fn run<R: Send + 'static>(length: usize, work: impl FnOnce() -> Result<R> + Send + 'static) -> Result<R> {
    let answer = Arc::new(Mutex::new(None));
    let waiter = Waiter::new();
    let waker = waiter.waker();
    let job: Job = {
        let answer = Arc::clone(&answer);
        Box::new(move || {
            // A panic in there must not leave the session waiting: it finds no answer.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok();
            *lock(&answer) = result;
            waker.wake();
        })
    };
    enqueue(length, job)?;
    waiter.wait(None, None);
    let result = lock(&answer).take();
    result.unwrap_or_else(|| Err(Error::internal("the parser failed")))
}

fn enqueue(length: usize, job: Job) -> Result<()> {
    let mut parsers = lock(&PARSERS);
    if parsers.idle <= parsers.waiting.len() && parsers.threads < THREADS_MAX {
        match start(parsers.threads) {
            Ok(()) => parsers.threads += 1,
            Err(_) if parsers.threads == 0 => return Err(super::no_stack()),
            // The others will come to it.
            Err(_) => {}
        }
    }
    parsers.waiting.push_back((length, job));
    drop(parsers);
    // All look, since not each of them may take each text.
    ARRIVED.notify_all();
    Ok(())
}

fn start(number: usize) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(format!("parser {number}")).stack_size(STACK_BYTES);
    builder.spawn(work_for_ever).map(drop)
}

fn work_for_ever() {
    let mut parsers = lock(&PARSERS);
    loop {
        match parsers.take() {
            Some((length, job)) => {
                drop(parsers);
                job();
                parsers = lock(&PARSERS);
                if length > VERY_LONG_BYTES {
                    parsers.very_long -= 1;
                    ARRIVED.notify_all();
                }
            }
            None => {
                parsers.idle += 1;
                parsers = ARRIVED.wait(parsers).unwrap_or_else(PoisonError::into_inner);
                parsers.idle -= 1;
            }
        }
    }
}

/// Nothing panics while these locks are held, so poison means nothing.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    /// Texts that hold as many threads as very long ones may have leave a thread for the others.
    #[test]
    fn a_long_text_does_not_wait_for_very_long_ones() {
        let (release, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let very_long: Vec<_> = (0..2 * THREADS_MAX)
            .map(|_| {
                let held = Arc::clone(&held);
                std::thread::spawn(move || {
                    run(VERY_LONG_BYTES + 1, move || {
                        let released = lock(&held).recv();
                        released.map_err(|_| Error::internal("nobody released it"))
                    })
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50));
        for number in 0..100 {
            assert_eq!(run(VERY_LONG_BYTES, move || Ok(number)).unwrap(), number);
        }
        for _ in &very_long {
            release.send(()).unwrap();
        }
        for thread in very_long {
            thread.join().unwrap().unwrap();
        }
        assert!(lock(&PARSERS).threads <= THREADS_MAX);
        assert_eq!(lock(&PARSERS).very_long, 0);
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        assert!(run::<()>(1, || panic!("within")).is_err());
        assert_eq!(run(1, || Ok(1)).unwrap(), 1);
    }
}
