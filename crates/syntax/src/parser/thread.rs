//! Threads for texts that are long: parsing them takes its time, which the other sessions of a worker are not to wait for.
//!
//! There are a few at most, made when all others are busy. Texts wait in the order in which they came; one thread takes only
//! those that aren't very long, so that these don't wait for seconds. Interrupts end a session's wait at once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Error, Result};
use sync::{PoolOptions, Work, WorkPool};

/// A text longer than this is very long.
const VERY_LONG_BYTES: usize = 1 << 20;

static PARSERS: WorkPool = WorkPool::new(PoolOptions {
    name: "parser",
    stack_bytes: None,
    threads_max: || 5,
    // The grammar's library keeps memory for every thread that ever used it.
    idle_time: None,
});

/// Runs `work` on a text of so many bytes on a thread for this and waits for it; other sessions of this worker go on meanwhile.
///
/// # Errors
/// Those of `work`, and 57014 and its kin when the session is interrupted meanwhile.
pub(super) fn run<R: Send + 'static>(
    text_bytes: usize,
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    let length = if text_bytes > VERY_LONG_BYTES { Work::Long } else { Work::Short };
    let work = || catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::internal("the parser failed")));
    PARSERS.run(length, work)?
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use sync::{Interrupt, InterruptKind};

    use super::*;

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        assert!(run::<()>(1, || panic!("within")).is_err());
        assert_eq!(run(1, || Ok(1)).unwrap(), 1);
    }

    /// Sessions whose texts are being parsed, or wait for a thread, are interrupted; a text that isn't very long has a thread meanwhile.
    #[test]
    fn interrupts_reach_sessions_that_wait_for_a_parser() {
        let (release, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let sessions: Vec<_> = (0..8)
            .map(|_| {
                let (held, interrupt) = (Arc::clone(&held), Arc::new(Interrupt::new()));
                let interrupted = Arc::clone(&interrupt);
                let wait = move || held.lock().map_or(Ok(()), |held| held.recv().map_err(|_| Error::internal("gone")));
                let session = move || sync::with_interrupt(&interrupted, || run(VERY_LONG_BYTES + 1, wait));
                (interrupt, std::thread::spawn(session))
            })
            .collect();
        assert_eq!(run(VERY_LONG_BYTES, || Ok(7)).unwrap(), 7);
        for (interrupt, _) in &sessions {
            interrupt.raise(InterruptKind::StatementTimeout);
        }
        for (_, session) in sessions {
            assert_eq!(session.join().unwrap().unwrap_err().sqlstate().as_str(), "57014");
        }
        // Other tests' texts may wait for a moment.
        let deadline = Instant::now() + Duration::from_secs(30);
        while PARSERS.waiting() > 0 {
            assert!(Instant::now() < deadline, "what was interrupted still waits for a thread");
            std::thread::yield_now();
        }
        drop(release);
    }
}
