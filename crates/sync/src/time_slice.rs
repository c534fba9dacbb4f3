//! Fairness by time: how long a coroutine may keep its thread.
//!
//! A thread that runs coroutines has [`TimeSlices`] and says when it gives a turn to one. A ticker thread looks a few hundred
//! times a second which turn each such thread is at. A turn that it meets a second time has lasted long enough: the
//! ticker raises a flag of that thread.
//!
//! ```text
//! thread   begin ────── yield_point ── yield_point ── yield_point: flag is up, the coroutine goes behind the others
//! ticker        tick: turn 7            tick: turn 7 again, flag up
//! ```
//!
//! Code that may run for long calls [`yield_point`] wherever it could stop: in each loop, at each row, page, call and comparison.
//! That is one load and one branch while the flag is down, so nobody counts or reads a clock. A yield point that finds the flag
//! up lets others run and then looks at the session's interrupts. A turn that is not over yet can be cancelled no later than
//! one that is: the flag rises within two ticks either way.
//!
//! In a build with debug assertions, `COHORT_ALWAYS_YIELD=1` has each turn end at its first yield point. So tests find what is held across
//! one.
//!
//! Other threads have no turns. Once such a thread has run code [`with_interrupt`](crate::with_interrupt), as in a program that
//! embeds the engine, its flag stays up: a yield point then looks at interrupts only.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use base::Result;

use crate::coroutine;

thread_local! {
    /// The flag: whether yield points have something to do, and what.
    static FLAG: AtomicU8 = const { AtomicU8::new(DOWN) };
    /// This thread has time slices.
    static HAS_SLICES: Cell<bool> = const { Cell::new(false) };
}

/// Yield points have nothing to do.
const DOWN: u8 = 0;
/// The next yield point looks at the interrupt. The turn goes on.
const LOOK: u8 = 1;
/// The turn is over.
const OVER: u8 = 2;

/// Lets others run if the time slice is over, and fails if the code that runs has been interrupted.
///
/// The caller holds no latch, no pin and no borrow that others could need.
///
/// # Errors
/// The error of the [`Interrupt`](crate::Interrupt) of [`with_interrupt`](crate::with_interrupt): 57014, 57P01 or a
/// similar one.
#[inline]
pub fn yield_point() -> Result<()> {
    if FLAG.with(|flag| flag.load(Ordering::Relaxed)) != DOWN {
        return run_others_or_fail();
    }
    Ok(())
}

#[cold]
fn run_others_or_fail() -> Result<()> {
    if slice_is_over() {
        run_others();
    } else if HAS_SLICES.get() {
        set_flag(DOWN);
    }
    coroutine::check_interrupt()
}

/// Lets others run if the time slice is over: for what can't fail. The caller holds what it may at a [`yield_point`]. The next yield point
/// finds an interrupt that came before, even if most of the time is spent between calls of this.
#[inline]
pub fn let_others_run() {
    if slice_is_over() {
        run_others();
        if !slice_is_over() && coroutine::is_interrupted() {
            set_flag(LOOK);
        }
    }
}

#[inline]
fn slice_is_over() -> bool {
    FLAG.with(|flag| flag.load(Ordering::Relaxed)) == OVER
}

#[inline]
fn set_flag(value: u8) {
    FLAG.with(|flag| flag.store(value, Ordering::Relaxed));
}

/// Whether this thread gives turns to others, who would wait for work that can't stop.
#[inline]
pub(crate) fn thread_has_turns() -> bool {
    HAS_SLICES.get()
}

/// The flag at the beginning of a turn.
#[inline]
fn lower_flag() {
    set_flag(if always_yields() { OVER } else { DOWN });
}

/// Whether a turn ends at its first yield point.
#[inline]
fn always_yields() -> bool {
    static IS_ASKED_FOR: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("COHORT_ALWAYS_YIELD").is_some_and(|value| value == "1"));
    cfg!(debug_assertions) && *IS_ASKED_FOR
}

#[cold]
fn run_others() {
    if HAS_SLICES.get() {
        // Where nothing can be suspended, the next look at interrupts is when the ticker has come round again.
        lower_flag();
        coroutine::end_turn();
    }
}

/// A thread without turns gets its flag raised for good, as the ticker never looks at it.
pub(crate) fn look_at_interrupts() {
    if !HAS_SLICES.get() {
        set_flag(LOOK);
    }
}

/// The turns that a thread gives to coroutines and to other work, one after the other.
pub struct TimeSlices {
    turns: Turns,
    /// The flag is the thread's that made it.
    not_send: PhantomData<*const ()>,
}

