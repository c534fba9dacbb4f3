//! What the log counts.

/// Counts in classes of doubling width: class 0 counts zeros, class `n` values of `2^(n-1) .. 2^n`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by class.
    pub counts: [u64; 32],
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub maximum: u64,
}

/// What the log has done since it was opened.
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
    /// Requests for a flush that found their records durable already.
    pub already_durable: u64,
    /// Segments made anew.
    pub segments_created: u64,
    /// Segments used again.
    pub segments_recycled: u64,
    /// Segment switches that found no segment prepared and had to make one on the spot.
    pub segments_unprepared: u64,
}
