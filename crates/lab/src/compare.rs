//! Two runs side by side: what got better and what got worse from one build to another.

use crate::experiment::{Effect, Figure, Outcome, rounds_effect};
use crate::plot::number;
use crate::report::{Results, Table};

/// With fewer rounds on either side nothing is told: all of two lie apart from all of two in one of three times by chance.
pub const ROUNDS_NEEDED: usize = 3;

/// The comparison of two runs.
pub struct RunComparison {
    /// Figures that both have.
    pub both: Vec<FigurePair>,
    /// Names of the figures that only the first run has.
    pub only_first: Vec<String>,
    /// Names of the figures that only the second run has.
    pub only_second: Vec<String>,
    /// Differences of the runs in anything but the figures. They make the figures hard to compare.
    pub differences: Vec<String>,
}

/// A figure of both runs.
pub struct FigurePair {
    /// Experiment, driver, workload, disk, clients and configuration.
    pub key: Key,
    /// Transactions a second.
    pub tps: Change,
    /// Median latency in microseconds.
    pub latency_us_p50: Change,
    /// Latency in microseconds that 99 of a hundred keep.
    pub latency_us_p99: Change,
}

/// The conditions of a figure. Figures of different runs are compared if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    experiment: String,
    driver: crate::driver::DriverKind,
    workload: String,
    disk: String,
    clients: usize,
    configuration: String,
}

/// How one quantity changed.
pub struct Change {
    /// The median of the first run's rounds, and of the second's.
    pub medians: (f64, f64),
    /// The second over the first.
    pub ratio: f64,
    /// The lowest of the second over the highest of the first.
    pub ratio_lowest: f64,
    /// The highest of the second over the lowest of the first.
    pub ratio_highest: f64,
    /// The judgement of this change.
    pub mark: Mark,
}

/// The judgement of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Every round of the second is better than every round of the first, and the medians differ by the tolerance at least.
    Better,
    /// The same the other way.
    Worse,
    /// Neither.
    Same,
    /// There are too few rounds to say.
    Unknown,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Mark::Better => "better",
            Mark::Worse => "WORSE",
            Mark::Same => "same",
            Mark::Unknown => "too few rounds",
        }
    }
}

impl Change {
    fn new(first: &[f64], second: &[f64], more_is_better: bool, tolerance_percent: f64) -> Change {
        let medians = (median(first), median(second));
        let bounds = |values: &[f64]| {
            values.iter().fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(*value), high.max(*value)))
        };
        let ((first_low, first_high), (second_low, second_high)) = (bounds(first), bounds(second));
        let ratio = medians.1 / medians.0;
        let is_small = (ratio - 1.0).abs() * 100.0 < tolerance_percent;
        let mark = match rounds_effect(first, second) {
            _ if first.len() < ROUNDS_NEEDED || second.len() < ROUNDS_NEEDED => Mark::Unknown,
            Effect::Same => Mark::Same,
            _ if is_small => Mark::Same,
            effect if (effect == Effect::Higher) == more_is_better => Mark::Better,
            _ => Mark::Worse,
        };
        Change { medians, ratio, ratio_lowest: second_low / first_high, ratio_highest: second_high / first_low, mark }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count => (sorted[count / 2] + sorted[(count - 1) / 2]) / 2.0,
    }
}

fn keyed(results: &Results) -> Vec<(Key, &Figure)> {
    let key = |outcome: &Outcome, figure: &Figure| Key {
        experiment: outcome.experiment.clone(),
        driver: outcome.driver,
        workload: figure.workload.clone(),
        disk: figure.disk.clone(),
        clients: figure.clients,
        configuration: figure.configuration.clone(),
    };
    let of = |outcome| move |figure| (key(outcome, figure), figure);
    results.outcomes.iter().flat_map(|outcome| outcome.figures.iter().map(of(outcome))).collect()
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Key { experiment, workload, disk, clients, configuration, .. } = self;
        write!(f, "{experiment}: {workload}, {disk} disk, {clients} clients, {configuration}")
    }
}

