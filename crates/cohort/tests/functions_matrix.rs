//! Every built-in function, aggregate, operator and cast that both have, on values at the edges of their types: Cohort answers as a real
//! PostgreSQL 15 does.
//!
//! The real server's `pg_proc`, `pg_operator` and `pg_type` say what there is. Arguments are chosen at random from the pools of their
//! types (`functions_matrix/pools.rs`). `COHORT_MATRIX_CALLS=12` tries so many calls of each function, times its arguments;
//! `COHORT_MATRIX_SEED=17` makes other choices, and `COHORT_MATRIX_ONLY=date` tries those alone whose names begin so.
//! `functions_matrix/left_out.rs` leaves out what can't be compared, by name and with the reason.

mod common;
#[path = "functions_matrix/left_out.rs"]
mod left_out;
#[path = "functions_matrix/pools.rs"]
mod pools;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use postgres::{Client, NoTls};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A statement to compare, and what it is reported under.
struct Call {
    of: String,
    text: String,
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// A name as it can stand in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Random choices for one item: they don't depend on what else is tried.
fn choices(of: &str) -> StdRng {
    let name = of.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    StdRng::seed_from_u64(name.wrapping_add(number("COHORT_MATRIX_SEED", 1) << 32))
}

/// Some of the combinations of values, one of each pool.
fn combinations(random: &mut StdRng, pools: &[Vec<String>], count: usize) -> BTreeSet<Vec<String>> {
    let all = pools.iter().map(Vec::len).product::<usize>().max(1);
    let (mut found, mut tries) = (BTreeSet::new(), 0);
    while found.len() < count.min(all) && tries < 4 * count {
        tries += 1;
        found.insert(pools.iter().map(|pool| pool[random.random_range(0..pool.len())].clone()).collect());
    }
    found
}

/// The numbers that a query gives.
fn numbers(client: &mut Client, query: &str) -> HashSet<u32> {
    client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// How many rows of a function that gives many are compared.
const LIMIT: &str = " limit 20";

const FUNCTIONS: &str = "
    select p.oid, p.proname::text, p.proretset, p.provariadic,
        array(select t.typname::text from unnest(p.proargtypes) with ordinality a(t, n) join pg_type t on t.oid = a.t order by n)
    from pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
        and p.prorettype not in (select oid from pg_type where typname in
            ('internal', 'trigger', 'event_trigger', 'cstring', 'index_am_handler', 'table_am_handler', 'language_handler'))
    order by p.oid";

fn function_calls(theirs: &mut Client, ours: &mut Client, count: usize, calls: &mut Vec<Call>) {
    let known = numbers(ours, "select oid from pg_proc");
    for row in theirs.query(FUNCTIONS, &[]).unwrap() {
        let (oid, name, returns_set, variadic): (u32, String, bool, u32) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        let types: Vec<String> = row.get(4);
        if !known.contains(&oid) || left_out::function(&name) {
            continue;
        }
        let Some(pools) = types.iter().map(|name| pools::of(name)).collect::<Option<Vec<_>>>() else { continue };
        for mut arguments in combinations(&mut choices(&format!("{name} {oid}")), &pools, count * pools.len().max(1)) {
            if variadic != 0
                && types.last().is_some_and(|last| last != "any")
                && let Some(last) = arguments.last_mut()
            {
                last.insert_str(0, "variadic ");
            }
            let call = format!("pg_catalog.{}({})", quoted(&name), arguments.join(", "));
            let text = if returns_set { format!("select * from {call}{LIMIT}") } else { format!("select {call}") };
            calls.push(Call { of: name.clone(), text });
        }
    }
}

const AGGREGATES: &str = "
    select p.oid, p.proname::text,
        array(select t.typname::text from unnest(p.proargtypes) with ordinality a(t, n) join pg_type t on t.oid = a.t order by n)
    from pg_proc p join pg_aggregate g on g.aggfnoid = p.oid
    where p.pronamespace = 'pg_catalog'::regnamespace and g.aggkind = 'n' and p.pronargs > 0 order by p.oid";

/// Aggregates over three rows, of which one may be NULL.
fn aggregate_calls(theirs: &mut Client, ours: &mut Client, count: usize, calls: &mut Vec<Call>) {
    let known = numbers(ours, "select oid from pg_proc");
    for row in theirs.query(AGGREGATES, &[]).unwrap() {
        let (oid, name, types): (u32, String, Vec<String>) = (row.get(0), row.get(1), row.get(2));
        let of = format!("aggregate {name}");
        if !known.contains(&oid) || left_out::aggregate(&name) {
            continue;
        }
        let Some(mut pools) = types.iter().map(|name| pools::of(name)).collect::<Option<Vec<_>>>() else { continue };
        for (pool, name) in pools.iter_mut().zip(&types) {
            // Rows of one column are of one type.
            let first = pool[0].rsplit("::").next().unwrap().to_owned();
            pool.retain(|value| value.ends_with(&format!("::{first}")));
            if name != "any" {
                pool.push(format!("null::{first}"));
            }
        }
        let names = (0..types.len()).map(|number| format!("c{number}")).collect::<Vec<_>>().join(", ");
        let mut random = choices(&format!("{name} {oid}"));
        for _ in 0..2 * count {
            let mut row = || {
                let values = pools.iter().map(|pool| pool[random.random_range(0..pool.len())].as_str());
                format!("({})", values.collect::<Vec<_>>().join(", "))
            };
            let rows = [row(), row(), row()].join(", ");
            let text = format!("select pg_catalog.{}({names}) from (values {rows}) v({names})", quoted(&name));
            calls.push(Call { of: of.clone(), text });
        }
    }
}

const OPERATORS: &str = "
    select o.oid, o.oprname::text, coalesce(l.typname::text, ''), r.typname::text
    from pg_operator o left join pg_type l on l.oid = o.oprleft join pg_type r on r.oid = o.oprright
    where o.oprnamespace = 'pg_catalog'::regnamespace order by o.oid";

fn operator_calls(theirs: &mut Client, ours: &mut Client, count: usize, calls: &mut Vec<Call>) {
    let known = numbers(ours, "select oid from pg_operator");
    for row in theirs.query(OPERATORS, &[]).unwrap() {
        let (oid, name, left, right): (u32, String, String, String) = (row.get(0), row.get(1), row.get(2), row.get(3));
        let of = format!("operator {left} {name} {right}");
        if !known.contains(&oid) || left_out::operator(&of) {
            continue;
        }
        let lefts = if left.is_empty() { Some(vec![String::new()]) } else { pools::of(&left) };
        let (Some(lefts), Some(rights)) = (lefts, pools::of(&right)) else { continue };
        for pair in combinations(&mut choices(&of), &[lefts, rights], 2 * count) {
            let text = format!("select {} operator(pg_catalog.{name}) {}", pair[0], pair[1]);
            calls.push(Call { of: of.clone(), text });
        }
    }
}

/// Values of each type as each other type, and texts as each type.
fn casts(count: usize, calls: &mut Vec<Call>) {
    for source in pools::TYPES {
        for target in pools::TYPES {
            let of = format!("cast {} {}", source.0, target.0);
            if left_out::cast(&of) {
                continue;
            }
            let pool = pools::of(source.0).expect("it is one of them");
            for value in combinations(&mut choices(&of), &[pool], count) {
                calls.push(Call {
                    of: of.clone(),
                    text: format!("select {}::{}::text", value[0], pools::written(target.0)),
                });
            }
        }
    }
    for target in pools::TYPES {
        let of = format!("input {}", target.0);
        if left_out::cast(&of) {
            continue;
        }
        for text in pools::INPUTS {
            let literal = text.replace('\'', "''");
            calls
                .push(Call { of: of.clone(), text: format!("select '{literal}'::{}::text", pools::written(target.0)) });
        }
    }
}

fn session(socket: &Path) -> Session {
    let mut session = Session::connect(socket, "postgres");
    for setting in ["set timezone to 'UTC'", "set statement_timeout to '5s'"] {
        assert!(!session.simple(setting).contains("ERROR"));
    }
    session
}

/// Whether PostgreSQL has failed at a row that Cohort has not computed because of the limit: PostgreSQL computes all rows that a function in
/// FROM gives. Without the limit Cohort must fail as well.
fn fails_behind_the_limit(ours: &mut Session, text: &str, expected: &str, found: &str) -> bool {
    let is_cut_short = expected.starts_with("ERROR ") && found.contains("tag SELECT 20\n");
    let (true, Some(whole)) = (is_cut_short, text.strip_suffix(LIMIT)) else { return false };
    let counted = ours.simple(&whole.replacen("select *", "select count(*)", 1));
    counted.lines().next() == expected.lines().next()
}

#[test]
fn functions_operators_and_casts_answer_as_postgresql_s_do() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let count = number("COHORT_MATRIX_CALLS", 1) as usize;
    let mut calls = Vec::new();
    let (mut theirs, mut ours) = (Client::connect(&reference.url(), NoTls).unwrap(), server.connect());
    function_calls(&mut theirs, &mut ours, count, &mut calls);
    aggregate_calls(&mut theirs, &mut ours, count, &mut calls);
    operator_calls(&mut theirs, &mut ours, count, &mut calls);
    casts(count.div_ceil(4), &mut calls);
    if let Ok(only) = std::env::var("COHORT_MATRIX_ONLY") {
        calls.retain(|call| call.of.starts_with(&only));
    }
    assert!(!calls.is_empty());
    let (mut theirs, mut ours) = (session(&reference.socket()), session(&server.socket()));
    let mut differing: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for Call { of, text } in &calls {
        let (expected, found) = (theirs.simple(text), ours.simple(text));
        assert!(!found.contains("the connection is closed"), "the connection broke at {text}\n{}", server.log());
        if expected == found
            || expected.contains("57014")
            || left_out::answer(of, &expected, &found)
            || fails_behind_the_limit(&mut ours, text, &expected, &found)
        {
            continue;
        }
        let (count, first) = differing.entry(of).or_default();
        *count += 1;
        if first.is_empty() {
            *first = format!("{text}\nPostgreSQL:\n{expected}Cohort:\n{found}");
        }
    }
    let mut report = String::new();
    for (of, (count, first)) in &differing {
        writeln!(report, "--- {of}: {count}, the first of them {first}").unwrap();
    }
    assert!(differing.is_empty(), "{} of {} differ\n{report}", differing.len(), calls.len());
    eprintln!("{} calls agree", calls.len());
    server.stop();
}
