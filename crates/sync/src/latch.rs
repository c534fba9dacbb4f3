//! Latches: short locks on memory that count how often they are taken.
//!
//! One word holds the state. The bits:
//!
//! ```text
//! 31         30       29 .............................. 0
//! EXCLUSIVE  PARKED   number of shared holds
//! ```
//!
//! Taking a free latch is one compare-and-swap, giving it back one subtraction; PARKED, seen by
//! either, leads to the slow path. A thread that finds the latch taken spins a little (the class learns
//! how long), then sets PARKED and sleeps (see [`crate::parking`]).
//!
//! | rule | what it is for |
//! | --- | --- |
//! | A release that leaves the latch free, and sees PARKED, unparks: the first sleeper, or all shared sleepers if the first is shared | no sleeper is forgotten: a thread sleeps only while the latch is held or an unparked thread is about to try |
//! | An unparked thread competes again; others may overtake it | a busy latch is not handed to a thread that is not yet running |
//! | A shared taker that has not slept waits behind sleepers as long as the latch is held shared | readers that come and go cannot keep an exclusive taker out for ever |
//!
//! The last rule makes taking a latch shared twice in one thread a deadlock; the ranks forbid it.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::spin_hint;
use crate::held;
use crate::latch_class::{Count, LatchClass};
use crate::parking::{Parked, ParkingSpot, Sleeper, Whom};

const EXCLUSIVE: u32 = 1 << 31;
const PARKED: u32 = 1 << 30;
const SHARED_HOLDS: u32 = PARKED - 1;

/// A shared/exclusive latch with no data inside, for page frames.
///
/// Every lock must be given back by the thread that took it.
pub struct RawLatch {
    class: &'static LatchClass,
    state: AtomicU32,
    spot: ParkingSpot,
}

/// The state in which the latch is had, or None if it can't be had now.
#[inline]
fn granted(state: u32, sleeper: Sleeper, has_slept: bool) -> Option<u32> {
    match sleeper {
        Sleeper::Exclusive => (state & !PARKED == 0).then_some(state | EXCLUSIVE),
        Sleeper::Shared => {
            let overtakes = state & PARKED != 0 && state & SHARED_HOLDS != 0 && !has_slept;
            (state & EXCLUSIVE == 0 && !overtakes).then_some(state + 1)
        }
    }
}

impl RawLatch {
    /// A free latch of this class.
    pub fn new(class: &'static LatchClass) -> RawLatch {
        class.enlist();
        RawLatch { class, state: AtomicU32::new(0), spot: ParkingSpot::new() }
    }

    /// Takes the latch in shared mode.
    #[inline]
    #[track_caller]
    pub fn lock_shared(&self) {
        held::check_order(self.class);
        if !self.try_once(Sleeper::Shared) {
            self.lock_slowly(Sleeper::Shared);
        }
        self.class.count(Count::Shared, 1);
        held::taken(self.class);
    }

