//! Which charts a report has.

use super::results::Results;
use super::table::{disk, ratio};
use crate::experiment::{Figure, Outcome};
use crate::plot::{Axis, Bar, BarChart, LineChart, Point, Series};

/// A chart with its caption.
pub(super) struct Chart {
    /// The caption, which describes the chart.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// The published ratios beside those here; none if nothing was measured.
pub(super) fn overview(results: &Results) -> Option<Chart> {
    let caption =
        "Throughput after the improvement over throughput before: published, and here with the rounds' spread";
    let groups: Vec<(String, Vec<Bar>)> = results
        .outcomes
        .iter()
        .filter_map(|outcome| {
            let headline = outcome.comparisons.iter().find(|comparison| comparison.is_headline)?;
            let mut bars = Vec::new();
            if let Some(published) = headline.published_ratio {
                bars.push(Bar {
                    name: "published".to_owned(),
                    value: published,
                    spread: headline.published_ratio_up_to.map(|to| (published, to)),
                    series: 5,
                    label: format!("× {}", ratio(published)),
                });
            }
            bars.push(Bar {
                name: if headline.disk_is_emulated { "here, emulated disk" } else { "here" }.to_owned(),
                value: headline.ratio,
                spread: Some((headline.ratio_lowest, headline.ratio_highest)),
                series: 0,
                label: format!("× {}", ratio(headline.ratio)),
            });
            Some((outcome.experiment.clone(), bars))
        })
        .collect();
    let axis = Axis::logarithmic("after / before, logarithmic");
    let chart = BarChart { title: caption.to_owned(), axis, baseline: 1.0, groups };
    (!chart.groups.is_empty()).then(|| Chart { caption: caption.to_owned(), svg: chart.svg() })
}

/// The charts of an experiment: for each workload and disk throughput, latency, and what else it is about.
pub(super) fn of_outcome(outcome: &Outcome) -> Vec<Chart> {
    let mut places: Vec<(&str, &str, bool)> = Vec::new();
    for figure in &outcome.figures {
        let place = (figure.workload.as_str(), figure.disk.as_str(), figure.disk_is_emulated);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mut charts = Vec::new();
    for (workload, disk_name, is_emulated) in places {
        let of_place = |figure: &&Figure| figure.workload == workload && figure.disk == disk_name;
        let figures: Vec<&Figure> = outcome.figures.iter().filter(of_place).collect();
        let place = format!("{workload}, {} disk", disk(disk_name, is_emulated));
        charts.push(over_clients(&figures, &format!("Throughput: {place}"), "transactions a second", |figure| {
            Some((figure.tps, Some((figure.tps_lowest, figure.tps_highest))))
        }));
        charts.push(latency(&figures, &place));
        if figures.iter().any(|figure| figure.commits_per_sync.is_some()) {
            let what = format!("Commits for each sync of the log: {place}");
            charts.push(over_clients(&figures, &what, "commits a sync", |figure| {
                figure.commits_per_sync.map(|commits| (commits, None))
            }));
        }
        if figures.iter().any(|figure| figure.clog_latch.is_some()) {
            let what = format!("How often the commit log's latch is taken: {place}");
            charts.push(over_clients(&figures, &what, "exclusive acquisitions a transaction", |figure| {
                figure.clog_latch.map(|latch| (latch.exclusive, None))
            }));
            let what = format!("How often a thread sleeps for the commit log's latch: {place}");
            charts.push(over_clients(&figures, &what, "sleeps for a thousand transactions", |figure| {
                figure.clog_latch.map(|latch| (1000.0 * latch.blocked, None))
            }));
        }
    }
    charts
}

/// The configurations of figures, each once and in their order, and its place among them.
fn configurations<'f>(figures: &[&'f Figure]) -> Vec<&'f str> {
    let mut names: Vec<&str> = Vec::new();
    for figure in figures {
        if !names.contains(&figure.configuration.as_str()) {
            names.push(&figure.configuration);
        }
    }
    names
}

/// Those of one configuration.
fn of<'f>(figures: &'f [&'f Figure], name: &str) -> impl Iterator<Item = &'f Figure> {
    figures.iter().copied().filter(move |figure| figure.configuration == name)
}

type Value = (f64, Option<(f64, f64)>);

/// A line for each configuration over the client counts; bars where there is one count alone.
fn over_clients(figures: &[&Figure], caption: &str, label: &str, value: impl Fn(&Figure) -> Option<Value>) -> Chart {
    let mut counts: Vec<usize> = figures.iter().map(|figure| figure.clients).collect();
    counts.sort_unstable();
    counts.dedup();
    let names = configurations(figures);
    if let [clients] = counts[..] {
        let bars = names.iter().enumerate().filter_map(|(series, name)| {
            let (value, spread) = of(figures, name).find_map(&value)?;
            Some(Bar { name: (*name).to_owned(), value, spread, series, label: String::new() })
        });
        let caption = format!("{caption}, {clients} clients");
        let groups = vec![(String::new(), bars.collect())];
        let chart = BarChart { title: caption.clone(), axis: Axis::linear(label), baseline: 0.0, groups };
        return Chart { svg: chart.svg(), caption };
    }
    let line = |name: &&str| Series {
        name: (*name).to_owned(),
        points: of(figures, name)
            .filter_map(|figure| {
                let (y, spread) = value(figure)?;
                Some(Point { x: figure.clients as f64, y, spread })
            })
            .collect(),
    };
    let chart = LineChart {
        title: caption.to_owned(),
        x: Axis::logarithmic("clients").marked_at(counts.iter().map(|count| *count as f64)),
        y: Axis::linear(label),
        series: names.iter().map(line).collect(),
    };
    Chart { caption: caption.to_owned(), svg: chart.svg() }
}

/// Latency's percentiles at the highest client count.
fn latency(figures: &[&Figure], place: &str) -> Chart {
    let clients = figures.iter().map(|figure| figure.clients).max().unwrap_or(0);
    let highest: Vec<&Figure> = figures.iter().filter(|figure| figure.clients == clients).copied().collect();
    let names =
        highest.first().map_or_else(Vec::new, |figure| figure.latency_us.named().map(|(name, _)| name).to_vec());
    let ticks = names
        .iter()
        .enumerate()
        .map(|(place, name)| (place as f64, if *name == "max" { (*name).to_owned() } else { format!("{name} %") }));
    let caption = format!("Latency: {place}, {clients} clients");
    let line = |figure: &&Figure| Series {
        name: figure.configuration.clone(),
        points: (0..)
            .map(f64::from)
            .zip(figure.latency_us.named())
            .map(|(x, (_, micros))| Point::new(x, micros as f64 / 1000.0))
            .collect(),
    };
    let chart = LineChart {
        title: caption.clone(),
        x: Axis::linear("of the transactions are as fast").with_ticks(ticks.collect()),
        y: Axis::logarithmic("milliseconds, logarithmic"),
        series: highest.iter().map(line).collect(),
    };
    Chart { svg: chart.svg(), caption }
}
