//! One session: connects, works, is cut off, and comes back.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::NoTls;

use crate::options::Kind;
use crate::steps::locks::Hold;
use crate::torture::{Phase, Torture};
use crate::trace::Trace;
use crate::wire::{Answer, Trouble, Wire};
use crate::{settle, steps};

/// A connected session.
pub struct Session {
    /// Its place among the sessions.
    pub number: usize,
    /// The run.
    pub torture: Arc<Torture>,
    /// Where its choices come from.
    pub random: StdRng,
    /// Its connection.
    pub wire: Wire,
    /// Its last statements.
    pub trace: Arc<Trace>,
    /// The server's life that it belongs to.
    pub life: u64,
    /// Whether its commits wait for the disk.
    pub is_synchronous: bool,
    /// Locks that the model knows it to hold.
    pub holds: Vec<Hold>,
}

/// An accident that is to happen to a statement while it runs.
enum Accident {
    None,
    Cancel(Duration),
    Cut(Duration),
}

/// Works until the run is over.
pub async fn run(torture: Arc<Torture>, number: usize) {
    let seed = torture.seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut random = StdRng::seed_from_u64(seed);
    let trace = Arc::clone(&torture.traces[number]);
    let mut last = None;
    while let Some(life) = next_life(&torture, &trace).await {
        let (is_tcp, options) = (random.random_bool(0.5), start_options(&torture, number, &mut random));
        let Ok(wire) = Wire::open(&torture.launch.address(), is_tcp, &options).await else {
            // The server is being killed, or the watch notices that it takes no connections.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        trace.note(&format!("connected as {} with {options}", wire.pid));
        let pid = wire.pid;
        let mut session = Session {
            number,
            torture: Arc::clone(&torture),
            random,
            wire,
            trace: Arc::clone(&trace),
            life,
            is_synchronous: !options.contains("synchronous_commit=off"),
            holds: Vec::new(),
        };
        let ended = session.work(last).await;
        trace.note(&format!("connection ended: {ended}"));
        session.release_holds(|_| true);
        random = session.random;
        last = Some((life, pid));
    }
    trace.set_parked(true);
}

/// Waits until there is a life of the server to work on; none if the run is over.
pub async fn next_life(torture: &Torture, trace: &Trace) -> Option<u64> {
    let mut phase = torture.phase.subscribe();
    loop {
        let now = *phase.borrow_and_update();
        match now {
            Phase::Working(_) if torture.failure().is_some() => return None,
            Phase::Working(life) => {
                trace.set_parked(false);
                // It may have changed before this session was seen to work.
                if *torture.phase.borrow() == now {
                    return Some(life);
                }
            }
            Phase::Quiet => {
                trace.set_parked(true);
                phase.changed().await.ok()?;
            }
            Phase::Over => return None,
        }
    }
}

fn start_options(torture: &Torture, number: usize, random: &mut StdRng) -> String {
    if number == 0 {
        // This session finishes prepared transactions, so it has no timeouts.
        return String::new();
    }
    let mut options = format!("-c deadlock_timeout={}ms", [20, 100, 1000][random.random_range(0..3)]);
    if torture.options.allows(Kind::Timeouts) {
        options += &format!(" -c lock_timeout={}", ["0", "50ms", "500ms", "3s"][random.random_range(0..4)]);
        if random.random_ratio(1, 6) {
            options += &format!(" -c statement_timeout={}ms", [5, 50, 500][random.random_range(0..3)]);
        }
    }
    if torture.options.allows(Kind::Asynchronous) && random.random_ratio(1, 6) {
        options += " -c synchronous_commit=off";
    }
    if random.random_ratio(1, 4) {
        options += " -c work_mem=64";
    }
    options
}

impl Session {
    /// Does one thing after the other until the connection or the server's life ends.
    async fn work(&mut self, last: Option<(u64, i32)>) -> Trouble {
        match settle::after_reconnection(self, last).await {
            Ok(()) => {}
            Err(trouble) => return trouble,
        }
        self.trace.set_pid(self.wire.pid);
        let units = if self.is_finisher() { u32::MAX } else { self.random.random_range(20..400) };
        for _ in 0..units {
            if !self.torture.is_working(self.life) && !self.is_awaited() {
                break;
            }
            match steps::run_unit(self).await {
                Ok(()) => {}
                Err(trouble @ Trouble::Lost(_)) => return trouble,
                // Outside of a transaction, an error is an answer like others.
                Err(Trouble::Refused { .. }) => {}
            }
        }
        Trouble::Lost("closed by the client".to_owned())
    }

    /// Whether it only finishes prepared transactions, so that every wait for their locks ends.
    pub fn is_finisher(&self) -> bool {
        self.number == 0 && self.torture.options.allows(Kind::TwoPhase)
    }

    /// Whether others, which are to come to an end, may still wait for locks of prepared transactions.
    fn is_awaited(&self) -> bool {
        let others = &self.torture.traces[1..self.torture.options.sessions];
        let is_any_working = others.iter().any(|trace| !trace.is_parked());
        self.is_finisher() && is_any_working && !self.wire.is_closed() && self.torture.failure().is_none()
    }

    /// Sends one statement, perhaps with an accident, and waits for the answer.
    ///
    /// # Errors
    /// The server's error, or that the connection is gone.
    pub async fn say(&mut self, text: &str) -> Result<Answer, Trouble> {
        let accident = self.choose_accident();
        let is_extended = is_plain_change(text) && self.random.random_bool(0.3);
        self.begin(text);
        let result = match accident {
            Accident::None if is_extended => self.wire.change(text).await,
            Accident::None => self.wire.ask(text).await,
            Accident::Cancel(delay) => {
                let token = self.wire.client.cancel_token();
                tokio::spawn(async move {
                    tokio::time::sleep(delay).await;
                    // The server may be gone.
                    let _ = token.cancel_query(NoTls).await;
                });
                self.wire.ask(text).await
            }
            Accident::Cut(delay) => match tokio::time::timeout(delay, self.wire.ask(text)).await {
                Ok(result) => result,
                Err(_) => {
                    self.wire.cut();
                    Err(Trouble::Lost("cut by the client".to_owned()))
                }
            },
        };
        let words = match &result {
            Ok(answer) if answer.rows.is_empty() => format!("{}", answer.count),
            Ok(answer) if answer.rows.len() == 1 => format!("{:?}", answer.rows[0]),
            Ok(answer) => format!("{} rows", answer.rows.len()),
            Err(trouble) => trouble.to_string(),
        };
        self.finish(text, &words, result.as_ref().err());
        result
    }

    /// Sends one query, all of whose columns are text, by the extended protocol.
    ///
    /// # Errors
    /// The server's error, or that the connection is gone.
    pub async fn say_extended(&mut self, text: &str) -> Result<Answer, Trouble> {
        self.begin(text);
        let result = self.wire.ask_extended(text).await;
        let words = result.as_ref().map_or_else(Trouble::to_string, |answer| format!("{} rows", answer.rows.len()));
        self.finish(text, &words, result.as_ref().err());
        result
    }

    /// A statement is about to be sent.
    pub fn begin(&self, text: &str) {
        self.torture.model.holders.arm(&self.holds);
        self.trace.begin(text);
    }

    /// Its answer is here, or the connection is gone.
    pub fn finish(&self, text: &str, words: &str, trouble: Option<&Trouble>) {
        self.trace.end(words);
        match trouble {
            None => {
                self.torture.count(text, None, "");
                if let Err(problem) = self.torture.model.holders.survived(&self.holds) {
                    self.torture.fail(problem);
                }
            }
            Some(Trouble::Refused { code, message }) => self.torture.count(text, Some(code), message),
            Some(Trouble::Lost(_)) => {}
        }
    }

    fn choose_accident(&mut self) -> Accident {
        let delay = Duration::from_micros(self.random.random_range(0..5_000));
        if self.is_finisher() {
            return Accident::None;
        }
        match self.random.random_range(0..1_000) {
            0..6 if self.torture.options.allows(Kind::Cancel) => Accident::Cancel(delay),
            6..9 if self.torture.options.allows(Kind::Disconnect) => Accident::Cut(delay),
            _ => Accident::None,
        }
    }

    /// The model forgets locks that are about to be given back.
    pub fn release_holds(&mut self, is_released: impl Fn(&Hold) -> bool) {
        let (released, kept) = self.holds.drain(..).partition(|hold| is_released(hold));
        let released: Vec<Hold> = released;
        self.holds = kept;
        self.torture.model.holders.release(&released);
    }
}

/// Whether a text is one statement that gives no rows and has a count.
fn is_plain_change(text: &str) -> bool {
    ["insert", "update", "delete"].iter().any(|verb| text.starts_with(verb))
        && !text.contains(';')
        && !text.contains("returning")
}