    /// Takes the latch in shared mode if that needs no waiting.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while let Some(next) = granted(state, Sleeper::Shared, false) {
            match self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    self.class.count(Count::Shared, 1);
                    held::taken(self.class);
                    return true;
                }
                Err(now) => state = now,
            }
        }
        false
    }

    /// Gives back one shared hold.
    #[inline]
    pub fn unlock_shared(&self) {
        held::released(self.class);
        let before = self.state.fetch_sub(1, Ordering::Release);
        debug_assert!(
            before & SHARED_HOLDS != 0 && before & EXCLUSIVE == 0,
            "a shared hold is given back that is none"
        );
        if before == PARKED | 1 {
            self.unpark(Whom::Next);
        }
    }

    /// Takes the latch in exclusive mode.
    #[inline]
    #[track_caller]
    pub fn lock_exclusive(&self) {
        held::check_order(self.class);
        if !self.try_once(Sleeper::Exclusive) {
            self.lock_slowly(Sleeper::Exclusive);
        }
        self.class.count(Count::Exclusive, 1);
        held::taken(self.class);
    }

    /// Takes the latch in exclusive mode if that needs no waiting.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while let Some(next) = granted(state, Sleeper::Exclusive, false) {
            match self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    self.class.count(Count::Exclusive, 1);
                    held::taken(self.class);
                    return true;
                }
                Err(now) => state = now,
            }
        }
        false
    }

    /// Gives back the exclusive hold.
    #[inline]
    pub fn unlock_exclusive(&self) {
        held::released(self.class);
        let before = self.state.fetch_sub(EXCLUSIVE, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "an exclusive hold is given back that is none");
        if before != EXCLUSIVE {
            self.unpark(Whom::Next);
        }
    }

    /// Turns the exclusive hold into a shared one without letting go in between.
    #[inline]
    pub fn downgrade(&self) {
        let before = self.state.fetch_sub(EXCLUSIVE - 1, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "an exclusive hold is downgraded that is none");
        if before != EXCLUSIVE {
            self.unpark(Whom::AllShared);
        }
    }

    /// Whether anybody holds it exclusively right now. A caller that gets false sees what the last holder has written.
    #[inline]
    pub fn is_locked_exclusive(&self) -> bool {
        self.state.load(Ordering::Acquire) & EXCLUSIVE != 0
    }

    /// Whether anybody holds it right now. A caller that gets false sees what the last holder has written.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.state.load(Ordering::Acquire) & !PARKED != 0
    }

    /// The uncontended case: nobody holds it, or others hold it shared.
    #[inline]
    fn try_once(&self, sleeper: Sleeper) -> bool {
        let (from, to) = match sleeper {
            Sleeper::Exclusive => (0, EXCLUSIVE),
            Sleeper::Shared => {
                let state = self.state.load(Ordering::Relaxed);
                if state & (EXCLUSIVE | PARKED) != 0 {
                    return false;
                }
                (state, state + 1)
            }
        };
        self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn lock_slowly(&self, sleeper: Sleeper) {
        let mut rounds_left = self.class.spin_rounds();
        let mut rounds = 0;
        let mut has_slept = false;
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if let Some(next) = granted(state, sleeper, has_slept) {
                if self.state.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    break;
                }
                continue;
            }
            if rounds < rounds_left {
                rounds += 1;
                spin_hint();
                continue;
            }
            if state & PARKED == 0
                && self
                    .state
                    .compare_exchange_weak(state, state | PARKED, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err()
            {
                continue;
            }
            let must_sleep = || {
                let state = self.state.load(Ordering::Relaxed);
                let must_sleep = state & PARKED != 0 && granted(state, sleeper, has_slept).is_none();
                // Before the sleep, so that a view shows who is blocked now.
                self.class.count(Count::Blocked, u64::from(must_sleep));
                must_sleep
            };
            match self.spot.park(self.key(), sleeper, must_sleep, None) {
                Parked::Unparked | Parked::TimedOut => {
                    has_slept = true;
                    // Having slept once it does not pay to spin again.
                    rounds_left = 0;
                }
                Parked::Refused => self.class.count(Count::Dequeued, 1),
            }
        }
        if rounds > 0 {
            self.class.count(Count::Spins, u64::from(rounds));
            self.class.learn(rounds, has_slept);
        }
    }

    #[cold]
    fn unpark(&self, whom: Whom) {
        // Somebody overtook the sleepers; giving the latch back, they come here.
        if whom == Whom::Next && self.state.load(Ordering::Relaxed) & EXCLUSIVE != 0 {
            return;
        }
        self.spot.unpark(self.key(), whom, |sleepers_left| {
            if !sleepers_left {
                self.state.fetch_and(!PARKED, Ordering::Relaxed);
            }
        });
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.state).addr()
    }
}

impl fmt::Debug for RawLatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawLatch").field("class", &self.class.name).finish_non_exhaustive()
    }
}

/// A value behind a shared/exclusive latch.
pub struct Latch<T: ?Sized> {
    raw: RawLatch,
    value: UnsafeCell<T>,
}

// SAFETY: the latch goes where its value may go.
unsafe impl<T: ?Sized + Send> Send for Latch<T> {}
// SAFETY: shared holders see the value at once from several threads (Sync); an exclusive holder may take it away (Send).
unsafe impl<T: ?Sized + Send + Sync> Sync for Latch<T> {}

impl<T> Latch<T> {
    /// A free latch of this class around `value`.
    pub fn new(class: &'static LatchClass, value: T) -> Latch<T> {
        Latch { raw: RawLatch::new(class), value: UnsafeCell::new(value) }
    }

