//! Latches: short locks on memory that count how often they are taken.
#![allow(unsafe_code, unused_variables, dead_code)]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::LatchClass;

/// A shared/exclusive latch with no data inside, for page frames.
pub struct RawLatch {
    class: &'static LatchClass,
}

impl RawLatch {
    /// A free latch of this class.
    pub fn new(class: &'static LatchClass) -> RawLatch {
        RawLatch { class }
    }
    /// Takes the latch in shared mode.
    pub fn lock_shared(&self) {
        todo!()
    }
    /// Takes the latch in shared mode if that needs no waiting.
    pub fn try_lock_shared(&self) -> bool {
        todo!()
    }
    /// Gives back one shared hold.
    pub fn unlock_shared(&self) {
        todo!()
    }
    /// Takes the latch in exclusive mode.
    pub fn lock_exclusive(&self) {
        todo!()
    }
    /// Takes the latch in exclusive mode if that needs no waiting.
    pub fn try_lock_exclusive(&self) -> bool {
        todo!()
    }
    /// Gives back the exclusive hold.
    pub fn unlock_exclusive(&self) {
        todo!()
    }
    /// Turns the exclusive hold into a shared one without letting go in between.
    pub fn downgrade(&self) {
        todo!()
    }
    /// Whether anybody holds it exclusively right now.
    pub fn is_locked_exclusive(&self) -> bool {
        todo!()
    }
}

/// A value behind a shared/exclusive latch.
pub struct Latch<T: ?Sized> {
    raw: RawLatch,
    value: UnsafeCell<T>,
}

// SAFETY: as for any reader-writer lock.
unsafe impl<T: ?Sized + Send> Send for Latch<T> {}
// SAFETY: as for any reader-writer lock.
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
    pub fn shared(&self) -> SharedGuard<'_, T> {
        todo!()
    }
    /// Takes the latch in exclusive mode.
    pub fn exclusive(&self) -> ExclusiveGuard<'_, T> {
        todo!()
    }
    /// Takes the latch in shared mode if that needs no waiting.
    pub fn try_shared(&self) -> Option<SharedGuard<'_, T>> {
        todo!()
    }
    /// Takes the latch in exclusive mode if that needs no waiting.
    pub fn try_exclusive(&self) -> Option<ExclusiveGuard<'_, T>> {
        todo!()
    }
    /// The value: nobody else can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// A shared hold of a [`Latch`].
pub struct SharedGuard<'a, T: ?Sized> {
    latch: &'a Latch<T>,
    not_send: PhantomData<*const ()>,
}

impl<T: ?Sized> Deref for SharedGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        todo!()
    }
}

/// An exclusive hold of a [`Latch`].
pub struct ExclusiveGuard<'a, T: ?Sized> {
    latch: &'a Latch<T>,
    not_send: PhantomData<*const ()>,
}

impl<T: ?Sized> Deref for ExclusiveGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        todo!()
    }
}

impl<T: ?Sized> DerefMut for ExclusiveGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        todo!()
    }
}

/// A value behind a latch that has only the exclusive mode.
pub struct ExclusiveLatch<T: ?Sized> {
    raw: RawLatch,
    value: UnsafeCell<T>,
}

// SAFETY: as for any mutex.
unsafe impl<T: ?Sized + Send> Send for ExclusiveLatch<T> {}
// SAFETY: as for any mutex.
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
    pub fn lock(&self) -> ExclusiveLatchGuard<'_, T> {
        todo!()
    }
    /// Takes the latch if that needs no waiting.
    pub fn try_lock(&self) -> Option<ExclusiveLatchGuard<'_, T>> {
        todo!()
    }
    /// The value: nobody else can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// A hold of an [`ExclusiveLatch`].
pub struct ExclusiveLatchGuard<'a, T: ?Sized> {
    latch: &'a ExclusiveLatch<T>,
    not_send: PhantomData<*const ()>,
}

impl<T: ?Sized> Deref for ExclusiveLatchGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        todo!()
    }
}

impl<T: ?Sized> DerefMut for ExclusiveLatchGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        todo!()
    }
}
