//! The counters of the page cache.

use std::cell::Cell;

use sync::CachePadded;
use sync::atomic::{AtomicU64, Ordering};

use crate::write_back::Cause;

/// Counts since the pool was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatistics {
    /// Pages found in the cache. Counted without atomic read-modify-write: a lower bound.
    pub hits: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Frames taken from one page for another.
    pub evictions: u64,
    /// Pages added to files.
    pub extensions: u64,
    /// Pages written because their frame was wanted.
    pub written_by_eviction: u64,
    /// Pages written by the page cleaner.
    pub written_by_cleaner: u64,
    /// Pages written by checkpoints and file flushes.
    pub written_by_checkpoint: u64,
    /// Batches written through the double-write area, those of the commit log included.
    pub batches: u64,
    /// Syncs of data files and of the double-write area.
    pub syncs: u64,
}

const STRIPES: usize = 16;

/// The counters. The one that every hit raises is striped over threads.
#[derive(Default)]
pub(crate) struct Counters {
    hits: [CachePadded<AtomicU64>; STRIPES],
    reads: AtomicU64,
    evictions: AtomicU64,
    extensions: AtomicU64,
    written: [AtomicU64; 3],
}

static NEXT_STRIPE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

thread_local! {
    /// The thread's stripe, from its first use on, and whether something on it is metered.
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Set in a thread's stripe while hits are counted for a [`crate::PageMeter`], too.
const METERED: usize = 1 << 32;

#[inline]
fn stripe_of_hit() -> usize {
    let stripe = STRIPE.get();
    if stripe < STRIPES { stripe } else { look_at_stripe(stripe) }
}

#[cold]
fn look_at_stripe(stripe: usize) -> usize {
    if stripe == usize::MAX {
        STRIPE.set(next_stripe());
    } else {
        crate::meter::count(|used| used.hits += 1);
    }
    STRIPE.get() % STRIPES
}

fn next_stripe() -> usize {
    NEXT_STRIPE.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % STRIPES
}

/// Has this thread's hits counted for its meters, or not.
pub(crate) fn meter_thread(is_metered: bool) {
    let stripe = if STRIPE.get() == usize::MAX { next_stripe() } else { STRIPE.get() % STRIPES };
    STRIPE.set(if is_metered { stripe | METERED } else { stripe });
}

impl Counters {
    #[inline]
    pub(crate) fn count_hit(&self) {
        // Threads that share a stripe may lose a count to each other; an exact one would cost every hit dear.
        let hits = &self.hits[stripe_of_hit()];
        hits.store(hits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(crate) fn count_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        crate::meter::count(|used| used.reads += 1);
    }

    pub(crate) fn count_eviction(&self) {
        self.evictions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_extension(&self) {
        self.extensions.fetch_add(1, Ordering::Relaxed);
        crate::meter::count(|used| used.written += 1);
    }

    pub(crate) fn count_written(&self, cause: Cause, pages: usize) {
        self.written[cause as usize].fetch_add(pages as u64, Ordering::Relaxed);
        if matches!(cause, Cause::Eviction) {
            crate::meter::count(|used| used.written += pages as u64);
        }
    }

    pub(crate) fn read(&self, batches: u64, syncs: u64) -> BufferStatistics {
        let written = |cause: Cause| self.written[cause as usize].load(Ordering::Relaxed);
        BufferStatistics {
            hits: self.hits.iter().map(|hits| hits.load(Ordering::Relaxed)).sum(),
            reads: self.reads.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
            extensions: self.extensions.load(Ordering::Relaxed),
            written_by_eviction: written(Cause::Eviction),
            written_by_cleaner: written(Cause::Cleaner),
            written_by_checkpoint: written(Cause::Checkpoint),
            batches,
            syncs,
        }
    }
}
