//! Prepared transactions, statement by statement, on Cohort and on a real PostgreSQL 15: all that a client sees must agree.
//!
//! Each file of `tests/two_phase` runs in a schema of its own on either server. A line `a: statement;` is sent by session `a`, in
//! the simple protocol; `a extended: statement;` in the extended one. A statement goes on to the next `;` at the end of a
//! line outside of `$$`. A session logs in when it is first heard of: one with a single letter as the superuser `postgres`, any
//! other as the role it is called after. `a leaves` closes its connection; `restart` and `crash` end the server, in order and
//! without warning, and start it again, with the settings that follow. `a waits: statement;` sends one that has to wait for
//! another session or a prepared transaction, `a answers` reads what came of it.
//!
//! Tags, columns, rows, notices, errors with detail and hint, and whether a block is open afterwards are compared. Where the
//! two are known to differ, `ALLOWED` says so and why. `COHORT_TWO_PHASE=gids,locks` runs only the scripts whose names contain
//! one of these words; `COHORT_TWO_PHASE_PRINT=1` prints what PostgreSQL answers, without asking Cohort.

mod common;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;

/// Differences that stay: script, the line's beginning, and why.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// An answer without the reason of a serialization failure: it is undefined which of several reasons is found first.
fn without_reasons(seen: &str) -> String {
    seen.lines()
        .filter(|line| !line.starts_with("DETAIL: Reason code: "))
        .fold(String::new(), |kept, line| kept + line + "\n")
}

/// The settings that both servers start with.
const SETTINGS: &[&str] = &["max_prepared_transactions=16"];

