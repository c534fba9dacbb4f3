//! Waiting: one word for parking a thread and for suspending a coroutine.
#![allow(unused_variables)]

use std::marker::PhantomData;
use std::time::Instant;

use crate::Interrupt;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// By its [`Waker`].
    Woken,
    /// Its deadline passed.
    TimedOut,
    /// Its session was interrupted; the interrupt is still pending.
    Interrupted,
}

/// One wait of the thread or coroutine that made it.
pub struct Waiter {
    not_send: PhantomData<*const ()>,
}

/// What wakes a [`Waiter`], once and from any thread.
#[derive(Clone)]
pub struct Waker {}

impl Waiter {
    /// A wait that has not begun.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Waiter {
        todo!()
    }
    /// What wakes it.
    pub fn waker(&self) -> Waker {
        todo!()
    }
    /// Waits until woken, `deadline` or an interrupt; returns at once if woken before.
    pub fn wait(&self, deadline: Option<Instant>, interrupt: Option<&Interrupt>) -> Woken {
        todo!()
    }
    /// Whether it has been woken.
    pub fn is_woken(&self) -> bool {
        todo!()
    }
}

impl Waker {
    /// Wakes the waiter. Idempotent.
    pub fn wake(&self) {
        todo!()
    }
}
