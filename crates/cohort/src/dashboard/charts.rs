//! The dashboard's charts, drawn from its history.

use lab::plot::{Axis, Bar, BarChart, COLOURS, LineChart, Point, Series, number};

use super::history::{History, Interval, REMEMBERED, Sample, longest};
use crate::figures::ACTIVITIES;

/// All charts, by the names that the page calls them.
pub(crate) fn draw(history: &History) -> Vec<(&'static str, String)> {
    vec![
        ("transactions", transactions(history)),
        ("latency", latency(history)),
        ("cohorts", cohorts(history)),
        ("commits_per_sync", commits_per_sync(history)),
        ("flushes", flushes(history)),
        ("syncs", syncs(history)),
        ("sessions", sessions(history)),
        ("waits", waits(history)),
        ("prepared", prepared(history)),
        ("failures", failures(history)),
        ("latches", latches(history)),
        ("undurable", undurable(history)),
    ]
}

/// A line of one value a second.
fn line(history: &History, name: impl Into<String>, value: impl Fn(&Sample) -> Option<f64>) -> Series {
    let points = history.seconds().map(|(ago, sample)| Point::new(-ago, value(sample).unwrap_or(f64::NAN)));
    // The axis is as long from the start as it will be, so that nothing moves but the lines.
    let oldest = Point::new(-(REMEMBERED as f64), f64::NAN);
    Series { name: name.into(), points: std::iter::once(oldest).chain(points).collect() }
}

fn lines(title: &str, y: Axis, series: Vec<Series>) -> String {
    let minutes = |ago: usize| (-(ago as f64) * 60.0, if ago == 0 { "now".to_owned() } else { format!("−{ago}") });
    let x = Axis::linear("minutes").with_ticks((0..=REMEMBERED / 60).rev().map(minutes).collect());
    LineChart { title: title.to_owned(), x, y, series }.svg()
}

/// A line for each name that had a value in the time shown: those with the largest sums, as many as there are colours.
fn lines_by_name(history: &History, values: impl Fn(&Sample) -> Vec<(String, f64)>) -> Vec<Series> {
    let mut sums = std::collections::BTreeMap::<String, f64>::new();
    for (_, sample) in history.seconds() {
        values(sample).into_iter().for_each(|(name, value)| *sums.entry(name).or_default() += value);
    }
    let mut names: Vec<_> = sums.into_iter().collect();
    names.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    names.truncate(COLOURS);
    if names.is_empty() {
        return vec![line(history, "none", |_| Some(0.0))];
    }
    let value = |sample: &Sample, wanted: &str| {
        values(sample).into_iter().find(|(name, _)| name == wanted).map_or(0.0, |(_, value)| value)
    };
    names.into_iter().map(|(name, _)| line(history, name.clone(), |sample| Some(value(sample, &name)))).collect()
}

fn milliseconds(micros: Option<u64>) -> Option<f64> {
    micros.map(|micros| micros as f64 / 1000.0)
}

fn transactions(history: &History) -> String {
    let of =
        |count: fn(&Interval) -> u64| move |sample: &Sample| Some(sample.interval.a_second(count(&sample.interval)));
    let series = vec![
        line(history, "committed", of(|interval| interval.committed)),
        line(history, "rolled back", of(|interval| interval.rolled_back)),
    ];
    lines("Transactions a second", Axis::linear("transactions a second"), series)
}

fn latency(history: &History) -> String {
    let quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];
    let series = quantiles
        .into_iter()
        .map(|(name, quantile)| {
            line(history, name, move |sample| milliseconds(sample.interval.latency.quantile_us(quantile)))
        })
        .collect();
    lines("Commit latency in milliseconds", Axis::logarithmic("milliseconds"), series)
}

