//! The log's counters. Nothing on a hot path takes a shared lock to count: records and bytes are counted under the
//! insertion latch, which is held anyway, and everything else once per flush by its leader.

use sync::atomic::{AtomicU64, Ordering};

const CLASSES: usize = 32;

/// Counts in classes of doubling width: class 0 counts zeros, class `n` values of `2^(n-1) .. 2^n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by class.
    pub counts: [u64; CLASSES],
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub maximum: u64,
}

impl Histogram {
    /// The mean of the values, 0 if there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The values counted since `earlier`, a copy of the same histogram; the largest is that of all time.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        Histogram {
            counts: std::array::from_fn(|class| self.counts[class] - earlier.counts[class]),
            count: self.count - earlier.count,
            sum: self.sum - earlier.sum,
            maximum: self.maximum,
        }
    }

    /// Each class, by the largest value that falls in it, with its count; the last one takes larger values too.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().enumerate().map(|(class, count)| ((1 << class) - 1, *count))
    }
}

/// The counts of the log since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalStatistics {
    /// Records inserted.
    pub records: u64,
    /// Bytes inserted.
    pub bytes: u64,
    /// Times an inserter had to wait for room in the buffers (`wal_buffers_full`).
    pub buffers_full: u64,
    /// Writes to the device.
    pub writes: u64,
    /// Syncs of the device.
    pub syncs: u64,
    /// Time spent in writes, in microseconds.
    pub write_time_us: u64,
    /// Time of each sync, in microseconds.
    pub sync_time_us: Histogram,
    /// Members of each cohort: tickets and requests that one flush made durable.
    pub cohort_members: Histogram,
    /// Flushes led by a committer on its own thread.
    pub led_by_committer: u64,
    /// Flushes led by the flusher thread.
    pub led_by_flusher: u64,
    /// Delays that a leader took.
    pub delays_taken: u64,
    /// Of these, how many ended early because all others had joined.
    pub delays_cut_short: u64,
    /// Time spent in delays, in microseconds.
    pub delay_time_us: u64,
    /// Committers that slept before they joined (`commit_delay_scope = each`).
    pub committers_delayed: u64,
    /// Committers that took the log lock in turn (`group_commit = off`).
    pub turns_taken: u64,
    /// Requests for a flush that found their records durable already.
    pub already_durable: u64,
    /// Segments made anew.
    pub segments_created: u64,
    /// Segments used again.
    pub segments_recycled: u64,
    /// Segment switches that found no segment prepared and had to make one on the spot.
    pub segments_unprepared: u64,
}

impl WalStatistics {
    /// Returns the counts since `earlier`, a copy of the same log's counts. The largest values are those of all time.
    #[must_use]
    pub fn since(&self, earlier: &WalStatistics) -> WalStatistics {
        WalStatistics {
            records: self.records - earlier.records,
            bytes: self.bytes - earlier.bytes,
            buffers_full: self.buffers_full - earlier.buffers_full,
            writes: self.writes - earlier.writes,
            syncs: self.syncs - earlier.syncs,
            write_time_us: self.write_time_us - earlier.write_time_us,
            sync_time_us: self.sync_time_us.since(&earlier.sync_time_us),
            cohort_members: self.cohort_members.since(&earlier.cohort_members),
            led_by_committer: self.led_by_committer - earlier.led_by_committer,
            led_by_flusher: self.led_by_flusher - earlier.led_by_flusher,
            delays_taken: self.delays_taken - earlier.delays_taken,
            delays_cut_short: self.delays_cut_short - earlier.delays_cut_short,
            delay_time_us: self.delay_time_us - earlier.delay_time_us,
            committers_delayed: self.committers_delayed - earlier.committers_delayed,
            turns_taken: self.turns_taken - earlier.turns_taken,
            already_durable: self.already_durable - earlier.already_durable,
            segments_created: self.segments_created - earlier.segments_created,
            segments_recycled: self.segments_recycled - earlier.segments_recycled,
            segments_unprepared: self.segments_unprepared - earlier.segments_unprepared,
        }
    }
}

#[derive(Default)]
pub(crate) struct HistogramCounter {
    counts: [AtomicU64; CLASSES],
    sum: AtomicU64,
    maximum: AtomicU64,
}

impl HistogramCounter {
    pub fn add(&self, value: u64) {
        let class = (u64::BITS - value.leading_zeros()).min(CLASSES as u32 - 1);
        self.counts[class as usize].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.maximum.fetch_max(value, Ordering::Relaxed);
    }

    pub fn read(&self) -> Histogram {
        let counts: [u64; CLASSES] = std::array::from_fn(|class| self.counts[class].load(Ordering::Relaxed));
        Histogram {
            count: counts.iter().sum(),
            counts,
            sum: self.sum.load(Ordering::Relaxed),
            maximum: self.maximum.load(Ordering::Relaxed),
        }
    }
}

/// The counters behind [`WalStatistics`].
#[derive(Default)]
pub(crate) struct Counters {
    pub buffers_full: AtomicU64,
    pub writes: AtomicU64,
    pub write_time_us: AtomicU64,
    pub sync_time_us: HistogramCounter,
    pub cohort_members: HistogramCounter,
    pub led_by_committer: AtomicU64,
    pub led_by_flusher: AtomicU64,
    pub delays_taken: AtomicU64,
    pub delays_cut_short: AtomicU64,
    pub delay_time_us: AtomicU64,
    pub committers_delayed: AtomicU64,
    pub turns_taken: AtomicU64,
    pub already_durable: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64, value: u64) {
        counter.fetch_add(value, Ordering::Relaxed);
    }

    pub fn read(&self) -> WalStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let sync_time_us = self.sync_time_us.read();
        WalStatistics {
            buffers_full: read(&self.buffers_full),
            writes: read(&self.writes),
            syncs: sync_time_us.count,
            write_time_us: read(&self.write_time_us),
            sync_time_us,
            cohort_members: self.cohort_members.read(),
            led_by_committer: read(&self.led_by_committer),
            led_by_flusher: read(&self.led_by_flusher),
            delays_taken: read(&self.delays_taken),
            delays_cut_short: read(&self.delays_cut_short),
            delay_time_us: read(&self.delay_time_us),
            committers_delayed: read(&self.committers_delayed),
            turns_taken: read(&self.turns_taken),
            already_durable: read(&self.already_durable),
            ..WalStatistics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_in_the_class_of_their_width() {
        let counter = HistogramCounter::default();
        for value in [0, 1, 2, 3, 4, 1 << 40] {
            counter.add(value);
        }
        let histogram = counter.read();
        assert_eq!(histogram.counts[..4], [1, 1, 2, 1]);
        assert_eq!(histogram.counts[CLASSES - 1], 1);
        assert_eq!((histogram.count, histogram.maximum), (6, 1 << 40));
        assert_eq!(histogram.since(&histogram).count, 0);
        let classes: Vec<_> = histogram.classes().filter(|(_, count)| *count > 0).collect();
        assert_eq!(classes, [(0, 1), (1, 1), (3, 2), (7, 1), ((1 << 31) - 1, 1)]);
    }
}
