//! Coroutines: sessions that wait without a thread.
//!
//! A coroutine is a function with a stack of its own. Where a thread would park, it suspends: its
//! thread goes on after [`Coroutine::resume`] and runs others. It stays on the thread that made it,
//! so thread-locals and what isn't `Send` may be used between two waits, but nothing that others of
//! the thread need may be held across one.
//!
//! Its owner may resume it at any time: waits look around and suspend again if there was no reason.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::time::Instant;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{CoroutineResult, Yielder};

use crate::facade::{Arc, Mutex};
use crate::held;
use crate::interrupt::Interrupt;
use crate::ready_queue::ReadyQueue;
use crate::time_slice;
use crate::wait_event;

/// Stacks for coroutines, used again. Clones share the stacks.
///
/// A stack is address space; the system gives it memory page by page as it is used. An unused stack keeps its memory, so
/// only `idle_limit` of them are kept and the others given back. Below each lies a page that can't be touched.
#[derive(Clone)]
pub struct StackPool(Arc<Stacks>);

struct Stacks {
    stack_size_bytes: usize,
    idle_limit: usize,
    /// Last in, first out: the warmest is used next.
    idle: Mutex<Vec<DefaultStack>>,
}

impl StackPool {
    /// Stacks of `stack_size_bytes` of address space, of which at most `idle_limit` are kept while unused.
    pub fn new(stack_size_bytes: usize, idle_limit: usize) -> StackPool {
        StackPool(Arc::new(Stacks { stack_size_bytes, idle_limit, idle: Mutex::new(Vec::new()) }))
    }

    /// How many stacks are kept unused.
    pub fn idle_count(&self) -> usize {
        self.0.idle.lock().len()
    }

    fn take(&self) -> io::Result<DefaultStack> {
        let idle = self.0.idle.lock().pop();
        match idle {
            Some(stack) => Ok(stack),
            None => make_stack(self.0.stack_size_bytes),
        }
    }

    fn give_back(&self, stack: DefaultStack) {
        let mut idle = self.0.idle.lock();
        if idle.len() < self.0.idle_limit {
            idle.push(stack);
        } else {
            // Unmapping is a system call: not under the lock.
            drop(idle);
            drop(stack);
        }
    }
}

/// See [`refuse_new_stacks`].
static ARE_STACKS_REFUSED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// From now on no stacks are made, or they are made again: a test's way to a system without memory.
#[doc(hidden)]
pub fn refuse_new_stacks(are_refused: bool) {
    ARE_STACKS_REFUSED.store(are_refused, std::sync::atomic::Ordering::Relaxed);
}

#[cold]
fn make_stack(size_bytes: usize) -> io::Result<DefaultStack> {
    if ARE_STACKS_REFUSED.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    DefaultStack::new(size_bytes)
}

impl Default for StackPool {
    /// Stacks of nearly 2 MiB, of which 64 are kept while unused. One of 2 MiB could be given a huge page, all of it memory
    /// from the first touch.
    fn default() -> StackPool {
        StackPool::new((2 << 20) - (64 << 10), 64)
    }
}

/// The result of [`Coroutine::resume`].
#[derive(Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// The coroutine ran to its end.
    Finished(T),
    /// The coroutine waits. Its owner resumes it when its token comes, or at the deadline.
    Suspended {
        /// When to resume it if no token came before.
        deadline: Option<Instant>,
    },
    /// The coroutine could go on, but its time slice is over: its owner resumes it after the others that are ready. No token comes.
    /// This happens only on a thread that has [`TimeSlices`](crate::TimeSlices).
    Yielded,
}

/// Why a coroutine gives its thread back before its end.
enum Pause {
    Waits { deadline: Option<Instant> },
    Yields,
}

type Switch<T> = corosensei::Coroutine<(), Pause, T, DefaultStack>;