/// A step of a script.
#[derive(Clone, Copy, PartialEq)]
enum Step<'a> {
    /// A session sends a statement.
    Statement { session: &'a str, extended: bool, text: &'a str },
    /// A session sends a statement that waits.
    Wait { session: &'a str, text: &'a str },
    /// The session reads the answer to the statement that waited.
    Answer { session: &'a str },
    /// A session's connection is closed.
    Leave { session: &'a str },
    /// The server is started again.
    Restart { by_crash: bool, settings: &'a str },
}

/// The lines of a script, those of one statement joined, without comments.
fn lines(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    for line in script.lines() {
        if current.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        current.push_str(line);
        let is_statement = current.split_whitespace().take(2).any(|word| word.ends_with(':'));
        let ends = line.trim_end().ends_with(';') && current.matches("$$").count().is_multiple_of(2);
        if ends || !is_statement {
            found.push(std::mem::take(&mut current));
        } else {
            current.push('\n');
        }
    }
    assert!(current.is_empty(), "an unfinished statement: {current}");
    found
}

fn step(line: &str) -> Step<'_> {
    if let Some(session) = line.strip_suffix(" leaves") {
        return Step::Leave { session };
    }
    if let Some(session) = line.strip_suffix(" answers") {
        return Step::Answer { session };
    }
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    match first {
        "restart" | "crash" => Step::Restart { by_crash: first == "crash", settings: rest },
        _ => {
            let (who, text) = line.split_once(": ").expect("a session and its statement");
            if let Some(session) = who.strip_suffix(" waits") {
                return Step::Wait { session, text };
            }
            let (session, extended) = who.strip_suffix(" extended").map_or((who, false), |session| (session, true));
            Step::Statement { session, extended, text }
        }
    }
}

/// One of the two servers, with a script's sessions.
struct Side<S> {
    server: S,
    sessions: HashMap<String, Session>,
}

/// A server that scripts run on.
trait Restartable {
    fn socket(&self) -> PathBuf;
    fn restart(self, settings: &[&str], by_crash: bool) -> Self;
}

impl Restartable for Reference {
    fn socket(&self) -> PathBuf {
        Reference::socket(self)
    }

    fn restart(mut self, settings: &[&str], by_crash: bool) -> Self {
        Reference::restart(&mut self, settings, by_crash);
        self
    }
}

/// Cohort with the folder it serves.
struct Cohort {
    server: Server,
    folder: PathBuf,
}

impl Restartable for Cohort {
    fn socket(&self) -> PathBuf {
        self.server.socket()
    }

    fn restart(self, settings: &[&str], by_crash: bool) -> Self {
        if by_crash {
            self.server.kill();
        } else {
            self.server.stop();
        }
        Cohort { server: Server::start(&self.folder, settings), folder: self.folder }
    }
}

impl<S: Restartable> Side<S> {
    fn new(server: S) -> Self {
        let mut side = Side { server, sessions: HashMap::new() };
        side.control("create role joe login; create role mary superuser login");
        side
    }

    /// Runs statements as the superuser, in a new session; returns the server's answer.
    fn control(&mut self, text: &str) -> String {
        Session::connect(&self.server.socket(), "postgres").simple(text)
    }

    /// The session of this name, which logs in if it is new, to the script's schema.
    fn session(&mut self, name: &str, schema: &str) -> &mut Session {
        let socket = self.server.socket();
        self.sessions.entry(name.to_owned()).or_insert_with(|| {
            let user = if name.len() == 1 { "postgres" } else { name };
            let mut session = Session::connect(&socket, user);
            session.simple(&format!("set search_path to {schema}"));
            session
        })
    }

    /// How many sessions wait for a lock or a safe snapshot, as the server says it.
    fn waiting(&mut self) -> String {
        self.control(
            "select (select count(*) from pg_locks where not granted)
                  + (select count(*) from pg_stat_activity where wait_event = 'SafeSnapshot')",
        )
    }

    /// Takes a step of the script that has this schema.
    fn take(mut self, step: Step<'_>, schema: &str) -> (Self, String) {
        match step {
            Step::Statement { session, extended, text } => {
                let session = self.session(session, schema);
                let seen = if extended { session.extended(text) } else { session.simple(text) };
                (self, seen)
            }
            Step::Wait { session, text } => {
                let before = self.waiting();
                self.session(session, schema).send(text);
                let deadline = Instant::now() + Duration::from_secs(20);
                while self.waiting() == before {
                    assert!(Instant::now() < deadline, "it doesn't wait: {text}");
                    std::thread::sleep(Duration::from_millis(5));
                }
                (self, String::new())
            }
            Step::Answer { session } => {
                let seen = self.session(session, schema).answer();
                (self, seen)
            }
            Step::Leave { session } => {
                self.sessions.remove(session).expect("a session that is there");
                (self, String::new())
            }
            Step::Restart { by_crash, settings } => {
                self.sessions.clear();
                let settings: Vec<&str> = SETTINGS.iter().copied().chain(settings.split_whitespace()).collect();
                self.server = self.server.restart(&settings, by_crash);
                (self, String::new())
            }
        }
    }

    /// The transactions that are still prepared, one row each.
    fn left_behind(&mut self) -> String {
        let seen = self.control("select gid from pg_prepared_xacts order by gid");
        seen.lines().filter(|line| line.starts_with("row ")).collect()
    }
}

/// The scripts, by name.
fn scripts() -> Vec<(String, String)> {
    let wanted = std::env::var("COHORT_TWO_PHASE").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/two_phase");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if wanted.is_empty() || wanted.split(',').any(|word| name.contains(word)) {
            found.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no script has such a name");
    found
}

// invariants: row 21
#[test]
fn prepared_transactions_behave_as_postgresql_has_them() {
    let Some(binaries) = server_binaries() else { return };
    let mut theirs = Side::new(Reference::start_with(&binaries, SETTINGS));
    if std::env::var_os("COHORT_TWO_PHASE_PRINT").is_some() {
        for (name, script) in scripts() {
            let schema = format!("p_{name}");
            println!("=== {name}");
            theirs.control(&format!("create schema {schema}"));
            for line in lines(&script) {
                let (side, seen) = theirs.take(step(&line), &schema);
                theirs = side;
                println!("{line}\n    {}", seen.trim_end().replace('\n', "\n    "));
            }
            theirs.sessions.clear();
            assert_eq!(theirs.left_behind(), "");
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), SETTINGS);
    let mut ours = Side::new(Cohort { server, folder: folder.path().to_owned() });
    let (mut compared, mut differing, mut report) = (0, 0, String::new());
    for (name, script) in scripts() {
        let schema = format!("p_{name}");
        theirs.control(&format!("create schema {schema}"));
        ours.control(&format!("create schema {schema}"));
        for line in lines(&script) {
            let step = step(&line);
            let ((their_side, expected), (our_side, found)) = (theirs.take(step, &schema), ours.take(step, &schema));
            (theirs, ours) = (their_side, our_side);
            compared += 1;
            let allowed = ALLOWED.iter().find(|(of, start, _)| *of == name && line.starts_with(start));
            match (without_reasons(&expected) == without_reasons(&found), allowed) {
                (true, None) => {}
                (true, Some((_, start, _))) => {
                    differing += 1;
                    writeln!(report, "--- {name}: no longer different, take it off the list: {start}").unwrap();
                }
                (false, Some((_, start, reason))) => eprintln!("{name}: differs ({reason}): {start}"),
                (false, None) => {
                    differing += 1;
                    writeln!(report, "--- {name}: {line}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
                }
            }
        }
        theirs.sessions.clear();
        ours.sessions.clear();
        assert_eq!(theirs.left_behind(), "", "the script leaves transactions behind");
        assert_eq!(ours.left_behind(), "", "{name} leaves transactions behind");
    }
    assert!(differing == 0, "{differing} of {compared} steps differ\n{report}");
    eprintln!("{compared} steps agree");
    ours.server.server.stop();
}
