//! Classes of latches: the name and the rank of a class, and how often its latches were taken.
//!
//! Counting must not cost what it measures: a shared counter would bounce between processors even
//! where the latches don't. Each class has [`SHARDS`] rows of counters, each on a cache line of its
//! own. A thread owns a row of its own as long as there are rows, and counts with a plain load and
//! store; the threads that come late share the last row and count with an atomic addition.

use std::cell::Cell;
// Counting is no part of any algorithm, so a model need not see it.
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Rows of counters: one for each of the first threads, the last one for all the others.
const SHARDS: usize = 16;
const SHARED_SHARD: usize = SHARDS - 1;

/// How long a thread may spin for a latch before it sleeps, in rounds. A round is one pause of the processor (up to some
/// 40 ns), so the longest spin costs about half of what sleeping and being woken does.
const MAX_SPIN_ROUNDS: u32 = 80;
const MIN_SPIN_ROUNDS: u32 = 4;

/// A kind of latch. One `static` per kind; every [`crate::Latch`] belongs to one.
///
/// ```
/// use cohort_sync::{Latch, LatchClass};
///
/// static CATALOG: LatchClass = LatchClass::new("Catalog", 20);
/// let names = Latch::new(&CATALOG, vec!["pg_class"]);
/// assert_eq!(names.shared().len(), 1);
/// assert_eq!(CATALOG.counters().shared, 1);
/// ```
pub struct LatchClass {
    /// The name that views and counters show.
    pub name: &'static str,
    /// Latches are taken in the order of their ranks, lowest first (checked in debug builds).
    pub rank: u16,
    several_at_once: bool,
    listed: AtomicBool,
    /// How long spinning has been worth while lately.
    spin_rounds: AtomicU32,
    shards: [Shard; SHARDS],
    /// The sums of the shards at the last reset. A reset can't clear the shards, as only their own threads write them.
    reset_at: [AtomicU64; Count::KINDS],
}

/// The events that are counted.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Shared,
    Exclusive,
    Blocked,
    Spins,
    Dequeued,
}

impl Count {
    const KINDS: usize = 5;
}

#[repr(align(64))]
struct Shard([AtomicU64; Count::KINDS]);

/// How often latches of one class were taken, and at what cost: the columns of PostgreSQL's LWLOCK_STATS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatchCounters {
    /// Acquisitions in shared mode.
    pub shared: u64,
    /// Acquisitions in exclusive mode.
    pub exclusive: u64,
    /// Times a thread was put to sleep.
    pub blocked: u64,
    /// Rounds spun before the latch was had or the thread was put to sleep.
    pub spins: u64,
    /// Times a thread joined the queue of sleepers and left it at once, because the latch had become free.
    pub dequeued: u64,
}

impl LatchCounters {
    fn of(count: impl Fn(Count) -> u64) -> LatchCounters {
        LatchCounters {
            shared: count(Count::Shared),
            exclusive: count(Count::Exclusive),
            blocked: count(Count::Blocked),
            spins: count(Count::Spins),
            dequeued: count(Count::Dequeued),
        }
    }
}

impl LatchClass {
    /// A class of which a thread holds at most one latch at a time.
    pub const fn new(name: &'static str, rank: u16) -> LatchClass {
        LatchClass {
            name,
            rank,
            several_at_once: false,
            listed: AtomicBool::new(false),
            spin_rounds: AtomicU32::new(MAX_SPIN_ROUNDS / 2),
            shards: [const { Shard([const { AtomicU64::new(0) }; Count::KINDS]) }; SHARDS],
            reset_at: [const { AtomicU64::new(0) }; Count::KINDS],
        }
    }

    /// A class of which a thread may hold several latches at a time, in an order that their owner documents.
    pub const fn several_at_once(mut self) -> LatchClass {
        self.several_at_once = true;
        self
    }

    /// Whether a latch of this class may be waited for while one of `held` is held.
    #[cfg_attr(not(debug_assertions), allow(dead_code))]
    pub(crate) fn may_follow(&'static self, held: &'static LatchClass) -> bool {
        held.rank < self.rank || (std::ptr::eq(self, held) && self.several_at_once)
    }

    /// The counts since the start or the last [`LatchClass::reset`].
    pub fn counters(&self) -> LatchCounters {
        let since = |kind: Count| self.total(kind).saturating_sub(self.reset_at[kind as usize].load(Ordering::Relaxed));
        LatchCounters::of(since)
    }

    /// The counts since the start, whatever was reset.
    pub fn totals(&self) -> LatchCounters {
        LatchCounters::of(|kind| self.total(kind))
    }

    /// Starts counting from zero.
    pub fn reset(&self) {
        for kind in [Count::Shared, Count::Exclusive, Count::Blocked, Count::Spins, Count::Dequeued] {
            self.reset_at[kind as usize].store(self.total(kind), Ordering::Relaxed);
        }
    }

    fn total(&self, kind: Count) -> u64 {
        self.shards.iter().map(|shard| shard.0[kind as usize].load(Ordering::Relaxed)).sum()
    }

    /// Counts.
    #[inline]
    pub(crate) fn count(&self, kind: Count, times: u64) {
        let shard = my_shard();
        let counter = &self.shards[shard].0[kind as usize];
        if shard == SHARED_SHARD {
            counter.fetch_add(times, Ordering::Relaxed);
        } else {
            counter.store(counter.load(Ordering::Relaxed) + times, Ordering::Relaxed);
        }
    }