/// How large cohorts were lately: the share of flushes in each class of sizes.
fn cohorts(history: &History) -> String {
    let members = history.lately().map(|interval| interval.cohort_members).unwrap_or_default();
    let mut from = 0;
    let mut bars = Vec::new();
    for (upto, count) in members.classes() {
        let name = if from == upto {
            number(upto as f64)
        } else {
            format!("{}–{}", number(from as f64), number(upto as f64))
        };
        let share = if members.count == 0 { 0.0 } else { 100.0 * count as f64 / members.count as f64 };
        bars.push((name, share));
        from = upto + 1;
    }
    // From one member to the largest class that occurred; flushes for nobody are those of checkpoints and of what nobody waits for.
    let used = bars.iter().rposition(|(_, share)| *share > 0.0).map_or(5, |last| last + 1).max(5);
    let bar =
        |(name, value): (String, f64)| Bar { name, value, spread: None, series: 0, label: format!("{value:.1} %") };
    let bars = bars.into_iter().take(used).map(bar).collect();
    BarChart {
        title: "Sizes of cohorts in the last ten seconds".to_owned(),
        axis: Axis::linear("% of the flushes of the last 10 s"),
        baseline: 0.0,
        groups: vec![(String::new(), bars)],
    }
    .svg()
}

fn commits_per_sync(history: &History) -> String {
    let series = vec![line(history, "commits per sync", |sample| sample.interval.commits_per_sync())];
    lines("Commits per sync", Axis::linear("commits"), series)
}

fn flushes(history: &History) -> String {
    let flushes = |sample: &Sample| Some(sample.interval.a_second(sample.interval.cohort_members.count));
    lines("Flushes a second", Axis::linear("flushes a second"), vec![line(history, "flushes", flushes)])
}

fn syncs(history: &History) -> String {
    let mean = |sample: &Sample| {
        let syncs = &sample.interval.sync_time_us;
        (syncs.count > 0).then(|| syncs.mean() / 1000.0)
    };
    let longest = |sample: &Sample| milliseconds(longest(&sample.interval.sync_time_us));
    let series = vec![line(history, "mean", mean), line(history, "longest, at most", longest)];
    lines("Time of a sync in milliseconds", Axis::logarithmic("milliseconds"), series)
}

fn sessions(history: &History) -> String {
    let of = |place: usize| move |sample: &Sample| Some(sample.sessions[place].1 as f64);
    let series = ACTIVITIES.iter().enumerate().map(|(place, activity)| line(history, activity.name(), of(place)));
    lines("Sessions by state", Axis::linear("sessions"), series.collect())
}

fn waits(history: &History) -> String {
    // Sessions that wait for their clients are left out: the chart of sessions by state shows them already, as idle.
    let values = |sample: &Sample| {
        let waits = sample.waits.iter().filter(|(wait, _)| wait.kind != "Client");
        waits.map(|(wait, count)| (format!("{}: {}", wait.kind, wait.event), *count as f64)).collect()
    };
    lines("Sessions that wait, by kind", Axis::linear("sessions"), lines_by_name(history, values))
}

fn prepared(history: &History) -> String {
    let series = vec![line(history, "prepared", |sample| Some(sample.prepared as f64))];
    lines("Prepared transactions", Axis::linear("transactions"), series)
}

fn failures(history: &History) -> String {
    let values = |sample: &Sample| by_second(&sample.interval, &sample.interval.serialization_failures);
    lines("Serialization failures a second", Axis::linear("failures a second"), lines_by_name(history, values))
}

fn latches(history: &History) -> String {
    let values = |sample: &Sample| by_second(&sample.interval, &sample.interval.latch_waits);
    lines("Waits for latches a second", Axis::linear("waits a second"), lines_by_name(history, values))
}

fn by_second(interval: &Interval, counts: &[(&'static str, u64)]) -> Vec<(String, f64)> {
    counts.iter().map(|(name, count)| (name.replace('_', " "), interval.a_second(*count))).collect()
}

fn undurable(history: &History) -> String {
    let series = vec![line(history, "not durable yet", |sample| Some(sample.undurable_bytes as f64 / 1024.0))];
    lines("Log that is not durable yet, in KiB", Axis::linear("KiB"), series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;
    use crate::{Database, Instance, OpenOptions};

    #[test]
    fn every_chart_is_drawn_whatever_there_is_to_show() {
        let folder = tempfile::tempdir().unwrap();
        let instance = Instance::new(Database::open(OpenOptions::new(folder.path())).unwrap());
        let mut history = History::default();
        for samples in [0, 1, 2, 40] {
            while history.samples_taken() < samples {
                history.push(Figures::read(&instance));
            }
            for (name, svg) in draw(&history) {
                assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}: {svg}");
                assert!(!svg.contains("NaN"), "{name}: {svg}");
                assert!(!svg.contains("style="), "{name}: the page's policy allows no style in line");
            }
        }
        instance.database().close().unwrap();
    }
}
