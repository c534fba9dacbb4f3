//! Events of the last minutes, second by second: the differences between successive readings of the counters.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use engine::{Histogram, LatencyHistogram};
use sql::{Activity, SessionWait};

use crate::figures::Figures;

/// Seconds that are remembered.
pub(crate) const REMEMBERED: usize = 300;
/// Seconds that count as "lately".
const LATELY: usize = 10;

/// The events between two readings of the figures.
pub(crate) struct Interval {
    pub seconds: f64,
    pub committed: u64,
    pub rolled_back: u64,
    pub latency: LatencyHistogram,
    pub cohort_members: Histogram,
    pub sync_time_us: Histogram,
    pub log_bytes: u64,
    /// Serialization failures by reason; reasons without a failure are left out.
    pub serialization_failures: Vec<(&'static str, u64)>,
    /// Times a thread slept for a latch, by the latch's name, where there were any; the busiest first.
    pub latch_waits: Vec<(&'static str, u64)>,
}

impl Interval {
    fn between(earlier: &Figures, later: &Figures) -> Interval {
        let (before, after) = (&earlier.statistics, &later.statistics);
        let transactions = after.transactions.since(&before.transactions);
        let wal = after.wal.since(&before.wal);
        let failures = earlier.serialization_failures.iter().zip(&later.serialization_failures);
        // Kinds of latches come into being while the server runs.
        let blocked: BTreeMap<_, _> = earlier.latches.iter().map(|(name, counts)| (*name, counts.blocked)).collect();
        let blocked_before = |name| blocked.get(name).copied().unwrap_or(0);
        let latch_waits = later.latches.iter().map(|(name, now)| (*name, now.blocked - blocked_before(name)));
        let mut latch_waits: Vec<_> = latch_waits.filter(|(_, count)| *count > 0).collect();
        latch_waits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Interval {
            seconds: later.at.duration_since(earlier.at).as_secs_f64(),
            committed: transactions.committed,
            rolled_back: transactions.rolled_back,
            latency: transactions.commit_latency,
            cohort_members: wal.cohort_members,
            sync_time_us: wal.sync_time_us,
            log_bytes: wal.bytes,
            serialization_failures: failures
                .map(|((name, before), (_, now))| (*name, now - before))
                .filter(|(_, count)| *count > 0)
                .collect(),
            latch_waits,
        }
    }

    /// `count` by the second.
    pub(crate) fn a_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    /// How many commits each sync made durable, on average. None without syncs.
    pub(crate) fn commits_per_sync(&self) -> Option<f64> {
        let syncs = self.sync_time_us.count;
        (syncs > 0).then(|| self.latency.count() as f64 / syncs as f64)
    }
}

/// The upper bound of the class of the largest values: they were no larger. None without values.
pub(crate) fn longest(histogram: &Histogram) -> Option<u64> {
    histogram.classes().filter(|(_, count)| *count > 0).map(|(upto, _)| upto).max()
}

/// One second, and what was so at its end.
pub(crate) struct Sample {
    pub at: Instant,
    pub interval: Interval,
    pub sessions: [(Activity, u64); 4],
    pub waits: BTreeMap<SessionWait, u64>,
    pub prepared: u64,
    pub undurable_bytes: u64,
}

/// See the module.
#[derive(Default)]
pub(crate) struct History {
    /// The last few, the newest at the end.
    figures: VecDeque<Figures>,
    samples: VecDeque<Sample>,
    taken: u64,
}

impl History {
    /// The next second's figures.
    pub(crate) fn push(&mut self, figures: Figures) {
        let now = figures.at;
        if let Some(before) = self.figures.back() {
            self.samples.push_back(Sample {
                at: figures.at,
                interval: Interval::between(before, &figures),
                sessions: figures.sessions,
                waits: figures.waits.clone(),
                prepared: figures.prepared.len() as u64,
                undurable_bytes: figures.reserved.saturating_sub(figures.durable),
            });
        }
        self.figures.push_back(figures);
        self.taken += 1;
        while self.figures.len() > LATELY + 1 {
            self.figures.pop_front();
        }
        // By time as well: seconds in which the machine did not get round to it are missing.
        let is_over = |sample: &Sample| now.duration_since(sample.at).as_secs() > REMEMBERED as u64;
        while self.samples.len() > REMEMBERED || self.samples.front().is_some_and(is_over) {
            self.samples.pop_front();
        }
    }

    /// How many figures were pushed.
    pub(crate) fn samples_taken(&self) -> u64 {
        self.taken
    }

    /// The newest figures.
    pub(crate) fn newest(&self) -> Option<&Figures> {
        self.figures.back()
    }

    /// The last ten seconds, or as much of them as there is.
    pub(crate) fn lately(&self) -> Option<Interval> {
        let (first, last) = (self.figures.front()?, self.figures.back()?);
        (self.figures.len() > 1).then(|| Interval::between(first, last))
    }

    /// The seconds that are remembered, the oldest first, each with how many seconds ago it ended.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = (f64, &Sample)> {
        let newest = self.samples.back().map(|sample| sample.at);
        self.samples
            .iter()
            .map(move |sample| (newest.map_or(0.0, |at| at.duration_since(sample.at).as_secs_f64()), sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::{ConnectRequest, Database, Instance, OpenOptions};

    fn instance() -> (tempfile::TempDir, Arc<Instance>) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(OpenOptions::new(folder.path())).unwrap();
        (folder, Instance::new(database))
    }

    #[test]
    fn the_past_is_remembered_for_so_long_and_no_longer() {
        let (_folder, instance) = instance();
        let mut history = History::default();
        assert!(history.newest().is_none() && history.lately().is_none() && history.seconds().next().is_none());
        for _ in 0..REMEMBERED + 20 {
            history.push(Figures::read(&instance));
        }
        assert_eq!(history.samples_taken(), REMEMBERED as u64 + 20);
        assert_eq!(history.seconds().count(), REMEMBERED);
        assert_eq!(history.figures.len(), LATELY + 1);
        let ages: Vec<f64> = history.seconds().map(|(age, _)| age).collect();
        assert!(ages.windows(2).all(|pair| pair[0] >= pair[1]) && ages.last() == Some(&0.0));
        instance.database().close().unwrap();
    }

    #[test]
    fn an_interval_has_what_happened_in_it_and_nothing_else() {
        let (_folder, instance) = instance();
        let run = |statements: u64| {
            let mut session = instance.database().session().unwrap();
            for _ in 0..statements {
                session.begin(engine::TransactionOptions::default()).unwrap();
                session.rollback().unwrap();
            }
        };
        run(3);
        let before = Figures::read(&instance);
        run(2);
        let connected = instance.connect(ConnectRequest {
            user: "postgres".to_owned(),
            database: "postgres".to_owned(),
            ..ConnectRequest::default()
        });
        let connected = connected.unwrap();
        let after = Figures::read(&instance);
        let interval = Interval::between(&before, &after);
        assert_eq!((interval.committed, interval.rolled_back), (0, 2));
        assert_eq!((interval.latency.count(), interval.commits_per_sync()), (0, None));
        assert_eq!(after.sessions.iter().map(|(_, count)| count).sum::<u64>(), 1);
        let waits: Vec<_> = after.waits.iter().map(|(wait, count)| (wait.kind, wait.event, *count)).collect();
        assert_eq!(waits, [("Client", "ClientRead", 1)]);
        drop(connected);
        instance.database().close().unwrap();
    }
}
