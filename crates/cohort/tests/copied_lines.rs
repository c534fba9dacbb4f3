//! Lines and fields that COPY FROM reads, on Cohort and on a real PostgreSQL 15.
//!
//! Random data of the bytes that mean something to COPY is read in text and CSV with different options. Both servers must have the same rows
//! afterwards, or the same error at the same line.
//!
//! `COHORT_COPIES` says how many copies are tried, `COHORT_COPIES_FROM` the seed of the first one.

mod common;

use common::Server;
use common::reference::{Reference, server_binaries};
use common::search::search;
use common::wire::Session;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// How many copies there are if nobody asks for another number.
const COPIES: u64 = 4_000;

const OPTIONS: &[&str] = &[
    "",
    "",
    "(delimiter ',')",
    "(null 'a')",
    "(header)",
    "(format csv)",
    "(format csv)",
    "(format csv, header)",
    "(format csv, escape '\\')",
    "(format csv, quote 'a', delimiter '.')",
    "(format csv, null 'a', force_not_null (x))",
    "(format csv, force_null (x))",
];
const TOKENS: &[&str] =
    &["a", "a", "b", "\t", ",", "\"", "\"", "\\", "\\.", ".", "\\N", "\\x41", "\\12", "1", "n", "é"];
const ENDS: &[&str] = &["\n", "\r", "\r\n"];

/// The options and the data of a seed.
fn copy_of(seed: u64) -> (&'static str, String) {
    let mut random = StdRng::seed_from_u64(seed);
    let options = *OPTIONS.choose(&mut random).expect("there are some");
    let usual = *ENDS.choose(&mut random).expect("there are some");
    let mut data = String::new();
    for _ in 0..random.random_range(1..5) {
        if random.random_ratio(1, 12) {
            data.push_str("\\.");
        } else {
            let count = random.random_range(0..5);
            let token = |_| *TOKENS.choose(&mut random).expect("there are some");
            data.extend((0..count).map(token));
        }
        let is_usual = random.random_ratio(7, 8);
        data.push_str(if is_usual { usual } else { ENDS.choose(&mut random).expect("there are some") });
    }
    if random.random_ratio(1, 5) {
        data.pop();
    }
    (options, data)
}

/// The rows that are there after the copy, and its error.
fn copied(session: &mut Session, table: &str, options: &str, data: &str) -> String {
    session.simple("begin");
    let answer = session.copy_in(&format!("copy {table} from stdin {options}"), data);
    let rows = session.simple(&format!("select encode({table}::text::bytea, 'escape') from {table}"));
    session.simple("rollback");
    answer + &rows
}

#[test]
fn copied_lines_are_those_of_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off", "fsync=off"]);
    let mut sessions = [&reference.socket(), &server.socket()].map(|socket| Session::connect(socket, "postgres"));
    for session in &mut sessions {
        session.simple("create table one (x text); create table two (x text, y text)");
    }
    let mut successes = 0;
    let count = search("COHORT_COPIES", COPIES, |seed| {
        let (options, data) = copy_of(seed);
        let table = if seed % 4 == 0 { "two" } else { "one" };
        let [expected, found] = sessions.each_mut().map(|session| copied(session, table, options, &data));
        successes += u64::from(!expected.contains("ERROR "));
        (expected != found).then(|| format!("{table} {options} {data:?}\nPostgreSQL:\n{expected}Cohort:\n{found}"))
    });
    assert!(successes >= count / 5, "only {successes} of {count} copies succeed");
    server.stop();
}
