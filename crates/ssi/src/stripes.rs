//! Data that threads keep apart: a cache line that two processors write moves to and fro between them.

use std::cell::Cell;

use sync::CachePadded;
use sync::atomic::AtomicIsize;
use sync::atomic::Ordering::Relaxed;

/// The number of stripes: threads are distributed over so many.
pub(crate) const STRIPES: usize = 8;

/// A stripe's count goes to the total when it is as far from zero.
const BATCH: isize = 32;

/// The calling thread's number, below [`STRIPES`].
pub(crate) fn stripe() -> usize {
    // No part of any algorithm, so a model need not see it.
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    thread_local! {
        static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    STRIPE.with(|stripe| {
        if stripe.get() == usize::MAX {
            stripe.set(NEXT.fetch_add(1, Relaxed) % STRIPES);
        }
        stripe.get()
    })
}

/// A count that is changed by everybody all the time, and that hardly anybody wants to know exactly.
#[derive(Default)]
pub(crate) struct StripedCount {
    total: CachePadded<AtomicIsize>,
    stripes: [CachePadded<AtomicIsize>; STRIPES],
}

impl StripedCount {
    pub(crate) fn add(&self, change: isize) {
        let stripe = &self.stripes[stripe()];
        let now = stripe.fetch_add(change, Relaxed) + change;
        if now.abs() >= BATCH {
            self.total.fetch_add(stripe.swap(0, Relaxed), Relaxed);
        }
    }

    /// Returns the count, less than 256 off.
    pub(crate) fn roughly(&self) -> usize {
        usize::try_from(self.total.load(Relaxed)).unwrap_or(0)
    }

    /// Returns the exact count, if nobody changes it meanwhile.
    pub(crate) fn exactly(&self) -> usize {
        let stripes: isize = self.stripes.iter().map(|stripe| stripe.load(Relaxed)).sum();
        usize::try_from(self.total.load(Relaxed) + stripes).unwrap_or(0)
    }
}

const _: () = assert!(STRIPES * BATCH as usize == 256);

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_right_whoever_adds_and_takes_away() {
        let count = StripedCount::default();
        std::thread::scope(|scope| {
            for thread in 0..12 {
                let count = &count;
                scope.spawn(move || {
                    (0..1000).for_each(|_| count.add(1));
                    (0..990 + thread).for_each(|_| count.add(-1));
                });
            }
        });
        let expected: usize = (0..10).map(|thread| 10 - thread).sum::<usize>() - 1;
        assert_eq!(count.exactly(), expected);
        assert!(count.roughly().abs_diff(expected) < 256);
    }
}
