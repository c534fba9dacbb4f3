//! The wire driver: connections that speak the PostgreSQL protocol, to a server of our own or to any other.
//!
//! As pgbench's, its connections share a few threads, one for each processor: a thread a connection would measure the
//! operating system's scheduler.

mod client;
mod connection;
mod target;
mod timer;

use std::time::{Duration, Instant};

use base::{Error, Result};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sync::atomic::{AtomicBool, Ordering};
use tokio_postgres::Config;

use crate::disk::Disk;
use crate::driver::{COUNTED_ROWS, Driver, Measurement, Round, UPDATE_ROWS, Workload};
use crate::load::{ClientCount, ClientRound, Load};
use client::WireClient;
use connection::Connection;
pub use target::ServerKind;
use target::{Target, failed};
use timer::Timer;

/// Connections to a server.
pub struct WireDriver {
    target: Target,
    seed: u64,
    sli_rows: i32,
}

impl WireDriver {
    /// A server of our own on `disk`.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn own(disk: Disk, seed: u64, sli_rows: i32) -> Result<WireDriver> {
        Ok(WireDriver { target: Target::own(disk, sli_rows)?, seed, sli_rows })
    }

    /// Any server that `url` leads to.
    ///
    /// # Errors
    /// When it can't be reached.
    pub fn against(url: &str, seed: u64, sli_rows: i32) -> Result<WireDriver> {
        Ok(WireDriver { target: Target::at(url, sli_rows)?, seed, sli_rows })
    }
}

impl Driver for WireDriver {
    fn run(&mut self, round: &Round) -> Result<Measurement> {
        self.target.apply(round.switches)?;
        let rows = match round.workload {
            Workload::ReadUpdate => self.sli_rows,
            Workload::CountUpdate => COUNTED_ROWS,
            Workload::Insert | Workload::Update | Workload::ReadWrite | Workload::Transfer => UPDATE_ROWS,
        };
        let config: Config = self.target.url().parse().map_err(|error: tokio_postgres::Error| failed(&error))?;
        let before = self.target.counts()?;
        let settings = self.target.session_settings(round.switches);
        let (count, length) = run_threads(&Connections { config, settings, round, rows, seed: self.seed })?;
        let after = self.target.counts()?;
        Ok(Measurement::new(count, length, Some(after.since(before))))
    }
}

/// Data that all threads of a round share.
struct Connections<'r> {
    config: Config,
    settings: String,
    round: &'r Round<'r>,
    rows: i32,
    seed: u64,
}

/// Runs the round on a thread for each processor, all beginning together; what they counted, and how long it took.
fn run_threads(connections: &Connections<'_>) -> Result<(ClientCount, Duration)> {
    let clients = connections.round.clients;
    let thread_count = std::thread::available_parallelism().map_or(1, usize::from).min(clients);
    let start = std::sync::Barrier::new(thread_count + 1);
    let has_failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..thread_count)
            .map(|thread| {
                let (start, has_failed) = (&start, &has_failed);
                let numbers: Vec<usize> = (thread..clients).step_by(thread_count).collect();
                scope.spawn(move || run_thread(connections, &numbers, start, has_failed))
            })
            .collect();
        start.wait();
        let started = Instant::now();
        let (mut total, mut last_ended) = (ClientCount::new(), started);
        let mut failure = None;
        for thread in threads {
            match thread.join().unwrap_or_else(|_| Err(Error::internal("a thread of the wire driver panicked"))) {
                Ok((count, ended)) => {
                    total.add(&count);
                    last_ended = last_ended.max(ended);
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or_else(|| Ok((total, last_ended - started)), Err)
    })
}

/// Runs the clients with these numbers on this thread; what they counted, and when the last was done.
fn run_thread(
    connections: &Connections<'_>,
    numbers: &[usize],
    start: &std::sync::Barrier,
    has_failed: &AtomicBool,
) -> Result<(ClientCount, Instant)> {
    let io = |error: std::io::Error| Error::io("could not run connections", &error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let made = runtime.map_err(io).and_then(|runtime| {
        let clients = runtime.block_on(connect_all(connections, numbers))?;
        Ok((runtime, clients))
    });
    if made.is_err() {
        has_failed.store(true, Ordering::Relaxed);
    }
    start.wait();
    let (runtime, clients) = made?;
    runtime.block_on(async {
        let mut total = ClientCount::new();
        let mut running: FuturesUnordered<_> =
            clients.into_iter().map(|(number, client)| run_client(connections, number, client, has_failed)).collect();
        let mut sessions = Vec::new();
        while let Some(done) = running.next().await {
            match done {
                Ok((count, client)) => {
                    total.add(&count);
                    sessions.push(client);
                }
                Err(error) => {
                    has_failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        let ended = Instant::now();
        sessions.into_iter().map(WireClient::close).collect::<FuturesUnordered<_>>().count().await;
        Ok((total, ended))
    })
}

/// A client for each number.
async fn connect_all(connections: &Connections<'_>, numbers: &[usize]) -> Result<Vec<(usize, WireClient)>> {
    let Connections { config, settings, round, rows, seed } = connections;
    let mut clients = Vec::new();
    for &number in numbers {
        let mut connection = Connection::open(config).await?;
        connection.simple(settings).await?.expect_done()?;
        let client = WireClient::new(connection, round.workload, *rows, round.switches, number, *seed).await?;
        clients.push((number, client));
    }
    Ok(clients)
}

/// One client's round.
async fn run_client(
    connections: &Connections<'_>,
    number: usize,
    mut client: WireClient,
    has_failed: &AtomicBool,
) -> Result<(ClientCount, WireClient)> {
    let timer = match connections.round.load {
        Load::Closed => None,
        Load::Open { .. } => Some(Timer::new().map_err(|error| Error::io("could not make a timer", &error))?),
    };
    let mut turns = ClientRound::new(connections.round.terms(connections.seed), number, connections.round.length);
    while let Some(next) = turns.next_attempt() {
        if let (Some(moment), Some(timer)) = (next.wait_until, &timer) {
            timer.wait_until(moment).await.map_err(|error| Error::io("could not wait", &error))?;
        }
        if has_failed.load(Ordering::Relaxed) {
            break;
        }
        turns.finished(client.attempt(next.is_retry).await?);
    }
    Ok((turns.into_count(), client))
}
