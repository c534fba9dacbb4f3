//! Where a thread that has nothing to do is given something by one that has too much.

use crate::facade::Mutex;
use crate::facade::atomic::{AtomicBool, Ordering};

/// Holds one thing on its way to the mailbox's owner.
///
/// The owner opens the mailbox when it is about to sleep, and closes it when it has woken up. Others put something into an open one,
/// and then wake the owner. Nothing lies in a mailbox that nobody empties: it takes nothing while it is closed, and whoever closes it
/// gets what lies in it.
///
/// ```text
/// owner    open ── sleep ─────────────────── wakes up ── close: gets what was put
/// another             is_open? put ── wake the owner
/// ```
pub struct Mailbox<T> {
    /// Whether something may be put in, for a look without the lock.
    is_open: AtomicBool,
    /// A leaf.
    state: Mutex<State<T>>,
}

enum State<T> {
    Closed,
    Open,
    Full(T),
}

impl<T> Mailbox<T> {
    /// A closed one.
    pub const fn new() -> Mailbox<T> {
        Mailbox { is_open: AtomicBool::new(false), state: Mutex::new(State::Closed) }
    }

    /// The owner has nothing to do. It closes the mailbox before it opens it again, and before it ends.
    pub fn open(&self) {
        let mut state = self.state.lock();
        debug_assert!(matches!(*state, State::Closed), "a mailbox is opened twice");
        *state = State::Open;
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// The owner has something to do again: what was put in is part of it.
    pub fn close(&self) -> Option<T> {
        let mut state = self.state.lock();
        self.is_open.store(false, Ordering::Relaxed);
        match std::mem::replace(&mut *state, State::Closed) {
            State::Full(value) => Some(value),
            State::Open | State::Closed => None,
        }
    }

    /// Whether it is worth trying to put something in: one relaxed load.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Puts something in. The caller wakes the owner then.
    ///
    /// # Errors
    /// Gives it back if the owner is awake, or somebody else was faster.
    pub fn put(&self, value: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if !matches!(*state, State::Open) {
            return Err(value);
        }
        *state = State::Full(value);
        self.is_open.store(false, Ordering::Relaxed);
        Ok(())
    }
}

impl<T> Default for Mailbox<T> {
    fn default() -> Mailbox<T> {
        Mailbox::new()
    }
}

impl<T> std::fmt::Debug for Mailbox<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn an_open_mailbox_takes_one_thing_and_a_closed_one_takes_nothing() {
        let mailbox = Mailbox::new();
        assert_eq!((mailbox.is_open(), mailbox.put(1)), (false, Err(1)));
        mailbox.open();
        assert!(mailbox.is_open());
        assert_eq!((mailbox.put(2), mailbox.is_open(), mailbox.put(3)), (Ok(()), false, Err(3)));
        assert_eq!((mailbox.close(), mailbox.close(), mailbox.put(4)), (Some(2), None, Err(4)));
        mailbox.open();
        assert_eq!((mailbox.close(), mailbox.put(5)), (None, Err(5)));
    }
}