/// Compares two runs. A change of a median by less than `tolerance_percent` is none.
pub fn compare(first: &Results, second: &Results, tolerance_percent: f64) -> RunComparison {
    let (firsts, mut seconds) = (keyed(first), keyed(second));
    let (mut both, mut only_first) = (Vec::new(), Vec::new());
    for (key, one) in firsts {
        let Some(place) = seconds.iter().position(|(other, _)| *other == key) else {
            only_first.push(key.to_string());
            continue;
        };
        let (_, two) = seconds.remove(place);
        let change = |of: fn(&crate::experiment::RoundFigure) -> f64, more_is_better| {
            let [one, two] = [one, two].map(|figure| figure.rounds.iter().map(of).collect::<Vec<f64>>());
            Change::new(&one, &two, more_is_better, tolerance_percent)
        };
        both.push(FigurePair {
            key,
            tps: change(|round| round.tps, true),
            latency_us_p50: change(|round| round.latency_us_p50 as f64, false),
            latency_us_p99: change(|round| round.latency_us_p99 as f64, false),
        });
    }
    let only_second = seconds.into_iter().map(|(key, _)| key.to_string()).collect();
    let mut differences = Vec::new();
    let mut differ = |what: &str, one: String, two: String| {
        if one != two {
            differences.push(format!("{what}: {one} and {two}"));
        }
    };
    let (one, two) = (first, second);
    differ("processor", one.machine.processor.clone(), two.machine.processor.clone());
    differ("cores", one.machine.cores.to_string(), two.machine.cores.to_string());
    let quick = |results: &Results| if results.options.quick { "quick" } else { "at full length" }.to_owned();
    differ("run", quick(one), quick(two));
    let seconds = |results: &Results| results.options.seconds.to_string();
    differ("seconds a round", seconds(one), seconds(two));
    let against =
        |results: &Results| results.options.against.clone().unwrap_or_else(|| "Cohort in this process".to_owned());
    differ("server", against(one), against(two));
    RunComparison { both, only_first, only_second, differences }
}

impl RunComparison {
    /// Something got worse.
    pub fn has_worse(&self) -> bool {
        self.count(Mark::Worse) > 0
    }

    /// How many figures have something that is marked so.
    fn count(&self, mark: Mark) -> usize {
        let has = |pair: &&FigurePair| {
            [&pair.tps, &pair.latency_us_p50, &pair.latency_us_p99].iter().any(|change| change.mark == mark)
        };
        self.both.iter().filter(has).count()
    }

    /// The table of figures that both have.
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            "experiment",
            "workload",
            "disk",
            "#clients",
            "configuration",
            "#A tps",
            "#B tps",
            "#B/A (rounds)",
            "tps",
            "#p50 B/A",
            "p50",
            "#p99 B/A",
            "p99",
        ]);
        for FigurePair { key, tps, latency_us_p50, latency_us_p99 } in &self.both {
            table.rows.push(vec![
                key.experiment.clone(),
                key.workload.clone(),
                key.disk.clone(),
                key.clients.to_string(),
                key.configuration.clone(),
                number(tps.medians.0),
                number(tps.medians.1),
                format!("{:.2} ({:.2} to {:.2})", tps.ratio, tps.ratio_lowest, tps.ratio_highest),
                tps.mark.word().to_owned(),
                format!("{:.2}", latency_us_p50.ratio),
                latency_us_p50.mark.word().to_owned(),
                format!("{:.2}", latency_us_p99.ratio),
                latency_us_p99.mark.word().to_owned(),
            ]);
        }
        table
    }

    /// The notes below the table: figures that only one run has, differences of the runs, and a summary.
    pub fn notes(&self) -> Vec<String> {
        let only = |which: &'static str| move |name: &String| format!("Only in {which}: {name}");
        let mut notes: Vec<String> = self.only_first.iter().map(only("A")).collect();
        notes.extend(self.only_second.iter().map(only("B")));
        notes.extend(self.differences.iter().map(|difference| format!("The runs differ in {difference}.")));
        let [better, worse, unknown] = [Mark::Better, Mark::Worse, Mark::Unknown].map(|mark| self.count(mark));
        let mut sum =
            format!("{} figures in both: {better} better, {worse} worse in throughput or latency.", self.both.len());
        if unknown > 0 {
            sum.push_str(&format!(" Of {unknown} nothing is said: they have fewer than {ROUNDS_NEEDED} rounds."));
        }
        notes.push(sum);
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_only_if_rounds_lie_apart_and_medians_do_too() {
        let mark = |first: &[f64], second: &[f64], more| Change::new(first, second, more, 5.0).mark;
        assert_eq!(mark(&[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], true), Mark::Better);
        assert_eq!(mark(&[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], false), Mark::Worse);
        assert_eq!(mark(&[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], true), Mark::Worse);
        assert_eq!(mark(&[100.0, 101.0, 102.0], &[103.0, 104.0, 105.0], true), Mark::Same);
        assert_eq!(mark(&[100.0, 101.0, 130.0], &[120.0, 125.0, 128.0], true), Mark::Same);
        assert_eq!(mark(&[100.0, 101.0], &[120.0, 125.0, 128.0], true), Mark::Unknown);
    }

    #[test]
    fn the_spread_of_a_ratio_is_that_of_any_two_rounds() {
        let change = Change::new(&[90.0, 100.0, 110.0], &[180.0, 200.0, 220.0], true, 5.0);
        let rounded = [change.ratio, change.ratio_lowest, change.ratio_highest].map(|ratio| (ratio * 100.0).round());
        assert_eq!(rounded, [200.0, 164.0, 244.0]);
        assert_eq!(median(&[1.0, 2.0, 3.0, 10.0]), 2.5);
    }
}
