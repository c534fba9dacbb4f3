//! Timers that interrupt a session: `statement_timeout` and its kin.
//!
//! One thread, started with the first timer, sleeps until the next one is due. Sessions without a timeout
//! never come here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sync::{Condvar, Interrupt, InterruptKind, Mutex};

/// See the module.
#[derive(Default)]
pub struct Timers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Guards the pending timers. A leaf.
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Default)]
struct Pending {
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    targets: rustc_hash::FxHashMap<u64, Target>,
    next_id: u64,
    is_running: bool,
    is_stopping: bool,
}

struct Target {
    interrupt: Arc<Interrupt>,
    kind: InterruptKind,
    is_cancelled: Arc<AtomicBool>,
}

/// A pending timer; dropped, it does nothing any more.
pub struct Timer {
    interrupt: Arc<Interrupt>,
    kind: InterruptKind,
    is_cancelled: Arc<AtomicBool>,
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        // It may have fired as the statement ended: the next one is not to suffer for it.
        self.interrupt.clear(self.kind);
    }
}

impl Timers {
    /// Raises `kind` at `when`, unless the timer is dropped before.
    pub fn schedule(&self, when: Instant, interrupt: &Arc<Interrupt>, kind: InterruptKind) -> Timer {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let mut pending = self.0.pending.lock();
        let id = pending.next_id;
        pending.next_id += 1;
        let is_next = pending.due.peek().is_none_or(|Reverse((next, _))| when < *next);
        pending.due.push(Reverse((when, id)));
        let target = Target { interrupt: Arc::clone(interrupt), kind, is_cancelled: Arc::clone(&is_cancelled) };
        pending.targets.insert(id, target);
        if !pending.is_running {
            pending.is_running = true;
            let shared = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name("timers".to_owned()).spawn(move || run(&shared));
            if let Err(error) = thread {
                eprintln!("cohort: could not start the timer thread, timeouts have no effect: {error}");
                pending.is_running = false;
            }
        }
        drop(pending);
        if is_next {
            self.0.changed.notify_one();
        }
        Timer { interrupt: Arc::clone(interrupt), kind, is_cancelled }
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.0.pending.lock().is_stopping = true;
        self.0.changed.notify_one();
    }
}

fn run(shared: &Shared) {
    let mut pending = shared.pending.lock();
    while !pending.is_stopping {
        let Some(Reverse((next, id))) = pending.due.peek().copied() else {
            shared.changed.wait(&mut pending);
            continue;
        };
        let now = Instant::now();
        if next > now {
            shared.changed.wait_for(&mut pending, next - now);
            continue;
        }
        pending.due.pop();
        if let Some(target) = pending.targets.remove(&id)
            && !target.is_cancelled.load(Ordering::SeqCst)
        {
            target.interrupt.raise(target.kind);
        }
    }
}
