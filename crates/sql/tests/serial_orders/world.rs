//! An engine with three sessions that run the transactions of a case, interleaved or one after the other.

use std::sync::Arc;
use std::time::Instant;

use base::settings::{ServerSettings, Source};
use base::{Error, Lsn, Oid, Result};
use cohort_sql::{ConnectRequest, Instance, SqlSession};
use engine::{Database, OpenOptions};
use executor::client::{Client, Formats, OutgoingRow, RowDescription, Severity};
use sync::{Coroutine, ReadyQueue, StackPool, Step};
use vfs::SimulatedVfs;

use crate::case::{Case, Transaction};
use crate::statements;

/// The outcome of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub is_committed: bool,
    /// Of each step, in order: its rows, sorted, and its tag, or the SQLSTATE of its error.
    pub results: Vec<String>,
}

/// Collects the answer to one statement.
#[derive(Default)]
struct Told {
    rows: Vec<String>,
    tags: Vec<String>,
}

impl Told {
    fn text(mut self) -> String {
        self.rows.sort_unstable();
        format!("{} {}", self.rows.join(" "), self.tags.join(", ")).trim_start().to_owned()
    }
}

impl Client for Told {
    fn require(&mut self, _lsn: Lsn) {}

    fn row_description(&mut self, _description: &RowDescription, _formats: &Formats) {}

    fn no_data(&mut self) {}

    fn parameter_description(&mut self, _types: &[Oid]) {}

    fn row(&mut self, row: &OutgoingRow<'_>) -> Result<()> {
        let mut text = String::from("(");
        for index in 0..row.values.len() {
            let mut value = Vec::new();
            let is_there = row.write_value(index, &mut value)?;
            text += if index == 0 { "" } else { "," };
            text += &if is_there { String::from_utf8_lossy(&value).into_owned() } else { String::new() };
        }
        self.rows.push(text + ")");
        Ok(())
    }

    fn command_complete(&mut self, tag: &str) {
        self.tags.push(tag.to_owned());
    }

    fn notice(&mut self, _severity: Severity, _notice: &Error) {}

    fn error(&mut self, _error: &Error) {}

    fn parameter_status(&mut self, _name: &str, _value: &str) {}

    fn notification(&mut self, _pid: i32, _channel: &str, _payload: &str) {}

    fn read_copy_data(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn copy_data(&mut self, _data: &[u8]) {}

    fn relieve(&mut self) -> Result<()> {
        Ok(())
    }
}

/// One query string; the answer, and the error if it failed.
fn say(session: &mut SqlSession, text: &str) -> (String, Option<Error>) {
    let mut told = Told::default();
    let error = session.simple_query(text, &mut told).err();
    if let Some(error) = &error {
        session.fail(error, &mut told);
        told.tags.push(format!("ERROR {}", error.sqlstate()));
    }
    session.before_ready(&mut told);
    (told.text(), error)
}

/// One query string that must not fail.
fn say_well(session: &mut SqlSession, text: &str) -> String {
    let (answer, error) = say(session, text);
    assert!(error.is_none(), "{text}: {}", error.expect("looked at before").message());
    answer
}

/// A step of a transaction. `None`: its client was told to try again, and has rolled it back.
fn take_step(session: &mut SqlSession, text: &str) -> Option<String> {
    let (answer, error) = say(session, text);
    if let Some(error) = error
        && ["40001", "40P01"].contains(&error.sqlstate().as_str())
    {
        say(session, "rollback");
        return None;
    }
    Some(answer)
}

/// A session, and how far it has come with its transaction.
struct Player {
    /// Away while a step runs.
    session: Option<Box<SqlSession>>,
    running: Option<Coroutine<(Box<SqlSession>, Option<String>)>>,
    deadline: Option<Instant>,
    outcome: Outcome,
    is_over: bool,
}

pub struct World {
    database: Database,
    keeper: SqlSession,
    players: Vec<Player>,
    stacks: StackPool,
    ready: Arc<ReadyQueue>,
}

impl World {
    /// A new database with the tables, and sessions for `count` transactions at once.
    pub fn new(count: usize) -> World {
        let settings = ServerSettings::new();
        for (name, value) in
            [("shared_buffers", "512"), ("max_prepared_transactions", "9"), ("deadlock_timeout", "1ms")]
        {
            settings.set_at_start(name, value, Source::CommandLine).unwrap();
        }
        let database = Database::open(OpenOptions {
            vfs: Arc::new(SimulatedVfs::new(1)),
            settings: Arc::new(settings),
            background: false,
            csn_window: 4096,
            ..OpenOptions::new("/data")
        })
        .unwrap();
        let instance = Instance::new(database.clone());
        let connect = || {
            let (user, name) = ("postgres".to_owned(), "postgres".to_owned());
            instance.connect(ConnectRequest { user, database: name, ..ConnectRequest::default() }).unwrap()
        };
        let mut keeper = connect();
        for text in statements::SCHEMA {
            say_well(&mut keeper, text);
        }
        let player = || Player {
            session: Some(Box::new(connect())),
            running: None,
            deadline: None,
            outcome: Outcome::default(),
            is_over: false,
        };
        let players = (0..count).map(|_| player()).collect();
        let ready = Arc::new(ReadyQueue::new(|| {}));
        World { database, keeper, players, stacks: StackPool::default(), ready }
    }

