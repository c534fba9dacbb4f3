//! Drivers, which run workloads, and their measurements.

use std::time::Duration;

use base::Result;
use engine::{ClogUpdate, Database, TwophaseState};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use sync::atomic::AtomicBool;

use crate::load::{ClientCount, Load, Terms};

/// How a workload reaches the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriverKind {
    /// Threads on the engine's own API.
    Embedded,
    /// Connections speaking the PostgreSQL protocol.
    Wire,
}

/// A small durable transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Inserts one row of a number and a text.
    Insert,
    /// Updates one row of many, chosen at random.
    Update,
    /// Reads one row of `sli_test` and writes what it read to another, both chosen at random.
    ReadUpdate,
    /// Counts the rows of a small table, or updates one of them, as often the one as the other.
    CountUpdate,
    /// The default script of pgbench: changes an account's balance and reads it, changes a teller's and a branch's balance,
    /// and inserts a row into a history.
    ReadWrite,
    /// Moves an amount from one account to another.
    Transfer,
}

impl Workload {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Insert => "insert",
            Workload::Update => "update",
            Workload::ReadUpdate => "sli_test",
            Workload::CountUpdate => "count",
            Workload::ReadWrite => "read-write",
            Workload::Transfer => "transfer",
        }
    }
}

/// Rows of the table that [`Workload::Update`], [`Workload::ReadWrite`] and [`Workload::Transfer`] update: the accounts.
pub const UPDATE_ROWS: i32 = 100_000;
/// Rows of the table that [`Workload::CountUpdate`] counts.
pub const COUNTED_ROWS: i32 = 10_000;
/// Branches of [`Workload::ReadWrite`]: as many as at pgbench's scale 300.
pub const BRANCHES: i32 = 300;
/// Its tellers.
pub const TELLERS: i32 = 10 * BRANCHES;

/// The switches of one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// `group_commit`
    pub group_commit: bool,
    /// `commit_delay`; `None` is `auto`.
    pub commit_delay_us: Option<u32>,
    /// `commit_delay_scope = each`
    pub delay_each: bool,
    /// `commit_siblings`
    pub commit_siblings: u32,
    /// `clog_update`
    pub clog_update: ClogUpdate,
    /// `synchronous_commit`
    pub synchronous_commit: bool,
    /// Transactions end by PREPARE TRANSACTION and COMMIT PREPARED, under this `twophase_state`. None: by COMMIT.
    pub two_phase: Option<TwophaseState>,
    /// Transactions are serializable, not read committed.
    pub serializable: bool,
    /// `ssi_scan_locks = per_tuple`
    pub scan_locks_per_tuple: bool,
    /// A transaction that can't be serialized is tried again until it commits.
    pub retries: bool,
}

impl Switches {
    /// Everything as it is if nobody sets it.
    pub const DEFAULT: Switches = Switches {
        group_commit: true,
        commit_delay_us: None,
        delay_each: false,
        commit_siblings: 5,
        clog_update: ClogUpdate::Cohort,
        synchronous_commit: true,
        two_phase: None,
        serializable: false,
        scan_locks_per_tuple: false,
        retries: true,
    };
}

impl Default for Switches {
    fn default() -> Self {
        Switches::DEFAULT
    }
}

/// One round: a workload under one configuration.
pub struct Round<'a> {
    /// The workload to run.
    pub workload: Workload,
    /// The number of clients.
    pub clients: usize,
    /// How their transactions arrive.
    pub load: Load,
    /// The length of the round.
    pub length: Duration,
    /// The switches to set.
    pub switches: Switches,
    /// Set when the round is to end early.
    pub stop: &'a AtomicBool,
}

impl Round<'_> {
    /// The terms that all clients of the round share.
    pub fn terms(&self, seed: u64) -> Terms<'_> {
        Terms { load: self.load, clients: self.clients, retries: self.switches.retries, stop: self.stop, seed }
    }
}

/// The measurement of one round.
pub struct Measurement {
    /// Transactions that committed, durable where `synchronous_commit` is on.
    pub transactions: u64,
    /// Attempts that were rolled back because they could not be serialized.
    pub aborts: u64,
    /// Transactions that were due under an open load and had not begun at the end.
    pub overdue: u64,
    /// The length of the round.
    pub length: Duration,
    /// Latencies in microseconds.
    pub latency_us: Histogram<u64>,
    /// The engine's counts during the round, where they are known.
    pub engine: Option<EngineCounts>,
}

/// Counts of an engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineCounts {
    /// Syncs of the log.
    pub syncs: u64,
    /// Counts of the commit log's latch; `None` for a server that is not Cohort, where they are unknown.
    pub latch: Option<LatchCounts>,
}

/// Counts of the commit log's latch.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatchCounts {
    /// Acquisitions in exclusive mode.
    pub exclusive: u64,
    /// Times that a thread was put to sleep for the latch.
    pub blocked: u64,
    /// Groups of transactions that met at the latch.
    pub groups: u64,
    /// Transactions in these groups.
    pub group_members: u64,
}

impl EngineCounts {
    /// Returns the counts so far. Latches are counted per process, so the process must contain only one engine.
    pub fn read(database: &Database) -> EngineCounts {
        let classes = sync::latch_classes();
        let latch =
            classes.iter().find(|class| class.name == "XactSLRU").map(|class| class.totals()).unwrap_or_default();
        let groups = database.status().clog().group_statistics();
        EngineCounts {
            syncs: database.wal().statistics().syncs,
            latch: Some(LatchCounts {
                exclusive: latch.exclusive,
                blocked: latch.blocked,
                groups: groups.groups,
                group_members: groups.members,
            }),
        }
    }

    /// Returns the difference from `earlier` to these counts.
    #[must_use]
    pub fn since(self, earlier: EngineCounts) -> EngineCounts {
        self.with(earlier, |now, then| now - then)
    }

    fn with(self, other: EngineCounts, f: impl Fn(u64, u64) -> u64) -> EngineCounts {
        let latch = self.latch.zip(other.latch).map(|(one, two)| LatchCounts {
            exclusive: f(one.exclusive, two.exclusive),
            blocked: f(one.blocked, two.blocked),
            groups: f(one.groups, two.groups),
            group_members: f(one.group_members, two.group_members),
        });
        EngineCounts { syncs: f(self.syncs, other.syncs), latch }
    }
}

impl std::ops::Add for EngineCounts {
    type Output = EngineCounts;

    fn add(self, other: EngineCounts) -> EngineCounts {
        self.with(other, |one, two| one + two)
    }
}

impl Measurement {
    /// The measurement of a round that took `length` and whose clients counted `count`.
    pub fn new(count: ClientCount, length: Duration, engine: Option<EngineCounts>) -> Measurement {
        let ClientCount { transactions, aborts, overdue, latency_us } = count;
        Measurement { transactions, aborts, overdue, length, latency_us, engine }
    }

    /// Transactions a second.
    pub fn tps(&self) -> f64 {
        self.transactions as f64 / self.length.as_secs_f64()
    }
}

/// A way to run workloads.
pub trait Driver {
    /// Runs a round.
    ///
    /// # Errors
    /// Errors of the engine or the server.
    fn run(&mut self, round: &Round) -> Result<Measurement>;
}
