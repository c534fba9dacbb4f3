//! The outcome of an experiment.

use serde::{Deserialize, Serialize};

use super::Published;
use crate::driver::{DriverKind, LatchCounts};

/// One line of a result: a configuration under a number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The workload.
    pub workload: String,
    /// The disk.
    pub disk: String,
    /// The disk is slower than the machine's own: its syncs are made to last.
    pub disk_is_emulated: bool,
    /// How many clients.
    pub clients: usize,
    /// The configuration.
    pub configuration: String,
    /// Transactions a second: the median of the rounds.
    pub tps: f64,
    /// The lowest round.
    pub tps_lowest: f64,
    /// The highest round.
    pub tps_highest: f64,
    /// Latencies over all rounds.
    pub latency_us: LatencyUs,
    /// The rounds, in the order in which they ran.
    pub rounds: Vec<RoundFigure>,
    /// Transactions for each hundred that were due under an open load and had not begun when the round was over.
    pub overdue_percent: f64,
    /// Attempts for each hundred that were rolled back since they could not be serialized.
    pub aborted_percent: f64,
    /// Commits for each sync of the log, where commits wait for it and it is known.
    pub commits_per_sync: Option<f64>,
    /// Over the configuration named first, at as many clients.
    pub ratio: Option<f64>,
    /// Of the commit log's latch, where that is the question and it is known.
    pub clog_latch: Option<ClogLatch>,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyUs {
    /// Half of the transactions were as fast.
    pub p50: u64,
    /// Nine of ten were.
    pub p90: u64,
    /// Of a hundred, 99 were.
    pub p99: u64,
    /// Of a thousand, 999 were.
    pub p99_9: u64,
    /// The slowest.
    pub max: u64,
}

impl LatencyUs {
    /// Of what was recorded.
    pub fn new(recorded: &hdrhistogram::Histogram<u64>) -> LatencyUs {
        LatencyUs {
            p50: recorded.value_at_quantile(0.5),
            p90: recorded.value_at_quantile(0.9),
            p99: recorded.value_at_quantile(0.99),
            p99_9: recorded.value_at_quantile(0.999),
            max: recorded.max(),
        }
    }

    /// Every percentile with its name.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [("50", self.p50), ("90", self.p90), ("99", self.p99), ("99.9", self.p99_9), ("max", self.max)]
    }
}

/// One round of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundFigure {
    /// Transactions a second.
    pub tps: f64,
    /// Median latency in microseconds.
    pub latency_us_p50: u64,
    /// Latency in microseconds that 99 of a hundred kept.
    pub latency_us_p99: u64,
}

/// How the commit log's latch was taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClogLatch {
    /// Acquisitions in exclusive mode, for each transaction.
    pub exclusive: f64,
    /// Times a thread was put to sleep for it, for each transaction.
    pub blocked: f64,
    /// Transactions for each group that met at it; none if there was no group.
    pub group_size: Option<f64>,
}

impl ClogLatch {
    /// Of what was counted while so many transactions ran.
    pub fn new(counts: LatchCounts, transactions: u64) -> ClogLatch {
        let each = |count: u64| count as f64 / transactions.max(1) as f64;
        ClogLatch {
            exclusive: each(counts.exclusive),
            blocked: each(counts.blocked),
            group_size: (counts.groups > 0).then(|| counts.group_members as f64 / counts.groups as f64),
        }
    }
}

/// Figures that were published, as they are written down; see [`Published`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// Of what.
    pub what: String,
    /// Under which conditions they were obtained.
    pub conditions: String,
    /// In which unit.
    pub unit: String,
    /// Without the improvement.
    pub before: Option<f64>,
    /// With it.
    pub after: Option<f64>,
    /// After over before.
    pub ratio: Option<f64>,
    /// The other end of a range of ratios.
    pub ratio_up_to: Option<f64>,
}

impl PublishedFigure {
    pub(super) fn new(published: &Published) -> PublishedFigure {
        PublishedFigure {
            what: published.what.to_owned(),
            conditions: published.conditions.to_owned(),
            unit: published.unit.to_owned(),
            before: published.before,
            after: published.after,
            ratio: published.ratio,
            ratio_up_to: published.ratio_up_to,
        }
    }
}

/// The result of comparing two sets of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Every round of the second is above every round of the first.
    Higher,
    /// Every round of the second is below every round of the first.
    Lower,
    /// They overlap: the difference is within the noise.
    Same,
}

/// Compares the rounds of `after` with those of `before`.
pub fn rounds_effect(before: &[f64], after: &[f64]) -> Effect {
    let every = |is: fn(&f64, &f64) -> bool| {
        !before.is_empty()
            && !after.is_empty()
            && after.iter().all(|after| before.iter().all(|before| is(after, before)))
    };
    if every(|after, before| after > before) {
        Effect::Higher
    } else if every(|after, before| after < before) {
        Effect::Lower
    } else {
        Effect::Same
    }
}

/// "Before" and "after" at one client count of a workload on a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// The disk.
    pub disk: String,
    /// The disk is slower than the machine's own.
    pub disk_is_emulated: bool,
    /// How many clients.
    pub clients: usize,
    /// The configuration without the improvement.
    pub before: String,
    /// The configuration with it.
    pub after: String,
    /// Transactions a second of `before`.
    pub before_tps: f64,
    /// Transactions a second of `after`.
    pub after_tps: f64,
    /// `after_tps` over `before_tps`.
    pub ratio: f64,
    /// The lowest ratio of a round and the round that ran beside it.
    pub ratio_lowest: f64,
    /// The highest ratio of a round and the round that ran beside it.
    pub ratio_highest: f64,
    /// Where a cost is the question: the share of the throughput without that cost that `before` keeps.
    pub before_share: Option<f64>,
    /// The share that `after` keeps.
    pub after_share: Option<f64>,
    /// Whether the throughput of `after` is higher.
    pub effect: Effect,
    /// The ratio that was published for such conditions.
    pub published_ratio: Option<f64>,
    /// Its other end, where it is a range.
    pub published_ratio_up_to: Option<f64>,
    /// This one is the nearest to what was published: it stands for the experiment in an overview.
    pub is_headline: bool,
}

/// The outcome of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The experiment's name.
    pub experiment: String,
    /// The subject of the experiment.
    pub about: String,
    /// The published result, and how it was obtained.
    pub published: String,
    /// The published result in numbers.
    pub published_figures: Vec<PublishedFigure>,
    /// How the engine was reached.
    pub driver: DriverKind,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Before and after, side by side.
    pub comparisons: Vec<Comparison>,
    /// In sentences, whether the published effect shows.
    pub verdict: String,
    /// The same in a few words.
    pub verdict_short: String,
    /// The experiment was stopped before its end.
    pub is_partial: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_differ_only_if_every_one_is_above_every_other() {
        assert_eq!(rounds_effect(&[1.0, 2.0], &[3.0, 2.1]), Effect::Higher);
        assert_eq!(rounds_effect(&[3.0, 2.1], &[1.0, 2.0]), Effect::Lower);
        assert_eq!(rounds_effect(&[1.0, 3.0], &[2.0, 4.0]), Effect::Same);
        assert_eq!(rounds_effect(&[1.0], &[1.0]), Effect::Same);
        assert_eq!(rounds_effect(&[], &[1.0]), Effect::Same);
    }
}