    /// The value, without the latch.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Latch<T> {
    /// Takes the latch in shared mode.
    #[inline]
    #[track_caller]
    pub fn shared(&self) -> SharedGuard<'_, T> {
        self.raw.lock_shared();
        SharedGuard { latch: self, not_send: PhantomData }
    }

    /// Takes the latch in exclusive mode.
    #[inline]
    #[track_caller]
    pub fn exclusive(&self) -> ExclusiveGuard<'_, T> {
        self.raw.lock_exclusive();
        ExclusiveGuard { latch: self, not_send: PhantomData }
    }

    /// Takes the latch in shared mode if that needs no waiting.
    #[inline]
    pub fn try_shared(&self) -> Option<SharedGuard<'_, T>> {
        self.raw.try_lock_shared().then(|| SharedGuard { latch: self, not_send: PhantomData })
    }

    /// Takes the latch in exclusive mode if that needs no waiting.
    #[inline]
    pub fn try_exclusive(&self) -> Option<ExclusiveGuard<'_, T>> {
        self.raw.try_lock_exclusive().then(|| ExclusiveGuard { latch: self, not_send: PhantomData })
    }

    /// The value: nobody else can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("class", &self.raw.class.name).finish_non_exhaustive()
    }
}

/// A shared hold of a [`Latch`].
pub struct SharedGuard<'a, T: ?Sized> {
    latch: &'a Latch<T>,
    not_send: PhantomData<*const ()>,
}

impl<T: ?Sized> Deref for SharedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a shared hold keeps exclusive ones out, and only those hand out `&mut T`.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T: ?Sized> Drop for SharedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.raw.unlock_shared();
    }
}

/// An exclusive hold of a [`Latch`].
pub struct ExclusiveGuard<'a, T: ?Sized> {
    latch: &'a Latch<T>,
    not_send: PhantomData<*const ()>,
}

impl<'a, T: ?Sized> ExclusiveGuard<'a, T> {
    /// Turns it into a shared hold without letting go in between.
    pub fn downgrade(guard: ExclusiveGuard<'a, T>) -> SharedGuard<'a, T> {
        let latch = guard.latch;
        std::mem::forget(guard);
        latch.raw.downgrade();
        SharedGuard { latch, not_send: PhantomData }
    }
}

impl<T: ?Sized> Deref for ExclusiveGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: an exclusive hold keeps all others out.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T: ?Sized> DerefMut for ExclusiveGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: an exclusive hold keeps all others out, and `&mut self` any second reference from this one.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T: ?Sized> Drop for ExclusiveGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.raw.unlock_exclusive();
    }
}

/// A value behind a latch that has only the exclusive mode.
pub struct ExclusiveLatch<T: ?Sized> {
    raw: RawLatch,
    value: UnsafeCell<T>,
}

// SAFETY: the latch goes where its value may go.
unsafe impl<T: ?Sized + Send> Send for ExclusiveLatch<T> {}
// SAFETY: one thread at a time has the value.
unsafe impl<T: ?Sized + Send> Sync for ExclusiveLatch<T> {}

impl<T> ExclusiveLatch<T> {
    /// A free latch of this class around `value`.
    pub fn new(class: &'static LatchClass, value: T) -> ExclusiveLatch<T> {
        ExclusiveLatch { raw: RawLatch::new(class), value: UnsafeCell::new(value) }
    }

    /// The value, without the latch.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> ExclusiveLatch<T> {
    /// Takes the latch.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> ExclusiveLatchGuard<'_, T> {
        self.raw.lock_exclusive();
        ExclusiveLatchGuard { latch: self, not_send: PhantomData }
    }

    /// Takes the latch if that needs no waiting.
    #[inline]
    pub fn try_lock(&self) -> Option<ExclusiveLatchGuard<'_, T>> {
        self.raw.try_lock_exclusive().then(|| ExclusiveLatchGuard { latch: self, not_send: PhantomData })
    }

    /// The value: nobody else can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> fmt::Debug for ExclusiveLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExclusiveLatch").field("class", &self.raw.class.name).finish_non_exhaustive()
    }
}

/// A hold of an [`ExclusiveLatch`].
pub struct ExclusiveLatchGuard<'a, T: ?Sized> {
    latch: &'a ExclusiveLatch<T>,
    not_send: PhantomData<*const ()>,
}

impl<T: ?Sized> Deref for ExclusiveLatchGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the hold keeps all others out.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T: ?Sized> DerefMut for ExclusiveLatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the hold keeps all others out, and `&mut self` any second reference from this one.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T: ?Sized> Drop for ExclusiveLatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.raw.unlock_exclusive();
    }
}
