//! Random statements on Cohort and on a real PostgreSQL 15: columns with their types, rows and SQLSTATEs must agree.
//!
//! A case is a random schema with rows (`random_statements/schema.rs`) and some random statements on it
//! (`random_statements/generator.rs`), through the simple protocol or, with parameters, the extended one. Rows are compared as
//! multisets, or in their order where the statement orders them by all columns. After a change the tables are compared, too.
//! No statement depends on the order of evaluation, so only two differences are forgiven. A statement that takes either server longer
//! than a time limit is passed over. A column's type modifier may be missing if PostgreSQL's description of the prepared statement
//! lacks it, too.
//!
//! A difference is printed in its smallest form: the choices that made the statement, and then those that made the schema, are taken out
//! and made simpler for as long as the servers differ (`random_statements/choices.rs`).
//!
//! Four more judges need no second server (`random_statements/oracles.rs`, `random_statements/views.rs`).
//!
//! `COHORT_RANDOM_CASES` says how many cases are tried, `COHORT_RANDOM_FROM` the seed of the first, `COHORT_RANDOM_KEEP_GOING=1` goes on
//! after a difference.

#[path = "random_statements/answers.rs"]
mod answers;
#[path = "random_statements/changes.rs"]
mod changes;
#[path = "random_statements/choices.rs"]
mod choices;
mod common;
#[path = "random_statements/from.rs"]
mod from;
#[path = "random_statements/generator.rs"]
mod generator;
#[path = "random_statements/oracles.rs"]
mod oracles;
#[path = "random_statements/queries.rs"]
mod queries;
#[path = "random_statements/schema.rs"]
mod schema;
#[path = "random_statements/types.rs"]
mod types;
#[path = "random_statements/views.rs"]
mod views;

use std::fmt::Write as _;
use std::path::Path;

use answers::Answer;
use choices::{Choices, shrink};
use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use generator::{Generator, Statement};
use oracles::Oracle;
use schema::Schema;

/// Statements of a case.
const STATEMENTS: u64 = 40;
/// Cases of an ordinary run, and the seed of the first.
const CASES: u64 = 6;
const FIRST: u64 = 6;
/// How long a statement may take.
const TIME_LIMIT: &str = "set statement_timeout = '4s'";
/// Tries at a smaller statement, and at a smaller schema.
const STATEMENT_TRIES: usize = 600;
const SCHEMA_TRIES: usize = 120;

fn number_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// The two servers.
struct Pair {
    ours: Session,
    theirs: Session,
    /// Whether a change took either of them too long: what is in their tables since then may differ.
    is_apart: bool,
}

impl Pair {
    fn connect(ours: &Path, theirs: &Path) -> Pair {
        let connect = |socket| {
            let mut session = Session::connect(socket, "postgres");
            session.show_details();
            session
        };
        Pair { ours: connect(ours), theirs: connect(theirs), is_apart: false }
    }

    /// Both answers, PostgreSQL's first.
    fn answers(&mut self, statement: &Statement) -> (Answer, Answer) {
        let run = |session: &mut Session| {
            let seen = run(session, statement);
            assert!(!seen.contains("the connection is closed"), "the connection broke at {}\n{seen}", statement.text);
            Answer::of(&seen, statement.is_ordered)
        };
        (run(&mut self.theirs), run(&mut self.ours))
    }

    /// The difference at this statement.
    fn difference(&mut self, statement: &Statement) -> Option<String> {
        let (expected, found) = self.answers(statement);
        self.is_apart |= statement.is_change && (expected.is_late() || found.is_late());
        if expected.is_late() || found.is_late() {
            return None;
        }
        // A CASE or a COALESCE has the modifier that all its branches have, until constants decide which branch it is. PostgreSQL describes
        // rows after it has planned a statement, and a prepared statement before: the latter is what Cohort says of both.
        if found.lacks_only_modifiers(&expected) {
            let [expected, found] =
                [&mut self.theirs, &mut self.ours].map(|session| Answer::of(&session.describe(&statement.text), false));
            let is_told = found.said.iter().any(|line| line.starts_with("columns "));
            return (expected != found || !is_told)
                .then(|| format!("prepared, PostgreSQL:\n{}Cohort:\n{}", expected.shown(), found.shown()));
        }
        (expected != found).then(|| format!("PostgreSQL:\n{}Cohort:\n{}", expected.shown(), found.shown()))
    }

