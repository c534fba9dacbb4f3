//! Coroutines: sessions that wait without a thread.
#![allow(unused_variables)]

use std::marker::PhantomData;
use std::time::Instant;

use crate::{Arc, ReadyQueue};

/// Stacks for coroutines, used again.
pub struct StackPool {}

impl StackPool {
    /// Stacks of `stack_size_bytes` of address space, of which at most `idle_limit` are kept while unused.
    pub fn new(stack_size_bytes: usize, idle_limit: usize) -> StackPool {
        todo!()
    }
}

impl Default for StackPool {
    fn default() -> StackPool {
        StackPool::new(1 << 20, 256)
    }
}

/// What [`Coroutine::resume`] came back with.
#[derive(Debug)]
pub enum Step<T> {
    /// It ran to its end.
    Finished(T),
    /// It waits; its owner resumes it when its token comes, or at the deadline.
    Suspended {
        /// When to resume it if no token came before.
        deadline: Option<Instant>,
    },
}

/// A function with a stack of its own that can wait without its thread.
pub struct Coroutine<T> {
    not_send: PhantomData<*const T>,
}

impl<T: 'static> Coroutine<T> {
    /// A coroutine that will run `f`; nothing runs before the first [`Coroutine::resume`].
    pub fn new(stack_pool: &StackPool, queue: Arc<ReadyQueue>, token: u64, f: impl FnOnce() -> T + 'static) -> Self {
        todo!()
    }
    /// Runs it until it waits or ends. A panic inside comes out here.
    pub fn resume(&mut self) -> Step<T> {
        todo!()
    }
    /// Whether it ran to its end.
    pub fn is_finished(&self) -> bool {
        todo!()
    }
}

/// Lets others run: in a coroutine, suspends it and has it resumed soon; in a thread, nothing.
pub fn yield_now() {
    todo!()
}

/// Whether the caller runs in a coroutine.
pub fn in_coroutine() -> bool {
    todo!()
}

/// How much stack the caller may still use, about: recursion checks it to fail with 54001 instead of a crash.
pub fn remaining_stack_bytes() -> usize {
    todo!()
}
