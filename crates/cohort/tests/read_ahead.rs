//! Scans that helpers read ahead give what a session that reads alone is given, in the same order, and nothing is left
//! behind when nobody wants the rest. On a machine with one processor nobody helps, and both are the same.

mod common;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use common::Server;
use postgres::error::SqlState;
use postgres::{Client, NoTls, SimpleQueryMessage, Transaction};

/// Some 2,000 pages: NULLs, a column younger than most rows, deleted rows, and rows whose text lies outside of them.
const SETUP: &str = "
    CREATE TABLE wide (id int, k int, f float8, n numeric, d date, t text);
    INSERT INTO wide
    SELECT i, i * 7919::bigint % 10007, i / 8.0, i / 100.0, date '2020-01-01' + i % 1000,
           CASE WHEN i % 10 > 0 THEN repeat('text ' || i, 3) END
    FROM generate_series(1, 100000) i;
    ALTER TABLE wide ADD COLUMN younger int DEFAULT 5;
    INSERT INTO wide SELECT i, 1, 1, 1, '2021-01-01', string_agg(md5((i + j)::text), ''), i
    FROM generate_series(100001, 100020) i, generate_series(1, 1000) j GROUP BY i;
    DELETE FROM wide WHERE id % 17 = 0";

/// With filters that helpers apply, that only the session can, and without one.
const QUERIES: &[&str] = &[
    "SELECT * FROM wide",
    "SELECT id, ctid, tableoid::regclass, younger FROM wide WHERE k < 5000 AND f > 100",
    "SELECT id, t FROM wide WHERE t LIKE '%7%' AND upper(t) <> 'TEXT 7' AND n BETWEEN 1 AND 900",
    "SELECT count(*), sum(f), sum(n), min(d), max(length(t)) FROM wide",
    "SELECT count(*) FROM wide",
    "SELECT id FROM wide WHERE k IN (1, 2, 3, 5, 8) OR d IS NULL OR CASE id % 1000 WHEN 3 THEN k > 100 END",
    "SELECT id FROM wide WHERE k = (SELECT max(k) FROM wide) OR id = pg_backend_pid() % 1000 + 1000000",
    "SELECT id FROM wide WHERE md5(t) < '0f' ORDER BY id DESC",
    "SELECT a.id, b.id FROM wide a JOIN wide b ON a.id = b.k WHERE b.id < 3000",
    "SELECT k, count(*) FROM wide WHERE younger = 5 GROUP BY k HAVING count(*) > 8 ORDER BY k",
    "SELECT id FROM wide WHERE coalesce(t, 'none') = 'none' AND k IS DISTINCT FROM 7 LIMIT 40 OFFSET 3000",
];

fn rows_of(client: &mut Client, query: &str) -> String {
    let mut text = String::new();
    for message in client.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}")) {
        if let SimpleQueryMessage::Row(row) = message {
            for column in 0..row.len() {
                write!(text, "{}|", row.get(column).unwrap_or("NULL")).expect("a string takes anything");
            }
            text.push('\n');
        }
    }
    text
}

const ALONE: &str = "SET max_parallel_workers_per_gather = 0";
const HELPED: &str = "SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0";

fn assert_alike(client: &mut Client, queries: &[&str]) {
    for query in queries {
        client.batch_execute(ALONE).unwrap();
        let alone = rows_of(client, query);
        client.batch_execute(HELPED).unwrap();
        assert!(rows_of(client, query) == alone, "{query}");
        assert!(!alone.is_empty(), "{query} gives no rows");
    }
}

/// Threads of the server that help.
fn helpers(server: &Server) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.id())).expect("the server runs");
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "cohort helper").count()
}

fn start(folder: &std::path::Path) -> (Server, Client) {
    let server = Server::start(folder, &[]);
    let mut client = server.connect();
    client.batch_execute(SETUP).unwrap();
    (server, client)
}

#[test]
fn rows_are_the_same_and_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = start(folder.path());
    client.batch_execute(ALONE).unwrap();
    rows_of(&mut client, QUERIES[0]);
    assert_eq!(helpers(&server), 0, "somebody helps though nobody is to");
    assert_alike(&mut client, QUERIES);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(processors == 1 || (1..=processors).contains(&helpers(&server)), "{} helpers", helpers(&server));

    // With parameters.
    let count = |client: &mut Client| {
        let text = "SELECT count(*), sum(id) FROM wide WHERE k > $1 AND t > $2";
        let row = client.query_one(text, &[&500_i32, &"text 5"]).unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    client.batch_execute(ALONE).unwrap();
    let alone = count(&mut client);
    client.batch_execute(HELPED).unwrap();
    assert_eq!(count(&mut client), alone);
}

