//! Types that change: random scripts of DDL and DML on composite types, row types of tables, enums and domains, run on Cohort and on a real
//! PostgreSQL 15.
//!
//! After each statement both servers must have ended it alike, in success or with the same SQLSTATE, and with the same rows. A script ends where
//! Cohort refuses to alter a type because of a row that PostgreSQL can't read any more. Every few
//! statements, and at the end, the columns, attributes and labels of all types and the rows of all tables and views are compared, and what an
//! insert of nothing but defaults makes.
//!
//! The generator asks PostgreSQL's catalog what there is before each statement, so most statements succeed. `COHORT_TYPES` says how many scripts
//! are tried, `COHORT_TYPES_FROM` the seed of the first one. A script that fails is made as short as it can be while it still fails, and printed.

#[path = "changing_types/catalog.rs"]
mod catalog;
mod common;
#[path = "changing_types/definitions.rs"]
mod definitions;
#[path = "changing_types/script.rs"]
mod script;
#[path = "changing_types/values.rs"]
mod values;

use std::path::{Path, PathBuf};

use catalog::Catalog;
use common::Server;
use common::environment_number;
use common::reference::{Reference, server_binaries};
use common::wire::Session;

/// The scripts of a short run: those that have found a defect, by their seeds.
const FOUND: &[u64] = &[4, 7, 100, 104];

const STATEMENTS: usize = 50;

/// The contents are compared after so many statements.
const BETWEEN_COMPARISONS: usize = 5;

/// One of the two servers.
struct Side {
    session: Session,
    socket: PathBuf,
    settings: &'static str,
}

impl Side {
    fn connect(socket: &Path, settings: &'static str) -> Side {
        Side { session: Session::connect(socket, "postgres"), socket: socket.to_owned(), settings }
    }

    /// A new session in an empty database: what functions have kept of types is forgotten.
    fn clean(&mut self) {
        self.reconnect();
        for text in ["drop schema if exists public cascade", "create schema public"] {
            let answer = self.session.simple(text);
            assert!(!answer.contains("ERROR"), "{text}: {answer}");
        }
    }

    fn reconnect(&mut self) {
        self.session.send_farewell();
        self.session = Session::connect(&self.socket, "postgres");
        let answer = self.session.simple(self.settings);
        assert!(!answer.contains("ERROR"), "{answer}");
    }

    fn run(&mut self, text: &str) -> Outcome {
        Outcome::of(&self.session.simple(text))
    }
}

/// How a statement has ended.
#[derive(PartialEq)]
struct Outcome {
    /// The SQLSTATE and the message.
    error: Option<String>,
    /// The rows, sorted: the order is not asked for.
    rows: Vec<String>,
    /// The tags, with the numbers of rows.
    tags: Vec<String>,
    is_in_block: bool,
}

impl Outcome {
    fn of(answer: &str) -> Outcome {
        let error = answer.lines().find_map(|line| line.strip_prefix("ERROR "));
        let error = error.map(|error| error.chars().take(200).collect());
        let lines = |start: &str| -> Vec<String> {
            answer.lines().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect()
        };
        let (mut rows, tags) = (lines("row "), lines("tag "));
        rows.sort();
        Outcome { error, rows, tags, is_in_block: !answer.trim_end().ends_with("idle") }
    }

    fn code(&self) -> &str {
        self.error.as_deref().and_then(|error| error.get(..5)).unwrap_or("")
    }

    fn shown(&self) -> String {
        match &self.error {
            Some(error) => error.clone(),
            None => format!("{}, {} rows: {}", self.tags.join(", "), self.rows.len(), self.rows.join("; ")),
        }
    }
}

/// The fault of a script.
struct Wrong {
    /// In which way; a shorter script must fail in the same way.
    kind: String,
    text: String,
}

struct Both {
    server: Server,
    reference: Reference,
    ours: Side,
    theirs: Side,
}

impl Both {
    fn start(binaries: &Path, folder: &Path) -> Both {
        let server = Server::start(folder, &["fsync=off"]);
        let reference = Reference::start(binaries);
        let ours = Side::connect(&server.socket(), "set client_min_messages = warning");
        // PostgreSQL leaves the order of an index as it was when an attribute of its key goes, so PostgreSQL reads no indexes here.
        let theirs = Side::connect(
            &reference.socket(),
            "set client_min_messages = warning; set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off",
        );
        Both { server, reference, ours, theirs }
    }

    fn clean(&mut self) {
        self.ours.clean();
        self.theirs.clean();
    }

    /// Makes the script of a seed and judges it on the way: the script as far as it goes well, and its fault.
    fn explore(&mut self, seed: u64) -> (Vec<String>, Result<(), Wrong>) {
        self.clean();
        let mut script = script::Script::of(seed);
        let mut statements = Vec::new();
        for number in 1..=STATEMENTS {
            let text = match Catalog::read(&mut self.theirs.session) {
                Some(catalog) => script.statement(&catalog),
                // The block has failed.
                None => script.end_of_block(),
            };
            statements.push(text);
            let is_to_compare = number % BETWEEN_COMPARISONS == 0 || number == STATEMENTS;
            match self.step(&statements[statements.len() - 1], is_to_compare) {
                Ok(true) => {}
                // The servers may differ from here on: PostgreSQL had a stale plan, or only Cohort refuses a change.
                Ok(false) => break,
                Err(wrong) => return (statements, Err(wrong)),
            }
        }
        (statements, Ok(()))
    }

