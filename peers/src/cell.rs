//! One cell of the comparison: an engine, a workload and a number of clients, in a database of its own. After the run, and again after
//! the database was closed and opened, its content must be that of the acknowledged commits.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::clients::{self, Measured, Run};
use crate::engines;
use crate::peer::{Clients, Database, Engine, Opening, Totals, Workload};

/// Worker threads of the runtime that tasks run on.
pub const WORKERS: usize = 2;

/// Which cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Cell {
    pub workload: Workload,
    pub kind: Clients,
    pub clients: usize,
    pub engine: Engine,
}

/// The result of one round of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub commits_per_second: f64,
    pub retries_per_commit: f64,
    pub latency_us: Latency,
    pub seconds: f64,
}

/// Percentiles, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// Runs a cell once in a new folder under `parent`.
pub fn measure(cell: Cell, run: Run, parent: &Path, interrupted: &AtomicBool) -> Result<Round> {
    let what = || format!("{} with {} {:?} and {:?}", cell.engine.name(), cell.clients, cell.kind, cell.workload);
    let measured = run_in_new_folder(cell, run, parent, interrupted).with_context(what)?;
    let at = |quantile: f64| measured.latency_us.value_at_quantile(quantile);
    Ok(Round {
        commits_per_second: measured.commits as f64 / measured.seconds.max(f64::MIN_POSITIVE),
        retries_per_commit: measured.retries as f64 / measured.commits.max(1) as f64,
        latency_us: Latency { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: measured.latency_us.max() },
        seconds: measured.seconds,
    })
}

fn run_in_new_folder(cell: Cell, run: Run, parent: &Path, interrupted: &AtomicBool) -> Result<Measured> {
    let folder = tempfile::Builder::new()
        .prefix(&format!("peers-{}-", cell.engine.name()))
        .tempdir_in(parent)
        .with_context(|| format!("could not make a folder in \"{}\"", parent.display()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let opening =
        Opening { directory: folder.path(), workload: cell.workload, clients: cell.clients, runtime: runtime.handle() };
    let database = engines::create(cell.engine, opening, run.rows)?;
    let measured = clients::run(&*database, run, runtime.handle(), interrupted)?;
    check(&*database, run, measured.acknowledged).context("after the run")?;
    database.close()?;
    let database = engines::open(cell.engine, opening)?;
    check(&*database, run, measured.acknowledged).context("after it was closed and opened again")?;
    database.close()?;
    Ok(measured)
}

/// Whether all that was acknowledged is there, and nothing else.
fn check(database: &dyn Database, run: Run, acknowledged: u64) -> Result<()> {
    let found = database.totals()?;
    let expected = match run.workload {
        Workload::Insert => Totals { rows: acknowledged, sum: 0 },
        Workload::Add => Totals { rows: run.rows, sum: acknowledged as i64 },
    };
    if found != expected {
        bail!("the data is wrong: expected {expected:?}, found {found:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn short(cell: Cell) -> Run {
        Run {
            workload: cell.workload,
            kind: cell.kind,
            clients: cell.clients,
            warm_up: Duration::from_millis(10),
            length: Duration::from_millis(150),
            rows: 5,
            seed: 1,
            pause: Duration::ZERO,
        }
    }

    /// Few rows, so that there are conflicts: lost updates would show in the sum.
    #[test]
    fn every_engine_keeps_what_it_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        for &engine in Engine::ALL {
            for workload in Workload::ALL {
                for kind in [Clients::Threads, Clients::Tasks] {
                    if kind == Clients::Tasks && !engine.has_tasks() {
                        continue;
                    }
                    let cell = Cell { workload, kind, clients: 4, engine };
                    let round = measure(cell, short(cell), folder.path(), &AtomicBool::new(false)).unwrap();
                    assert!(round.commits_per_second > 0.0, "{cell:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_found() {
        struct Lossy;
        impl Database for Lossy {
            fn client(&self) -> Result<Box<dyn crate::peer::Client>> {
                bail!("not asked for")
            }
            fn totals(&self) -> Result<Totals> {
                Ok(Totals { rows: 9, sum: 0 })
            }
            fn close(self: Box<Self>) -> Result<()> {
                Ok(())
            }
        }
        let cell = Cell { workload: Workload::Insert, kind: Clients::Threads, clients: 1, engine: Engine::Cohort };
        assert!(check(&Lossy, short(cell), 9).is_ok());
        assert!(check(&Lossy, short(cell), 10).unwrap_err().to_string().contains("the data is wrong"));
    }

    #[test]
    fn only_engines_with_an_asynchronous_commit_have_tasks() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        for &engine in Engine::ALL {
            let folder = tempfile::tempdir().unwrap();
            let opening =
                Opening { directory: folder.path(), workload: Workload::Insert, clients: 1, runtime: runtime.handle() };
            let database = engines::create(engine, opening, 0).unwrap();
            assert_eq!(database.task().unwrap().is_some(), engine.has_tasks(), "{engine:?}");
            database.close().unwrap();
        }
    }
}
