//! Drivers, each with a program of its own that does what people use it for: tokio-postgres here, pgjdbc in `tests/java`, the others
//! in `tests/drivers`. Where a language is present, its drivers are got from its registry into the folder of build outputs;
//! where the language is missing or its registry out of reach, the test is skipped, aloud.

mod common;
#[path = "drivers/tokio_postgres.rs"]
mod tokio_postgres_smoke;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use common::Server;

/// Where what is got from registries is kept.
fn outputs() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers")
}

/// A file of `tests/drivers`.
fn source(name: &str) -> String {
    format!("{}/tests/drivers/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The output of a command, if it can be run and succeeds within three minutes; otherwise the reason for its failure.
fn say(command: &[&str], folder: Option<&Path>) -> Result<String, String> {
    let mut limited = Command::new("timeout");
    limited.arg("180").args(command).current_dir(folder.unwrap_or(Path::new(".")));
    let Output { status, stdout, stderr } = limited.output().map_err(|error| error.to_string())?;
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if status.success() { Ok(said) } else { Err(format!("{}: {said}", command.join(" "))) }
}

/// Runs a program against a new server.
fn run(program: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let url = format!("postgresql://postgres@127.0.0.1:{}/postgres", server.port());
    let limited = Command::new("timeout").arg("120").args(program).arg(&url).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&limited.stdout), String::from_utf8_lossy(&limited.stderr));
    assert!(limited.status.success(), "{}: {said}\n{}", program.join(" "), server.log());
    server.stop();
}

/// A Python with its drivers; `None`, and said why, if there can't be one.
fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let folder = outputs().join("python");
        let python = folder.join("bin/python").to_str().unwrap().to_owned();
        let imports = ["-c", "import psycopg, asyncpg, sqlalchemy"];
        if say(&[&[python.as_str()], &imports[..]].concat(), None).is_ok() {
            return Some(python);
        }
        std::fs::create_dir_all(outputs()).unwrap();
        let made = say(&["python3", "-m", "venv", folder.to_str().unwrap()], None).and_then(|_| {
            let install = ["-m", "pip", "install", "--quiet", "--requirement", &source("requirements.txt")];
            say(&[&[python.as_str()], &install[..]].concat(), None)
        });
        match made {
            Ok(_) => Some(python),
            Err(why) => {
                eprintln!("SKIPPED: Python's drivers can't be had: {why}");
                None
            }
        }
    });
    found.as_deref()
}

#[test]
fn psycopg() {
    if let Some(python) = python() {
        run(&[python, &source("psycopg_smoke.py")]);
    }
}

#[test]
fn asyncpg() {
    if let Some(python) = python() {
        run(&[python, &source("asyncpg_smoke.py")]);
    }
}

#[test]
fn sqlalchemy() {
    if let Some(python) = python() {
        run(&[python, &source("sqlalchemy_smoke.py")]);
    }
}

#[test]
fn node_postgres() {
    let folder = outputs().join("node");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["package.json", "node_postgres_smoke.js"] {
        std::fs::copy(source(name), folder.join(name)).unwrap();
    }
    if let Err(why) = say(&["node", "-e", "require('pg')"], Some(&folder))
        .or_else(|_| say(&["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], Some(&folder)))
    {
        eprintln!("SKIPPED: node-postgres can't be had: {why}");
        return;
    }
    run(&["node", folder.join("node_postgres_smoke.js").to_str().unwrap()]);
}

#[test]
fn pgx() {
    let program = outputs().join("pgx");
    std::fs::create_dir_all(outputs()).unwrap();
    if let Err(why) = say(&["go", "mod", "download"], Some(Path::new(&source("pgx")))) {
        eprintln!("SKIPPED: pgx can't be had: {why}");
        return;
    }
    let build = ["go", "build", "-o", program.to_str().unwrap(), "."];
    say(&build, Some(Path::new(&source("pgx")))).expect("the program compiles");
    run(&[program.to_str().unwrap()]);
}

#[test]
fn pgjdbc() {
    if let Some(class_path) = common::java::class_path() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        let url = format!("jdbc:postgresql://127.0.0.1:{}/postgres", server.port());
        let said = say(&["java", "-XX:TieredStopAtLevel=1", "-cp", &class_path, "cohort.jdbc.Smoke", &url], None);
        assert!(said.is_ok(), "{said:?}\n{}", server.log());
        server.stop();
    }
}

#[test]
fn tokio_postgres() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    tokio_postgres_smoke::smoke(&format!("postgresql://postgres@127.0.0.1:{}/postgres", server.port()));
    server.stop();
}
