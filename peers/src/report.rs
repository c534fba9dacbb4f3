//! The results, as JSON, as Markdown, and on the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Round};
use crate::machine::Machine;
use crate::options::Bench;
use crate::peer::{Clients, Engine, Facts, Workload};
use crate::syncs::Syncs;

/// The layout of peers.json. Raised when a field changes its meaning.
const SCHEMA: u32 = 1;

/// All of peers.json.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    /// When it began, in UTC.
    pub date: String,
    pub machine: Machine,
    pub seconds: f64,
    pub rows: u64,
    pub seed: u64,
    /// How long clients waited after a conflict, in microseconds.
    pub pause_us: u64,
    pub engines: Vec<About>,
    pub results: Vec<Measurement>,
    pub failures: Vec<Failure>,
}

/// A run that gave no figure: an engine failed, or its data was wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    #[serde(flatten)]
    pub cell: Cell,
    pub error: String,
}

/// The facts and the counted syncs of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub engine: Engine,
    #[serde(flatten)]
    pub facts: Facts,
    /// Absent if they were not counted.
    pub syncs: Option<Syncs>,
}

/// A cell's rounds, in the order in which they were run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    #[serde(flatten)]
    pub cell: Cell,
    pub rounds: Vec<Round>,
}

impl Measurement {
    /// The middle of the rounds' throughputs, with the lowest and the highest.
    pub fn throughput(&self) -> (f64, f64, f64) {
        let rates = self.sorted(|round| round.commits_per_second);
        (rates[rates.len() / 2], rates[0], rates[rates.len() - 1])
    }

    /// The middle of something over the rounds.
    pub fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        let values = self.sorted(of);
        values[values.len() / 2]
    }

    fn sorted(&self, of: impl Fn(&Round) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

impl Report {
    /// A report without results yet.
    pub fn new(date: String, machine: Machine, bench: &Bench, engines: Vec<About>) -> Report {
        let &Bench { rows, seed, pause_us, .. } = bench;
        let seconds = bench.seconds();
        let (results, failures) = (Vec::new(), Vec::new());
        Report { schema: SCHEMA, date, machine, seconds, rows, seed, pause_us, engines, results, failures }
    }

    pub fn add(&mut self, cell: Cell, round: Round) {
        match self.results.iter_mut().find(|measurement| measurement.cell == cell) {
            Some(measurement) => measurement.rounds.push(round),
            None => self.results.push(Measurement { cell, rounds: vec![round] }),
        }
    }

    /// Adds what another run has measured.
    ///
    /// # Errors
    /// If it can't be compared: another machine, length or number of rows, or other versions.
    pub fn merge(&mut self, other: Report) -> Result<()> {
        ensure!(self.machine == other.machine, "the runs are of different machines");
        ensure!(self.seconds == other.seconds, "the runs measured for different lengths");
        ensure!(self.rows == other.rows, "the runs had different numbers of rows");
        ensure!(self.pause_us == other.pause_us, "the runs waited differently after conflicts");
        for about in other.engines {
            match self.engines.iter_mut().find(|known| known.engine == about.engine) {
                Some(known) => {
                    ensure!(known.facts == about.facts, "the runs had different {}s", about.engine.name());
                    known.syncs = known.syncs.take().or(about.syncs);
                }
                None => self.engines.push(about),
            }
        }
        for measurement in other.results {
            measurement.rounds.into_iter().for_each(|round| self.add(measurement.cell, round));
        }
        self.failures.extend(other.failures);
        self.engines.sort_by_key(|about| about.engine);
        Ok(())
    }

    /// Reads what [`Report::write`] has written.
    pub fn read(file: &Path) -> Result<Report> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("could not read \"{shown}\""))?;
        let report: Report = serde_json::from_str(&text).with_context(|| format!("\"{shown}\" is no peers.json"))?;
        ensure!(report.schema == SCHEMA, "\"{shown}\" has schema {}, this program knows {SCHEMA}", report.schema);
        let measured = report.results.iter().all(|measurement| !measurement.rounds.is_empty());
        ensure!(measured, "\"{shown}\" has a result without rounds");
        Ok(report)
    }

    /// Writes peers.json and peers.md into a folder, which is made if need be.
    pub fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("could not make \"{}\"", folder.display()))?;
        let json = serde_json::to_string_pretty(self).context("a report is JSON")? + "\n";
        for (name, text) in [("peers.json", json), ("peers.md", self.markdown())] {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| format!("could not write \"{}\"", file.display()))?;
        }
        Ok(())
    }

    /// The tables, for a terminal.
    pub fn text(&self) -> String {
        self.tables(presets::UTF8_FULL_CONDENSED, "")
    }

    /// The tables and what belongs to them, as Markdown.
    pub fn markdown(&self) -> String {
        let Report { date, seconds, rows, pause_us, .. } = self;
        let again = if *pause_us == 0 { "at once".to_owned() } else { format!("after {pause_us} us") };
        let rounds = self.results.iter().map(|measurement| measurement.rounds.len()).max().unwrap_or(0);
        let mut out = format!(
            "Measured {date} on {}. Median of up to {rounds} rounds of {seconds} s (lowest to highest); read-modify-write \
             chooses one of {rows} rows, and is tried again {again} after a conflict.\n\n",
            self.machine.in_words()
        );
        out += &self.tables(presets::ASCII_MARKDOWN, "### ");
        out += "### Engines compared\n\n";
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "engine",
            "version",
            "licence",
            "settings",
            "isolation",
            "durable by",
            "syncs seen, one client",
        ]);
        for About { engine, facts, syncs } in &self.engines {
            let syncs = syncs.as_ref().map_or("not counted".into(), Syncs::in_words);
            let Facts { version, licence, settings, isolation, durability } = facts;
            table.add_row([engine.name(), version, licence, settings, isolation, durability, &syncs]);
        }
        out + &format!("{table}\n")
    }

    fn tables(&self, preset: &str, heading: &str) -> String {
        let mut groups: BTreeMap<(Workload, Clients), Vec<&Measurement>> = BTreeMap::new();
        for measurement in &self.results {
            groups.entry((measurement.cell.workload, measurement.cell.kind)).or_default().push(measurement);
        }
        let mut out = String::new();
        for ((workload, kind), measurements) in groups {
            let who = if kind == Clients::Threads { "threads" } else { "tasks on 2 worker threads" };
            let median = |of: fn(&Round) -> f64| move |measurement: &Measurement| measurement.median(of);
            let p50 = median(|round| round.latency_us.p50 as f64);
            let p99 = median(|round| round.latency_us.p99 as f64);
            let retries = median(|round| round.retries_per_commit);
            let rate = |measurement: &Measurement| {
                let (middle, lowest, highest) = measurement.throughput();
                format!("{} ({} to {})", grouped(middle), grouped(lowest), grouped(highest))
            };
            let latency =
                |measurement: &Measurement| format!("{} / {}", grouped(p50(measurement)), grouped(p99(measurement)));
            out += &table(&format!("{heading}{} a second, {who}", workload.title()), preset, &measurements, rate);
            out += &table(&format!("{heading}Their latency, us: median / 99 %"), preset, &measurements, latency);
            if workload == Workload::Add {
                let retries = |measurement: &Measurement| format!("{:.3}", retries(measurement));
                out += &table(&format!("{heading}Their retries per commit"), preset, &measurements, retries);
            }
        }
        for Failure { error, .. } in &self.failures {
            out += &format!("Failed: {error}\n\n");
        }
        out
    }
}

