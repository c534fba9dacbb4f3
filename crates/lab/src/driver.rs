//! What runs a workload, and what it measures.

use std::time::{Duration, Instant};

use base::{Error, Result};
use hdrhistogram::Histogram;
use serde::Serialize;
use sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

/// How a workload reaches the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
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
}

impl Workload {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Insert => "insert",
            Workload::Update => "update",
        }
    }
}

/// Rows of the table that [`Workload::Update`] updates.
pub const UPDATE_ROWS: i32 = 100_000;

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
}

impl Default for Switches {
    fn default() -> Self {
        Switches { group_commit: true, commit_delay_us: Some(0), delay_each: false, commit_siblings: 5 }
    }
}

/// What one run of a workload measured.
pub struct Measurement {
    /// Transactions that ended durable.
    pub transactions: u64,
    /// How long the run was.
    pub length: Duration,
    /// Latencies in microseconds.
    pub latency_us: Histogram<u64>,
    /// Syncs of the log meanwhile; unknown for a server that is not ours.
    pub syncs: Option<u64>,
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
    /// Transactions that ended durable.
    pub transactions: u64,
    /// Their latencies in microseconds.
    pub latency_us: Histogram<u64>,
}

/// Latencies from a microsecond to a minute, to three digits.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are in order")
}

/// Runs one closed-loop client until `end` or `stop`.
///
/// # Errors
/// Of the first transaction that fails.
pub fn closed_loop(
    end: Instant,
    stop: &AtomicBool,
    mut transaction: impl FnMut() -> Result<()>,
) -> Result<ClientCount> {
    let mut count = ClientCount { transactions: 0, latency_us: new_histogram() };
    let mut before = Instant::now();
    while before < end && !stop.load(Ordering::Relaxed) {
        transaction()?;
        let after = Instant::now();
        count.latency_us.saturating_record(after.duration_since(before).as_micros() as u64);
        count.transactions += 1;
        before = after;
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
    let mut total = ClientCount { transactions: 0, latency_us: new_histogram() };
    for count in counts {
        let count = count?;
        total.transactions += count.transactions;
        total.latency_us.add(&count.latency_us).map_err(|error| Error::internal(error.to_string()))?;
    }
    Ok((total, taken))
}
