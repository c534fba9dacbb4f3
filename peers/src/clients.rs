//! The clients: threads or tasks that make one transaction after the other, and what they measured.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use hdrhistogram::Histogram;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::peer::{Client, Clients, Database, Outcome, TaskClient, Transaction, Workload};

/// Latencies are recorded in microseconds, up to here, in steps of a hundredth.
const LATENCY_MAX_US: u64 = 60_000_000;
/// How soon the stop is noticed.
const TICK: Duration = Duration::from_millis(20);

/// Phases of a run. Clients start right away, and only what ends while `MEASURING` counts.
const WARMING_UP: u8 = 0;
const MEASURING: u8 = 1;
const OVER: u8 = 2;

/// The parameters of a run.
#[derive(Clone, Copy)]
pub struct Run {
    pub workload: Workload,
    pub kind: Clients,
    pub clients: usize,
    pub warm_up: Duration,
    pub length: Duration,
    /// Rows that [`Workload::Add`] chooses from.
    pub rows: u64,
    pub seed: u64,
    /// How long a client waits after a conflict before it tries again.
    pub pause: Duration,
}

/// The result of a run.
pub struct Measured {
    /// All commits before, during and after the measurement: the number that must be found in the database.
    pub acknowledged: u64,
    /// Commits during the measurement.
    pub commits: u64,
    /// Attempts that failed with a conflict during the measurement.
    pub retries: u64,
    pub seconds: f64,
    /// From a transaction's first attempt until it was durable.
    pub latency_us: Histogram<u64>,
}

struct Count {
    acknowledged: u64,
    commits: u64,
    retries: u64,
    latency_us: Histogram<u64>,
}

/// The state of one client: its next transaction and its counts.
struct Work {
    number: u64,
    run: Run,
    random: StdRng,
    next: u64,
    count: Count,
    began: Instant,
}

impl Work {
    fn new(number: usize, run: Run) -> Result<Work> {
        let latency_us = Histogram::new_with_bounds(1, LATENCY_MAX_US, 2).context("a histogram's bounds")?;
        Ok(Work {
            number: number as u64,
            run,
            random: StdRng::seed_from_u64(run.seed.wrapping_mul(1_000_003).wrapping_add(number as u64)),
            next: 0,
            count: Count { acknowledged: 0, commits: 0, retries: 0, latency_us },
            began: Instant::now(),
        })
    }

    /// The next transaction. Keys that are inserted rise, each client's between the others'.
    fn next(&mut self) -> Transaction {
        match self.run.workload {
            Workload::Insert => {
                let key = self.next * self.run.clients as u64 + self.number;
                self.next += 1;
                Transaction::Insert { key }
            }
            Workload::Add => Transaction::Add { key: self.random.random_range(0..self.run.rows) },
        }
    }

    /// Counts an attempt; true if the transaction is done.
    fn note(&mut self, outcome: Outcome, phase: u8) -> bool {
        match outcome {
            Outcome::Committed => {
                let now = Instant::now();
                self.count.acknowledged += 1;
                if phase == MEASURING {
                    self.count.commits += 1;
                    self.count.latency_us.saturating_record((now - self.began).as_micros() as u64);
                }
                self.began = now;
                true
            }
            Outcome::Conflict => {
                self.count.retries += u64::from(phase == MEASURING);
                false
            }
        }
    }
}

/// Runs clients on a database. `interrupted`: end it early; what was measured until then is returned.
pub fn run(
    database: &dyn Database,
    run: Run,
    runtime: &tokio::runtime::Handle,
    interrupted: &AtomicBool,
) -> Result<Measured> {
    let phase = Arc::new(AtomicU8::new(WARMING_UP));
    let (counts, length) = match run.kind {
        Clients::Threads => on_threads(database, run, &phase, interrupted)?,
        Clients::Tasks => as_tasks(database, run, runtime, &phase, interrupted)?,
    };
    let latency_us = Histogram::new_with_bounds(1, LATENCY_MAX_US, 2).context("a histogram's bounds")?;
    let mut all = Measured { acknowledged: 0, commits: 0, retries: 0, seconds: length.as_secs_f64(), latency_us };
    for count in counts {
        all.acknowledged += count.acknowledged;
        all.commits += count.commits;
        all.retries += count.retries;
        all.latency_us.add(&count.latency_us).context("histograms of one kind")?;
    }
    Ok(all)
}

