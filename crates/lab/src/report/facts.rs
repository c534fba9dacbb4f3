//! The facts that a report tells about the run as a whole, in words.

use super::results::Results;
use crate::driver::DriverKind;
use crate::experiment::Outcome;
use crate::plot::number;

/// The machine and the run, each fact with its name.
pub(super) fn of_run(results: &Results) -> Vec<(&'static str, String)> {
    let (machine, options) = (&results.machine, &results.options);
    let mut facts = vec![
        ("Processor", format!("{}, {} cores", machine.processor, machine.cores)),
        ("Memory", format!("{} GB", number(machine.memory_bytes as f64 / 1e9))),
        ("Kernel", machine.kernel.clone()),
    ];
    if let Some(disk) = &machine.disk {
        let sync = match disk.sync_us {
            Some(micros) => {
                format!("a sync takes {} µs (median, 8 kB, measured before the run)", number(micros as f64))
            }
            None => "how long a sync takes could not be measured".to_owned(),
        };
        facts.push(("Disk", format!("{} under {}; {sync}", disk.file_system, disk.folder)));
    }
    let driver = match (&options.against, options.driver) {
        (Some(url), _) => format!("connections to another server, {url}"),
        (None, DriverKind::Embedded) => "threads on the engine's own API".to_owned(),
        (None, DriverKind::Wire) => {
            "connections over the PostgreSQL protocol, to a server in the same process".to_owned()
        }
    };
    facts.push(("Driver", driver));
    if let Some(server) = &options.server {
        facts.push(("Server", server.clone()));
    }
    let load = match options.rate_tps {
        None => "closed: each client begins a transaction when its last has ended".to_owned(),
        Some(rate) => {
            format!("open: {} transactions a second are due by chance, and latency counts from then", number(rate))
        }
    };
    facts.push(("Load", load));
    let quick = if options.quick { ", a quick run: fewer clients, workloads and rows" } else { "" };
    facts.push(("Rounds", format!("{} of {} s each{quick}", options.rounds, number(options.seconds))));
    facts.push(("Seed", options.seed.to_string()));
    facts.push(("Version", format!("Cohort {}", results.version)));
    facts.push(("Began", results.started.replace('T', " ").replace('Z', " UTC")));
    facts.push(("Command", results.command.clone()));
    facts
}

/// That a run is not whole, if it isn't.
pub(super) fn partial(results: &Results) -> Option<String> {
    let missing = results.missing();
    match (results.is_partial, missing.is_empty()) {
        (false, _) => None,
        (true, true) => Some("This run was stopped before its end; what was done is kept.".to_owned()),
        (true, false) => {
            Some(format!("This run is not whole: it was stopped, or goes on. Not run: {}.", missing.join(", ")))
        }
    }
}

/// Describes the disks of an experiment in plain words.
pub(super) fn disks(results: &Results, outcome: &Outcome) -> Vec<String> {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for figure in &outcome.figures {
        let disk = (figure.disk.as_str(), figure.disk_is_emulated);
        if !names.contains(&disk) {
            names.push(disk);
        }
    }
    let describe = |(name, is_emulated): (&str, bool)| match (is_emulated, &results.machine.disk) {
        (true, _) => format!(
            "{name}: an emulated disk. It is this machine's own, with syncs that are made to last at least {name}, one at a time."
        ),
        (false, Some(disk)) => {
            let sync = disk.sync_us.map(|micros| format!(", {} µs a sync", number(micros as f64)));
            format!("{name}: this machine's own disk ({}{}).", disk.file_system, sync.unwrap_or_default())
        }
        (false, None) => format!("{name}: the other server's disk."),
    };
    names.into_iter().map(describe).collect()
}

/// How figures are obtained, for who reads nothing else.
pub(super) const METHOD: &str = "Every figure is the median of its rounds; before and after take turns round by round on one database. \
    A ratio's range is that of the rounds that ran beside each other. “Faster” and “slower” are said only where every round of the one is above every \
    round of the other. Latency is from a transaction's start, or under an open load from when it was due, until it is durable.";
