//! Reports on commits: the outcome of transactions, and how commits were gathered.

mod support;

use std::sync::Arc;
use std::time::Duration;

use support::{TestServer, commit_figure};
use vfs::{RealVfs, SlowedVfs};

#[test]
fn cohorts_and_their_sizes_are_counted_and_set_back() {
    let server = TestServer::start(Arc::new(RealVfs::new()), &[], 2);
    let mut client = server.connect();
    client.batch_execute("create table t (id int)").unwrap();
    for _ in 0..20 {
        client.execute("insert into t values (1)", &[]).unwrap();
    }
    let mut histogram = |name: &str| -> i64 {
        let query = "select coalesce(sum(count), 0)::int8 from cohort_stat_commit_histograms where histogram = $1";
        client.query_one(query, &[&name]).unwrap().get(0)
    };
    assert!(histogram("cohort_size") >= 20);
    assert!(histogram("sync_time_us") >= 20);
    let cohorts = commit_figure(&mut client, "cohorts");
    assert!(cohorts >= 20.0 && commit_figure(&mut client, "cohort_members") >= cohorts);
    client.batch_execute("select pg_stat_reset_shared('wal')").unwrap();
    assert!(commit_figure(&mut client, "cohorts") < 20.0);
    let records: i64 = client.query_one("select wal_records from pg_stat_wal", &[]).unwrap().get(0);
    assert!(records < 20, "{records}");
}

// invariants: row 11
#[test]
fn that_a_transaction_has_committed_is_not_told_before_that_is_durable() {
    let disk = SlowedVfs::new(Arc::new(RealVfs::new()), Duration::from_millis(2));
    let server = TestServer::start(Arc::new(disk), &[("autovacuum", "off")], 2);
    let (mut writer, mut reader) = (server.connect(), server.connect());
    writer.batch_execute("create table t (id int)").unwrap();
    let status = reader.prepare("select txid_status($1)").unwrap();
    for _ in 0..300 {
        writer.batch_execute("begin; insert into t values (1)").unwrap();
        let xid: i64 = writer.query_one("select txid_current()", &[]).unwrap().get(0);
        // The commit record will end above.
        let before = server.database.wal().reserved();
        std::thread::scope(|scope| {
            scope.spawn(|| writer.batch_execute("commit").unwrap());
            loop {
                let told: String = reader.query_one(&status, &[&xid]).unwrap().get(0);
                let durable = server.database.wal().durable();
                if told == "committed" {
                    assert!(durable > before, "told at {durable:?}, its record lies above {before:?}");
                    break;
                }
                assert_eq!(told, "in progress");
            }
        });
    }
}
