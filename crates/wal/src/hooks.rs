//! Functions that are called when the log has become durable further: listeners first, since replies wait for them, then
//! retire hooks.

use std::cell::Cell;

use base::Lsn;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Combiner, Mutex};

/// A function that is given the new `durable`.
pub(crate) type Hook = Arc<dyn Fn(Lsn) + Send + Sync>;

pub(crate) struct Hooks {
    listeners: Mutex<Arc<[Hook]>>,
    retire: Mutex<Arc<[Hook]>>,
    /// The calls of retire hooks never overlap.
    retiring: Combiner<()>,
    /// Up to where the retire hooks were told.
    retired: AtomicU64,
}

impl Hooks {
    pub fn new() -> Hooks {
        Hooks {
            listeners: Mutex::new(Arc::new([])),
            retire: Mutex::new(Arc::new([])),
            retiring: Combiner::new(()),
            retired: AtomicU64::new(0),
        }
    }

    pub fn add_listener(&self, hook: Hook) {
        add(&self.listeners, hook);
    }

    pub fn add_retire_hook(&self, hook: Hook) {
        add(&self.retire, hook);
    }

    /// Tells everybody. Leaders may come here at the same time, one that has handed over and its successor.
    pub fn tell(&self, durable: impl Fn() -> u64) {
        let listeners = Arc::clone(&self.listeners.lock());
        if !listeners.is_empty() {
            let now = Lsn(durable());
            listeners.iter().for_each(|listener| listener(now));
        }
        let hooks = Arc::clone(&self.retire.lock());
        if !hooks.is_empty() {
            self.retire(&hooks, durable);
        }
    }

    /// Whether the retire hooks have been told of all up to `durable`.
    pub fn have_retired(&self, durable: u64) -> bool {
        self.retire.lock().is_empty() || self.retired.load(Ordering::Acquire) >= durable
    }

    /// Runs the retire hooks, unless somebody is at it: then that one sees the new `durable` when it has finished.
    fn retire(&self, hooks: &[Hook], durable: impl Fn() -> u64) {
        let told = Cell::new(0);
        let tell = |(): &mut ()| {
            let now = durable();
            if now > self.retired.load(Ordering::Relaxed) {
                hooks.iter().for_each(|hook| hook(Lsn(now)));
                self.retired.store(now, Ordering::Release);
            }
            told.set(now);
        };
        self.retiring.run(tell, || durable() > told.get());
    }
}

fn add(hooks: &Mutex<Arc<[Hook]>>, hook: Hook) {
    let mut hooks = hooks.lock();
    *hooks = hooks.iter().cloned().chain([hook]).collect();
}
