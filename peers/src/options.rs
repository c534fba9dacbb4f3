//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

use crate::cell::Cell;
use crate::clients::Run;
use crate::peer::{Clients, Engine, Workload};

/// Clients at most: more than that says nothing about an engine here.
const CLIENTS_MAX: usize = 4096;

/// Compares Cohort with other embedded engines: durable inserts and durable read-modify-writes.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub bench: Bench,
}

#[derive(Subcommand)]
pub enum Command {
    /// Counts the syncs of each engine's commits with strace, and says whether a commit is durable when it says so
    Syncs {
        /// Engines, all by default
        #[arg(long, value_delimiter = ',', value_enum, default_values_t = Engine::ALL.iter().copied())]
        engines: Vec<Engine>,
        /// Where databases are made; not on a file system in memory
        #[arg(long, default_value = ".")]
        dir: PathBuf,
    },
    /// Joins the files of several runs into one report
    Merge {
        /// Files that earlier runs have written
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Where peers.json and peers.md are written
        #[arg(long, default_value = "report")]
        out: PathBuf,
    },
    /// Makes a number of commits by one client, between two marks: `syncs` traces them
    #[command(hide = true)]
    Commits {
        #[arg(long, value_enum)]
        engine: Engine,
        #[arg(long, default_value_t = 100)]
        commits: u64,
        #[arg(long)]
        dir: PathBuf,
    },
}

#[derive(Args)]
pub struct Bench {
    /// A short look: 1, 32 and 128 clients, half a second each
    #[arg(long)]
    pub quick: bool,
    /// Engines, all by default
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = Engine::ALL.iter().copied())]
    pub engines: Vec<Engine>,
    /// Workloads, all by default
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = Workload::ALL)]
    pub workloads: Vec<Workload>,
    /// Numbers of clients that are OS threads, "0" for none [default: 1,8,32,64,128]
    #[arg(long, value_delimiter = ',')]
    pub threads: Option<Vec<usize>>,
    /// Numbers of clients that are tasks, "0" for none [default: 1,8,32,64,128,512]
    #[arg(long, value_delimiter = ',')]
    pub tasks: Option<Vec<usize>>,
    /// How long a cell is measured, after a warm-up of a fifth of that [default: 2]
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Rounds; the engines alternate within each
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Rows that read-modify-write chooses from
    #[arg(long, default_value_t = 1000)]
    pub rows: u64,
    /// Microseconds that a client waits after a conflict before it tries again; tasks wait whole milliseconds
    #[arg(long, default_value_t = 0)]
    pub pause_us: u64,
    /// The seed of the random choice of rows
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where databases are made, and removed again; not on a file system in memory
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// Where peers.json and peers.md are written
    #[arg(long, default_value = "report")]
    pub out: PathBuf,
    /// Doesn't count the engines' syncs first
    #[arg(long)]
    pub no_syncs: bool,
}

impl Bench {
    /// Refuses what can't be measured.
    ///
    /// # Errors
    /// Options that are out of range, or that leave nothing to measure.
    pub fn check(&self) -> Result<()> {
        ensure!(self.rounds > 0, "--rounds must be at least 1");
        ensure!(self.rows > 0, "--rows must be at least 1");
        let seconds = self.seconds();
        ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds must be more than 0 and at most 3600");
        for clients in self.threads().into_iter().chain(self.tasks()) {
            ensure!(clients <= CLIENTS_MAX, "{clients} clients are too many: at most {CLIENTS_MAX}");
        }
        ensure!(!self.cells().is_empty(), "there is nothing to measure with these options");
        Ok(())
    }

    fn threads(&self) -> Vec<usize> {
        let default: &[usize] = if self.quick { &[1, 32, 128] } else { &[1, 8, 32, 64, 128] };
        self.threads.clone().unwrap_or_else(|| default.to_vec())
    }

    fn tasks(&self) -> Vec<usize> {
        let default: &[usize] = if self.quick { &[1, 32, 128] } else { &[1, 8, 32, 64, 128, 512] };
        self.tasks.clone().unwrap_or_else(|| default.to_vec())
    }

    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { 0.5 } else { 2.0 })
    }

    /// The cells of one round: engines alternate, so that what disturbs the machine for a while hits them all.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &workload in &self.workloads {
            for (kind, numbers) in [(Clients::Threads, self.threads()), (Clients::Tasks, self.tasks())] {
                for clients in numbers.into_iter().filter(|clients| *clients > 0) {
                    let able = |engine: &&Engine| kind == Clients::Threads || engine.has_tasks();
                    let cell = |&engine: &Engine| Cell { workload, kind, clients, engine };
                    cells.extend(self.engines.iter().filter(able).map(cell));
                }
            }
        }
        cells
    }

    /// How a cell is run in a round.
    pub fn run(&self, cell: Cell, round: usize) -> Run {
        let length = Duration::from_secs_f64(self.seconds());
        Run {
            workload: cell.workload,
            kind: cell.kind,
            clients: cell.clients,
            warm_up: length / 5,
            length,
            rows: self.rows,
            seed: self.seed.wrapping_add(round as u64),
            pause: Duration::from_micros(self.pause_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Bench {
        CommandLine::try_parse_from([&["peers"], arguments].concat()).unwrap().bench
    }

    #[test]
    fn engines_alternate_within_a_round() {
        let bench = parsed(&["--engines", "cohort,surrealkv,redb", "--threads", "1,8", "--tasks", "2"]);
        let cells = bench.cells();
        assert_eq!(cells.len(), 2 * (2 * 3 + 2));
        assert!(cells.windows(2).all(|pair| pair[0].engine != pair[1].engine));
        assert!(cells.iter().all(|cell| cell.kind == Clients::Threads || cell.engine.has_tasks()));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        parsed(&["--quick"]).check().unwrap();
        for wrong in [
            &["--rounds", "0"][..],
            &["--rows", "0"],
            &["--seconds", "0"],
            &["--threads", "5000"],
            &["--threads", "0", "--tasks", "0"],
            &["--engines", "redb", "--threads", "0"],
        ] {
            assert!(parsed(wrong).check().is_err(), "{wrong:?}");
        }
    }
}
