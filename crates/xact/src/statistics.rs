//! The counters of transactions. To be counted costs a session only a store to its own memory. A session counts the ends of
//! its transactions in its slot. The thread that retires commits counts how long they took, off the reply path.
//!
//! A commit's time needs no clock but those that are read anyway: when its record was made, which the record says, and when
//! the log became durable that far, which the leader notes once per flush.

// Counting is no part of any algorithm, so a model need not see it.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use base::Lsn;

use crate::TransactionManager;
use crate::committed::NOBODY_WAITS;
use crate::retire::Retiring;

/// Classes to each doubling: a class is at most an eighth as wide as its values.
const STEPS: u64 = 8;
/// Values up to 2^32: an hour and ten minutes in microseconds.
const CLASSES: usize = 240;

/// The class that counts `value`.
fn class_of(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let shift = value.ilog2() - STEPS.ilog2();
    let class = u64::from(shift) * STEPS + (value >> shift);
    (class as usize).min(CLASSES - 1)
}

/// The largest value that falls in `class`.
fn upper_bound(class: usize) -> u64 {
    let class = class as u64;
    if class < STEPS {
        return class;
    }
    let shift = class / STEPS - 1;
    (((STEPS + class % STEPS + 1) << shift) - 1).max(class)
}

/// How long commits took, in classes that are at most an eighth as wide as what they count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyHistogram {
    counts: Vec<u64>,
    /// Their sum, in microseconds.
    pub sum_us: u64,
}

impl Default for LatencyHistogram {
    fn default() -> LatencyHistogram {
        LatencyHistogram { counts: vec![0; CLASSES], sum_us: 0 }
    }
}

impl LatencyHistogram {
    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Those counted since `earlier`, a copy of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &LatencyHistogram) -> LatencyHistogram {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(now, then)| now - then).collect();
        LatencyHistogram { counts, sum_us: self.sum_us - earlier.sum_us }
    }

    /// Each class, by the largest value in microseconds that falls in it, with its count; the last one takes larger values too.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().enumerate().map(|(class, count)| (upper_bound(class), *count))
    }

    /// The microseconds that a part `quantile` (0 to 1) of the commits did not exceed: the upper bound of the class it falls in,
    /// so at most an eighth more than the exact value. None without commits.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        let count = self.count();
        let wanted = ((count as f64 * quantile).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        self.classes().find_map(|(upto, count)| {
            seen += count;
            (seen >= wanted).then_some(upto)
        })
    }
}

/// The counts of transactions since the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionStatistics {
    /// Transactions that committed, those that only read included.
    pub committed: u64,
    /// Transactions that were rolled back.
    pub rolled_back: u64,
    /// From the making of a commit's record to its being durable, of commits that somebody waits for. A session's reply takes its
    /// worker's next turn and the way to the client on top.
    pub commit_latency: LatencyHistogram,
}

impl TransactionStatistics {
    /// Returns the counts since `earlier`, a copy of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &TransactionStatistics) -> TransactionStatistics {
        TransactionStatistics {
            committed: self.committed - earlier.committed,
            rolled_back: self.rolled_back - earlier.rolled_back,
            commit_latency: self.commit_latency.since(&earlier.commit_latency),
        }
    }
}

/// Raises a counter that only one thread at a time writes.
fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Relaxed) + value, Relaxed);
}

/// Ends of transactions. Written by the slot's owner alone.
#[derive(Default)]
pub(crate) struct EndedCounter {
    committed: AtomicU64,
    rolled_back: AtomicU64,
}

impl EndedCounter {
    pub(crate) fn count_commit(&self) {
        add(&self.committed, 1);
    }

    pub(crate) fn count_rollback(&self) {
        add(&self.rolled_back, 1);
    }
}

/// The counters behind [`LatencyHistogram`]. Written by who retires alone.
pub(crate) struct LatencyCounter {
    counts: [AtomicU64; CLASSES],
    sum_us: AtomicU64,
}

impl Default for LatencyCounter {
    fn default() -> LatencyCounter {
        LatencyCounter { counts: std::array::from_fn(|_| AtomicU64::new(0)), sum_us: AtomicU64::new(0) }
    }
}

impl LatencyCounter {
    fn add(&self, latency_us: u64) {
        add(&self.counts[class_of(latency_us)], 1);
        add(&self.sum_us, latency_us);
    }

    fn read(&self) -> LatencyHistogram {
        let counts = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        LatencyHistogram { counts, sum_us: self.sum_us.load(Relaxed) }
    }
}

impl TransactionManager {
    /// Returns the counts so far. Reads all slots.
    pub fn statistics(&self) -> TransactionStatistics {
        let (mut committed, mut rolled_back) = (0, 0);
        for (_, slot) in self.slots.used() {
            committed += slot.ended.committed.load(Relaxed);
            rolled_back += slot.ended.rolled_back.load(Relaxed);
        }
        TransactionStatistics { committed, rolled_back, commit_latency: self.commit_latency.read() }
    }

    /// Counts how long the commits took that have become durable since the last time. A clock that was set back makes them
    /// short, one that was set forward long.
    pub(crate) fn count_latencies(&self, durable: Lsn, retiring: &mut Retiring) {
        let durable_at_us = self.wal().durable_at_us();
        let tail = self.committed.tail();
        while retiring.counted < tail {
            let commit = self.committed.get(retiring.counted);
            if commit.csn > durable {
                break;
            }
            if commit.asked_at_us != NOBODY_WAITS {
                self.commit_latency.add(durable_at_us.saturating_sub(commit.asked_at_us));
            }
            retiring.counted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_at_most_an_eighth_as_wide_as_what_it_counts() {
        for value in (0..5000).chain((5000..u64::from(u32::MAX)).step_by(99_991)) {
            let upto = upper_bound(class_of(value));
            assert!(upto >= value && upto - value <= value / STEPS, "{value} counts as {upto}");
        }
        assert!((1..CLASSES).all(|class| upper_bound(class - 1) < upper_bound(class)));
        assert!((0..CLASSES).all(|class| class_of(upper_bound(class)) == class));
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_values_counted() {
        let counter = LatencyCounter::default();
        assert_eq!(counter.read().quantile_us(0.5), None);
        let before = counter.read();
        (1..=1000).for_each(|value| counter.add(value));
        let histogram = counter.read().since(&before);
        assert_eq!((histogram.count(), histogram.sum_us), (1000, 500_500));
        for (quantile, exact) in [(0.0, 1), (0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1000)] {
            let found = histogram.quantile_us(quantile).unwrap();
            assert!((exact..=exact + exact / STEPS).contains(&found), "{quantile}: {found}");
        }
        assert_eq!(counter.read().since(&counter.read()).count(), 0);
    }
}
