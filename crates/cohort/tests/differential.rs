//! The same statements on Cohort and on a real PostgreSQL 15: rows, row counts and errors must agree.
//!
//! Each file of `tests/statements` runs in one connection and one schema of its own on either server, statement by
//! statement through the simple protocol. A statement ends with a `;` at the end of a line outside of `$$`. Where the two
//! are known to differ, `ALLOWED` says so and why.

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Server;
use common::reference::{Reference, server_binaries};
use postgres::{Client, NoTls, SimpleQueryMessage};

/// Differences that stay: file, the statement's beginning, and why.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// The statements of a file: each ends with a `;` at the end of a line outside of `$$`.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    for line in text.lines() {
        if current.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        current.push_str(line);
        current.push('\n');
        if line.trim_end().ends_with(';') && current.matches("$$").count().is_multiple_of(2) {
            found.push(std::mem::take(&mut current).trim_end().to_owned());
        }
    }
    assert!(current.is_empty(), "an unfinished statement: {current}");
    found
}

/// What a client sees of one statement.
fn outcome(client: &mut Client, statement: &str) -> String {
    let mut seen = String::new();
    match client.simple_query(statement) {
        Ok(messages) => {
            for message in messages {
                match message {
                    SimpleQueryMessage::RowDescription(columns) => {
                        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
                        writeln!(seen, "columns {}", names.join(" | ")).unwrap();
                    }
                    SimpleQueryMessage::Row(row) => {
                        let values: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("(null)")).collect();
                        writeln!(seen, "row {}", values.join(" | ")).unwrap();
                    }
                    SimpleQueryMessage::CommandComplete(count) => writeln!(seen, "complete {count}").unwrap(),
                    _ => {}
                }
            }
        }
        Err(error) => match error.as_db_error() {
            Some(error) => writeln!(seen, "error {}: {}", error.code().code(), error.message()).unwrap(),
            None => panic!("the connection broke at {statement}: {error}"),
        },
    }
    seen
}

#[test]
fn statements_have_the_results_that_postgresql_gives_them() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let statement_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(statement_folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let (mut compared, mut differing, mut report) = (0, 0, String::new());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut ours = server.connect();
        let mut theirs = Client::connect(&reference.url(), NoTls).unwrap();
        for setup in
            [format!("create schema d_{name}"), format!("set search_path to d_{name}"), "set timezone to 'UTC'".into()]
        {
            ours.simple_query(&setup).unwrap();
            theirs.simple_query(&setup).unwrap();
        }
        for statement in statements(&std::fs::read_to_string(&file).unwrap()) {
            let (expected, found) = (outcome(&mut theirs, &statement), outcome(&mut ours, &statement));
            compared += 1;
            let allowed = ALLOWED.iter().find(|(of, start, _)| *of == name && statement.starts_with(start));
            match (expected == found, allowed) {
                (true, None) => {}
                (true, Some((_, start, _))) => eprintln!("{name}: no longer different, take it off the list: {start}"),
                (false, Some((_, start, reason))) => eprintln!("{name}: differs ({reason}): {start}"),
                (false, None) => {
                    differing += 1;
                    writeln!(report, "--- {name}: {statement}\nPostgreSQL:\n{expected}Cohort:\n{found}").unwrap();
                }
            }
        }
    }
    assert!(differing == 0, "{differing} of {compared} statements differ\n{report}");
    eprintln!("{compared} statements agree");
    server.stop();
}

/// What psql prints when it runs `script`, its complaints among it.
fn psql(connection: &str, script: &Path) -> String {
    let output = Command::new("psql")
        .args(["-X", "-a", "-f", script.file_name().unwrap().to_str().unwrap(), connection])
        .current_dir(script.parent().unwrap())
        .env("PGOPTIONS", "")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    format!("{printed}{}", String::from_utf8(output.stderr).unwrap())
}

#[test]
fn psql_describes_a_schema_as_it_does_for_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/describe.psql");
    let (expected, found) = (psql(&reference.url(), &script), psql(&server.url(), &script));
    assert!(expected.contains("Table \"public.a\""), "{expected}");
    // The first lines that differ say more than all of them.
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "line {number} of what psql prints");
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    server.stop();
}