impl TimeSlices {
    /// Those of the calling thread, which has no others.
    pub fn new() -> TimeSlices {
        debug_assert!(!HAS_SLICES.get(), "a thread has time slices once");
        HAS_SLICES.set(true);
        set_flag(DOWN);
        FLAG.with(|flag| TimeSlices { turns: Turns::new(flag), not_send: PhantomData })
    }

    /// Somebody's turn begins.
    #[inline]
    pub fn begin(&self) {
        self.turns.begin();
        lower_flag();
    }

    /// Whether the turn has lasted as long as it may.
    #[inline]
    pub fn is_over(&self) -> bool {
        slice_is_over() && !always_yields()
    }

    /// How many ticks in a row have met the thread awake. A thread that sleeps between its turns is hardly ever met awake many times.
    #[inline]
    pub fn awake_ticks(&self) -> u32 {
        self.turns.awake_ticks()
    }

    /// Sets [`awake_ticks`](Self::awake_ticks) back to 0.
    pub fn forget_awake_ticks(&self) {
        self.turns.forget_awake_ticks();
    }

    /// The thread has nothing to do and is about to sleep.
    pub fn fall_asleep(&self) {
        self.turns.fall_asleep();
    }

    /// The thread may have something to do again.
    pub fn wake_up(&self) {
        self.turns.wake_up();
    }
}

impl Default for TimeSlices {
    fn default() -> TimeSlices {
        TimeSlices::new()
    }
}

impl Drop for TimeSlices {
    fn drop(&mut self) {
        HAS_SLICES.set(false);
        set_flag(LOOK);
    }
}

impl std::fmt::Debug for TimeSlices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimeSlices").field("is_over", &self.is_over()).finish_non_exhaustive()
    }
}

#[cfg(not(shuttle))]
use ticking::Turns;

#[cfg(not(shuttle))]
mod ticking {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use crossbeam_utils::CachePadded;

    use crate::facade::{Condvar, Mutex, thread};

    /// From tick to tick while some turn lasts: turns end after one to two of these.
    const TICK: Duration = Duration::from_millis(1);
    /// The same while all turns are short.
    const CALM_TICK: Duration = Duration::from_millis(3);
    /// The ticker sleeps after so many ticks at which no thread had anything to do.
    const IDLE_TICKS_MAX: u32 = 16;

    /// The number of a thread that sleeps.
    const ASLEEP: u64 = 0;

    /// The turn numbers that a thread shows to the ticker.
    pub(super) struct Turns {
        shared: Arc<CachePadded<Shared>>,
        last: Cell<u64>,
    }

    /// The values that a thread and the ticker tell each other.
    struct Shared {
        /// The number of the thread's turn.
        number: AtomicU64,
        /// How many ticks in a row have met the thread awake. Nothing is ordered by it, and a tick more or less does no harm.
        awake_ticks: AtomicU32,
    }

    impl Turns {
        /// Registers the calling thread with its flag.
        pub(super) fn new(flag: &AtomicU8) -> Turns {
            let shared = Shared { number: AtomicU64::new(ASLEEP), awake_ticks: AtomicU32::new(0) };
            let shared = Arc::new(CachePadded::new(shared));
            UNTIL_END.with(|_| ());
            let mut watched = TICKER.watched.lock();
            watched.threads.push(Watched { shared: Arc::clone(&shared), seen: ASLEEP, flag });
            if !watched.is_ticking {
                let made = thread::Builder::new().name("ticker".to_owned()).spawn(|| TICKER.run());
                match made {
                    Ok(_) => watched.is_ticking = true,
                    Err(error) => log::error!("could not start the ticker thread, turns have no end: {error}"),
                }
            }
            Turns { shared, last: Cell::new(ASLEEP) }
        }

        #[inline]
        pub(super) fn begin(&self) {
            self.shared.number.store(self.next(), Ordering::Relaxed);
        }

        fn next(&self) -> u64 {
            self.last.set(self.last.get() + 1);
            self.last.get()
        }

        #[inline]
        pub(super) fn awake_ticks(&self) -> u32 {
            self.shared.awake_ticks.load(Ordering::Relaxed)
        }

        pub(super) fn forget_awake_ticks(&self) {
            self.shared.awake_ticks.store(0, Ordering::Relaxed);
        }

        pub(super) fn fall_asleep(&self) {
            self.shared.number.store(ASLEEP, Ordering::Relaxed);
        }

