//! The queue of coroutines that may go on.
#![allow(unused_variables)]

/// Tokens of coroutines to be resumed. Pushed from any thread, drained by the thread that owns the coroutines.
pub struct ReadyQueue {}

impl ReadyQueue {
    /// An empty queue; `notify` wakes its owner from whatever it sleeps in.
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> ReadyQueue {
        todo!()
    }
    /// Adds a token; calls `notify` if the queue was empty and its owner may be asleep.
    pub fn push(&self, token: u64) {
        todo!()
    }
    /// Adds several tokens with at most one call of `notify`.
    pub fn push_all(&self, tokens: &[u64]) {
        todo!()
    }
    /// Moves all tokens to the end of `into`.
    pub fn drain(&self, into: &mut Vec<u64>) {
        todo!()
    }
    /// The owner is awake and will drain before it sleeps: no `notify` is needed until [`ReadyQueue::may_sleep`].
    pub fn set_awake(&self) {
        todo!()
    }
    /// The owner wants to sleep: from now on pushes notify. False if tokens are waiting, so that it must not sleep.
    pub fn may_sleep(&self) -> bool {
        todo!()
    }
}
