//! Random functions, procedures, triggers and DO blocks on Cohort and on a real PostgreSQL 15: what a client sees of them must agree.
//!
//! A program is a list of statements that make routines, call them, and look at the tables afterwards. Both servers run it in a session
//! and a schema of its own, and the answers are compared: rows with their types, tags, notices, and errors with SQLSTATE, message, DETAIL,
//! HINT, CONTEXT and position.
//!
//! `COHORT_PROGRAMS=5000` tries so many programs, `COHORT_PROGRAMS_FROM=123` begins with the one of that number, which is the seed of its
//! random choices. One that differs is made as short as it can be, and printed. A program whose statement PostgreSQL doesn't end within
//! ten seconds is given up.

mod common;
#[path = "random_programs/generator.rs"]
mod generator;
#[path = "random_programs/pieces.rs"]
mod pieces;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::Server;
use common::environment_number;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use pieces::Program;
use rand::SeedableRng;
use rand::rngs::StdRng;

/// The programs of a short run: those that have found something.
const FOUND: &[u64] = &[0, 3, 5, 12, 13, 14, 109, 138, 150, 169, 197, 199, 205, 248, 281, 294];
/// How often a program is run to make it shorter.
const SHORTENINGS_MAX: usize = 400;

#[derive(Clone, Copy)]
struct Servers<'a> {
    ours: &'a Path,
    theirs: &'a Path,
}

/// The statement after which the answers differ, and they.
struct Difference {
    statement: String,
    expected: String,
    found: String,
}

/// A session in an empty schema.
fn session(socket: &Path) -> Session {
    let mut session = Session::connect(socket, "postgres");
    session.simple("drop schema if exists program cascade");
    let setups = [
        "create schema program",
        "set search_path to program",
        "set timezone to 'UTC'",
        "set statement_timeout to '10s'",
    ];
    for setup in setups {
        let answer = session.simple(setup);
        assert!(!answer.contains("ERROR"), "{setup}: {answer}");
    }
    session.show_details();
    session
}

/// Runs a program on both servers.
fn compare(servers: Servers<'_>, program: &Program) -> Option<Difference> {
    let (mut theirs, mut ours) = (session(servers.theirs), session(servers.ours));
    for statement in program.statements() {
        let (expected, found) = (theirs.simple(&statement), ours.simple(&statement));
        // A loop that has no end.
        if expected.contains("ERROR 57014") {
            return None;
        }
        if expected != found {
            return Some(Difference { statement, expected, found });
        }
        if expected.contains("the connection is closed") {
            return None;
        }
    }
    None
}

/// Leaves parts of a program out as long as the answers still differ.
fn minimised(servers: Servers<'_>, mut program: Program, mut difference: Difference) -> (Program, Difference) {
    let (mut place, mut tries) = (0, 0);
    while tries < SHORTENINGS_MAX {
        let Some(shorter) = program.without(place) else { break };
        tries += 1;
        match compare(servers, &shorter) {
            Some(other) => (program, difference) = (shorter, other),
            None => place += 1,
        }
    }
    (program, difference)
}

#[test]
fn programs_do_what_they_do_with_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let (ours, theirs): (PathBuf, PathBuf) = (server.socket(), reference.socket());
    let servers = Servers { ours: &ours, theirs: &theirs };
    let wanted = environment_number("COHORT_PROGRAMS");
    let first = environment_number("COHORT_PROGRAMS_FROM");
    let seeds: Vec<u64> = match (first, wanted) {
        (None, None) => FOUND.to_vec(),
        _ => (first.unwrap_or(0)..).take(wanted.unwrap_or(1) as usize).collect(),
    };
    let count = seeds.len();
    let (mut differences, mut report) = (0, String::new());
    for seed in seeds {
        let program = generator::program(&mut StdRng::seed_from_u64(seed));
        let Some(difference) = compare(servers, &program) else { continue };
        let (shortest, difference) = minimised(servers, program, difference);
        differences += 1;
        let mut shown = format!("--- program {seed}\n");
        for statement in shortest.statements() {
            writeln!(shown, "{statement};").unwrap();
        }
        let Difference { statement, expected, found } = difference;
        writeln!(shown, "=== at {statement}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
        eprint!("{shown}");
        report.push_str(&shown);
    }
    assert!(differences == 0, "{differences} programs differ\n{report}");
    eprintln!("{count} programs agree");
    server.stop();
}
