//! The queue of coroutines that may go on.

use crate::facade::Mutex;

/// Tokens of coroutines to be resumed. Pushed from any thread, drained by the thread that owns the coroutines.
///
/// Waking the owner costs a system call, so it is done once for all tokens that come while the owner sleeps, and not at
/// all while it is awake and says so:
///
/// ```text
/// loop {
///     queue.set_awake();
///     queue.drain(&mut tokens); resume them; ...
///     if queue.may_sleep() { poll with a time limit } else { poll without waiting }
/// }
/// ```
///
/// An owner that never calls [`ReadyQueue::set_awake`] is notified whenever the queue stops being empty.
pub struct ReadyQueue {
    state: Mutex<State>,
    notify: Box<dyn Fn() + Send + Sync>,
}

struct State {
    tokens: Vec<u64>,
    owner_is_awake: bool,
}

impl ReadyQueue {
    /// An empty queue; `notify` wakes its owner from whatever it sleeps in.
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> ReadyQueue {
        ReadyQueue { state: Mutex::new(State { tokens: Vec::new(), owner_is_awake: false }), notify: Box::new(notify) }
    }

    /// Adds a token; calls `notify` if the queue was empty and its owner may be asleep.
    pub fn push(&self, token: u64) {
        self.push_all(&[token]);
    }

    /// Adds several tokens with at most one call of `notify`.
    pub fn push_all(&self, tokens: &[u64]) {
        let mut state = self.state.lock();
        let must_notify = state.tokens.is_empty() && !tokens.is_empty() && !state.owner_is_awake;
        state.tokens.extend_from_slice(tokens);
        drop(state);
        if must_notify {
            (self.notify)();
        }
    }

    /// Moves all tokens to the end of `into`.
    pub fn drain(&self, into: &mut Vec<u64>) {
        let mut state = self.state.lock();
        if into.is_empty() {
            std::mem::swap(&mut state.tokens, into);
        } else {
            into.append(&mut state.tokens);
        }
    }

    /// The owner is awake and will drain before it sleeps: no `notify` is needed until [`ReadyQueue::may_sleep`].
    pub fn set_awake(&self) {
        self.state.lock().owner_is_awake = true;
    }

    /// The owner wants to sleep: from now on pushes notify. False if tokens are waiting, so that it must not sleep.
    pub fn may_sleep(&self) -> bool {
        let mut state = self.state.lock();
        state.owner_is_awake = !state.tokens.is_empty();
        !state.owner_is_awake
    }
}

impl std::fmt::Debug for ReadyQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadyQueue").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_owner_is_notified_once_per_sleep() {
        let notified = Arc::new(AtomicU32::new(0));
        let count = notified.clone();
        let queue = ReadyQueue::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        queue.push(1);
        queue.push(2);
        assert_eq!(notified.load(Ordering::Relaxed), 1);
        let mut tokens = Vec::new();
        queue.set_awake();
        queue.drain(&mut tokens);
        assert_eq!(tokens, [1, 2]);
        queue.push_all(&[3, 4]);
        assert_eq!(notified.load(Ordering::Relaxed), 1);
        assert!(!queue.may_sleep());
        queue.drain(&mut tokens);
        assert_eq!(tokens, [1, 2, 3, 4]);
        assert!(queue.may_sleep());
        queue.push(5);
        assert_eq!(notified.load(Ordering::Relaxed), 2);
        queue.push_all(&[]);
        assert_eq!(notified.load(Ordering::Relaxed), 2);
    }
}
