//! The operating system's primitives.

pub use parking_lot::{Condvar, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult};
pub use std::sync::{Arc, Weak};

/// Atomics.
pub mod atomic {
    pub use std::sync::atomic::*;
}

/// Threads.
pub mod thread {
    pub use std::thread::*;
}

/// Tells the processor that this is a spin loop.
#[inline]
pub fn spin_hint() {
    std::hint::spin_loop();
}
