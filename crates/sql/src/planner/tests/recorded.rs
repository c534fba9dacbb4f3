//! What a PostgreSQL 15 server answered to Parse and Describe, against what we answer: see `recorded/record.py`.

use base::Error;

use super::World;
use crate::types::{BuiltinCatalog, format_type_name};

/// Statements whose answers differ, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("select 1;; select 2", "the protocol's layer refuses several statements"),
    ("select test from test", "the tests' catalog knows no names of row types"),
    ("select t from test t", "the tests' catalog knows no names of row types"),
    ("select id, sum(id) from test group by 2", "the error points at the ordinal, not at the aggregate it stands for"),
    ("select sum(count(*)) from test", "the error points at the outer aggregate"),
    ("select sum((select count(*) from people)) from test", "an aggregate over a subquery with one is not planned yet"),
    ("select id from test union select id from people order by id + 1", "the error points at the operator"),
    (
        "select t.id from people p left join test t on t.id = p.id for update",
        "outer joins that conditions make inner are refused like outer ones",
    ),
    ("select sum(generate_series(1, 2))", "the error points at the outer aggregate"),
    ("select rank() over (order by rank() over ()) from test", "the clause is named more closely"),
    ("select * from test fetch first 2 rows with ties", "the error has a position"),
    ("insert into test (ctid) values ('(0,1)')", "system columns are told from missing ones"),
    (
        "insert into people values (1, 'a') on conflict (name) do nothing",
        "the tests' catalog has no unique index on that column",
    ),
    ("insert into people values (1, 'a') on conflict (nothing) do nothing", "the error has no position"),
    ("select '1'::regclass, 'test'::regclass, 'int4'::regtype", "the tests' catalog answers no regclass"),
    ("select 5 operator(no.+) 6", "the schema of an operator is not looked up by itself"),
    (
        "select to_char(now(), 'YYYY'), to_date('2020', 'YYYY'), format('%s', 1), concat(1, 'a', null)",
        "to_char and to_date are not there yet",
    ),
    ("select case 'a' when 1 then 1 end", "our tree keeps no place for WHEN: the value's is told"),
];

/// Our answer in the recorder's words.
fn answer(world: &World, text: &str) -> String {
    let name = |oid| format_type_name(&BuiltinCatalog, oid);
    match world.try_plan(text, &[]) {
        Ok(statement) => {
            let parameters = statement.parameters.iter().map(|sql_type| name(sql_type.oid)).collect::<Vec<_>>();
            let columns = statement.columns.iter();
            let columns = columns.map(|column| format!("{} {}", column.name, name(column.sql_type.oid)));
            let columns = columns.collect::<Vec<_>>();
            format!("ok ({}) -> ({})", parameters.join(", "), columns.join(", "))
        }
        Err(error) => shown(&error),
    }
}

fn shown(error: &Error) -> String {
    let fields = error.fields();
    let mut lines = vec![format!("error {} {} {}", fields.sqlstate, fields.position.unwrap_or(0), fields.message)];
    lines.extend(fields.detail.iter().map(|detail| format!("detail {detail}")));
    lines.extend(fields.hint.iter().map(|hint| format!("hint {hint}")));
    lines.join("\n")
}

fn compare(recorded: &str) {
    let world = World::new();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for block in recorded.split("\n> ") {
        let block = block.trim_start_matches("> ").trim_end();
        let Some((statement, expected)) = block.split_once('\n') else { continue };
        count += 1;
        let found = answer(&world, statement);
        let differs = DIFFERENCES.iter().any(|(text, _)| *text == statement);
        if (found != expected) != differs {
            wrong.push(format!("> {statement}\n  server: {}\n  ours:   {}", indent(expected), indent(&found)));
        }
    }
    assert!(count > 50, "only {count} statements were recorded");
    assert!(wrong.is_empty(), "{} of {count} differ\n{}", wrong.len(), wrong.join("\n"));
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n          ")
}

#[test]
fn names_mean_what_they_mean_to_postgresql() {
    compare(include_str!("recorded/names.recorded"));
}

#[test]
fn types_are_those_that_postgresql_finds() {
    compare(include_str!("recorded/types.recorded"));
}

#[test]
fn clauses_are_checked_as_postgresql_checks_them() {
    compare(include_str!("recorded/clauses.recorded"));
}
