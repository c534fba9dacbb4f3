//! The thread with the large stack, for texts that may be nested deep.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

use base::{Error, Result};
use sync::Waiter;

/// Enough for what the grammar's own limits let through: its parser stack has 10,000 entries.
const STACK_BYTES: usize = 256 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `work` on the large stack and waits for it; other sessions of this worker go on meanwhile.
pub(super) fn run<R: Send + 'static>(work: impl FnOnce() -> Result<R> + Send + 'static) -> Result<R> {
    static THREAD: OnceLock<Option<Mutex<Sender<Job>>>> = OnceLock::new();
    let Some(thread) = THREAD.get_or_init(|| start().ok().map(Mutex::new)) else {
        return Err(Error::internal("the parser's thread could not be started"));
    };
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
    if lock(thread).send(job).is_err() {
        return Err(Error::internal("the parser's thread is gone"));
    }
    waiter.wait(None, None);
    let result = lock(&answer).take();
    result.unwrap_or_else(|| Err(Error::internal("the parser failed")))
}

fn start() -> std::io::Result<Sender<Job>> {
    let (sender, receiver) = channel::<Job>();
    std::thread::Builder::new().name("parser".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        while let Ok(job) = receiver.recv() {
            job();
        }
    })?;
    Ok(sender)
}

/// Nothing panics while these locks are held, so poison means nothing.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