/// A function with a stack of its own that can wait without its thread.
///
/// Dropping one that is suspended unwinds it: what its stack holds is dropped, and waits in those drops block the thread.
/// Better to interrupt its session and resume it to its end.
pub struct Coroutine<T: 'static> {
    /// None only while it is dropped.
    switch: Option<Switch<T>>,
    context: Box<Context>,
    stack_pool: StackPool,
    not_send: PhantomData<*const T>,
}

/// The facts about a coroutine that code inside it needs.
struct Context {
    queue: Arc<ReadyQueue>,
    token: u64,
    /// Null before it first runs.
    yielder: Cell<*const Yielder<(), Pause>>,
    /// The interrupt that [`with_interrupt`] has set in the coroutine, or null.
    interrupt: Cell<*const Interrupt>,
    /// The lowest address of the stack that it runs on: its own, or a further one.
    stack_limit: Cell<usize>,
    /// It runs on a further stack.
    is_on_further_stack: Cell<bool>,
    /// It is being dropped and can't suspend any more.
    is_unwinding: Cell<bool>,
}

thread_local! {
    /// The coroutine that runs on this thread, or null.
    static CURRENT: Cell<*const Context> = const { Cell::new(ptr::null()) };
}

/// Makes a coroutine the current one until dropped.
struct Entered {
    before: *const Context,
}