/// Lets time pass: the phases one after the other. Returns how long it was measured.
fn conduct(run: Run, phase: &AtomicU8, interrupted: &AtomicBool) -> Duration {
    let pause = |length: Duration| {
        let begin = Instant::now();
        while !interrupted.load(Ordering::Relaxed) && phase.load(Ordering::Relaxed) != OVER {
            let left = length.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(TICK));
        }
    };
    pause(run.warm_up);
    // A client that failed has ended it already.
    let _ = phase.compare_exchange(WARMING_UP, MEASURING, Ordering::Relaxed, Ordering::Relaxed);
    let begin = Instant::now();
    pause(run.length);
    phase.store(OVER, Ordering::Relaxed);
    begin.elapsed()
}

fn on_threads(
    database: &dyn Database,
    run: Run,
    phase: &AtomicU8,
    interrupted: &AtomicBool,
) -> Result<(Vec<Count>, Duration)> {
    let mut clients: Vec<Box<dyn Client>> = (0..run.clients).map(|_| database.client()).collect::<Result<_>>()?;
    let ready = Barrier::new(run.clients + 1);
    std::thread::scope(|scope| {
        let threads = clients.iter_mut().enumerate().map(|(number, client)| {
            let ready = &ready;
            std::thread::Builder::new()
                .name(format!("client-{number}"))
                .spawn_scoped(scope, move || {
                    ready.wait();
                    let done = one_thread(&mut **client, Work::new(number, run)?, phase);
                    if done.is_err() {
                        phase.store(OVER, Ordering::Relaxed);
                    }
                    done
                })
                .context("could not start a thread")
        });
        let threads: Vec<_> = threads.collect::<Result<_>>()?;
        ready.wait();
        let length = conduct(run, phase, interrupted);
        let counts = threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a client panicked"))?);
        Ok((counts.collect::<Result<_>>()?, length))
    })
}

fn one_thread(client: &mut dyn Client, mut work: Work, phase: &AtomicU8) -> Result<Count> {
    while phase.load(Ordering::Relaxed) != OVER {
        let transaction = work.next();
        loop {
            let outcome = client.attempt(transaction)?;
            let now = phase.load(Ordering::Relaxed);
            if work.note(outcome, now) || now == OVER {
                break;
            }
            if !work.run.pause.is_zero() {
                std::thread::sleep(work.run.pause);
            }
        }
    }
    Ok(work.count)
}

fn as_tasks(
    database: &dyn Database,
    run: Run,
    runtime: &tokio::runtime::Handle,
    phase: &Arc<AtomicU8>,
    interrupted: &AtomicBool,
) -> Result<(Vec<Count>, Duration)> {
    let mut tasks = Vec::with_capacity(run.clients);
    for number in 0..run.clients {
        let client = database.task()?.context("its commit is not asynchronous")?;
        let (work, phase) = (Work::new(number, run)?, Arc::clone(phase));
        tasks.push(runtime.spawn(async move {
            let done = one_task(client, work, &phase).await;
            if done.is_err() {
                phase.store(OVER, Ordering::Relaxed);
            }
            done
        }));
    }
    let length = conduct(run, phase, interrupted);
    let counts = tasks.into_iter().map(|task| runtime.block_on(task).context("a client panicked")?);
    Ok((counts.collect::<Result<_>>()?, length))
}

async fn one_task(mut client: Box<dyn TaskClient>, mut work: Work, phase: &AtomicU8) -> Result<Count> {
    while phase.load(Ordering::Relaxed) != OVER {
        let transaction = work.next();
        loop {
            let outcome = client.attempt(transaction).await?;
            let now = phase.load(Ordering::Relaxed);
            if work.note(outcome, now) || now == OVER {
                break;
            }
            if !work.run.pause.is_zero() {
                tokio::time::sleep(work.run.pause).await;
            }
        }
    }
    Ok(work.count)
}
