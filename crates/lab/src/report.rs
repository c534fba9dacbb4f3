//! What an experiment found, as a table for people and as JSON for programs.

use std::io::Write;
use std::path::Path;

use base::{Error, Result};
use serde::Serialize;

use crate::experiment::{Options, Outcome};

/// The file of results: `results.json`.
///
/// `machine` names the machine, `options` how the run was asked for, and `outcomes` holds one entry an experiment,
/// each with its figures (transactions a second as the median of rounds with the lowest and highest, latencies in
/// microseconds, attempts that could not be serialized in percent, commits for each sync, the ratio to the configuration named first, and
/// where that is the question, how often the commit log's latch was taken and slept for by each transaction).
#[derive(Serialize)]
struct Results<'r> {
    format: u32,
    version: &'static str,
    machine: Machine,
    quick: bool,
    rounds: usize,
    seconds: f64,
    seed: u64,
    outcomes: &'r [Outcome],
}

#[derive(Serialize)]
struct Machine {
    cores: usize,
    processor: String,
    kernel: String,
}

fn machine() -> Machine {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    Machine {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        processor: model.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned()),
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
    }
}

/// Prints an outcome as a table.
pub fn print(outcome: &Outcome) {
    println!("\n{}: {}", outcome.experiment, outcome.about);
    println!("Published: {}", outcome.published);
    let shows_latch = outcome.figures.iter().any(|figure| figure.clog_latch.is_some());
    print!(
        "\n{:<10} {:<7} {:>7}  {:<22} {:>10} {:>19} {:>10} {:>10} {:>8} {:>8} {:>7}",
        "workload",
        "disk",
        "clients",
        "configuration",
        "tps",
        "lowest..highest",
        "median us",
        "99 % us",
        "aborts %",
        "c/sync",
        "ratio"
    );
    println!("{}", if shows_latch { "  latch/tx  blk/tx  group" } else { "" });
    let mut last = None;
    for figure in &outcome.figures {
        let group = (figure.workload, figure.disk.clone(), figure.clients);
        if last.as_ref().is_some_and(|last| *last != group) {
            println!();
        }
        last = Some(group);
        let spread = format!("{:.0}..{:.0}", figure.tps_lowest, figure.tps_highest);
        let optional = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        print!(
            "{:<10} {:<7} {:>7}  {:<22} {:>10.0} {:>19} {:>10} {:>10} {:>8.3} {:>8} {:>7}",
            figure.workload,
            figure.disk,
            figure.clients,
            figure.configuration,
            figure.tps,
            spread,
            figure.latency_us_median,
            figure.latency_us_99,
            figure.aborted_percent,
            optional(figure.commits_per_sync, 1),
            optional(figure.ratio, 2)
        );
        match figure.clog_latch {
            Some(latch) => {
                println!("  {:>8.3} {:>7.4} {:>6}", latch.exclusive, latch.blocked, optional(latch.group_size, 2));
            }
            None => println!(),
        }
    }
    println!("\n{}", outcome.verdict);
    if outcome.is_partial {
        println!("(Stopped before its end; what was done is kept.)");
    }
}

/// Writes `results.json` into `folder`.
///
/// # Errors
/// When the folder can't be written to.
pub fn write(folder: &Path, options: &Options, outcomes: &[Outcome]) -> Result<()> {
    let path = folder.join("results.json");
    let io = |error: std::io::Error| Error::io(format!("could not write \"{}\"", path.display()), &error);
    std::fs::create_dir_all(folder).map_err(io)?;
    let results = Results {
        format: 1,
        version: env!("CARGO_PKG_VERSION"),
        machine: machine(),
        quick: options.quick,
        rounds: options.rounds,
        seconds: options.seconds,
        seed: options.seed,
        outcomes,
    };
    let text = serde_json::to_string_pretty(&results)
        .map_err(|error| Error::internal(format!("results can't be written: {error}")))?;
    let mut file = std::fs::File::create(&path).map_err(io)?;
    file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")).map_err(io)?;
    println!("\nResults: {}", path.display());
    Ok(())
}