        /// The thread leaves its number and then looks whether the ticker sleeps; the ticker says so and then looks at the
        /// numbers. In sequentially consistent order at least one of the two sees the other.
        pub(super) fn wake_up(&self) {
            self.shared.number.store(self.next(), Ordering::SeqCst);
            if TICKER.is_asleep.load(Ordering::SeqCst) {
                TICKER.wake();
            }
        }
    }

    impl Shared {
        /// A tick has found the thread in turn `number`.
        fn count_tick(&self, number: u64) {
            let count = self.awake_ticks.load(Ordering::Relaxed);
            let new = if number == ASLEEP { 0 } else { count.saturating_add(1) };
            if new != count {
                self.awake_ticks.store(new, Ordering::Relaxed);
            }
        }
    }

    impl Drop for Turns {
        fn drop(&mut self) {
            TICKER.forget(|thread| Arc::ptr_eq(&thread.shared, &self.shared));
        }
    }

    thread_local! {
        /// Takes the thread off the list at its end, even if its `Turns` was never dropped.
        static UNTIL_END: UntilEnd = const { UntilEnd };
    }

    struct UntilEnd;

    impl Drop for UntilEnd {
        fn drop(&mut self) {
            super::FLAG.with(|flag| TICKER.forget(|thread| std::ptr::eq(thread.flag, flag)));
        }
    }

    static TICKER: Ticker = Ticker {
        watched: Mutex::new(AllWatched { threads: Vec::new(), is_ticking: false }),
        changed: Condvar::new(),
        is_asleep: AtomicBool::new(false),
    };

    struct Ticker {
        /// The threads it looks at. A leaf.
        watched: Mutex<AllWatched>,
        changed: Condvar,
        is_asleep: AtomicBool,
    }

    struct AllWatched {
        threads: Vec<Watched>,
        is_ticking: bool,
    }

    struct Watched {
        shared: Arc<CachePadded<Shared>>,
        /// The number at the last tick.
        seen: u64,
        /// The thread's flag. `UntilEnd` takes the thread off the list before it ends.
        flag: *const AtomicU8,
    }

    // SAFETY: the pointer leads to an atomic, which any thread may use as long as it lives: see `flag`.
    unsafe impl Send for Watched {}

    impl Ticker {
        /// Ticks until there is nobody left to look at.
        fn run(&self) {
            let mut idle_ticks = 0;
            let mut tick = CALM_TICK;
            let mut watched = self.watched.lock();
            while !watched.threads.is_empty() {
                if idle_ticks < IDLE_TICKS_MAX {
                    self.changed.wait_for(&mut watched, tick);
                } else {
                    self.is_asleep.store(true, Ordering::SeqCst);
                    if watched.threads.iter().all(|thread| thread.shared.number.load(Ordering::SeqCst) == ASLEEP) {
                        self.changed.wait(&mut watched);
                    }
                    self.is_asleep.store(false, Ordering::SeqCst);
                    idle_ticks = 0;
                }
                let (mut any_awake, mut any_lasts) = (false, false);
                for thread in &mut watched.threads {
                    let number = thread.shared.number.load(Ordering::Relaxed);
                    any_awake |= number != ASLEEP;
                    thread.shared.count_tick(number);
                    if number != ASLEEP && number == thread.seen {
                        any_lasts = true;
                        // SAFETY: the thread that the flag belongs to takes itself off the list, whose lock is held, before
                        // it ends.
                        unsafe { (*thread.flag).store(super::OVER, Ordering::Relaxed) };
                    }
                    thread.seen = number;
                }
                idle_ticks = if any_awake { 0 } else { idle_ticks + 1 };
                tick = if any_lasts { TICK } else { CALM_TICK };
            }
            watched.is_ticking = false;
        }

        fn forget(&self, is_it: impl Fn(&Watched) -> bool) {
            self.watched.lock().threads.retain(|thread| !is_it(thread));
            self.changed.notify_one();
        }

        #[cold]
        fn wake(&self) {
            // Under the lock: the ticker holds it from the moment it says that it sleeps until it does.
            let watched = self.watched.lock();
            drop(watched);
            self.changed.notify_one();
        }
    }
}

#[cfg(shuttle)]
use untimed::Turns;

/// A model has no time: turns have no end.
#[cfg(shuttle)]
mod untimed {
    pub(super) struct Turns;

    impl Turns {
        pub(super) fn new(_flag: &std::sync::atomic::AtomicU8) -> Turns {
            Turns
        }
        pub(super) fn begin(&self) {}
        pub(super) fn awake_ticks(&self) -> u32 {
            0
        }
        pub(super) fn forget_awake_ticks(&self) {}
        pub(super) fn fall_asleep(&self) {}
        pub(super) fn wake_up(&self) {}
    }
}
