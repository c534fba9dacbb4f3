//! Compares our answers to Parse and Describe with the recorded answers of a PostgreSQL 15 server: see `recorded/record.py`.

use base::Error;
use types::{BuiltinCatalog, format_type_name};

use super::World;

/// Statements whose answers differ, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("select 1;; select 2", "the protocol's layer refuses several statements"),
    ("select test from test", "the tests' catalog knows no names of row types"),
    ("select t from test t", "the tests' catalog knows no names of row types"),
    (
        "select t.id from people p left join test t on t.id = p.id for update",
        "PostgreSQL finds the fault when it plans",
    ),
    ("insert into people values (1, 'a') on conflict (name) do nothing", "PostgreSQL finds the fault when it plans"),
    ("insert into events (kind) values ('a very long kind')", "PostgreSQL finds the fault when it plans"),
    ("select 1::numeric(3, 5)", "PostgreSQL finds the fault when it plans"),
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
