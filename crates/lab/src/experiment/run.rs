//! Running an experiment.

use std::time::Duration;

use base::Result;
use sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

use super::{
    ClogLatch, Configuration, Experiment, Figure, LatencyUs, Outcome, PublishedFigure, Question, RoundFigure, SLI_ROWS,
};
use crate::disk::Disk;
use crate::driver::{Driver, DriverKind, EngineCounts, Measurement, Round, Workload};
use crate::load::Load;
use crate::plot::number;
use crate::wire::ServerKind;

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the engine is reached.
    pub driver: DriverKind,
    /// Another server, for the wire driver.
    pub against: Option<Against>,
    /// How transactions arrive.
    pub load: Load,
    /// Fewer clients and shorter rounds.
    pub quick: bool,
    /// Client counts in place of the experiment's own.
    pub clients: Option<Vec<usize>>,
    /// A disk in place of the experiment's own.
    pub disk: Option<Disk>,
    /// Rounds of each configuration.
    pub rounds: usize,
    /// Seconds of each round.
    pub seconds: f64,
    /// For the workload's randomness.
    pub seed: u64,
}

/// A server that is not started for the run.
#[derive(Clone, Debug)]
pub struct Against {
    /// Where it is.
    pub url: String,
    /// The kind of server.
    pub kind: ServerKind,
}

impl Against {
    /// The server at `url`.
    ///
    /// # Errors
    /// 08006 when it can't be reached.
    pub fn new(url: &str) -> Result<Against> {
        Ok(Against { url: url.to_owned(), kind: ServerKind::of(url)? })
    }
}

/// Makes the driver for a disk, with so many rows in `sli_test`.
fn make_driver(options: &Options, disk: Disk, sli_rows: i32) -> Result<Box<dyn Driver>> {
    Ok(match (options.driver, &options.against) {
        (_, Some(server)) => Box::new(crate::wire::WireDriver::against(&server.url, options.seed, sli_rows)?),
        (DriverKind::Embedded, None) => Box::new(crate::embedded::EmbeddedDriver::new(disk, options.seed, sli_rows)?),
        (DriverKind::Wire, None) => Box::new(crate::wire::WireDriver::own(disk, options.seed, sli_rows)?),
    })
}

impl Experiment {
    /// Runs the experiment. `progress` is called before each round with a description of it, and after each with the measurement.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn run(&self, options: &Options, stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(&str)) -> Result<Outcome> {
        let mut figures = Vec::new();
        for disk in self.disks(options) {
            if self.configurations(options).is_empty() {
                break;
            }
            let sli_rows = self.sli_rows(options);
            let mut driver = make_driver(options, disk, sli_rows)?;
            for &workload in self.workloads(options) {
                for clients in self.clients(options) {
                    let configurations = self.configurations(options);
                    let mut rounds: Vec<Vec<Measurement>> = configurations.iter().map(|_| Vec::new()).collect();
                    for round in 0..options.rounds {
                        for turn in 0..configurations.len() {
                            // Another one is the first in each round: none is always the one that finds the tables smallest.
                            let place = (round + turn) % configurations.len();
                            let configuration = configurations[place];
                            if stop.load(Ordering::Relaxed) {
                                break;
                            }
                            progress(&format!(
                                "{}: {} with {clients} clients, {}, {} disk",
                                self.name,
                                workload.name(),
                                configuration.name,
                                disk.name()
                            ));
                            rounds[place].push(driver.run(&Round {
                                workload,
                                clients,
                                load: options.load,
                                length: Duration::from_secs_f64(options.seconds),
                                switches: configuration.switches,
                                stop,
                            })?);
                        }
                    }
                    figures.extend(self.figures(&configurations, workload, disk, clients, &rounds));
                }
            }
        }
        let mut outcome = self.outcome(options.driver, options.load, figures, stop.load(Ordering::Relaxed));
        let sli_rows = self.sli_rows(options);
        if sli_rows != 0 && sli_rows != SLI_ROWS {
            outcome.verdict.push_str(&format!(" (sli_test had {} rows in this quick run.)", number(sli_rows.into())));
        }
        Ok(outcome)
    }

    /// Makes the outcome from the figures.
    pub fn outcome(&self, driver: DriverKind, load: Load, figures: Vec<Figure>, is_partial: bool) -> Outcome {
        let comparisons = self.comparisons(&figures);
        Outcome {
            experiment: self.name.to_owned(),
            about: self.about.to_owned(),
            published: self.published.to_owned(),
            published_figures: self.published_figures.iter().map(PublishedFigure::new).collect(),
            driver,
            verdict: self.verdict(load, &figures, &comparisons),
            verdict_short: self.verdict_short(load, &figures, &comparisons).to_owned(),
            figures,
            comparisons,
            is_partial,
        }
    }

    /// The figures of all configurations at one client count.
    fn figures(
        &self,
        configurations: &[&Configuration],
        workload: Workload,
        disk: Disk,
        clients: usize,
        rounds: &[Vec<Measurement>],
    ) -> Vec<Figure> {
        let mut figures: Vec<Figure> = Vec::new();
        let round = |measurement: &Measurement| RoundFigure {
            tps: measurement.tps(),
            latency_us_p50: measurement.latency_us.value_at_quantile(0.5),
            latency_us_p99: measurement.latency_us.value_at_quantile(0.99),
        };
        for (configuration, measured) in configurations.iter().zip(rounds) {
            let mut tps: Vec<f64> = measured.iter().map(Measurement::tps).collect();
            tps.sort_by(f64::total_cmp);
            if tps.is_empty() {
                continue;
            }
            let median = (tps[tps.len() / 2] + tps[(tps.len() - 1) / 2]) / 2.0;
            let mut latency = crate::load::new_histogram();
            for measurement in measured {
                latency.add(&measurement.latency_us).expect("all histograms have the same bounds");
            }
            let counts: Option<EngineCounts> =
                measured.iter().map(|measurement| measurement.engine).reduce(|one, two| Some(one? + two?)).flatten();
            let transactions: u64 = measured.iter().map(|measurement| measurement.transactions).sum();
            let aborts: u64 = measured.iter().map(|measurement| measurement.aborts).sum();
            let overdue: u64 = measured.iter().map(|measurement| measurement.overdue).sum();
            let first = figures.first().map(|first: &Figure| first.tps);
            figures.push(Figure {
                workload: workload.name().to_owned(),
                disk: disk.name(),
                disk_is_emulated: disk != Disk::Real,
                clients,
                configuration: configuration.name.to_owned(),
                tps: median,
                tps_lowest: tps[0],
                tps_highest: tps[tps.len() - 1],
                latency_us: LatencyUs::new(&latency),
                rounds: measured.iter().map(round).collect(),
                overdue_percent: 100.0 * overdue as f64 / (transactions + overdue).max(1) as f64,
                aborted_percent: 100.0 * aborts as f64 / (transactions + aborts).max(1) as f64,
                commits_per_sync: counts
                    .filter(|counts| counts.syncs > 0 && configuration.switches.synchronous_commit)
                    .map(|counts| transactions as f64 / counts.syncs as f64),
                ratio: first.map(|first| median / first),
                clog_latch: counts
                    .filter(|_| self.question == Question::Latch)
                    .and_then(|counts| counts.latch)
                    .map(|latch| ClogLatch::new(latch, transactions)),
            });
        }
        figures
    }
}
