//! Work that one thread at a time does for all who ask for it meanwhile.

use crate::Mutex;
use crate::atomic::{Ordering, fence};

/// State that belongs to one thread at a time. Nobody waits for it.
#[derive(Default)]
pub struct Combiner<T>(Mutex<T>);

impl<T> Combiner<T> {
    /// Around `state`.
    pub fn new(state: T) -> Combiner<T> {
        Combiner(Mutex::new(state))
    }

    /// Calls `work` until `has_more` says no, unless somebody is at it. Then that one's next `has_more` sees all that the caller has
    /// written before.
    pub fn run(&self, mut work: impl FnMut(&mut T), mut has_more: impl FnMut() -> bool) {
        // Of a caller that fails to get the lock, and the one that has it, either the first sees the unlock or the second sees what the
        // first has written: each has a fence between its own step and its look at the other's.
        loop {
            fence(Ordering::SeqCst);
            let Some(mut state) = self.0.try_lock() else { return };
            work(&mut state);
            drop(state);
            fence(Ordering::SeqCst);
            if !has_more() {
                return;
            }
        }
    }

    /// The same, unless it is not wanted. If `is_wanted` misses a step of somebody who is at it, that one's next `has_more` sees all that
    /// the caller has written before.
    pub fn run_if(&self, is_wanted: impl FnOnce() -> bool, work: impl FnMut(&mut T), has_more: impl FnMut() -> bool) {
        fence(Ordering::SeqCst);
        if is_wanted() {
            self.run(work, has_more);
        }
    }
}
