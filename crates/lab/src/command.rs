//! `cohort lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use base::{Error, Result, sqlstate};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

use crate::compare;
use crate::disk::Disk;
use crate::driver::DriverKind;
use crate::experiment::{Against, EXPERIMENTS, Experiment, Options};
use crate::load::Load;
use crate::report::{self, Results};

/// Arguments of `cohort lab`.
#[derive(Args)]
pub struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    /// The experiments, each in a sentence.
    List,
    /// Run an experiment, or all of them.
    Run(RunArguments),
    /// Compare two runs: what got better or worse from one build to another.
    ///
    /// Figures of the same experiment, driver, workload, disk, clients and configuration are set beside each other. A
    /// change is marked where every round of one run is beyond every round of the other and the medians differ by the
    /// tolerance; with three rounds chance alone does that in one of ten pairs, with five in one of a hundred. Exit
    /// status: 0 if nothing got worse, 1 if something did, 2 if the runs can't be compared.
    Compare(CompareArguments),
    /// Write the report of a run again, from its results.json.
    Report(ReportArguments),
}

#[derive(Args)]
struct CompareArguments {
    /// results.json of the first run, the one that is compared with.
    first: PathBuf,
    /// results.json of the second.
    second: PathBuf,
    /// By how many percent medians must differ to count.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    tolerance: f64,
    /// Print Markdown.
    #[arg(long)]
    markdown: bool,
}

#[derive(Args)]
struct ReportArguments {
    /// The file.
    results: PathBuf,
    /// Folder for index.html, report.md and results.json.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
}

#[derive(Args)]
struct RunArguments {
    /// An experiment's name (see `cohort lab list`), or `all`.
    name: String,
    /// Short rounds and fewer clients: all experiments in about two minutes.
    #[arg(long)]
    quick: bool,
    /// Folder for index.html, report.md and results.json; they are written after each experiment.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// How the workload reaches the engine.
    #[arg(long, value_enum, default_value_t = DriverKind::Embedded)]
    driver: DriverKind,
    /// Another server, as `postgres://user@host/database`; implies the wire driver. Tables named cohort_lab_* are made in it,
    /// and its user must be a superuser. If it is a Cohort, its switches are set by ALTER SYSTEM and set back at the end.
    #[arg(long, value_name = "URL")]
    against: Option<String>,
    /// Transactions a second that arrive by chance, from all clients together, whether or not those before have ended;
    /// latency counts from the moment at which one was due. Without it, a client begins the next when the last has ended.
    #[arg(long, value_name = "TPS", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Client counts, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    clients: Option<Vec<usize>>,
    /// The disk: real, or the length of an emulated disk's sync, such as 8.3ms, 1ms or 100us.
    #[arg(long, value_name = "DISK")]
    disk: Option<Disk>,
    /// Rounds of each configuration; figures are medians.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Seconds of each round; 10, or 1 in a quick run, if not given.
    #[arg(long, value_name = "N")]
    seconds: Option<f64>,
    /// Seed of the workload's randomness.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The highest rate: more than a machine's clients can begin.
const HIGHEST_RATE_TPS: f64 = 1_000_000.0;

fn parse_rate(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= HIGHEST_RATE_TPS => Ok(rate),
        _ => Err(format!("a rate is a number above 0 and up to {HIGHEST_RATE_TPS}")),
    }
}

