//! Settings that are changed while the server runs, and those that are kept.

mod common;

use common::Server;
use postgres::Client;

/// How often commits of a session that waits for none of them took the commit log's latch.
fn latch_acquisitions(client: &mut Client, commits: i64) -> i64 {
    client.batch_execute("select cohort_stat_reset_latches()").unwrap();
    for _ in 0..commits {
        client.execute("insert into t values (1)", &[]).unwrap();
    }
    client.query_one("select exacq from cohort_stat_latches where name = 'XactSLRU'", &[]).unwrap().get(0)
}

fn setting(client: &mut Client, name: &str) -> String {
    client.query_one(&format!("show {name}"), &[]).unwrap().get(0)
}

#[test]
fn a_setting_kept_by_alter_system_holds_from_the_next_reload_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let own = ["wal_writer_delay=1s", "autovacuum=off"];
    let server = Server::start(folder.path(), &own);
    std::fs::write(folder.path().join("data/cohort.conf"), "clog_update = group\n").unwrap();
    let mut client = server.connect();
    client.batch_execute("create table t (id int); create role plain login").unwrap();
    client.batch_execute("set synchronous_commit = off").unwrap();
    assert!(latch_acquisitions(&mut client, 300) < 150);

    client.batch_execute("alter system set clog_update = each").unwrap();
    assert_eq!(setting(&mut client, "clog_update"), "cohort");
    assert!(client.query_one("select pg_reload_conf()", &[]).unwrap().get::<_, bool>(0));
    assert_eq!(setting(&mut client, "clog_update"), "each");
    assert!(latch_acquisitions(&mut client, 300) >= 300);

    let plain = format!("{} options='-c search_path=public'", server.url().replace("user=postgres", "user=plain"));
    let mut plain = Client::connect(&plain, postgres::NoTls).unwrap();
    for statement in ["alter system set clog_update = cohort", "alter system reset all"] {
        let error = plain.batch_execute(statement).unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{error}");
    }
    drop((client, plain));
    server.stop();

    let server = Server::start(folder.path(), &own);
    let mut client = server.connect();
    assert_eq!(setting(&mut client, "clog_update"), "each");
    client.batch_execute("alter system reset clog_update").unwrap();
    client.batch_execute("select pg_reload_conf()").unwrap();
    assert_eq!(setting(&mut client, "clog_update"), "group", "what cohort.conf says counts again");
    drop(client);
    server.stop();
}