    /// Begins anew with an empty schema, and makes what the case works with.
    fn set_up(&mut self, schema: &Schema) -> Option<String> {
        self.is_apart = false;
        let first = [
            "reset all",
            "set client_min_messages = warning",
            "drop schema if exists r cascade",
            "create schema r",
            "set search_path to r",
            TIME_LIMIT,
        ];
        for text in first.into_iter().chain(schema.setup.iter().map(String::as_str)) {
            let statement = Statement { text: text.to_owned(), ..Statement::default() };
            if let Some(difference) = self.difference(&statement) {
                return Some(format!("{text}\n{difference}"));
            }
        }
        None
    }

    /// The difference at a statement, or at the tables behind it.
    fn whole_difference(&mut self, schema: &Schema, statement: &Statement) -> Option<String> {
        if let Some(difference) = self.difference(statement) {
            return Some(difference);
        }
        if !statement.is_change || self.is_apart {
            return None;
        }
        let tables = schema.tables.iter().filter(|table| !table.is_view).map(|table| table.name.as_str());
        tables.chain(["log"]).find_map(|table| {
            let text = format!("select * from {table}");
            let difference = self.difference(&Statement { text: text.clone(), ..Statement::default() })?;
            Some(format!("then {text}\n{difference}"))
        })
    }
}

fn run(session: &mut Session, statement: &Statement) -> String {
    if statement.values.is_empty() {
        return session.simple(&statement.text);
    }
    let values: Vec<Option<&str>> = statement.values.iter().map(Option::as_deref).collect();
    session.extended_with_nulls(&statement.text, &values)
}

fn made(choices: &mut Choices, schema: &Schema) -> Statement {
    let has_parameters = choices.chance(25);
    Generator::new(choices, schema, has_parameters).statement()
}

/// Tries a case; what differs, in its smallest form.
fn try_case(pair: &mut Pair, seed: u64) -> Result<(), String> {
    let mut choices = Choices::random(seed);
    let schema = Schema::random(&mut choices);
    let schema_choices = choices.into_made();
    if let Some(difference) = pair.set_up(&schema) {
        return Err(difference);
    }
    let mut before: Vec<Statement> = Vec::new();
    for number in 0..STATEMENTS {
        let mut choices =
            Choices::random(seed.wrapping_mul(1_000).wrapping_add(number).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let statement = made(&mut choices, &schema);
        if std::env::var_os("COHORT_RANDOM_PRINT").is_some() {
            eprintln!("{}\n{:?}", statement.text, statement.values);
        }
        if let Some(difference) = pair.whole_difference(&schema, &statement) {
            return Err(smallest(pair, &schema_choices, &before, choices.into_made(), &difference));
        }
        if pair.is_apart {
            break;
        }
        if statement.is_change {
            before.push(statement);
        }
    }
    Ok(())
}

/// The smallest form of a difference.
fn smallest(pair: &mut Pair, schema: &[u32], before: &[Statement], statement: Vec<u32>, difference: &str) -> String {
    let mut found = difference.to_owned();
    let mut before: Vec<Statement> = before.to_vec();
    // Whether a case differs, and how; the last one that does is kept.
    let mut differs = |schema: &[u32], before: &[Statement], choices: &[u32], is_set_up: bool| -> bool {
        let schema = Schema::random(&mut Choices::given(schema.to_vec()));
        if !is_set_up {
            if pair.set_up(&schema).is_some() {
                return false;
            }
            before.iter().for_each(|statement| _ = pair.answers(statement));
        }
        let statement = made(&mut Choices::given(choices.to_vec()), &schema);
        let difference = pair.whole_difference(&schema, &statement);
        if let Some(difference) = &difference {
            // The set-up that all cases share is left out.
            let setup: String =
                schema.setup.iter().filter(|text| !schema::is_common(text)).map(|text| format!("{text};\n")).collect();
            let before: String = before.iter().map(|before| format!("{};\n", before.text)).collect();
            found = format!("{setup}{before}--- {}\n--- {:?}\n{difference}", statement.text, statement.values);
        }
        difference.is_some()
    };
    if differs(schema, &[], &statement, false) {
        before.clear();
    } else if !differs(schema, &before, &statement, false) {
        return format!("{found}(not seen again)");
    }
    let is_change = {
        let schema = Schema::random(&mut Choices::given(schema.to_vec()));
        made(&mut Choices::given(statement.clone()), &schema).is_change
    };
    let again = before.is_empty() && !is_change;
    let statement = shrink(statement, STATEMENT_TRIES, &mut |choices| differs(schema, &before, choices, again));
    let mut at = 0;
    while at < before.len() {
        let mut fewer = before.clone();
        fewer.remove(at);
        if differs(schema, &fewer, &statement, false) {
            before = fewer;
        } else {
            at += 1;
        }
    }
    shrink(schema.to_vec(), SCHEMA_TRIES, &mut |schema| differs(schema, &before, &statement, false));
    found
}

#[test]
fn random_statements_have_the_answers_that_postgresql_gives_them() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["fsync=off"]);
    let reference = Reference::start(&binaries);
    let mut pair = Pair::connect(&server.socket(), &reference.socket());
    try_seeds(|seed| try_case(&mut pair, seed).err());
    server.stop();
}

