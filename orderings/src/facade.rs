//! `loom`'s primitives with the signatures of crate `sync`.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

pub use loom::hint::spin_loop as spin_hint;
pub use std::sync::Arc;

/// Atomics.
pub mod atomic {
    pub use loom::sync::atomic::*;
}

/// Threads.
pub mod thread {
    pub use loom::thread::*;
}

const POISONED: &str = "a panic ends a modelled execution";

/// Mutual exclusion.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// A hold of a [`Mutex`].
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    pub fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Takes the mutex.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect(POISONED)))
    }

    /// Takes the mutex if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only a condition variable takes it, and puts it back")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only a condition variable takes it, and puts it back")
    }
}

/// A lock for many readers or one writer.
pub struct RwLock<T>(loom::sync::RwLock<T>);

/// A writer's hold of a [`RwLock`].
pub type RwLockWriteGuard<'a, T> = loom::sync::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// A free lock around `value`.
    pub fn new(value: T) -> RwLock<T> {
        RwLock(loom::sync::RwLock::new(value))
    }

    /// Takes the lock for reading.
    pub fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
        self.0.read().expect(POISONED)
    }

    /// Takes the lock for writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect(POISONED)
    }
}

/// Whether a wait with a time limit reached it.
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time limit was reached.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Waiting for a condition under a [`Mutex`].
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// Nobody waits.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Condvar {
        Condvar(loom::sync::Condvar::new())
    }

    /// Lets the mutex go, waits to be notified, takes the mutex again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().expect("only a condition variable takes it, and puts it back");
        guard.0 = Some(self.0.wait(held).expect(POISONED));
    }

    /// Latches have no time limit, so no model comes here with one.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _deadline: Instant) -> WaitTimeoutResult {
        self.wait(guard);
        WaitTimeoutResult(false)
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A value on a cache line of its own: in a model, any value.
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Around `value`.
    pub fn new(value: T) -> CachePadded<T> {
        CachePadded(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