    /// Enters the class in the list that [`latch_classes`] gives.
    pub(crate) fn enlist(&'static self) {
        if !self.listed.load(Ordering::Relaxed) && !self.listed.swap(true, Ordering::Relaxed) {
            CLASSES.lock().push(self);
        }
    }

    /// How many rounds to spin for a latch of this class now.
    pub(crate) fn spin_rounds(&self) -> u32 {
        if cfg!(shuttle) || processors() == 1 { 0 } else { self.spin_rounds.load(Ordering::Relaxed) }
    }

    /// Learns from a spin: of `rounds`, in vain or not. Racing updates lose nothing that matters.
    pub(crate) fn learn(&self, rounds: u32, in_vain: bool) {
        let now = self.spin_rounds.load(Ordering::Relaxed);
        let worth = if in_vain { MIN_SPIN_ROUNDS } else { (2 * rounds + 8).min(MAX_SPIN_ROUNDS) };
        let next = if worth > now { now + (worth - now).div_ceil(8) } else { now - (now - worth).div_ceil(8) };
        self.spin_rounds.store(next, Ordering::Relaxed);
    }
}

static CLASSES: parking_lot::Mutex<Vec<&'static LatchClass>> = parking_lot::Mutex::new(Vec::new());

/// Every class of which a latch was made so far, by rank.
pub fn latch_classes() -> Vec<&'static LatchClass> {
    let mut classes = CLASSES.lock().clone();
    classes.sort_by_key(|class| (class.rank, class.name));
    classes
}

fn processors() -> usize {
    static PROCESSORS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

const NO_SHARD: usize = usize::MAX;

thread_local! {
    /// Which row this thread counts in. Without a destructor, so that it can be read at any time and cheaply.
    static SHARD: Cell<usize> = const { Cell::new(NO_SHARD) };
    /// Gives the row back when the thread ends.
    static SHARD_HOLD: ShardHold = const { ShardHold(Cell::new(NO_SHARD)) };
}

/// The rows that a thread owns, one bit each.
static TAKEN: AtomicU32 = AtomicU32::new(0);

struct ShardHold(Cell<usize>);

impl Drop for ShardHold {
    fn drop(&mut self) {
        let shard = self.0.get();
        if shard < SHARED_SHARD {
            // Counts that other destructors of this thread still make go to the shared row.
            SHARD.set(SHARED_SHARD);
            // Release: the row's next owner goes on from this thread's counts.
            TAKEN.fetch_and(!(1 << shard), Ordering::Release);
        }
    }
}

#[inline]
fn my_shard() -> usize {
    let shard = SHARD.get();
    if shard == NO_SHARD { take_shard() } else { shard }
}

#[cold]
fn take_shard() -> usize {
    let all_taken = (1 << SHARED_SHARD) - 1;
    let mut taken = TAKEN.load(Ordering::Relaxed);
    let shard = loop {
        let free = (taken ^ all_taken) & all_taken;
        if free == 0 {
            break SHARED_SHARD;
        }
        let shard = free.trailing_zeros() as usize;
        match TAKEN.compare_exchange_weak(taken, taken | 1 << shard, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => break shard,
            Err(now) => taken = now,
        }
    };
    // A thread that is being torn down has no destructor left to give a row back, so it may not own one.
    let shard = match SHARD_HOLD.try_with(|hold| hold.0.set(shard)) {
        Ok(()) => shard,
        Err(_) => {
            if shard != SHARED_SHARD {
                TAKEN.fetch_and(!(1 << shard), Ordering::Release);
            }
            SHARED_SHARD
        }
    };
    SHARD.set(shard);
    shard
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_with_more_threads_than_rows() {
        static CLASS: LatchClass = LatchClass::new("test counts", 1);
        let threads: Vec<_> = (0..3 * SHARDS)
            .map(|_| std::thread::spawn(|| (0..2000).for_each(|_| CLASS.count(Count::Spins, 3))))
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(CLASS.counters().spins, 3 * SHARDS as u64 * 2000 * 3);
        CLASS.reset();
        assert_eq!(CLASS.counters(), LatchCounters::default());
        CLASS.count(Count::Shared, 1);
        assert_eq!(CLASS.counters(), LatchCounters { shared: 1, ..LatchCounters::default() });
        assert_eq!((CLASS.totals().shared, CLASS.totals().spins), (1, 3 * SHARDS as u64 * 2000 * 3));
    }

    #[test]
    fn a_class_is_listed_once_it_has_a_latch() {
        static CLASS: LatchClass = LatchClass::new("test listed", 7);
        assert!(!latch_classes().iter().any(|class| class.name == "test listed"));
        let _one = crate::Latch::new(&CLASS, ());
        let _two = crate::ExclusiveLatch::new(&CLASS, ());
        assert_eq!(latch_classes().iter().filter(|class| class.name == "test listed").count(), 1);
    }

    #[test]
    fn spinning_is_unlearned_when_in_vain_and_learned_when_it_pays() {
        static CLASS: LatchClass = LatchClass::new("test spin", 1);
        (0..100).for_each(|_| CLASS.learn(10, true));
        assert_eq!(CLASS.spin_rounds.load(Ordering::Relaxed), MIN_SPIN_ROUNDS);
        (0..100).for_each(|_| CLASS.learn(60, false));
        assert_eq!(CLASS.spin_rounds.load(Ordering::Relaxed), MAX_SPIN_ROUNDS);
    }
}
