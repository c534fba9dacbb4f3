//! A statement that comes upon what another transaction has changed and not committed yet, on Cohort and on a real PostgreSQL 15.
//!
//! A first session changes rows, or definitions, and leaves its transaction open. A second session then runs a random statement that reads,
//! locks or changes the same rows. The first session commits or rolls back. Both servers must give the second session the same answer, and
//! have the same rows afterwards. A statement of READ COMMITTED looks at the newest versions of the rows it has waited for; one of a higher
//! level fails with 40001. A statement that has waited for a definition goes by the new one.
//!
//! `COHORT_RECHECKS` says how many schedules are tried, `COHORT_RECHECKS_FROM` the seed of the first one,
//! `COHORT_RECHECKS_SHOW=1` prints each before it runs.

mod common;
#[path = "rechecks/script.rs"]
mod script;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use script::Script;

/// How many schedules there are if nobody asks for another number.
const SCHEDULES: u64 = 150;
/// How many that differ are shown before the search ends.
const DIFFERENCES_MAX: usize = 12;
/// How long a statement may take until it waits or has answered.
const SETTLE_LIMIT: Duration = Duration::from_secs(30);

/// Plans of one sort, so that both servers come to rows in the order in which they lie.
const SETTINGS: &[&str] =
    &["set enable_hashjoin to off", "set enable_mergejoin to off", "set statement_timeout to '20s'"];

/// A session in a thread of its own.
struct Second {
    texts: Sender<String>,
    answers: Receiver<String>,
    pid: String,
}

impl Second {
    fn connect(socket: &Path) -> Second {
        let mut session = connect(socket);
        let seen = session.simple("select pg_backend_pid()");
        let pid = seen.lines().find_map(|line| line.strip_prefix("row ")).expect("a process").to_owned();
        let (texts, received) = channel::<String>();
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for text in received {
                if send.send(session.simple(&text)).is_err() {
                    return;
                }
            }
        });
        Second { texts, answers, pid }
    }

    fn send(&self, text: &str) {
        self.texts.send(text.to_owned()).unwrap();
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(SETTLE_LIMIT).expect("an answer")
    }
}

fn connect(socket: &Path) -> Session {
    let mut session = Session::connect(socket, "postgres");
    for text in SETTINGS {
        assert!(session.simple(text).contains("tag SET"));
    }
    session
}

/// One server.
struct Side {
    first: Session,
    second: Second,
}

impl Side {
    fn connect(socket: &Path) -> Side {
        Side { first: connect(socket), second: Second::connect(socket) }
    }

    /// Whether the second session waited, its answer, and the rows at the end.
    fn run(&mut self, script: &Script) -> Vec<String> {
        let run = |session: &mut Session, text: &str| {
            let answer = session.simple(text);
            assert!(!answer.contains("ERROR "), "{text}: {answer}");
        };
        script.setup().iter().for_each(|text| run(&mut self.first, text));
        run(&mut self.first, "begin");
        script.changes.iter().for_each(|text| run(&mut self.first, text));
        self.second.send(&format!("begin isolation level {}", script.level));
        self.second.answer();
        self.second.send(&script.statement);
        let answered = self.settled();
        // The end of the second transaction may wait as well, for deferred checks.
        let ended = answered.as_ref().and_then(|_| {
            self.second.send("commit");
            self.settled()
        });
        run(&mut self.first, script.end);
        let has_waited = answered.is_none();
        let (answer, ended) = match (answered, ended) {
            (Some(answer), ended) => (answer, ended.unwrap_or_else(|| self.second.answer())),
            (None, _) => {
                let answer = self.second.answer();
                self.second.send("commit");
                (answer, self.second.answer())
            }
        };
        let mut seen = vec![format!("waited: {has_waited}\n"), sorted(&answer), sorted(&ended)];
        let tables = ["t", "u", "p", "f", "old_p", "old_f"];
        seen.extend(tables.map(|table| sorted(&self.first.simple(&format!("select * from {table}")))));
        seen
    }

    /// The answer of the second session, or none if it waits for the first one.
    fn settled(&mut self) -> Option<String> {
        let started = Instant::now();
        loop {
            if let Ok(answer) = self.second.answers.recv_timeout(Duration::from_millis(2)) {
                return Some(answer);
            }
            let seen = self.first.simple(&format!("select cardinality(pg_blocking_pids({}))", self.second.pid));
            if !seen.contains("row 0\n") {
                return None;
            }
            assert!(started.elapsed() < SETTLE_LIMIT, "the statement neither waits nor ends");
        }
    }
}

/// The rows of an answer in the order of their texts. An error's position and detail are not compared, nor are rows that came before it.
fn sorted(answer: &str) -> String {
    if let Some(error) = answer.lines().find(|line| line.starts_with("ERROR ")) {
        return format!("{error}\n");
    }
    let mut lines: Vec<&str> = answer.lines().collect();
    lines.sort_unstable();
    lines.join("\n") + "\n"
}

fn environment_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

// invariants: row 43
#[test]
fn statements_that_waited_see_what_postgresql_shows_them() {
    let Some(binaries) = server_binaries() else { return };
    let count = environment_number("COHORT_RECHECKS").unwrap_or(SCHEDULES);
    let from = environment_number("COHORT_RECHECKS_FROM").unwrap_or(0);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let (mut ours, mut theirs) = (Side::connect(&server.socket()), Side::connect(&reference.socket()));
    let (mut report, mut differences) = (String::new(), 0);
    for seed in from..from + count {
        let script = Script::of(seed);
        if std::env::var_os("COHORT_RECHECKS_SHOW").is_some() {
            eprint!("--- schedule {seed}\n{script}");
        }
        let (expected, found) = (theirs.run(&script), ours.run(&script));
        if expected != found {
            let shown =
                format!("--- schedule {seed}\n{script}PostgreSQL:\n{}Cohort:\n{}", expected.concat(), found.concat());
            eprint!("{shown}");
            report.push_str(&shown);
            differences += 1;
            if differences == DIFFERENCES_MAX {
                break;
            }
        }
    }
    assert!(differences == 0, "{differences} schedules differ\n{report}");
    eprintln!("{count} schedules agree");
    server.stop();
}