#[test]
fn a_scan_sees_what_its_transaction_has_done_and_what_others_have_not() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = start(folder.path());
    let mut other = server.connect();
    for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        client.batch_execute(&format!("BEGIN ISOLATION LEVEL {isolation}; SELECT count(*) FROM wide")).unwrap();
        other.batch_execute("UPDATE wide SET k = k + 1 WHERE id % 50 = 0 AND id % 101 <> 1 AND id % 103 <> 1").unwrap();
        client
            .batch_execute(
                "INSERT INTO wide (id, k) SELECT -i, -1 FROM generate_series(1, 5000) i; SAVEPOINT a; \
             DELETE FROM wide WHERE id % 101 = 1; ROLLBACK TO a; SAVEPOINT b; DELETE FROM wide WHERE id % 103 = 1",
            )
            .unwrap();
        assert_alike(&mut client, &["SELECT id, k FROM wide", "SELECT count(*), sum(k) FROM wide WHERE id % 2 = 1"]);
        client.batch_execute("ROLLBACK").unwrap();
    }
    // A cursor goes on with what was there when it was opened, whatever happens meanwhile.
    client.batch_execute(HELPED).unwrap();
    let all = rows_of(&mut client, "SELECT id, k FROM wide");
    client.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT id, k FROM wide").unwrap();
    let mut fetched = rows_of(&mut client, "FETCH 20000 FROM c");
    client.batch_execute("DELETE FROM wide WHERE id % 2 = 0").unwrap();
    other.batch_execute("SET lock_timeout = '1ms'; INSERT INTO wide SELECT FROM generate_series(1, 1000)").unwrap();
    fetched += &rows_of(&mut client, "FETCH ALL FROM c");
    assert!(fetched == all, "the cursor's rows differ");
    client.batch_execute("ROLLBACK").unwrap();
}

/// The most memory that the server has used, in KiB.
fn peak_memory_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells of the peak");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn small_rows_that_are_decoded_to_large_ones_are_not_gathered() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = start(folder.path());
    // Rows from before the column was there are as small as ever, and have its megabyte. A piece has thousands of them.
    client.batch_execute("ALTER TABLE wide ADD COLUMN large text DEFAULT repeat('x', 1000000)").unwrap();
    client.batch_execute(HELPED).unwrap();
    let before_kib = peak_memory_kib(&server);
    let query = "SELECT count(*), sum(length(l)) FROM (SELECT large AS l FROM wide LIMIT 30000) s";
    assert_eq!(rows_of(&mut client, query), "30000|30000000000|\n");
    let used_kib = peak_memory_kib(&server) - before_kib;
    assert!(used_kib < 200 << 10, "{used_kib} KiB for rows that are wanted one by one");
}

#[test]
fn a_portal_that_goes_on_sees_what_was_there_when_it_began() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = start(folder.path());
    let mut other = server.connect();
    let count: i64 = client.query_one("SELECT count(*) FROM wide", &[]).unwrap().get(0);
    let mut transaction = client.transaction().unwrap();
    let portal = transaction.bind("SELECT id FROM wide", &[]).unwrap();
    assert_eq!(transaction.query_portal(&portal, 1).unwrap().len(), 1);
    other.batch_execute("DELETE FROM wide WHERE id > 50000").unwrap();
    assert_eq!(transaction.query_portal(&portal, 1).unwrap().len(), 1);
    assert_eq!(transaction.query_portal(&portal, 1).unwrap().len(), 1);
    other.batch_execute("VACUUM wide").unwrap();
    assert_eq!(transaction.query_portal(&portal, 0).unwrap().len() as i64, count - 3);
    transaction.commit().unwrap();
}