    /// The fault of a script, if it has one.
    fn judge(&mut self, script: &[String]) -> Result<(), Wrong> {
        self.clean();
        for (place, text) in script.iter().enumerate() {
            let number = place + 1;
            if !self.step(text, number % BETWEEN_COMPARISONS == 0 || number == script.len())? {
                break;
            }
        }
        Ok(())
    }

    /// Runs a statement on both servers. False if the script can't go on.
    fn step(&mut self, text: &str, is_to_compare: bool) -> Result<bool, Wrong> {
        let expected = self.theirs.run(text);
        let found = self.ours.run(text);
        if let Err(wrong) = compared(text, &expected, &found) {
            if expected.error.is_none() && self.spares_a_reader(&found) {
                return Ok(false);
            }
            // PostgreSQL runs the plan of a statement that was prepared before its attribute went, if it comes to no row. Another session knows
            // nothing of the statement.
            if text.starts_with("execute ") && expected.tags == ["UPDATE 0"] && found.code() == "42703" {
                return Ok(false);
            }
            return self.judge_anew(text, &expected, &found, wrong).map(|()| false);
        }
        if expected.is_in_block {
            return Ok(true);
        }
        // PostgreSQL has compiled functions when they were made. A session that begins after a rename finds the types that their bodies name gone.
        if text.contains(" rename ") {
            self.theirs.reconnect();
            self.ours.reconnect();
        }
        if is_to_compare {
            self.compare_contents()?;
        }
        Ok(true)
    }

    /// Whether Cohort has refused to alter a type because a view, a default or a check has a row of it whose field can't be cast to the new type.
    /// PostgreSQL alters the type, and then the view, default or check fails.
    fn spares_a_reader(&mut self, found: &Outcome) -> bool {
        let error = found.error.as_deref().filter(|error| error.starts_with("0A000: cannot alter type"));
        let reader = error.and_then(|error| error.split_once(" because ")?.1.strip_suffix(" uses it"));
        let Some(use_of_it) = reader.and_then(use_of) else { return false };
        ["42804", "42846"].contains(&self.theirs.run(&use_of_it).code())
    }

    /// Whether a new session of PostgreSQL's agrees with Cohort. A session's functions and prepared statements go on with plans that were made
    /// before a type changed, and fail where new plans do not.
    fn judge_anew(&mut self, text: &str, expected: &Outcome, found: &Outcome, wrong: Wrong) -> Result<(), Wrong> {
        if expected.error.is_none() || expected.is_in_block {
            return Err(wrong);
        }
        self.theirs.reconnect();
        let is_stale = compared(text, &self.theirs.run(text), found).is_ok();
        if is_stale { Ok(()) } else { Err(wrong) }
    }

    /// Compares what there is in both databases.
    fn compare_contents(&mut self) -> Result<(), Wrong> {
        let expected = Catalog::lines(&mut self.theirs.session).expect("no block is open");
        let found = Catalog::lines(&mut self.ours.session).expect("no block is open");
        if expected != found {
            let only = |lines: &[String], others: &[String]| -> String {
                lines.iter().filter(|line| !others.contains(line)).map(|line| format!("  {line}\n")).collect()
            };
            let text = format!(
                "only in PostgreSQL's catalog:\n{}only in Cohort's catalog:\n{}",
                only(&expected, &found),
                only(&found, &expected)
            );
            return Err(Wrong { kind: "catalogs".to_owned(), text });
        }
        for question in Catalog::of(&expected).questions() {
            let (expected, found) = (self.theirs.run(&question), self.ours.run(&question));
            if let Err(wrong) = compared(&question, &expected, &found) {
                self.judge_anew(&question, &expected, &found, wrong)?;
            }
        }
        Ok(())
    }

    /// The same script without what it fails without, in the same way.
    fn shrunk(&mut self, script: &[String], kind: &str) -> Vec<String> {
        let mut script = script.to_vec();
        let mut size = script.len() / 2;
        while size > 0 {
            let mut start = 0;
            let before = script.len();
            while start < script.len() {
                let end = (start + size).min(script.len());
                let mut shorter = script.clone();
                shorter.drain(start..end);
                match self.judge(&shorter) {
                    Err(wrong) if wrong.kind == kind => script = shorter,
                    _ => start = end,
                }
            }
            // A statement may be needed only by a later one that has gone in the same round.
            if size > 1 || script.len() == before {
                size /= 2;
            }
        }
        script
    }
}