/// Fails with what the seeds of this run have found.
fn try_seeds(mut find: impl FnMut(u64) -> Option<String>) {
    let first = number_of("COHORT_RANDOM_FROM", FIRST);
    let mut report = String::new();
    for seed in first..first + number_of("COHORT_RANDOM_CASES", CASES) {
        let Some(found) = find(seed) else { continue };
        writeln!(report, "seed {seed}:\n{found}").unwrap();
        if std::env::var_os("COHORT_RANDOM_KEEP_GOING").is_none() {
            break;
        }
        eprintln!("seed {seed}:\n{found}");
    }
    assert!(report.is_empty(), "{report}");
}

/// A judge's finding on one schema, in its smallest form.
fn judge(session: &mut Session, oracle: Oracle, seed: u64) -> Option<String> {
    let schema = Schema::random(&mut Choices::random(seed));
    let quiet = [
        "reset all",
        "set client_min_messages = warning",
        "drop schema if exists r cascade",
        "create schema r",
        "set search_path to r",
        TIME_LIMIT,
    ];
    let texts = quiet.into_iter().chain(schema.setup.iter().map(String::as_str));
    texts.for_each(|text| drop(session.simple(text)));
    judge_on(&schema, seed, &mut |choices| oracle(session, &schema, choices))
}

/// The first finding on a schema, in its smallest form.
fn judge_on(schema: &Schema, seed: u64, find: &mut dyn FnMut(&mut Choices) -> Option<String>) -> Option<String> {
    for number in 0..STATEMENTS {
        let mut choices =
            Choices::random(seed.wrapping_mul(1_000).wrapping_add(number).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let Some(found) = find(&mut choices) else { continue };
        let mut smallest = found;
        shrink(choices.into_made(), STATEMENT_TRIES, &mut |given| match find(&mut Choices::given(given.to_vec())) {
            None => false,
            Some(found) => {
                smallest = found;
                true
            }
        });
        let setup: String =
            schema.setup.iter().filter(|text| !schema::is_common(text)).map(|text| format!("{text};\n")).collect();
        return Some(format!("{setup}--- {smallest}"));
    }
    None
}

fn judged_by(oracle: Oracle) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["fsync=off"]);
    let mut session = Session::connect(&server.socket(), "postgres");
    session.show_details();
    try_seeds(|seed| judge(&mut session, oracle, seed));
    server.stop();
}

#[test]
fn a_query_is_the_sum_of_its_parts() {
    judged_by(oracles::parts_make_the_whole);
}

#[test]
fn every_plan_of_a_query_has_the_same_answer() {
    judged_by(oracles::plans_agree);
}

#[test]
fn parameters_mean_what_literals_mean() {
    judged_by(oracles::parameters_are_literals);
}

#[test]
fn the_text_of_a_view_means_the_view() {
    judged_by(views::texts_mean_their_views);
    views::require_views();
}

#[test]
fn views_have_the_texts_that_postgresql_gives_them() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["fsync=off"]);
    let reference = Reference::start(&binaries);
    let (mut pair, mut ours) =
        (Pair::connect(&server.socket(), &reference.socket()), Session::connect(&server.socket(), "postgres"));
    let mut theirs = Session::connect(&reference.socket(), "postgres");
    try_seeds(|seed| {
        let schema = Schema::random(&mut Choices::random(seed));
        if let Some(difference) = pair.set_up(&schema) {
            return Some(difference);
        }
        judge_on(&schema, seed, &mut |choices| views::texts_differ(&mut ours, &mut theirs, &schema, choices))
    });
    server.stop();
}
