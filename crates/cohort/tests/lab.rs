//! `cohort lab` against servers that it did not start.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Server, reference};
use serde_json::Value;

const MOMENT: [&str; 4] = ["--seconds", "0.3", "--clients", "3"];

/// Runs the lab with these arguments, one round of each configuration; the figures of the one experiment.
fn run(url: &str, experiment: &str, out: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_cohort"))
        .args(["lab", "run", experiment, "--quick", "--rounds", "1", "--against", url, "--out"])
        .arg(out)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap();
    let figures = results["outcomes"][0]["figures"].as_array().unwrap().clone();
    for figure in &figures {
        assert!(figure["tps"].as_f64().unwrap() > 0.0, "{figure}");
    }
    figures
}

fn configurations(figures: &[Value]) -> Vec<&str> {
    figures.iter().map(|figure| figure["configuration"].as_str().unwrap()).collect()
}

#[test]
fn another_cohort_is_switched_and_switched_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    // One switch is on by the server's own configuration, another by ALTER SYSTEM, before the lab comes.
    std::fs::write(folder.path().join("data/cohort.conf"), "commit_delay_scope = each\n").unwrap();
    client.batch_execute("alter system set clog_update = 'group'").unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    // And a run before this one was killed between its phases.
    client.batch_execute("create table cohort_lab_test (id int, info text)").unwrap();
    client.batch_execute("begin; lock table cohort_lab_test; prepare transaction 'cohort_lab 0 1'").unwrap();

    let out = folder.path().join("report");
    let figures = run(&server.url(), "group-commit", &out, &MOMENT);
    assert_eq!(configurations(&figures), ["group_commit=off", "group_commit=on"]);
    for figure in &figures {
        assert!(figure["commits_per_sync"].as_f64().unwrap() > 0.0, "{figure}");
    }
    let figures = run(&server.url(), "clog-group", &out, &MOMENT);
    assert_eq!(configurations(&figures), ["each", "group", "cohort"]);
    let exclusive: Vec<f64> =
        figures.iter().map(|figure| figure["clog_latch"]["exclusive"].as_f64().unwrap()).collect();
    assert!(exclusive[0] >= 0.9, "each sets its own bits: {exclusive:?}");

    for (name, value) in [("group_commit", "on"), ("commit_delay_scope", "each"), ("clog_update", "group")] {
        let row = client.query_one("select current_setting($1)", &[&name]).unwrap();
        assert_eq!(row.get::<_, &str>(0), value, "{name}");
    }
    assert_eq!(server.psql("select count(*) from pg_prepared_xacts"), "0");
    server.stop();
}

#[test]
fn postgresql_is_measured_with_what_it_has() {
    let Some(binaries) = reference::server_binaries() else { return };
    let server = reference::Reference::start_with(&binaries, &["max_prepared_transactions=10", "fsync=on"]);
    let folder = tempfile::tempdir().unwrap();
    let figures = run(&server.url(), "group-commit", folder.path(), &MOMENT);
    assert_eq!(configurations(&figures), ["group_commit=on"]);
    assert!(figures[0]["commits_per_sync"].as_f64().unwrap() > 0.0, "{figures:?}");
    let figures = run(&server.url(), "two-phase", folder.path(), &MOMENT);
    assert_eq!(configurations(&figures), ["COMMIT", "two-phase, memory"]);
    let figures = run(&server.url(), "serializable", folder.path(), &MOMENT);
    assert!(configurations(&figures).contains(&"ser., once"), "{figures:?}");
}

#[test]
fn an_open_load_is_held_to_its_rate() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let figures =
        run(&server.url(), "group-commit", folder.path(), &["--rate", "200", "--seconds", "1", "--clients", "3"]);
    for figure in &figures {
        // Chance gives 200 +- 14 in a second; a closed loop would reach thousands.
        assert!(figure["tps"].as_f64().unwrap() < 400.0, "{figure}");
    }
    server.stop();
    let output = Command::new(env!("CARGO_BIN_EXE_cohort"))
        .args(["lab", "run", "group-commit", "--rate", "0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_cohort"))
        .args(["lab", "run", "group-commit", "--against", "postgres://postgres@127.0.0.1:1/postgres"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("onnection refused"), "{error}");
}
