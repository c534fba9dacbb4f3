//! The interface of an engine: the work that it is asked to do, and the facts that it states about itself.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use anyhow::Result;
use serde::{Deserialize, Serialize};

/// The text that inserted rows have besides their key.
pub const TEXT: &str = "sixteen letters.";

/// The kind of transactions that clients run, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// One row: an integer, which is its key, and a short text.
    Insert,
    /// Reads one row of many, adds one to its number, and writes it back.
    Add,
}

impl Workload {
    pub const ALL: [Workload; 2] = [Workload::Insert, Workload::Add];

    pub fn title(self) -> &'static str {
        match self {
            Workload::Insert => "Durable inserts",
            Workload::Add => "Durable read-modify-writes",
        }
    }
}

/// The kind of clients.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Clients {
    /// Each an OS thread that waits for its commit.
    Threads,
    /// Each a task that awaits its commit, all on two worker threads.
    Tasks,
}

/// One transaction. It is tried again, the same, until it has committed.
#[derive(Clone, Copy)]
pub enum Transaction {
    Insert { key: u64 },
    Add { key: u64 },
}

/// How an attempt ended, if nothing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Committed, and durable as far as the engine says.
    Committed,
    /// Refused because of another transaction; nothing happened.
    Conflict,
}

/// The facts that an engine states about itself in this use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub version: String,
    pub licence: String,
    /// Settings that differ from their default, and the defaults that matter.
    pub settings: String,
    pub isolation: String,
    /// The call that makes a commit durable.
    pub durability: String,
}

/// An open database.
pub trait Database: Send + Sync {
    /// A client that waits on its thread.
    fn client(&self) -> Result<Box<dyn Client>>;

    /// A client that awaits; `None` if the engine's commit isn't asynchronous.
    fn task(&self) -> Result<Option<Box<dyn TaskClient>>> {
        Ok(None)
    }

    /// Rows of the table, and the sum of their numbers (0 for [`Workload::Insert`]).
    fn totals(&self) -> Result<Totals>;

    /// Closes it as the engine wants to be closed.
    fn close(self: Box<Self>) -> Result<()>;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    pub rows: u64,
    pub sum: i64,
}

/// One client's use of a database; one thread uses it at a time.
pub trait Client: Send {
    fn attempt(&mut self, transaction: Transaction) -> Result<Outcome>;
}

/// A [`Client`] whose commits are awaited.
pub trait TaskClient: Send {
    fn attempt(&mut self, transaction: Transaction) -> Attempt<'_>;
}

pub type Attempt<'a> = Pin<Box<dyn Future<Output = Result<Outcome>> + Send + 'a>>;

/// How a database is opened.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    pub directory: &'a Path,
    pub workload: Workload,
    /// Clients there will be at most.
    pub clients: usize,
    /// The runtime of clients that are tasks, and of engines that need one.
    pub runtime: &'a tokio::runtime::Handle,
}

/// The engines, each in the use that is compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    Cohort,
    Sqlite,
    Redb,
    /// With transactions that take turns.
    Fjall,
    /// With transactions that are validated when they commit.
    FjallOptimistic,
    /// With row locks.
    #[cfg(feature = "rocksdb")]
    Rocksdb,
    /// With transactions that are validated when they commit.
    #[cfg(feature = "rocksdb")]
    RocksdbOptimistic,
    Surrealkv,
}

impl Engine {
    pub const ALL: &[Engine] = &[
        Engine::Cohort,
        Engine::Sqlite,
        Engine::Redb,
        Engine::Fjall,
        Engine::FjallOptimistic,
        #[cfg(feature = "rocksdb")]
        Engine::Rocksdb,
        #[cfg(feature = "rocksdb")]
        Engine::RocksdbOptimistic,
        Engine::Surrealkv,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Engine::Cohort => "cohort",
            Engine::Sqlite => "sqlite",
            Engine::Redb => "redb",
            Engine::Fjall => "fjall",
            Engine::FjallOptimistic => "fjall-optimistic",
            #[cfg(feature = "rocksdb")]
            Engine::Rocksdb => "rocksdb",
            #[cfg(feature = "rocksdb")]
            Engine::RocksdbOptimistic => "rocksdb-optimistic",
            Engine::Surrealkv => "surrealkv",
        }
    }

    /// Whether its commits can be awaited.
    pub fn has_tasks(self) -> bool {
        matches!(self, Engine::Cohort | Engine::Surrealkv)
    }
}

/// The version of a package that this program was built with.
pub fn version_of(package: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = lock.split_once(&entry).and_then(|(_, rest)| rest.split('"').next());
    version.unwrap_or("unknown").to_owned()
}

/// The number in a row of eight bytes.
pub fn number(bytes: &[u8]) -> Result<i64> {
    let bytes = bytes.try_into().map_err(|_| anyhow::anyhow!("a number of {} bytes", bytes.len()))?;
    Ok(i64::from_be_bytes(bytes))
}

/// Adds a row of a key-value engine to the totals.
pub fn add_to_totals(totals: &mut Totals, workload: Workload, value: &[u8]) -> Result<()> {
    totals.rows += 1;
    match workload {
        Workload::Add => totals.sum += number(value)?,
        Workload::Insert => anyhow::ensure!(value == TEXT.as_bytes(), "a row has another text than was inserted"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_lock_file() {
        assert_eq!(version_of("no such package"), "unknown");
        for package in ["redb", "fjall", "surrealkv", "cohort-engine"] {
            assert!(version_of(package).starts_with(|c: char| c.is_ascii_digit()), "{package}");
        }
    }

    #[test]
    fn rows_that_are_damaged_are_found() {
        let mut totals = Totals { rows: 0, sum: 0 };
        add_to_totals(&mut totals, Workload::Add, &7i64.to_be_bytes()).unwrap();
        add_to_totals(&mut totals, Workload::Insert, TEXT.as_bytes()).unwrap();
        assert_eq!(totals, Totals { rows: 2, sum: 7 });
        assert!(add_to_totals(&mut totals, Workload::Add, &[1, 2]).is_err());
        assert!(add_to_totals(&mut totals, Workload::Insert, b"other").is_err());
    }
}
