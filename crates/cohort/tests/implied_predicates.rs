//! Conditions that imply predicates of partial indexes, compared with PostgreSQL 15 and checked against rows.
//!
//! A case has partial unique indexes with random predicates. Random conditions stand in the target of ON CONFLICT: both servers must name the
//! same arbiter indexes, or none. The constants of some conditions are the values of a prepared statement's parameters. No row may
//! satisfy a condition and not the predicate that it is said to make sure of.
//!
//! `COHORT_IMPLIED=200` tries so many cases, `COHORT_IMPLIED_FROM=17` begins with the one of that seed.

mod common;
#[path = "implied_predicates/conditions.rs"]
mod conditions;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use common::Server;
use common::environment_number;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use conditions::Generator;

/// How many cases there are if nobody asks for another number.
const CASES: u64 = 8;
/// How many indexes a case has, and how many conditions ask for them.
const INDEXES: usize = 24;
const CONDITIONS: usize = 120;
/// How many differences are shown before the search ends.
const DIFFERENCES_MAX: usize = 20;

const TABLE: &str = "create table p (k int, i int, j int, s smallint, l bigint, b bool, c bool, v varchar(10), t text, n name, \
     ch char(3), d date, ts timestamp, m numeric)";

/// Rows of all sorts: each column has its own step through its values, the first of which is NULL.
const ROWS: &str = "insert into p select 1, (array[null,0,1,2,3,4])[1+g%6]::int, (array[null,0,1,2,3,4])[1+g/6%6]::int, \
     (array[null,1,2,3])[1+g/7%4]::smallint, (array[null,1,2,3,4])[1+g/11%5]::bigint, (array[null,true,false])[1+g/3%3], \
     (array[null,true,false])[1+g/5%3], (array[null,'x','y','z',''])[1+g/2%5], (array[null,'x','y','z'])[1+g/13%4], \
     (array[null,'x','y'])[1+g/17%3]::name, (array[null,'x','y','z'])[1+g/19%4], \
     (array[null,'2020-01-01','2020-01-02'])[1+g/23%3]::date, (array[null,'2020-01-01','2020-01-02 12:00'])[1+g/29%3]::timestamp, \
     (array[null,1,1.5,2])[1+g/31%4]::numeric from generate_series(0,2499) g";

fn run(session: &mut Session, text: &str) -> String {
    let answer = session.simple(text);
    assert!(!answer.contains("ERROR "), "{text}: {answer}");
    answer
}

/// The arbiter indexes that an EXPLAIN names, or the error's code.
fn arbiters(answer: &str) -> Result<BTreeSet<String>, String> {
    if let Some(error) = answer.lines().find_map(|line| line.strip_prefix("ERROR ")) {
        return Err(error.to_owned());
    }
    let (_, names) = answer.split_once("Conflict Arbiter Indexes: ").expect("an EXPLAIN of ON CONFLICT");
    let names = names.lines().next().unwrap_or_default();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric();
    Ok(names.split(", ").map(|name| name.chars().filter(|letter| is_of_name(*letter)).collect()).collect())
}

/// The EXPLAIN of an INSERT with the condition. Parameters are given by PREPARE and EXECUTE.
fn ask(session: &mut Session, condition: &conditions::Condition) -> String {
    let insert = format!("insert into p (k) values (1) on conflict (k) where {} do nothing", condition.text);
    if condition.parameters.is_empty() {
        return session.simple(&format!("explain (costs off) {insert}"));
    }
    let types: Vec<&str> = condition.parameters.iter().map(|(sql_type, _)| *sql_type).collect();
    let values: Vec<&str> = condition.parameters.iter().map(|(_, value)| value.as_str()).collect();
    let prepared = session.simple(&format!("prepare q ({}) as {insert}", types.join(", ")));
    if prepared.contains("ERROR ") {
        return prepared;
    }
    let answer = session.simple(&format!("explain (costs off) execute q ({})", values.join(", ")));
    session.simple("deallocate q");
    answer
}

/// Whether a row satisfies the condition and not the predicate.
fn is_unsound(session: &mut Session, condition: &str, predicate: &str) -> bool {
    let answer = run(session, &format!("select 1 from p where ({condition}) and (({predicate}) is not true) limit 1"));
    !answer.contains("tag SELECT 0\n")
}

