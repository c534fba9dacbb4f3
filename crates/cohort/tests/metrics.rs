//! Metrics over HTTP, from a server process.

mod common;

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use common::http::{request, request_as};
use common::{Server, free_port};

/// All samples by name and labels.
fn samples(port: u16) -> HashMap<String, f64> {
    let (head, body) = request(port, "GET /metrics");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.to_ascii_lowercase().contains("content-type: application/openmetrics-text"), "{head}");
    assert!(body.ends_with("# EOF\n"));
    let mut found = HashMap::new();
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("cohort_"), "{line}");
        assert!(found.insert(name.to_owned(), value.parse().unwrap()).is_none(), "twice: {name}");
    }
    found
}

/// Asks until the samples are as they should be.
fn wait_for_samples(port: u16, are_so: impl Fn(&HashMap<String, f64>) -> bool) -> HashMap<String, f64> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let samples = samples(port);
        if are_so(&samples) {
            return samples;
        }
        assert!(Instant::now() < deadline, "it never came: {samples:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn metrics_are_the_figures_of_the_views() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = Server::start(folder.path(), &[&format!("metrics_listen=127.0.0.1:{port}"), "autovacuum=off"]);
    let before = samples(port);
    let mut client = server.connect();
    client.batch_execute("create table t (id int); insert into t values (1); checkpoint").unwrap();
    for _ in 0..30 {
        client.execute("insert into t values (2)", &[]).unwrap();
    }
    // A reset of the views' statistics does not reset the metrics.
    let resets = "select pg_stat_reset_shared('wal'), pg_stat_reset_slru(null), cohort_stat_reset_latches()";
    client.batch_execute(resets).unwrap();
    let mut other = server.connect();
    other.batch_execute("begin; insert into t values (3)").unwrap();
    client.batch_execute("begin; insert into t values (4); prepare transaction 'orphan'").unwrap();
    let after = samples(port);
    let rise = |name: &str| {
        let value = |of: &HashMap<String, f64>| *of.get(name).unwrap_or_else(|| panic!("there is no {name}"));
        value(&after) - value(&before)
    };
    assert!(rise("cohort_wal_syncs_total") >= 30.0);
    assert!(rise("cohort_cohort_members_count") >= 30.0 && rise("cohort_cohort_members_sum") >= 30.0);
    assert_eq!(rise("cohort_wal_sync_seconds_count"), rise("cohort_wal_sync_seconds_bucket{le=\"+Inf\"}"));
    assert!(rise("cohort_wal_sync_seconds_sum") > 0.0);
    assert!(rise("cohort_latch_acquisitions_total{latch=\"XactSLRU\",mode=\"exclusive\"}") >= 30.0);
    assert!(rise("cohort_latch_blocked_total{latch=\"XactSLRU\"}") >= 0.0);
    assert!(rise("cohort_slru_hits_total{cache=\"Xact\"}") >= 30.0);
    assert!(rise("cohort_checkpoints_total{cause=\"requested\"}") >= 1.0);
    assert_eq!(after["cohort_running_transactions"], 1.0);
    assert_eq!(after["cohort_sessions{state=\"idle in transaction\"}"], 1.0);
    assert_eq!((before["cohort_prepared_transactions"], after["cohort_prepared_transactions"]), (0.0, 1.0));
    assert_eq!(before["cohort_oldest_prepared_transaction_age_seconds"], 0.0);
    assert!(rise("cohort_oldest_prepared_transaction_age_seconds") > 0.0);
    assert!(after.keys().any(|name| name.starts_with("cohort_serialization_failures_total{reason=")));

    let (head, _) = request(port, "GET /");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let (head, _) = request(port, "DELETE /metrics");
    assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    let (head, body) = request(port, "HEAD /metrics");
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty(), "{head}");
    drop((client, other));
    server.stop();
}

#[test]
fn a_name_that_somebody_lets_point_to_the_server_is_not_answered_to() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = Server::start(folder.path(), &[&format!("metrics_listen=127.0.0.1:{port}")]);
    for (host, status) in [("evil.example", "421"), ("", "421"), ("127.0.0.1:1", "200"), ("[::1]", "200")] {
        let (head, body) = request_as(port, "GET /metrics", host);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {head}");
        assert_eq!(status == "200", body.contains("cohort_"), "{host}: {body}");
    }
    let (_, body) = request_as(port, "GET /metrics", "evil.example");
    assert!(body.contains("metrics_listen"), "{body}");
    server.stop();
}

