//! `cohort lab`.

use std::path::PathBuf;
use std::time::Duration;

use base::{Error, Result, sqlstate};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

use crate::disk::Disk;
use crate::driver::DriverKind;
use crate::experiment::{Against, EXPERIMENTS, Experiment, Options};
use crate::load::Load;
use crate::report;

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
}

#[derive(Args)]
struct RunArguments {
    /// An experiment's name (see `cohort lab list`), or `all`.
    name: String,
    /// Short rounds and fewer clients: all experiments in about two minutes.
    #[arg(long)]
    quick: bool,
    /// Folder for results.json.
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
pub fn run(arguments: &LabArguments) -> Result<()> {
    match &arguments.command {
        LabCommand::List => {
            list();
            Ok(())
        }
        LabCommand::Run(arguments) => run_experiments(arguments),
    }
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
    let mut outcomes = Vec::new();
    let mut is_first = true;
    for experiment in experiments {
        let outcome = experiment.run(&options, &stop, &mut |what| {
            if !std::mem::take(&mut is_first) {
                bar.inc(1);
            }
            bar.set_message(what.to_owned());
        })?;
        bar.suspend(|| report::print(&outcome));
        outcomes.push(outcome);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    bar.finish_and_clear();
    report::write(&arguments.out, &options, &outcomes)
}