    /// Puts the tables back to what they are at the beginning of the case.
    fn set_up(&mut self, case: &Case) {
        self.database.wal().flush(self.database.wal().reserved());
        for text in statements::CLEAR.iter().copied().chain(case.rows.iter().map(String::as_str)) {
            say_well(&mut self.keeper, text);
        }
        for player in &mut self.players {
            let session = player.session.as_mut().expect("no step runs");
            for text in &case.settings {
                say_well(session, text);
            }
            (player.outcome, player.is_over) = (Outcome::default(), false);
        }
    }

    /// The rows of all tables.
    fn contents(&mut self) -> Vec<String> {
        let ask = |table: &&str| say_well(&mut self.keeper, &format!("select * from {table}"));
        statements::TABLES.iter().map(ask).collect()
    }

    /// Runs the transactions interleaved as the case says; their outcomes, and the contents of the tables afterwards.
    pub fn run_interleaved(&mut self, case: &Case) -> (Vec<Outcome>, Vec<String>) {
        self.set_up(case);
        for number in &case.schedule {
            self.resume_ready();
            self.begin_step(&case.transactions[*number], *number);
        }
        loop {
            self.resume_ready();
            let has_begun =
                (0..case.transactions.len()).any(|number| self.begin_step(&case.transactions[number], number));
            if has_begun {
                continue;
            }
            if self.players.iter().all(|player| player.running.is_none()) {
                break;
            }
            // All that are left wait. Time passes, so that those who wait for it look for a deadlock.
            let first = (0..self.players.len()).filter(|number| self.players[*number].deadline.is_some());
            let first = first.min_by_key(|number| self.players[*number].deadline);
            let first =
                first.unwrap_or_else(|| panic!("nobody goes on: {:#?}\n{case}", self.database.locks().snapshot()));
            let deadline = self.players[first].deadline.expect("it was chosen for having one");
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            self.resume(first);
        }
        let outcomes = self.players.iter().take(case.transactions.len()).map(|player| player.outcome.clone()).collect();
        (outcomes, self.contents())
    }

    /// Begins the next step of a transaction unless one runs; whether it did.
    fn begin_step(&mut self, transaction: &Transaction, number: usize) -> bool {
        let player = &mut self.players[number];
        if player.is_over || player.running.is_some() {
            return false;
        }
        let Some(text) = transaction.steps.get(player.outcome.results.len()).cloned() else {
            player.is_over = true;
            return false;
        };
        let mut session = player.session.take().expect("no step runs");
        let body = move || {
            let answer = take_step(&mut session, &text);
            (session, answer)
        };
        player.running = Some(Coroutine::new(&self.stacks, Arc::clone(&self.ready), number as u64, body));
        self.resume(number);
        true
    }

    fn resume_ready(&mut self) {
        let mut tokens = Vec::new();
        loop {
            self.ready.drain(&mut tokens);
            if tokens.is_empty() {
                return;
            }
            for token in tokens.drain(..) {
                self.resume(token as usize);
            }
        }
    }

    fn resume(&mut self, number: usize) {
        let player = &mut self.players[number];
        let Some(running) = &mut player.running else { return };
        let (session, answer) = match running.resume() {
            Step::Suspended { deadline } => return player.deadline = deadline,
            Step::Yielded => return self.ready.push(number as u64),
            Step::Finished(finished) => finished,
        };
        (player.session, player.running, player.deadline) = (Some(session), None, None);
        note_answer(&mut player.outcome, answer, &mut player.is_over);
    }

    /// Runs the transactions of `order`, one after the other; their outcomes, and the contents of the tables afterwards.
    pub fn run_serially(&mut self, case: &Case, order: &[usize]) -> (Vec<Outcome>, Vec<String>) {
        self.set_up(case);
        for number in order {
            let player = &mut self.players[*number];
            let session = player.session.as_mut().expect("no step runs");
            for text in &case.transactions[*number].steps {
                let answer = take_step(session, text);
                assert!(answer.is_some(), "a transaction that runs alone can't fail with a conflict: {text}\n{case}");
                note_answer(&mut player.outcome, answer, &mut player.is_over);
            }
        }
        let outcomes = self.players.iter().take(case.transactions.len()).map(|player| player.outcome.clone()).collect();
        (outcomes, self.contents())
    }
}

fn note_answer(outcome: &mut Outcome, answer: Option<String>, is_over: &mut bool) {
    match answer {
        Some(answer) => {
            outcome.is_committed = ["COMMIT", "COMMIT PREPARED"].contains(&answer.as_str());
            outcome.results.push(answer);
        }
        None => (outcome.is_committed, *is_over) = (false, true),
    }
}