impl Entered {
    fn new(context: &Context) -> Entered {
        Entered { before: CURRENT.replace(context) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

impl<T: 'static> Coroutine<T> {
    /// A coroutine that will run `f`; nothing runs before the first [`Coroutine::resume`]. When one of its waits ends,
    /// `token` is pushed on `queue`.
    ///
    /// # Panics
    /// If the system has no memory for a stack; see [`Coroutine::try_new`].
    pub fn new(stack_pool: &StackPool, queue: Arc<ReadyQueue>, token: u64, f: impl FnOnce() -> T + 'static) -> Self {
        Coroutine::try_new(stack_pool, queue, token, f).expect("the system has memory for a coroutine's stack")
    }

    /// As [`Coroutine::new`], failing if the system has no memory for a stack.
    pub fn try_new(
        stack_pool: &StackPool,
        queue: Arc<ReadyQueue>,
        token: u64,
        f: impl FnOnce() -> T + 'static,
    ) -> io::Result<Self> {
        let stack = stack_pool.take()?;
        let context = Box::new(Context {
            queue,
            token,
            yielder: Cell::new(ptr::null()),
            interrupt: Cell::new(ptr::null()),
            stack_limit: Cell::new(stack.limit().get()),
            is_on_further_stack: Cell::new(false),
            is_unwinding: Cell::new(false),
        });
        let switch = corosensei::Coroutine::with_stack(stack, move |yielder: &Yielder<(), Pause>, ()| {
            let context = CURRENT.get();
            // SAFETY: `resume` has made this coroutine's context the current one; its box outlives the coroutine's stack.
            unsafe { (*context).yielder.set(yielder) };
            f()
        });
        Ok(Coroutine { switch: Some(switch), context, stack_pool: stack_pool.clone(), not_send: PhantomData })
    }

    /// Runs it until it waits or ends. A panic inside comes out here, and ends it.
    ///
    /// # Panics
    /// If it has ended before.
    pub fn resume(&mut self) -> Step<T> {
        let switch = self.switch.as_mut().expect("it is taken only by drop");
        assert!(!switch.done(), "a coroutine is resumed that has ended");
        let _entered = Entered::new(&self.context);
        match switch.resume(()) {
            CoroutineResult::Yield(Pause::Waits { deadline }) => Step::Suspended { deadline },
            CoroutineResult::Yield(Pause::Yields) => Step::Yielded,
            CoroutineResult::Return(value) => Step::Finished(value),
        }
    }

    /// Whether it ran to its end.
    pub fn is_finished(&self) -> bool {
        self.switch.as_ref().is_none_or(|switch| switch.done())
    }

    /// The token it was made with.
    pub fn token(&self) -> u64 {
        self.context.token
    }
}

impl<T: 'static> Drop for Coroutine<T> {
    fn drop(&mut self) {
        let Some(mut switch) = self.switch.take() else { return };
        if !switch.done() {
            self.context.is_unwinding.set(true);
            let _entered = Entered::new(&self.context);
            switch.force_unwind();
        }
        self.stack_pool.give_back(switch.into_stack());
    }
}

impl<T: 'static> std::fmt::Debug for Coroutine<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coroutine")
            .field("token", &self.token())
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

/// The running coroutine's context, if one runs that can suspend.
fn with_current<R>(f: impl FnOnce(&Context) -> R) -> Option<R> {
    let context = CURRENT.get();
    if context.is_null() {
        return None;
    }
    // SAFETY: it is set by `resume` and `drop` only, while the box it points into is borrowed by them.
    let context = unsafe { &*context };
    (!context.is_unwinding.get()).then(|| f(context))
}

/// Where a wait of the running coroutine is announced as over; None in a plain thread.
pub(crate) fn current() -> Option<(Arc<ReadyQueue>, u64)> {
    with_current(|context| (context.queue.clone(), context.token))
}

/// Suspends the running coroutine until its owner resumes it. False if none runs that can suspend.
pub(crate) fn suspend(deadline: Option<Instant>) -> bool {
    pause(Pause::Waits { deadline })
}

/// Ends the running coroutine's turn, though it could go on. False if none runs that can suspend.
pub(crate) fn end_turn() -> bool {
    pause(Pause::Yields)
}

fn pause(reason: Pause) -> bool {
    held::check_none();
    let Some(yielder) = with_current(|context| context.yielder.get()) else { return false };
    let report = wait_event::set_aside();
    // SAFETY: the yielder lives on the stack of the running coroutine, below this frame, until the coroutine ends.
    unsafe { (*yielder).suspend(reason) };
    wait_event::bring_back(report);
    true
}

/// Lets others run: in a coroutine, suspends it and has it resumed soon; in a thread, nothing.
#[track_caller]
pub fn yield_now() {
    if with_current(|context| context.queue.push(context.token)).is_some() {
        suspend(None);
    }
}

/// Whether the caller runs in a coroutine that can suspend.
pub fn in_coroutine() -> bool {
    with_current(|_| ()).is_some()
}

/// Tells the coroutines of a thread apart, and what runs in none (0), as long as they are there.
pub fn current_id() -> usize {
    CURRENT.get().addr()
}

#[cfg(not(shuttle))]
thread_local! {
    /// The interrupt that [`with_interrupt`] has set outside of coroutines, or null.
    static INTERRUPT: Cell<*const Interrupt> = const { Cell::new(ptr::null()) };
}
#[cfg(shuttle)]
shuttle::thread_local! {
    /// The same for the threads of a model.
    static INTERRUPT: Cell<*const Interrupt> = Cell::new(ptr::null());
}

/// Exchanges the interrupt of the running coroutine, or of the thread outside of coroutines.
fn replace_interrupt(interrupt: *const Interrupt) -> *const Interrupt {
    let context = CURRENT.get();
    if context.is_null() {
        return INTERRUPT.with(|before| before.replace(interrupt));
    }
    // SAFETY: as in `with_current`.
    unsafe { (*context).interrupt.replace(interrupt) }
}

/// Runs `f`, in which yield points fail when `interrupt` is raised.
pub fn with_interrupt<R>(interrupt: &Interrupt, f: impl FnOnce() -> R) -> R {
    with_interrupt_at(interrupt, f)
}

/// The same with a pointer: null, or to what lives until `f` ends.
fn with_interrupt_at<R>(interrupt: *const Interrupt, f: impl FnOnce() -> R) -> R {
    /// Sets the interrupt back, however `f` ends.
    struct Before(*const Interrupt);
    impl Drop for Before {
        fn drop(&mut self) {
            replace_interrupt(self.0);
        }
    }
    let _before = Before(replace_interrupt(interrupt));
    time_slice::look_at_interrupts();
    f()
}

/// The interrupt that yield points look at, or null.
fn interrupt_pointer() -> *const Interrupt {
    let context = CURRENT.get();
    // SAFETY: as in `with_current`.
    if context.is_null() { INTERRUPT.with(Cell::get) } else { unsafe { (*context).interrupt.get() } }
}

/// Calls `f` with the interrupt that yield points look at.
pub(crate) fn with_interrupt_in_force<R>(f: impl FnOnce(Option<&Interrupt>) -> R) -> R {
    // SAFETY: a pointer that is set points to what `with_interrupt`, which has not returned, borrows.
    f(unsafe { interrupt_pointer().as_ref() })
}

/// Whether something is pending for the code that runs.
pub(crate) fn is_interrupted() -> bool {
    with_interrupt_in_force(|interrupt| interrupt.is_some_and(Interrupt::pending))
}

/// Takes what is pending for the code that runs, as an error.
pub(crate) fn check_interrupt() -> base::Result<()> {
    with_interrupt_in_force(|interrupt| interrupt.map_or(Ok(()), Interrupt::check))
}

/// The maximum size of a thread's large stack. It is address space: the system gives memory only for the part that is used.
const LARGE_STACK_BYTES: usize = 256 << 20;

thread_local! {
    /// The lowest address of the large stack that the thread runs on, or 0.
    static LARGE_STACK_LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// Runs `f` on a stack so large that it may recurse thousands of times, whatever its frames. One is kept for each thread.
///
/// Nothing in there can suspend: a wait blocks the thread, as in a plain one. Yield points look at interrupts only.
///
/// # Errors
/// If the system has no room for the stack.
pub fn on_large_stack<R>(f: impl FnOnce() -> R) -> io::Result<R> {
    /// Sets the limit back, however `f` ends.
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            LARGE_STACK_LIMIT.set(self.0);
        }
    }
    thread_local! {
        static KEPT: Cell<Option<DefaultStack>> = const { Cell::new(None) };
    }
    let mut stack = match KEPT.take() {
        Some(stack) => stack,
        None => make_stack(LARGE_STACK_BYTES)?,
    };
    let result = {
        let interrupt = interrupt_pointer();
        let _before = Before(LARGE_STACK_LIMIT.replace(stack.limit().get()));
        let _entered = Entered { before: CURRENT.replace(ptr::null()) };
        corosensei::on_stack(&mut stack, || with_interrupt_at(interrupt, f))
    };
    KEPT.set(Some(stack));
    Ok(result)
}

