//! Tests of the threads that set status bits (the log's leader, or each committer), by counts of the commit log's latch.
//! This file has one test only, since the counts belong to the process.

mod support;

use std::sync::Arc;

use postgres::Client;
use support::TestServer;
use vfs::RealVfs;

/// A figure of the commit log's latch.
fn latch(client: &mut Client, column: &str) -> i64 {
    let query = format!("select {column} from cohort_stat_latches where name = 'XactSLRU'");
    client.query_one(&query, &[]).unwrap().get(0)
}

#[test]
fn latch_counts_can_be_set_back_by_a_superuser_and_status_bits_are_set_as_the_setting_says() {
    let server = TestServer::start(Arc::new(RealVfs::new()), &[("wal_writer_delay", "1s")], 2);
    let mut client = server.connect();
    client.batch_execute("create table t (id int); create role plain login; set synchronous_commit = off").unwrap();

    let taken_by_commits = |client: &mut Client, mode: &str| {
        // As a reload does it.
        server.database.settings().reload(&[("clog_update".to_owned(), mode.to_owned())]).unwrap();
        server.database.reload();
        assert_eq!(client.query_one("show clog_update", &[]).unwrap().get::<_, String>(0), mode);
        client.batch_execute("select cohort_stat_reset_latches()").unwrap();
        for _ in 0..300 {
            client.execute("insert into t values (1)", &[]).unwrap();
        }
        latch(client, "exacq")
    };
    // Nobody waits for these commits: the log's leader finds many of them at a time.
    let by_cohort = taken_by_commits(&mut client, "cohort");
    assert!(by_cohort < 150, "{by_cohort}");
    for mode in ["each", "group"] {
        let by_committer = taken_by_commits(&mut client, mode);
        assert!((300..400).contains(&by_committer), "{mode}: {by_committer}");
    }

    let mut plain = server.connect_as("plain");
    for function in
        ["cohort_stat_reset_latches()", "pg_stat_reset()", "pg_stat_reset_shared('wal')", "pg_stat_reset_slru(null)"]
    {
        let error = plain.batch_execute(&format!("select {function}")).unwrap_err();
        let error = error.as_db_error().unwrap();
        let name = function.split('(').next().unwrap();
        assert_eq!(
            (error.code().code(), error.message()),
            ("42501", &*format!("permission denied for function {name}"))
        );
    }
    assert!(latch(&mut plain, "exacq") >= 300);

    let error = client.batch_execute("set clog_update = each").unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!((error.code().code(), error.message()), ("55P02", "parameter \"clog_update\" cannot be changed now"));
}
