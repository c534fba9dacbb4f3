//! Drivers of other languages, each with a program of its own in `tests/drivers`, where the language and the driver are present:
//! Python's by `import`, JavaScript's by `require`. `COHORT_PYTHON` names another Python, `NODE_PATH` where node's packages lie.

mod common;

use std::process::{Command, Output};

use common::Server;

/// Runs a program against a new server, if `probe` finds its driver. A driver is nothing that the tests install.
fn run(interpreter: &str, probe: [&str; 2], program: &str) {
    let has_driver = Command::new(interpreter).args(probe).output().is_ok_and(|output| output.status.success());
    if !has_driver {
        eprintln!("SKIPPED: {interpreter} {} fails, so {program} is not run", probe.join(" "));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let url = format!("postgresql://postgres@127.0.0.1:{}/postgres", server.port());
    let path = format!("{}/tests/drivers/{program}", env!("CARGO_MANIFEST_DIR"));
    let Output { status, stdout, stderr } =
        Command::new("timeout").args(["120", interpreter, &path, &url]).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{program}: {said}\n{}", server.log());
    server.stop();
}

fn python() -> String {
    std::env::var("COHORT_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

#[test]
fn psycopg() {
    run(&python(), ["-c", "import psycopg"], "psycopg_smoke.py");
}

#[test]
fn asyncpg() {
    run(&python(), ["-c", "import asyncpg"], "asyncpg_smoke.py");
}

#[test]
fn sqlalchemy() {
    run(&python(), ["-c", "import sqlalchemy, psycopg"], "sqlalchemy_smoke.py");
}

#[test]
fn node_postgres() {
    run("node", ["-e", "require('pg')"], "node_postgres_smoke.js");
}