/// The size that a further stack may grow to. The frames of builds that are not optimized are several times as large.
const FURTHER_STACK_BYTES: usize = if cfg!(debug_assertions) { 256 << 20 } else { 64 << 20 };
/// So many further stacks are kept while nobody runs on them.
const FURTHER_STACKS_KEPT: usize = 16;
/// The memory that a further stack keeps while nobody runs on it.
const FURTHER_STACK_KEPT_BYTES: usize = 256 << 10;

/// Further stacks that nobody runs on. A plain lock: it is no part of what a model checker looks at.
static FURTHER_STACKS: std::sync::Mutex<Vec<DefaultStack>> = std::sync::Mutex::new(Vec::new());

/// A further stack that is in use; given back when dropped, however its user ends.
struct FurtherStack(Option<DefaultStack>);

impl FurtherStack {
    fn take() -> io::Result<FurtherStack> {
        let kept = FURTHER_STACKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        match kept {
            Some(stack) => Ok(FurtherStack(Some(stack))),
            None => make_stack(FURTHER_STACK_BYTES).map(|stack| FurtherStack(Some(stack))),
        }
    }
}

impl Drop for FurtherStack {
    fn drop(&mut self) {
        let Some(stack) = self.0.take() else { return };
        let lowest = stack.limit().get() + GUARD_BYTES;
        let length = stack.base().get() - FURTHER_STACK_KEPT_BYTES - lowest;
        // SAFETY: the range is a part of the mapping that `stack` owns, above its guard page and aligned to pages; nobody
        // runs on the stack, so that nobody reads there what was written before.
        let trimmed = unsafe {
            let start = ptr::without_provenance_mut::<std::ffi::c_void>(lowest);
            rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxDontNeed)
        };
        let mut kept = FURTHER_STACKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if trimmed.is_ok() && kept.len() < FURTHER_STACKS_KEPT {
            kept.push(stack);
        } else {
            // Unmapping is a system call: not under the lock.
            drop(kept);
            drop(stack);
        }
    }
}

