//! `shuttle`'s primitives with `parking_lot`'s signatures.
//!
//! Time does not exist in a model: a wait with a time limit gives up its turn and then either finds
//! itself woken for no reason or timed out, as the scheduler's random numbers will. Both may happen
//! to a real one, so what is proved with them holds.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use shuttle::rand::Rng;
use shuttle::sync as modelled;
pub use std::sync::{Arc, Weak};

/// Atomics.
pub mod atomic {
    pub use shuttle::sync::atomic::*;
}

/// Threads.
pub mod thread {
    pub use shuttle::thread::*;
}

/// Gives up the turn: spinning in a model would never end otherwise.
pub fn spin_hint() {
    shuttle::hint::spin_loop();
}

const POISONED: &str = "a panic ends a modelled execution, so that nobody sees a poisoned lock";

/// Mutual exclusion.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(modelled::Mutex<T>);

/// A hold of a [`Mutex`].
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// None only while a condition variable has it.
    guard: Option<modelled::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(modelled::Mutex::new(value))
    }

    /// The value, without the mutex.
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect(POISONED)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the mutex.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, guard: Some(ignore_poison(self.0.lock())) }
    }

    /// Takes the mutex if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard { mutex: self, guard: Some(guard) })
    }

    /// The value: nobody else can hold the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        ignore_poison(self.0.get_mut())
    }
}

/// Guards dropped while a test fails leave locks poisoned; the first panic is the one to report.
fn ignore_poison<G>(result: modelled::LockResult<G>) -> G {
    result.unwrap_or_else(modelled::PoisonError::into_inner)
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("only a condition variable takes it, and puts it back")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("only a condition variable takes it, and puts it back")
    }
}

/// A lock for many readers or one writer.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(modelled::RwLock<T>);

/// A reader's hold of a [`RwLock`].
pub type RwLockReadGuard<'a, T> = modelled::RwLockReadGuard<'a, T>;
/// A writer's hold of a [`RwLock`].
pub type RwLockWriteGuard<'a, T> = modelled::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(modelled::RwLock::new(value))
    }

    /// The value, without the lock.
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect(POISONED)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        ignore_poison(self.0.read())
    }

    /// Takes the lock for writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        ignore_poison(self.0.write())
    }

    /// Takes the lock for reading if that needs no waiting.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read().ok()
    }

    /// Takes the lock for writing if that needs no waiting.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.0.try_write().ok()
    }

    /// The value: nobody else can hold the lock.
    pub fn get_mut(&mut self) -> &mut T {
        ignore_poison(self.0.get_mut())
    }
}

/// Waiting for a condition under a [`Mutex`].
#[derive(Default)]
pub struct Condvar(modelled::Condvar);

/// Whether a wait with a time limit reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time limit was reached.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Condvar {
        Condvar(modelled::Condvar::new())
    }

    /// Lets the mutex go, waits to be notified, takes the mutex again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.guard.take().expect("only a condition variable takes it, and puts it back");
        guard.guard = Some(ignore_poison(self.0.wait(held)));
    }

    /// As [`Condvar::wait`], again and again while `condition` holds.
    pub fn wait_while<T>(&self, guard: &mut MutexGuard<'_, T>, mut condition: impl FnMut(&mut T) -> bool) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// As [`Condvar::wait`], for a limited time.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, _limit: Duration) -> WaitTimeoutResult {
        drop(guard.guard.take());
        shuttle::thread::yield_now();
        guard.guard = Some(ignore_poison(guard.mutex.0.lock()));
        WaitTimeoutResult(shuttle::rand::thread_rng().gen_bool(0.25))
    }

    /// As [`Condvar::wait`], until `deadline` at most.
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, _deadline: Instant) -> WaitTimeoutResult {
        self.wait_for(guard, Duration::ZERO)
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Something done once.
pub struct Once(modelled::Once);

impl Once {
    /// Not done yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Once {
        Once(modelled::Once::new())
    }

    /// Runs `f` if nobody did; returns when it is done.
    pub fn call_once(&self, f: impl FnOnce()) {
        self.0.call_once(f);
    }
}
