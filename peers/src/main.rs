//! Cohort beside other embedded engines: small transactions, each durable before it counts.
//!
//! Each *cell* of the comparison ([`cell`]) is an engine, a workload and a number of clients ([`clients`]), in a database of its own on the
//! same disk. Within a round the engines alternate; medians of the rounds are reported ([`report`]). Before that the engines' syncs are
//! counted ([`syncs`]): an engine that does not sync is no peer. [`peer`] has the interface of an engine, [`engines`] the
//! implementations.

mod cell;
mod clients;
mod engines;
mod machine;
mod options;
mod peer;
mod report;
mod syncs;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use machine::Machine;
use options::{Bench, Command, CommandLine};
use peer::Engine;
use report::{About, Failure, Report};
use syncs::Syncs;

fn main() -> ExitCode {
    let CommandLine { command, bench } = CommandLine::parse();
    let done = match command {
        None => compare(&bench),
        Some(Command::Syncs { engines, dir }) => show_syncs(&engines, &dir),
        Some(Command::Merge { files, out }) => merge(&files, &out),
        Some(Command::Commits { engine, commits, dir }) => syncs::commit(engine, commits, &dir),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The comparison.
fn compare(bench: &Bench) -> Result<()> {
    bench.check()?;
    let machine = Machine::here(&bench.dir)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let asked = interrupted.clone();
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("could not listen for Ctrl-C")?;

    let mut about = Vec::new();
    for &engine in &bench.engines {
        let syncs = if bench.no_syncs { None } else { Some(counted_syncs(engine, &bench.dir)?) };
        about.push(About { engine, facts: engines::facts(engine), syncs });
    }
    let mut report = Report::new(today(), machine, bench, about);
    let cells = bench.cells();
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} gone, about {eta} left  {msg}")
        .context("the progress bar's template")?;
    let bar = ProgressBar::new((cells.len() * bench.rounds) as u64).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(500));
    'rounds: for round in 0..bench.rounds {
        for &cell in &cells {
            bar.set_message(format!("{} {:?} {} {:?}", cell.engine.name(), cell.workload, cell.clients, cell.kind));
            let measured = cell::measure(cell, bench.run(cell, round), &bench.dir, &interrupted);
            // A measurement that was cut short is worthless.
            if interrupted.load(Ordering::Relaxed) {
                break 'rounds;
            }
            match measured {
                Ok(measured) => report.add(cell, measured),
                // An engine that fails is told of; the others go on.
                Err(error) => {
                    bar.suspend(|| eprintln!("peers: {error:#}"));
                    report.failures.push(Failure { cell, error: format!("{error:#}") });
                }
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    keep(&report, &bench.out)?;
    if interrupted.load(Ordering::Relaxed) {
        eprintln!("interrupted: what was complete is kept");
    }
    match report.failures.len() {
        0 => Ok(()),
        failures => bail!("{failures} runs failed"),
    }
}

/// Shows and writes what there is.
fn keep(report: &Report, out: &Path) -> Result<()> {
    if report.results.is_empty() && report.failures.is_empty() {
        return Ok(());
    }
    print!("{}", report.text());
    report.write(out)?;
    println!("written to {0}/peers.json and {0}/peers.md", out.display());
    Ok(())
}

/// An engine's syncs.
///
/// # Errors
/// If it does not sync each commit: it is no peer then.
fn counted_syncs(engine: Engine, dir: &Path) -> Result<Syncs> {
    let syncs = syncs::count(engine, dir)?;
    if !syncs.suffice() {
        bail!("{} is no peer here: {}", engine.name(), syncs.in_words());
    }
    Ok(syncs)
}

fn show_syncs(engines: &[Engine], dir: &Path) -> Result<()> {
    machine::file_system(dir)?;
    for &engine in engines {
        println!("{:<20}{}", engine.name(), syncs::count(engine, dir)?.in_words());
    }
    Ok(())
}

fn merge(files: &[std::path::PathBuf], out: &Path) -> Result<()> {
    let mut reports = files.iter().map(|file| Report::read(file));
    let mut merged = reports.next().context("no file to merge")??;
    for (report, file) in reports.zip(&files[1..]) {
        merged.merge(report?).with_context(|| format!("\"{}\" can't be merged", file.display()))?;
    }
    keep(&merged, out)
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