#[test]
fn an_address_that_cannot_be_listened_on_stops_the_start_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, message) in [
        ("nonsense", "invalid value for parameter \"metrics_listen\": \"nonsense\""),
        (&*taken, &*format!("could not listen on \"{taken}\" for metrics")),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_cohort"))
            .arg("serve")
            .arg(folder.path().join("data"))
            .args(["--host", "", "-c", &format!("metrics_listen={address}")])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(message), "{said}");
        assert!(said.contains("hint: "), "{said}");
    }
}

#[test]
fn commits_are_counted_and_timed_alike_in_views_and_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = Server::start(folder.path(), &[&format!("metrics_listen=127.0.0.1:{port}"), "autovacuum=off"]);
    let mut client = server.connect();
    client.batch_execute("create table t (id int)").unwrap();
    // A commit's latency is counted when the commit is retired, which happens after the reply to its client.
    let timed = "cohort_commit_latency_seconds_count";
    let before = wait_for_samples(port, |samples| samples[timed] >= 1.0);
    client.batch_execute("select pg_stat_reset_shared('wal')").unwrap();
    for _ in 0..20 {
        client.batch_execute("insert into t values (1)").unwrap();
    }
    client.batch_execute("begin; insert into t values (2); rollback").unwrap();
    assert!(client.batch_execute("insert into no_such_table values (1)").is_err());
    client.batch_execute("set synchronous_commit = off; insert into t values (3)").unwrap();
    let after = wait_for_samples(port, |samples| samples[timed] >= before[timed] + 20.0);
    let rise = |name: &str| after[name] - before[name];
    let (committed, rolled_back) =
        ("cohort_transactions_total{end=\"committed\"}", "cohort_transactions_total{end=\"rolled back\"}");
    assert_eq!(rise(committed), 22.0, "the reset is one");
    assert_eq!(rise(rolled_back), 2.0);
    assert_eq!(rise(timed), 20.0, "what nobody waits for has no latency");
    assert!(rise("cohort_commit_latency_seconds_sum") > 0.0);
    assert_eq!(after["cohort_session_waits{type=\"Client\",event=\"ClientRead\"}"], 1.0);

    assert!(figure(&mut client, "committed") >= 21.0);
    assert_eq!(figure(&mut client, "rolled_back"), 2.0);
    let (p50, max) = (figure(&mut client, "commit_latency_p50_us"), figure(&mut client, "commit_latency_max_us"));
    assert!(p50 > 0.0 && max >= p50);
    let counted = "select sum(count)::float8 from cohort_stat_commit_histograms where histogram = 'commit_latency_us'";
    assert_eq!(client.query_one(counted, &[]).unwrap().get::<_, f64>(0), 20.0);
    client.batch_execute("select pg_stat_reset_shared('wal')").unwrap();
    assert!(figure(&mut client, "committed") < 5.0);
    drop(client);
    server.stop();
}

#[test]
fn time_limits_do_not_pile_up_and_go_with_their_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = Server::start(folder.path(), &[&format!("metrics_listen=127.0.0.1:{port}"), "autovacuum=off"]);
    let time_limits = || samples(port)["cohort_time_limits"];
    assert_eq!(time_limits(), 0.0);
    const SESSIONS: usize = 4;
    let mut clients: Vec<_> = (0..SESSIONS).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.batch_execute("set transaction_timeout = '20d'").unwrap();
        let statement = client.prepare("select $1::int").unwrap();
        // Longer and shorter ones in turn.
        for limit in ["24d", "1d", "10d", "1h"] {
            client.batch_execute(&format!("set statement_timeout = '{limit}'")).unwrap();
            for number in 0..100 {
                client.query_one(&statement, &[&number]).unwrap();
                client.batch_execute("begin; select 1; commit").unwrap();
            }
        }
        // A limit that passes, and a statement that fails.
        client.batch_execute("set statement_timeout = '5ms'").unwrap();
        assert!(client.batch_execute("select pg_sleep(60)").is_err());
        assert!(client.batch_execute("select 1 / 0").is_err());
    }
    let most = time_limits();
    assert!((1.0..=2.0 * SESSIONS as f64).contains(&most), "{most} time limits of {SESSIONS} sessions");
    drop(clients);
    wait_for_samples(port, |samples| samples["cohort_time_limits"] == 0.0);
    server.stop();
}

fn figure(client: &mut postgres::Client, name: &str) -> f64 {
    client.query_one("select value from cohort_stat_commit where name = $1", &[&name]).unwrap().get(0)
}