#[test]
fn portals_that_are_given_up_hold_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = start(folder.path());
    let (told, messages) = std::sync::mpsc::channel();
    let mut config: postgres::Config = server.url().parse().unwrap();
    config.notice_callback(move |notice| told.send(notice.detail().unwrap_or_default().to_owned()).unwrap());
    let mut other = config.connect(NoTls).unwrap();
    // Whether rows that another session deletes now can be taken away.
    let mut holds = |first: i32| {
        other.batch_execute(&format!("DELETE FROM wide WHERE id BETWEEN {first} AND {first} + 99")).unwrap();
        other.batch_execute("VACUUM (VERBOSE) wide").unwrap();
        let detail: String = messages.try_iter().collect();
        assert!(detail.contains(" are dead but not yet removable"), "{detail}");
        !detail.contains(" 0 are dead but not yet removable")
    };
    let suspended = |transaction: &mut Transaction<'_>| {
        let portal = transaction.bind("SELECT id FROM wide", &[]).unwrap();
        assert_eq!(transaction.query_portal(&portal, 1).unwrap().len(), 1);
        portal
    };
    let mut transaction = client.transaction().unwrap();
    assert!(!holds(1000));
    let closed = suspended(&mut transaction);
    assert!(holds(2000));
    drop(closed);
    transaction.batch_execute("").unwrap();
    assert!(!holds(3000), "closed");

    let mut inner = transaction.savepoint("s").unwrap();
    let undone = suspended(&mut inner);
    assert!(holds(4000));
    inner.rollback().unwrap();
    assert!(!holds(5000), "undone");
    drop(undone);

    transaction.batch_execute("DECLARE failing CURSOR FOR SELECT 1 / (2 - id) FROM wide; FETCH failing").unwrap();
    let mut inner = transaction.savepoint("s").unwrap();
    assert!(holds(6000));
    assert!(inner.batch_execute("FETCH failing").is_err());
    inner.rollback().unwrap();
    assert!(!holds(7000), "failed");

    let mut inner = transaction.savepoint("s").unwrap();
    let failed = suspended(&mut inner);
    assert!(holds(8000));
    assert!(inner.batch_execute("SELECT 1 / 0").is_err());
    assert!(!holds(9000), "in a transaction that failed");
    drop(failed);
    inner.rollback().unwrap();
    transaction.commit().unwrap();
}

#[test]
fn errors_limits_and_cancellations_leave_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = start(folder.path());
    client.batch_execute(HELPED).unwrap();
    let error = client.batch_execute("SELECT count(*) FROM wide WHERE 10 / (id - 70000) > 0").unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    // An error in a row after the last one that LIMIT returns is not reported.
    let query = "SELECT id FROM wide WHERE 10 / (id - 99990) < 5 LIMIT 3";
    assert_eq!(rows_of(&mut client, query), "1|\n2|\n3|\n");
    let query = "SELECT id FROM wide WHERE id > 90000 AND 10 / (id - 90050) < 5 LIMIT 3";
    assert_eq!(rows_of(&mut client, query), "90001|\n90002|\n90003|\n");

    client.batch_execute("SET statement_timeout = '50ms'").unwrap();
    for query in [
        "SELECT count(*) FROM wide a, wide b, wide c WHERE md5(a.t || b.t) < md5(c.t)",
        "SELECT count(*) FROM wide WHERE length(repeat(md5(t), 200000)) < 0",
    ] {
        let began = Instant::now();
        let error = client.batch_execute(query).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
        assert!(began.elapsed() < Duration::from_secs(20), "the cancellation took {:?}: {query}", began.elapsed());
    }
    client.batch_execute("RESET statement_timeout").unwrap();

    // A table that goes while rows of it lie ready, by its own transaction's end.
    for _ in 0..20 {
        client
            .batch_execute(
                "BEGIN; CREATE TABLE gone AS SELECT * FROM wide WHERE id < 30000; \
             DECLARE c CURSOR FOR SELECT * FROM gone; FETCH 5000 FROM c; ROLLBACK",
            )
            .unwrap();
    }
    // Several at once share the helpers.
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.connect();
                    client.batch_execute(HELPED).unwrap();
                    (0..5).map(|_| rows_of(&mut client, "SELECT count(*), sum(k) FROM wide WHERE id > 5")).collect()
                })
            })
            .collect();
        let results: Vec<Vec<String>> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
        assert!(results.iter().flatten().all(|result| *result == results[0][0]), "{results:?}");
    });
    client.batch_execute("VACUUM wide").unwrap();
    assert_alike(&mut client, &QUERIES[..3]);
}