/// The differences in the case of a seed.
fn differences(seed: u64, ours: &mut Session, theirs: &mut Session) -> (usize, Vec<String>) {
    let mut generator = Generator::new(seed);
    let mut predicates = Vec::new();
    for session in [&mut *ours, &mut *theirs] {
        session.simple("drop table if exists p");
        run(session, TABLE);
        run(session, ROWS);
    }
    for number in 0..INDEXES {
        let predicate = generator.condition(false).text;
        let text = format!("create index i{number} on p (k) where {predicate}");
        let (expected, found) = (theirs.simple(&text), ours.simple(&text));
        // A condition that isn't immutable can't be an index predicate.
        assert_eq!(expected.contains("ERROR "), found.contains("ERROR "), "{text}\n{expected}{found}");
        if !expected.contains("ERROR ") {
            predicates.push((format!("i{number}"), predicate));
        }
    }
    // The rows would violate unique indexes; they go into a table of their own.
    for session in [&mut *ours, &mut *theirs] {
        run(session, "create table rows_of_p as table p");
        run(session, "delete from p");
        for (name, predicate) in &predicates {
            run(session, &format!("drop index {name}; create unique index {name} on p (k) where {predicate}"));
        }
    }
    let mut implied = 0;
    let mut found = Vec::new();
    let mut pairs = Vec::new();
    for _ in 0..CONDITIONS {
        let condition = generator.condition(true);
        let (theirs, ours) = (arbiters(&ask(theirs, &condition)), arbiters(&ask(ours, &condition)));
        for name in ours.iter().flatten() {
            implied += 1;
            let predicate = predicates.iter().find(|(own, _)| own == name).expect("an index of the case").1.clone();
            pairs.push((condition.with_constants(), predicate));
        }
        if theirs == ours {
            continue;
        }
        let mut shown = format!("seed {seed}: {}\n", condition.with_constants());
        if !condition.parameters.is_empty() {
            writeln!(shown, "  as {} {:?}", condition.text, condition.parameters).unwrap();
        }
        let both: (BTreeSet<_>, BTreeSet<_>) = (theirs.iter().flatten().collect(), ours.iter().flatten().collect());
        if let (Err(theirs), Err(ours)) = (&theirs, &ours) {
            writeln!(shown, "  PostgreSQL {theirs}, Cohort {ours}").unwrap();
        }
        for (name, predicate) in &predicates {
            match (both.0.contains(name), both.1.contains(name)) {
                (true, false) => writeln!(shown, "  only PostgreSQL: {predicate}").unwrap(),
                (false, true) => writeln!(shown, "  only Cohort: {predicate}").unwrap(),
                _ => {}
            }
        }
        if both.0.is_empty() != both.1.is_empty() {
            writeln!(shown, "  {theirs:?} {ours:?}").unwrap();
        }
        found.push(shown);
    }
    run(ours, "drop table p; alter table rows_of_p rename to p");
    run(theirs, "drop table p, rows_of_p");
    for (condition, predicate) in pairs {
        if is_unsound(ours, &condition, &predicate) {
            found.push(format!("seed {seed}: a row satisfies {condition} but not {predicate}\n"));
        }
    }
    (implied, found)
}

/// Both servers find the same partial indexes, and each row that a condition lets through is in them.
#[test]
fn conditions_imply_the_predicates_that_they_imply_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let count = environment_number("COHORT_IMPLIED").unwrap_or(CASES);
    let first = environment_number("COHORT_IMPLIED_FROM").unwrap_or(0);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let mut ours = Session::connect(&server.socket(), "postgres");
    let mut theirs = Session::connect(&reference.socket(), "postgres");
    for session in [&mut ours, &mut theirs] {
        run(session, "set client_min_messages to error; create schema s; set search_path to s");
        run(session, "set datestyle to iso; set plan_cache_mode to auto");
    }
    let (mut implied, mut found) = (0, Vec::new());
    for seed in first..first + count {
        let (more, differing) = differences(seed, &mut ours, &mut theirs);
        implied += more;
        found.extend(differing);
        if found.len() >= DIFFERENCES_MAX {
            break;
        }
    }
    assert!(found.is_empty(), "{} differences\n{}", found.len(), found.concat());
    assert!(implied > count as usize * INDEXES, "conditions imply predicates");
    eprintln!("{count} cases agree, with {implied} implications");
    drop((ours, theirs));
    server.stop();
}
