//! Runs with made-up figures.

use cohort_lab::driver::DriverKind;
use cohort_lab::experiment::{ClogLatch, EXPERIMENTS, Experiment, Figure, LatencyUs, Outcome, RoundFigure};
use cohort_lab::load::Load;
use cohort_lab::report::{FORMAT, Machine, MachineDisk, Results, RunOptions};

/// A text that would be something else where it is not escaped, in HTML, in SVG or in Markdown.
pub const HOSTILE: &str = "</td></svg><script>alert('x')</script>|\"&<img src=x onerror=alert(1)> **b** `c`\nnext";

/// Figures of three rounds for every workload, disk, client count and configuration of an experiment. Each configuration is
/// `factor` times as fast as the one before it.
pub fn figures(experiment: &Experiment, factor: f64) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for workload in experiment.workloads {
        for disk in experiment.disks {
            for &clients in experiment.clients {
                let mut first = None;
                let mut tps = 1000.0 * clients as f64;
                for configuration in experiment.configurations {
                    let rounds: Vec<RoundFigure> = [0.98, 1.0, 1.03]
                        .map(|part| RoundFigure {
                            tps: tps * part,
                            latency_us_p50: (900.0 / part) as u64,
                            latency_us_p99: (5000.0 / part) as u64,
                        })
                        .to_vec();
                    figures.push(Figure {
                        workload: workload.name().to_owned(),
                        disk: disk.name(),
                        disk_is_emulated: disk.name() != "real",
                        clients,
                        configuration: configuration.name.to_owned(),
                        tps,
                        tps_lowest: tps * 0.98,
                        tps_highest: tps * 1.03,
                        latency_us: LatencyUs { p50: 900, p90: 1500, p99: 5000, p99_9: 20_000, max: 1_250_000 },
                        rounds,
                        overdue_percent: 0.5,
                        aborted_percent: 0.25,
                        commits_per_sync: Some(clients as f64 / 2.0),
                        ratio: first.map(|first| tps / first),
                        clog_latch: (experiment.name == "clog-group").then_some(ClogLatch {
                            exclusive: 1000.0 / tps,
                            blocked: 0.0123,
                            group_size: Some(3.5),
                        }),
                    });
                    first = first.or(Some(tps));
                    tps *= factor;
                }
            }
        }
    }
    figures
}

/// The outcomes of all experiments.
pub fn outcomes(factor: f64) -> Vec<Outcome> {
    EXPERIMENTS
        .iter()
        .map(|experiment| experiment.outcome(DriverKind::Embedded, Load::Closed, figures(experiment, factor), false))
        .collect()
}

/// A run of all experiments.
pub fn results(factor: f64) -> Results {
    Results {
        format: FORMAT,
        version: "1.2.3".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        command: "cohort lab run all".to_owned(),
        machine: Machine {
            processor: "A processor".to_owned(),
            cores: 2,
            memory_bytes: 8_000_000_000,
            kernel: "6.1".to_owned(),
            disk: Some(MachineDisk { folder: "/tmp".to_owned(), file_system: "ext4".to_owned(), sync_us: Some(1234) }),
        },
        options: RunOptions {
            quick: false,
            driver: DriverKind::Embedded,
            against: None,
            server: None,
            rate_tps: None,
            clients: None,
            disk: None,
            rounds: 3,
            seconds: 10.0,
            seed: 1,
        },
        planned: EXPERIMENTS.iter().map(|experiment| experiment.name.to_owned()).collect(),
        is_partial: false,
        outcomes: outcomes(factor),
    }
}
