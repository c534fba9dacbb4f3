//! Casts between all types, into domains over them and into arrays of these domains, on Cohort and on a real PostgreSQL 15.
//!
//! A case is a value of one type and another type. The value is cast to the type, to a domain over it, to a domain whose check looks at the
//! value, and to an array of the domain; it is stored in a column of the domain, and assigned to a variable. Both servers must give the same
//! texts, or errors of the same SQLSTATE.
//!
//! `COHORT_CASTS` says how many cases are tried, `COHORT_CASTS_FROM` the place of the first one. There is one for each pair of types.

mod common;

use common::Server;
use common::reference::{Reference, server_binaries};
use common::search::search;
use common::wire::Session;

/// How many cases there are if nobody asks for another number.
const CASES: u64 = 250;

/// Types, each with a value.
const TYPES: &[(&str, &str)] = &[
    ("bool", "true"),
    ("int2", "7"),
    ("int4", "70"),
    ("int8", "3000000000"),
    ("oid", "1259"),
    ("regclass", "pg_class"),
    ("regtype", "integer"),
    ("regproc", "pg_catalog.pi"),
    ("regrole", "postgres"),
    ("numeric", "7.25"),
    ("numeric(6,1)", "7.25"),
    ("float4", "1.5"),
    ("float8", "-2.5"),
    ("text", "1259"),
    ("text", "2020-01-02"),
    ("varchar(3)", "abc"),
    ("char(4)", "12"),
    ("name", "pg_class"),
    ("\"char\"", "c"),
    ("bytea", "\\x0102"),
    ("date", "2020-01-02"),
    ("time", "03:04:05"),
    ("timetz", "03:04:05+02"),
    ("timestamp", "2020-01-02 03:04:05"),
    ("timestamp(0)", "2020-01-02 03:04:05.6"),
    ("timestamptz", "2020-01-02 03:04:05+00"),
    ("interval", "1 day 02:00:00"),
    ("interval hour", "1 day 02:03:04"),
    ("uuid", "00000000-0000-0000-0000-000000000001"),
    ("inet", "10.0.0.1/8"),
    ("cidr", "10.0.0.0/8"),
    ("money", "-1234.56"),
    ("bit(3)", "100"),
    ("bit varying", "1010"),
    ("bit varying(4)", "11"),
    ("macaddr", "08:00:2b:ff:fe:03"),
    ("macaddr8", "08:00:2b:ff:fe:01:02:03"),
    ("json", "{\"a\": 1}"),
    ("jsonb", "7"),
    ("int4[]", "{1,2}"),
    ("int8[]", "{1,2}"),
    ("oid[]", "{1259}"),
    ("text[]", "{a,b}"),
    ("int2vector", "1 2"),
    ("oidvector", "1259 1260"),
    ("mood", "sad"),
    ("pair", "(1,2)"),
    ("pg_lsn", "0/16"),
];

/// Pairs that can't be compared. PostgreSQL reads `2020-01-02` as three numbers, the last two below zero. Catalogs are no types in Cohort. The text
/// of a `bytea` is no time, and only which error that is differs.
fn is_left_out(source: (&str, &str), target: &str) -> bool {
    target == "oidvector" && source.1.contains('-')
        || target == "regtype" && source.1 == "pg_class"
        || source.0 == "bytea" && target.starts_with("time")
}

fn connect(socket: &std::path::Path) -> Session {
    let mut session = Session::connect(socket, "postgres");
    let mut run = |text: &str| {
        let answer = session.simple(text);
        assert!(!answer.contains("ERROR "), "{text}: {answer}");
    };
    run("set timezone to 'UTC'");
    run("create type mood as enum ('sad', 'ok')");
    run("create type pair as (a int, b oid)");
    for (number, (name, _)) in TYPES.iter().enumerate() {
        run(&format!("create domain d{number} as {name}"));
        run(&format!("create domain c{number} as {name} check (value::text = (value::{name})::text)"));
        run(&format!("create table t{number} (x d{number}, y d{number}[])"));
    }
    session
}

/// Statements that give a value of one type to the type of a number.
fn probes(value: &str, target: usize) -> Vec<String> {
    let name = TYPES[target].0;
    vec![
        format!("select {value}::{name}"),
        format!("select {value}::d{target}, pg_typeof({value}::d{target})"),
        format!("select {value}::c{target}"),
        format!("select {value}::d{target}::{name}::text, ({value}::d{target}) is null"),
        format!("select array[{value}]::d{target}[], array[{value}]::c{target}[]"),
        format!("insert into t{target} (x) values ({value}) returning x::text"),
        format!("insert into t{target} (y) values (array[{value}]::d{target}[]) returning y::text"),
        format!("do $$ declare v d{target}; begin v := {value}; raise notice '%', v; end $$"),
        format!("select coalesce({value}::c{target}, null) = any (array[{value}::{name}])"),
    ]
}

/// Rows, notices and SQLSTATEs.
fn shown(answer: &str) -> String {
    let wanted = |line: &&str| ["row ", "ERROR ", "NOTICE "].iter().any(|start| line.starts_with(start));
    let code = |line: &str| if line.starts_with("ERROR ") { line[..11].to_owned() } else { line.to_owned() };
    answer.lines().filter(wanted).map(|line| code(line) + "\n").collect()
}

#[test]
fn casts_give_what_postgresql_gives() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off", "fsync=off"]);
    let mut sessions = [connect(&reference.socket()), connect(&server.socket())];
    let mut successes = 0;
    // The cases of a short run are spread over all pairs.
    let pairs = TYPES.len() as u64 * TYPES.len() as u64;
    let count = search("COHORT_CASTS", CASES, |seed| {
        let pair = (seed * 1009 % pairs) as usize;
        let (source, target) = (TYPES[pair / TYPES.len()], pair % TYPES.len());
        if is_left_out(source, TYPES[target].0) {
            return None;
        }
        let value = format!("'{}'::{}", source.1, source.0);
        let mut differences = String::new();
        for probe in probes(&value, target) {
            let [expected, found] = sessions.each_mut().map(|session| shown(&session.simple(&probe)));
            successes += u64::from(!expected.contains("ERROR "));
            if expected != found {
                differences.push_str(&format!("{probe};\nPostgreSQL: {expected}Cohort: {found}"));
            }
        }
        (!differences.is_empty()).then_some(differences)
    });
    assert!(successes >= count, "only {successes} probes of {count} cases gave values");
    server.stop();
}
