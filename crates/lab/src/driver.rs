//! What runs a workload, and what it measures.

use std::time::{Duration, Instant};

use base::{Error, Result};
use engine::{ClogUpdate, Database, TwophaseState};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

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
    /// What pgbench runs unless told otherwise: changes an account's balance and reads it, changes a teller's and a branch's,
    /// and notes that in a history.
    ReadWrite,
    /// Moves an amount from one account to another.
    Transfer,
}

impl Workload {
    /// What reports call it.
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
        commit_delay_us: Some(0),
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

/// What one run of a workload measured.
pub struct Measurement {
    /// Transactions that committed, durable where `synchronous_commit` is on.
    pub transactions: u64,
    /// Attempts that were rolled back because they could not be serialized.
    pub aborts: u64,
    /// How long the run was.
    pub length: Duration,
    /// Latencies in microseconds.
    pub latency_us: Histogram<u64>,
    /// What the engine did meanwhile; unknown for a server that is not ours.
    pub engine: Option<EngineCounts>,
}

/// What an engine in this process has counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineCounts {
    /// Syncs of the log.
    pub syncs: u64,
    /// Acquisitions of the commit log's latch in exclusive mode.
    pub latch_exclusive: u64,
    /// Times that a thread was put to sleep for it.
    pub latch_blocked: u64,
    /// Groups of transactions that met at it.
    pub groups: u64,
    /// Transactions in them.
    pub group_members: u64,
}

impl EngineCounts {
    /// What was counted so far. Latches are counted for the process: there must be one engine in it.
    pub fn read(database: &Database) -> EngineCounts {
        let classes = sync::latch_classes();
        let latch =
            classes.iter().find(|class| class.name == "XactSLRU").map(|class| class.totals()).unwrap_or_default();
        let groups = database.status().clog().group_statistics();
        EngineCounts {
            syncs: database.wal().statistics().syncs,
            latch_exclusive: latch.exclusive,
            latch_blocked: latch.blocked,
            groups: groups.groups,
            group_members: groups.members,
        }
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(self, earlier: EngineCounts) -> EngineCounts {
        self.with(earlier, |now, then| now - then)
    }

    fn with(self, other: EngineCounts, f: impl Fn(u64, u64) -> u64) -> EngineCounts {
        EngineCounts {
            syncs: f(self.syncs, other.syncs),
            latch_exclusive: f(self.latch_exclusive, other.latch_exclusive),
            latch_blocked: f(self.latch_blocked, other.latch_blocked),
            groups: f(self.groups, other.groups),
            group_members: f(self.group_members, other.group_members),
        }
    }
}

impl std::ops::Add for EngineCounts {
    type Output = EngineCounts;

    fn add(self, other: EngineCounts) -> EngineCounts {
        self.with(other, |one, two| one + two)
    }
}

impl Measurement {
    /// Transactions a second.
    pub fn tps(&self) -> f64 {
        self.transactions as f64 / self.length.as_secs_f64()
    }
}

/// What runs workloads.
pub trait Driver {
    /// Runs `workload` from `clients` clients for `length` under `switches`, until `stop` is set.
    ///
    /// # Errors
    /// What the engine or the server raises.
    fn run(
        &mut self,
        workload: Workload,
        clients: usize,
        length: Duration,
        switches: Switches,
        stop: &Arc<AtomicBool>,
    ) -> Result<Measurement>;
}

/// One client's count while it runs.
pub struct ClientCount {
    /// Transactions that committed.
    pub transactions: u64,
    /// Attempts that could not be serialized.
    pub aborts: u64,
    /// Latencies in microseconds of those that committed, failed attempts included.
    pub latency_us: Histogram<u64>,
}

impl ClientCount {
    fn new() -> ClientCount {
        ClientCount { transactions: 0, aborts: 0, latency_us: new_histogram() }
    }
}

/// How an attempt at a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It committed.
    Committed,
    /// It was rolled back: 40001 or 40P01.
    Aborted,
}

/// Latencies from a microsecond to a minute, to three digits.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are in order")
}

/// Runs one closed-loop client until `end` or `stop`. `transaction` is told whether it is to try the last one again, which it
/// is if that was rolled back and `retries` is set.
///
/// # Errors
/// Of the first transaction that fails.
pub fn closed_loop(
    end: Instant,
    stop: &AtomicBool,
    retries: bool,
    mut transaction: impl FnMut(bool) -> Result<Attempt>,
) -> Result<ClientCount> {
    let mut count = ClientCount::new();
    let mut before = Instant::now();
    let mut now = before;
    let mut is_retry = false;
    while now < end && !stop.load(Ordering::Relaxed) {
        let attempt = transaction(is_retry)?;
        now = Instant::now();
        is_retry = attempt == Attempt::Aborted && retries;
        match attempt {
            Attempt::Committed => {
                count.latency_us.saturating_record(now.duration_since(before).as_micros() as u64);
                count.transactions += 1;
            }
            Attempt::Aborted => count.aborts += 1,
        }
        if !is_retry {
            before = now;
        }
    }
    Ok(count)
}

/// Starts `clients` threads, each with its own client made by `make`, lets them begin together, and adds up.
///
/// # Errors
/// Of the first client that fails.
pub fn run_clients<C: Send>(
    clients: usize,
    length: Duration,
    stop: &Arc<AtomicBool>,
    make: impl Fn(usize) -> Result<C>,
    run: impl Fn(&mut C, Instant, &AtomicBool) -> Result<ClientCount> + Sync,
) -> Result<(ClientCount, Duration)> {
    let mut all: Vec<C> = (0..clients).map(&make).collect::<Result<_>>()?;
    let started = Instant::now();
    let end = started + length;
    let counts: Vec<Result<ClientCount>> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = all.iter_mut().map(|client| scope.spawn(move || run(client, end, stop))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<ClientCount>>| {
            thread.join().unwrap_or_else(|_| Err(Error::internal("a client thread panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    let taken = started.elapsed();
    let mut total = ClientCount::new();
    for count in counts {
        let count = count?;
        total.transactions += count.transactions;
        total.aborts += count.aborts;
        total.latency_us.add(&count.latency_us).map_err(|error| Error::internal(error.to_string()))?;
    }
    Ok((total, taken))
}