/// A table of a value for each engine and number of clients.
fn table(title: &str, preset: &str, measurements: &[&Measurement], value: impl Fn(&Measurement) -> String) -> String {
    let numbers: BTreeSet<usize> = measurements.iter().map(|measurement| measurement.cell.clients).collect();
    let engines: BTreeSet<Engine> = measurements.iter().map(|measurement| measurement.cell.engine).collect();
    let mut table = Table::new();
    table.load_preset(preset);
    table.set_header(std::iter::once("engine".to_owned()).chain(numbers.iter().map(usize::to_string)));
    for engine in engines {
        let of = |clients: &usize| {
            let found = measurements.iter().find(|found| (found.cell.engine, found.cell.clients) == (engine, *clients));
            found.map_or(String::new(), |measurement| value(measurement))
        };
        table.add_row(std::iter::once(engine.name().to_owned()).chain(numbers.iter().map(of)));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("{title}\n\n{table}\n\n")
}

/// A whole number, its thousands apart.
fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number);
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cell::Latency;
    use crate::options::CommandLine;

    fn report(engine: Engine, rates: &[f64]) -> Report {
        let machine =
            Machine { processor: "p".into(), cores: 2, memory_gb: 4, kernel: "6".into(), file_system: "ext4".into() };
        let about = About { engine, facts: crate::engines::facts(engine), syncs: None };
        let bench = CommandLine::parse_from(["peers", "--quick"]).bench;
        let mut report = Report::new("2026-01-01".into(), machine, &bench, vec![about]);
        let cell = Cell { workload: Workload::Add, kind: Clients::Threads, clients: 8, engine };
        for &rate in rates {
            let latency_us = Latency { p50: 1, p99: 2, p999: 3, max: 4 };
            report.add(cell, Round { commits_per_second: rate, retries_per_commit: 0.5, latency_us, seconds: 1.0 });
        }
        report
    }

    #[test]
    fn the_middle_round_stands_with_the_lowest_and_the_highest() {
        let report = report(Engine::Redb, &[3000.0, 1000.0, 1_002_000.0]);
        assert!(report.markdown().contains("3,000 (1,000 to 1,002,000)"), "{}", report.markdown());
        assert!(report.text().contains("3,000 (1,000 to 1,002,000)"));
    }

    #[test]
    fn reports_are_read_back_and_merged() {
        let folder = tempfile::tempdir().unwrap();
        let first = report(Engine::Redb, &[1.0]);
        first.write(folder.path()).unwrap();
        let mut read = Report::read(&folder.path().join("peers.json")).unwrap();
        assert_eq!(read, first);
        read.merge(report(Engine::Cohort, &[2.0, 3.0])).unwrap();
        read.merge(report(Engine::Redb, &[4.0])).unwrap();
        let rounds: Vec<usize> = read.results.iter().map(|measurement| measurement.rounds.len()).collect();
        assert_eq!((rounds, read.engines.len()), (vec![2, 2], 2));
        let mut failing = report(Engine::Redb, &[]);
        let cell = read.results[0].cell;
        failing.failures.push(Failure { cell, error: "no more room".into() });
        read.merge(failing).unwrap();
        assert!(read.text().contains("Failed: no more room") && read.markdown().contains("Failed: no more room"));
        let mut elsewhere = report(Engine::Redb, &[1.0]);
        elsewhere.machine.cores = 64;
        assert!(read.merge(elsewhere).is_err());
    }

    #[test]
    fn files_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.json");
        assert!(Report::read(&file).unwrap_err().to_string().contains("could not read"));
        std::fs::write(&file, "{}").unwrap();
        assert!(Report::read(&file).unwrap_err().to_string().contains("is no peers.json"));
    }
}