/// Whether the caller runs on a further stack already, or on a large one.
pub fn is_on_further_stack() -> bool {
    let context = CURRENT.get();
    if context.is_null() {
        return LARGE_STACK_LIMIT.get() != 0;
    }
    // SAFETY: as in `with_current`.
    unsafe { (*context).is_on_further_stack.get() }
}

/// Runs `f` on a further stack, in which it may recurse tens of times deeper than in a coroutine's own. `f` may wait
/// there as before: the further stack is the coroutine's until `f` ends. A caller that runs on one already stays on it.
///
/// # Errors
/// If the system has no room for the stack. `f` has not run then.
pub fn on_further_stack<R>(f: impl FnOnce() -> R) -> io::Result<R> {
    /// Sets back what tells of the stack, however `f` ends.
    struct Before {
        context: *const Context,
        limit: usize,
    }
    impl Drop for Before {
        fn drop(&mut self) {
            if self.context.is_null() {
                LARGE_STACK_LIMIT.set(self.limit);
                return;
            }
            // SAFETY: the context outlives the coroutine's stack, on which this lies.
            let context = unsafe { &*self.context };
            context.stack_limit.set(self.limit);
            context.is_on_further_stack.set(false);
        }
    }
    if is_on_further_stack() {
        return Ok(f());
    }
    let mut stack = FurtherStack::take()?;
    let Some(further) = &mut stack.0 else { return Err(io::ErrorKind::OutOfMemory.into()) };
    let (context, limit) = (CURRENT.get(), further.limit().get());
    let _before = if context.is_null() {
        Before { context, limit: LARGE_STACK_LIMIT.replace(limit) }
    } else {
        // SAFETY: as in `with_current`.
        let running = unsafe { &*context };
        running.is_on_further_stack.set(true);
        Before { context, limit: running.stack_limit.replace(limit) }
    };
    Ok(corosensei::on_stack(further, f))
}

/// The size of the page that can't be touched at the end of a coroutine's stack; a system may have pages this large.
const GUARD_BYTES: usize = 64 << 10;
/// The stack that a plain thread is assumed to have left when it first asks: Rust's threads have 2 MiB, main threads mostly 8.
const THREAD_BUDGET_BYTES: usize = 1 << 20;

/// How much stack the caller may still use, about: recursion checks it to fail with 54001 instead of a crash.
pub fn remaining_stack_bytes() -> usize {
    thread_local! {
        static ASSUMED_LIMIT: Cell<usize> = const { Cell::new(0) };
    }
    let marker = 0u8;
    let here = ptr::from_ref(&marker).addr();
    let context = CURRENT.get();
    let limit = if context.is_null() && LARGE_STACK_LIMIT.get() != 0 {
        LARGE_STACK_LIMIT.get() + GUARD_BYTES
    } else if context.is_null() {
        if ASSUMED_LIMIT.get() == 0 {
            ASSUMED_LIMIT.set(here.saturating_sub(THREAD_BUDGET_BYTES));
        }
        ASSUMED_LIMIT.get()
    } else {
        // SAFETY: as in `with_current`.
        unsafe { (*context).stack_limit.get() + GUARD_BYTES }
    };
    here.saturating_sub(limit)
}
