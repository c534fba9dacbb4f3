//! Latches that count, waits that suspend, and the facade through which both can be model-tested.
//!
//! | to | use |
//! | --- | --- |
//! | guard memory for a moment | [`Latch`], [`ExclusiveLatch`], [`RawLatch`], each of a [`LatchClass`] |
//! | wait for what others do, for as long as it takes | [`Waiter`] and its [`Waker`] |
//! | tell a session to stop | [`Interrupt`] |
//! | limit the time that a session may take | [`Timers`] and their [`Timer`]s |
//! | say from deep in the engine what a session waits for | [`WaitEvent`] and its [`WaitReport`] |
//! | run sessions that wait without a thread | [`Coroutine`], [`ReadyQueue`], [`StackPool`] |
//! | give a thread that sleeps something to do | [`Mailbox`] |
//! | do work for all who ask for it meanwhile | [`Combiner`] |
//! | run for long without keeping others waiting | [`yield_point`], [`TimeSlices`] |
//! | call what takes long and can't give its thread back | [`on_other_thread`] |
//! | recurse deeper than their stacks bear | [`on_further_stack`], [`on_large_stack`] |
//! | write a state machine that `shuttle` can try | [`Mutex`], [`Condvar`], [`atomic`], [`thread`], ... of this crate instead of `std`'s |
//!
//! No latch, and nothing else that others need, is held across a [`Waiter::wait`]. The README tells the whole story.

mod combiner;
mod coroutine;
mod facade;
mod held;
mod interrupt;
mod latch;
mod latch_class;
mod mailbox;
mod other_thread;
mod parking;
mod ready_queue;
mod sorting;
mod time_slice;
mod timers;
mod wait;
mod wait_event;

pub use combiner::Combiner;
pub use coroutine::{
    Coroutine, StackPool, Step, current_id as coroutine_id, in_coroutine, is_on_further_stack, on_further_stack,
    on_large_stack, refuse_new_stacks, remaining_stack_bytes, with_interrupt, yield_now,
};
pub use crossbeam_utils::CachePadded;
pub use facade::{
    Arc, Condvar, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, Weak, atomic,
    spin_hint, thread,
};
#[cfg(debug_assertions)]
pub use interrupt::Met;
pub use interrupt::{Interrupt, InterruptKind};
pub use latch::{ExclusiveGuard, ExclusiveLatch, ExclusiveLatchGuard, Latch, RawLatch, SharedGuard};
pub use latch_class::{LatchClass, LatchCounters, latch_classes};
pub use mailbox::Mailbox;
pub use other_thread::{PoolOptions, Work, WorkPool, drop_on_other_thread, on_other_thread};
pub use ready_queue::ReadyQueue;
pub use sorting::{sort_by, sort_unstable_by};
pub use time_slice::{TimeSlices, let_others_run, yield_point};
pub use timers::{Armed, Timer, Timers};
pub use wait::{Waiter, Waker, Woken};
pub use wait_event::{Reporting, WaitEvent, WaitReport, Waiting};
