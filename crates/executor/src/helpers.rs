//! Threads that help sessions with what takes long and can be divided. They are made when they are first asked for, and
//! end when there has been nothing to do for a while.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sync::{Condvar, Mutex};

/// Work that helpers may take a part in.
pub trait Shareable: Send + Sync {
    /// Does what there is to do at the moment, piece by piece.
    fn help(&self);
}

/// See the module.
pub struct Helpers {
    pool: Arc<Pool>,
}

struct Pool {
    /// A leaf.
    queue: Mutex<Queue>,
    changed: Condvar,
    processors: usize,
}

#[derive(Default)]
struct Queue {
    /// Nobody's work is done for the helpers' sake: what has been dropped is passed over.
    waiting: VecDeque<Weak<dyn Shareable>>,
    threads: usize,
    idle: usize,
    is_closing: bool,
}

/// No more work waits than this: sessions can do without.
const WAITING_MAX: usize = 256;

/// A helper that had nothing to do for so long ends.
const IDLE_TIME: Duration = Duration::from_secs(10);

impl Default for Helpers {
    /// None yet, and at most as many as there are processors.
    fn default() -> Helpers {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Helpers { pool: Arc::new(Pool { queue: Mutex::default(), changed: Condvar::new(), processors }) }
    }
}

impl Helpers {
    /// How many one session can use: there is a processor for each, and for the session.
    pub fn useful(&self) -> usize {
        self.pool.processors - 1
    }

    /// Asks for one helper more for `work`. False if there are none to be had.
    pub fn ask(&self, work: Weak<dyn Shareable>) -> bool {
        let mut queue = self.pool.queue.lock();
        if queue.waiting.len() >= WAITING_MAX {
            // Statements that have ended need nobody any more.
            queue.waiting.retain(|work| work.strong_count() > 0);
            if queue.waiting.len() >= WAITING_MAX {
                return false;
            }
        }
        if queue.idle <= queue.waiting.len() && queue.threads < self.pool.processors {
            let pool = Arc::clone(&self.pool);
            let made = std::thread::Builder::new().name("cohort helper".into()).spawn(move || pool.run());
            queue.threads += usize::from(made.is_ok());
        }
        if queue.threads == 0 {
            return false;
        }
        queue.waiting.push_back(work);
        drop(queue);
        self.pool.changed.notify_one();
        true
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.pool.queue.lock().is_closing = true;
        self.pool.changed.notify_all();
    }
}

impl Pool {
    fn run(&self) {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_closing {
                break;
            }
            if let Some(work) = queue.waiting.pop_front() {
                drop(queue);
                if let Some(work) = work.upgrade() {
                    work.help();
                }
                queue = self.queue.lock();
                continue;
            }
            queue.idle += 1;
            let has_timed_out = self.changed.wait_for(&mut queue, IDLE_TIME).timed_out();
            queue.idle -= 1;
            if has_timed_out && queue.waiting.is_empty() {
                break;
            }
        }
        queue.threads -= 1;
    }
}
