//! Several databases, as PostgreSQL's own clients use them: psql runs a script on Cohort and on a real PostgreSQL 15, and its outputs must be the
//! same; and the tools for whole databases do their work.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::reference::{Reference, server_binaries};
use common::{Server, has_client};

/// The output of a client that is connected to the server at `socket`.
fn run(socket: &Path, program: &str, arguments: &[&str]) -> Output {
    let folder = socket.parent().unwrap();
    let port = socket.extension().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("PGHOST", folder).env("PGPORT", port).env("PGUSER", "postgres");
    command.output().unwrap()
}

/// The output of a client that must succeed.
fn done(socket: &Path, program: &str, arguments: &[&str]) -> String {
    let output = run(socket, program, arguments);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// The output of psql that runs the script, without the places that only one of the servers has.
fn output_of_script(socket: &Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/databases/script.sql");
    let output = run(socket, "psql", &["-X", "-a", "-v", "VERBOSITY=verbose", "-d", "postgres", "-f", script]);
    let all = [output.stdout, output.stderr].concat();
    let folder = socket.parent().unwrap().to_str().unwrap();
    let port = socket.extension().unwrap().to_str().unwrap();
    let text = String::from_utf8(all).unwrap().replace(folder, "FOLDER").replace(port, "PORT");
    text.lines().filter(|line| !line.starts_with("LOCATION:")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn psql_shows_the_same_of_several_databases() {
    let Some(binaries) = server_binaries() else { return };
    if !has_client("psql") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let (expected, found) = (output_of_script(&reference.socket()), output_of_script(&server.socket()));
    assert!(expected.contains("CREATE DATABASE"), "{expected}");
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of the output", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    for attempt in REFUSED {
        let refusal = |socket: &Path| {
            let output = run(socket, "psql", &["-X", "-c", "select 1", attempt]);
            let told = String::from_utf8(output.stderr).unwrap();
            told.split_once("FATAL:").map(|(_, why)| why.to_owned()).expect("it is refused")
        };
        assert_eq!(refusal(&server.socket()), refusal(&reference.socket()), "{attempt}");
    }
    server.stop();
}

/// Where nobody, or not this role, may connect to after the script.
const REFUSED: &[&str] =
    &["dbname=nosuch", "dbname=template0", "dbname=closed", "dbname=private user=plain", "dbname=full user=plain"];

#[test]
fn tools_make_copy_dump_and_drop_databases() {
    if !["psql", "createdb", "pg_dumpall", "pg_restore", "vacuumdb"].iter().all(|program| has_client(program)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let socket = server.socket();
    let tool = |program: &str, arguments: &[&str]| done(&socket, program, arguments);
    let one = |database: &str, query: &str| tool("psql", &["-X", "-A", "-t", "-d", database, "-c", query]);
    tool("createdb", &["shop", "a comment"]);
    one(
        "shop",
        "create table t (id serial primary key, s text); insert into t (s) select repeat('x', g) from generate_series(1, 100) g",
    );
    one("postgres", "create role r; grant connect on database shop to r; alter database shop set work_mem = '5MB'");
    tool("createdb", &["-T", "shop", "copied"]);
    assert_eq!(one("copied", "insert into t (s) values ('') returning id").lines().next(), Some("101"));
    assert_eq!(one("shop", "select count(*), max(id) from t").trim(), "100|100");
    for program in ["vacuumdb", "reindexdb"] {
        tool(program, &["-a"]);
    }
    let (all, archive) = (folder.path().join("all.sql"), folder.path().join("shop.dump"));
    let (all, archive) = (all.to_str().unwrap(), archive.to_str().unwrap());
    tool("pg_dumpall", &["-f", all]);
    tool("pg_dump", &["-Fc", "-C", "-f", archive, "shop"]);
    tool("dropdb", &["shop"]);
    tool("pg_restore", &["-C", "-d", "postgres", archive]);
    let described = "select count(*), current_setting('work_mem') from t";
    assert_eq!(one("shop", described).trim(), "100|5MB");
    for database in ["shop", "copied"] {
        tool("dropdb", &["--force", database]);
    }
    tool("psql", &["-X", "-q", "-d", "postgres", "-f", all]);
    assert_eq!(one("shop", described).trim(), "100|5MB");
    assert_eq!(one("copied", "select count(*) from t").trim(), "101");
    // Each dump has a random word of its own.
    let plain = |dump: String| -> Vec<String> {
        dump.lines().filter(|line| !line.contains("restrict ")).map(str::to_owned).collect()
    };
    assert_eq!(plain(tool("pg_dumpall", &[])), plain(std::fs::read_to_string(all).unwrap()));
    server.stop();
}
