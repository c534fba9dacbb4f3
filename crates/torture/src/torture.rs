//! The state that all tasks of a run share, and the first failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::conductor;
use crate::model::Model;
use crate::options::Options;
use crate::port::free_port;
use crate::server::{Launch, Usage};
use crate::trace::Trace;

/// SQLSTATE classes and codes that no statement of ours may meet: damage, input and output, missing resources, broken
/// framing, and names of internal errors.
const NEVER: [&str; 6] = ["XX", "58", "53", "08", "F0", "P0004"];

/// The phase of a run, which tells sessions what to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// Wait.
    Quiet,
    /// Work on this life of the server.
    Working(u64),
    /// End.
    Over,
}

/// The state that all tasks share.
pub struct Torture {
    /// The options of the run.
    pub options: Options,
    /// The seed of all random choices.
    pub seed: u64,
    /// How servers are started.
    pub launch: Launch,
    /// The model of the data that must be there.
    pub model: Model,
    /// One for each session.
    pub traces: Vec<Arc<Trace>>,
    /// The phase, which tells sessions what to do.
    pub phase: watch::Sender<Phase>,
    /// When the run began.
    pub born: Instant,
    failure: watch::Sender<Option<String>>,
    tally: Mutex<BTreeMap<String, u64>>,
    statements: AtomicU64,
    commits: AtomicU64,
}

impl Torture {
    fn new(options: Options, seed: u64, launch: Launch) -> Torture {
        let born = Instant::now();
        let listeners = conductor::LISTENERS;
        let sessions = (0..options.sessions).map(|number| format!("session {number}"));
        let names = sessions.chain((0..listeners).map(|number| format!("listener {number}")));
        Torture {
            model: Model::new(options.sessions),
            traces: names.map(|name| Arc::new(Trace::new(name, born))).collect(),
            phase: watch::channel(Phase::Quiet).0,
            failure: watch::channel(None).0,
            tally: Mutex::default(),
            statements: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            options,
            seed,
            launch,
            born,
        }
    }

    /// The run has failed. The first reason is kept.
    pub fn fail(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.failure.send_if_modified(|failure| {
            let is_first = failure.is_none();
            if is_first {
                *failure = Some(reason);
            }
            is_first
        });
    }

    /// Why the run has failed, if it has.
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// Waits until the run fails.
    pub async fn failed(&self) {
        let mut failure = self.failure.subscribe();
        // The sender lives as long as `self`.
        let _ = failure.wait_for(Option::is_some).await;
    }

    /// Whether the server's life of a session's connection goes on.
    pub fn is_working(&self, life: u64) -> bool {
        *self.phase.borrow() == Phase::Working(life) && self.failure.borrow().is_none()
    }

    /// Counts an answered statement by its first words and its SQLSTATE, and looks whether that one may come.
    pub fn count(&self, text: &str, code: Option<&str>, message: &str) {
        self.statements.fetch_add(1, Ordering::Relaxed);
        let Some(code) = code else { return };
        let name = text.split(['(', '\'']).next().unwrap_or_default();
        let words: Vec<&str> = name
            .split_whitespace()
            .take(2)
            .map(|word| word.trim_end_matches(|c: char| c == '_' || c.is_numeric()))
            .collect();
        *self
            .tally
            .lock()
            .expect("nobody panics with it")
            .entry(format!("{} {}", code, words.join(" ")))
            .or_default() += 1;
        if NEVER.iter().any(|never| code.starts_with(never)) {
            self.fail(format!("{code} {message}\n  after: {text}"));
        }
    }

    /// Counts a transaction that was committed.
    pub fn count_commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }
}

/// The summary of a run without a failure.
pub struct Summary {
    seed: u64,
    elapsed: Duration,
    /// Statements that were answered.
    pub statements: u64,
    /// Transactions whose commit was acknowledged.
    pub commits: u64,
    /// How the server's lives ended, counted.
    pub endings: BTreeMap<&'static str, u64>,
    peak: Usage,
    tally: BTreeMap<String, u64>,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        let _ = writeln!(text, "errors by SQLSTATE and statement:");
        for (what, count) in &self.tally {
            let _ = writeln!(text, "{count:>9} {what}");
        }
        let endings: Vec<String> = self.endings.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let Usage { memory_mb, descriptors, threads } = self.peak;
        write!(
            formatter,
            "{text}seed {}: {:.0} s, {} statements, {} commits, lives ended by: {}; peak {memory_mb} MB, {descriptors} \
             descriptors, {threads} threads; nothing found",
            self.seed,
            self.elapsed.as_secs_f64(),
            self.statements,
            self.commits,
            endings.join(", ")
        )
    }
}

/// One run.
///
/// # Errors
/// The text of the first failure, with the seed and where everything is kept.
pub fn run(options: Options) -> Result<Summary, String> {
    if options.sessions < 2 {
        return Err("at least two sessions are needed: the first one only finishes what others prepare".to_owned());
    }
    let seed = options.seed.unwrap_or_else(rand::random);
    println!("torture: seed {seed}, {} sessions, {} s", options.sessions, options.seconds);
    let io = |error: std::io::Error| format!("can't prepare the run: {error}");
    let temporary = match &options.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(io)?;
            tempfile::Builder::new().prefix("torture-").tempdir_in(folder)
        }
        None => tempfile::Builder::new().prefix("torture-").tempdir(),
    };
    let temporary = temporary.map_err(io)?;
    let launch = Launch {
        program: options.server.clone(),
        folder: temporary.path().to_owned(),
        port: free_port().map_err(io)?,
        settings: options.settings.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(io)?;
    let torture = Arc::new(Torture::new(options, seed, launch));
    let outcome = runtime.block_on(conductor::conduct(&torture));
    runtime.shutdown_timeout(Duration::from_secs(1));
    match outcome {
        Ok((endings, peak)) => Ok(Summary {
            seed,
            elapsed: torture.born.elapsed(),
            statements: torture.statements.load(Ordering::Relaxed),
            commits: torture.commits.load(Ordering::Relaxed),
            endings,
            peak,
            tally: std::mem::take(&mut torture.tally.lock().expect("nobody panics with it")),
        }),
        Err(reason) => {
            let kept = temporary.keep();
            let elapsed = torture.born.elapsed().as_secs_f64();
            Err(format!("torture: seed {seed} failed after {elapsed:.1} s: {reason}\nkept: {}", kept.display()))
        }
    }
}
