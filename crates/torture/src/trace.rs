//! The last statements of a session, and since when it waits for an answer.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Statements that are kept.
const KEPT: usize = 40;

/// Characters of a statement that are kept.
const TEXT_LIMIT: usize = 400;

/// The activity of a session, for those who watch it.
pub struct Trace {
    /// `session 3`, `listener 1`.
    pub name: String,
    born: Instant,
    pid: AtomicI32,
    parked: AtomicBool,
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    kept: VecDeque<String>,
    in_flight: Option<InFlight>,
    count: u64,
}

/// A statement that has no answer yet.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// Its place among the session's statements.
    pub number: u64,
    /// Its text.
    pub text: String,
    /// When it was sent.
    pub since: Instant,
}

impl Trace {
    /// Of a session that has not begun.
    pub fn new(name: String, born: Instant) -> Trace {
        Trace { name, born, pid: AtomicI32::new(0), parked: AtomicBool::new(false), lines: Mutex::default() }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.lines.lock().expect("nobody panics with the lines")
    }

    /// A statement is sent.
    pub fn begin(&self, text: &str) {
        let mut lines = self.lines();
        lines.count += 1;
        let text = text.chars().take(TEXT_LIMIT).collect();
        lines.in_flight = Some(InFlight { number: lines.count, text, since: Instant::now() });
    }

    /// Its answer is here.
    pub fn end(&self, answer: &str) {
        let mut lines = self.lines();
        if let Some(statement) = lines.in_flight.take() {
            let line = format!(
                "{:>9.3} +{:.3} {} -> {answer}",
                (statement.since - self.born).as_secs_f64(),
                statement.since.elapsed().as_secs_f64(),
                statement.text
            );
            lines.keep(line);
        }
    }

    /// Something that is no statement.
    pub fn note(&self, text: &str) {
        let line = format!("{:>9.3} {text}", self.born.elapsed().as_secs_f64());
        self.lines().keep(line);
    }

    /// The statement without an answer, if there is one.
    pub fn in_flight(&self) -> Option<InFlight> {
        self.lines().in_flight.clone()
    }

    /// How long it has waited.
    pub fn waiting(&self) -> Duration {
        self.in_flight().map_or(Duration::ZERO, |statement| statement.since.elapsed())
    }

    /// The server's process number for the session; 0 without a connection.
    pub fn pid(&self) -> i32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Notes the process number.
    pub fn set_pid(&self, pid: i32) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// Whether the session waits for the server's next life.
    pub fn is_parked(&self) -> bool {
        self.parked.load(Ordering::SeqCst)
    }

    /// Notes whether it waits for that.
    pub fn set_parked(&self, is_parked: bool) {
        self.parked.store(is_parked, Ordering::SeqCst);
    }

    /// All that is kept, as text.
    pub fn text(&self) -> String {
        let lines = self.lines();
        let mut text = format!("== {} (pid {})\n", self.name, self.pid());
        for line in &lines.kept {
            let _ = writeln!(text, "{line}");
        }
        if let Some(statement) = &lines.in_flight {
            let (begun, waited) = ((statement.since - self.born).as_secs_f64(), statement.since.elapsed());
            let _ = writeln!(text, "{begun:>9.3} NO ANSWER for {:.1} s: {}", waited.as_secs_f64(), statement.text);
        }
        text
    }
}

impl Lines {
    fn keep(&mut self, line: String) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(line);
    }
}