/// A statement that reads a view, computes a default or makes a check, as an error names it.
fn use_of(reader: &str) -> Option<String> {
    if let Some(view) = reader.strip_prefix("view ") {
        return Some(format!("select * from {view}"));
    }
    if let Some(constraint) = reader.strip_prefix("constraint ") {
        let of_domain = "contypid <> 0 then format('select null::%s', contypid::regtype)";
        let of_table = "format('insert into %s default values', conrelid::regclass)";
        let name = constraint.split(" on table ").next()?.trim_matches('"');
        return Some(format!(
            "do $$ begin execute (select case when {of_domain} else {of_table} end from pg_constraint where conname = '{name}'); end $$"
        ));
    }
    let (_, table) = reader.strip_prefix("default value for column ")?.split_once(" of table ")?;
    Some(format!("insert into {table} default values"))
}

/// Whether a statement has ended alike on both servers.
fn compared(text: &str, expected: &Outcome, found: &Outcome) -> Result<(), Wrong> {
    // An internal error of PostgreSQL proves nothing about Cohort, which must have none.
    if expected.code() == "XX000" && !found.code().starts_with("XX") {
        return Ok(());
    }
    let is_alter = text.trim_start().starts_with("alter ");
    // Both refuse it. Which of several reasons is named, and which of several expressions is read again first, is not compared.
    let is_refusal = |outcome: &Outcome| {
        let is_lack = outcome.error.as_deref().is_some_and(|error| error.contains("not supported"));
        let is_denied = outcome.code().starts_with("42") && outcome.code() != "42601";
        !is_lack && (is_denied || ["0A000", "2BP01"].contains(&outcome.code()))
    };
    if is_alter && is_refusal(expected) && is_refusal(found) {
        return Ok(());
    }
    // PostgreSQL refuses to change a row type that an index stores, or whose columns expressions can't read any more, before it looks at the rows.
    let is_refused_early = || {
        expected.code() == "42883"
            || expected.error.as_deref().is_some_and(|error| error.ends_with(" uses its row type"))
    };
    let is_refused = is_refusal(found) || ["22", "23"].iter().any(|class| found.code().starts_with(class));
    if is_alter && is_refused_early() && is_refused {
        return Ok(());
    }
    // A trigger's function assigns to a field that NEW no longer has, by an expression whose type is gone: which is noticed first is not compared.
    let codes = [expected, found].map(Outcome::code);
    let changes_rows = ["insert ", "update "].iter().any(|start| text.starts_with(start));
    if codes == ["42703", "42704"] && changes_rows {
        return Ok(());
    }
    // PostgreSQL refuses rows of a function in FROM whose type has changed since the cursor was opened.
    let is_in_cursor = text.starts_with("do ") && expected.code() == "42804" && found.code() == "P0001";
    if is_in_cursor && expected.error.as_deref().is_some_and(|error| error.contains("query-specified return row")) {
        return Ok(());
    }
    // PostgreSQL keeps the type that a variable had when an expression was planned. Cohort plans it again.
    let is_kept = |error: &str| error.contains("does not match that when preparing the plan");
    if expected.error.as_deref().is_some_and(is_kept) && found.code() == "P0001" && text.starts_with("do ") {
        return Ok(());
    }
    // A block of code shows what it has found by the message.
    let shows_otherwise = expected.code() == "P0001" && expected.error != found.error;
    let kind = if expected.code() != found.code() || shows_otherwise {
        format!("{:?} and {:?}", expected.code(), found.code())
    } else if expected.rows != found.rows {
        "rows".to_owned()
    } else if expected.tags != found.tags {
        "tags".to_owned()
    } else {
        return Ok(());
    };
    let text = format!("{text}\nPostgreSQL: {}\nCohort:     {}", expected.shown(), found.shown());
    Err(Wrong { kind, text })
}

#[test]
fn types_that_change_end_as_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut both = Both::start(&binaries, folder.path());
    let first = environment_number("COHORT_TYPES_FROM").unwrap_or(1);
    let seeds = FOUND.iter().copied().chain(first..first + environment_number("COHORT_TYPES").unwrap_or(2));
    let mut failures = Vec::new();
    for seed in seeds {
        let (script, Err(wrong)) = both.explore(seed) else { continue };
        let shortest = both.shrunk(&script, &wrong.kind);
        // A script that fails only where it was made is printed as it was made.
        let (script, why) = match both.judge(&shortest) {
            Err(wrong) => (shortest, wrong.text),
            Ok(()) => (script, wrong.text),
        };
        let text = format!("seed {seed}:\n{};\n-- {why}\n", script.join(";\n"));
        eprintln!("{text}");
        failures.push(text);
        if failures.len() >= 5 {
            break;
        }
    }
    assert!(failures.is_empty(), "{} scripts fail\n{}", failures.len(), failures.join("\n"));
    // The last script may have left a block that has failed.
    both.clean();
    // The servers are alive.
    assert!(both.ours.session.simple("select 1").contains("row 1"), "{}", both.server.log());
    assert!(both.reference.socket().exists());
}