/// Runs `cohort lab`.
///
/// # Errors
/// 42704 for an unknown experiment, and what the experiments raise.
pub fn run(arguments: &LabArguments) -> Result<ExitCode> {
    match &arguments.command {
        LabCommand::List => list(),
        LabCommand::Run(arguments) => run_experiments(arguments)?,
        LabCommand::Compare(arguments) => {
            return Ok(match print_comparison(arguments) {
                Ok(has_worse) => ExitCode::from(u8::from(has_worse)),
                Err(error) => {
                    eprintln!("cohort: {error}");
                    ExitCode::from(2)
                }
            });
        }
        LabCommand::Report(arguments) => {
            report::write(&arguments.out, &Results::read(&arguments.results)?)?;
            println!("Report: {}", arguments.out.join("index.html").display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what two runs say about each other, and tells whether something got worse.
fn print_comparison(arguments: &CompareArguments) -> Result<bool> {
    let (first, second) = (Results::read(&arguments.first)?, Results::read(&arguments.second)?);
    let comparison = compare::compare(&first, &second, arguments.tolerance);
    if comparison.both.is_empty() {
        let message = "the two runs have no figure in common";
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
            .hint("Run the same experiments with the same driver, disks and client counts."));
    }
    let of = |name: &str, path: &Path, results: &Results| {
        format!("{name}: {}, Cohort {}, {}", path.display(), results.version, results.started)
    };
    println!("{}\n{}\n", of("A", &arguments.first, &first), of("B", &arguments.second, &second));
    let table = comparison.table();
    println!("{}\n", if arguments.markdown { table.markdown() } else { table.text() });
    for note in comparison.notes() {
        println!("{note}");
    }
    Ok(comparison.has_worse())
}

fn list() {
    for experiment in EXPERIMENTS {
        println!("{:<14} {}", experiment.name, experiment.about);
    }
}

fn chosen(name: &str) -> Result<Vec<&'static Experiment>> {
    if name == "all" {
        return Ok(EXPERIMENTS.iter().collect());
    }
    if let Some(experiment) = EXPERIMENTS.iter().find(|experiment| experiment.name == name) {
        return Ok(vec![experiment]);
    }
    let hint = "`cohort lab list` names the experiments.";
    Err(Error::new(sqlstate::UNDEFINED_OBJECT, format!("there is no experiment \"{name}\"")).hint(hint))
}

fn run_experiments(arguments: &RunArguments) -> Result<()> {
    let experiments = chosen(&arguments.name)?;
    if arguments.rounds == 0 || arguments.clients.as_ref().is_some_and(|clients| clients.contains(&0)) {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "rounds and clients must be at least 1"));
    }
    if arguments.against.is_some() && arguments.disk.is_some_and(|disk| disk != Disk::Real) {
        let message = "another server's disk can't be slowed from here";
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message).hint("Leave --disk or --against away."));
    }
    let options = Options {
        driver: if arguments.against.is_some() { DriverKind::Wire } else { arguments.driver },
        against: arguments.against.as_deref().map(Against::new).transpose()?,
        load: arguments.rate.map_or(Load::Closed, |rate_tps| Load::Open { rate_tps }),
        quick: arguments.quick,
        clients: arguments.clients.clone(),
        disk: arguments.disk,
        rounds: arguments.rounds,
        seconds: arguments.seconds.unwrap_or(if arguments.quick { 1.0 } else { 10.0 }),
        seed: arguments.seed,
    };
    // Ctrl-C ends the round at hand and keeps what is done; a second one ends the program.
    let stop = Arc::new(AtomicBool::new(false));
    let watch = |flag: &Arc<AtomicBool>| {
        signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, Arc::clone(flag))
            .and_then(|_| signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(flag)))
    };
    watch(&stop).map_err(|error| Error::io("could not watch for Ctrl-C", &error))?;
    let rounds: usize = experiments.iter().map(|experiment| experiment.round_count(&options)).sum();
    let bar = ProgressBar::new(rounds as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} rounds, {eta} left  {msg}");
    bar.set_style(style.map_err(|error| Error::internal(error.to_string()))?);
    bar.enable_steady_tick(Duration::from_millis(500));
    let mut results = Results::begin(&options, &experiments);
    let mut is_first = true;
    for experiment in experiments {
        let outcome = experiment.run(&options, &stop, &mut |what| {
            if !std::mem::take(&mut is_first) {
                bar.inc(1);
            }
            bar.set_message(what.to_owned());
        })?;
        bar.suspend(|| report::print(&outcome));
        results.push(outcome);
        // After each: whatever ends the run loses no more than the experiment at hand.
        report::write(&arguments.out, &results)?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    bar.finish_and_clear();
    println!("\nReport: {}", arguments.out.join("index.html").display());
    Ok(())
}
