//! Names of places in the log: made by a function, shown by `cohort waldump`, passed over by recovery.

mod common;

use std::process::Command;

use common::Server;

fn code(error: &postgres::Error) -> &str {
    error.code().map_or("", |code| code.code())
}

#[test]
fn a_restore_point_lies_in_the_log_after_what_was_done_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    client.batch_execute("create table t (id int); insert into t values (1)").unwrap();
    let lsn: String = client.query_one("select pg_create_restore_point('before the move')::text", &[]).unwrap().get(0);
    client.batch_execute("insert into t values (2)").unwrap();
    let long = format!("select pg_create_restore_point('{}')", "x".repeat(64));
    assert_eq!(code(&client.batch_execute(&long).unwrap_err()), "22023");
    drop(client);
    // A stop would begin the log anew at its checkpoint.
    server.kill();

    let dumped =
        Command::new(env!("CARGO_BIN_EXE_cohort")).arg("waldump").arg(folder.path().join("data")).output().unwrap();
    let dumped = String::from_utf8(dumped.stdout).unwrap();
    let lines: Vec<&str> = dumped.lines().collect();
    let point =
        lines.iter().position(|line| line.contains("RestorePoint(\"before the move\")")).expect("it is in the log");
    // The function gives the end of its record, where the next one begins.
    assert!(lines[point + 1].contains(&lsn), "{lsn} is the start of {}", lines[point + 1]);

    let server = Server::start(folder.path(), &["wal_level=minimal"]);
    let mut client = server.connect();
    assert_eq!(client.query_one("select count(*) from t", &[]).unwrap().get::<_, i64>(0), 2);
    assert_eq!(code(&client.batch_execute("select pg_create_restore_point('x')").unwrap_err()), "55000");
    drop(client);
    server.stop();
}
