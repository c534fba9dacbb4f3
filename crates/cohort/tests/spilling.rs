//! Statements over far more rows than `work_mem` holds: same results, bounded memory, and nothing left behind.

mod common;

use std::path::Path;

use common::Server;
use postgres::Client;
use postgres::error::SqlState;

/// 300,000 rows, about 40 MB once they are values in memory, and strings that don't sort as they were made.
const SETUP: &str = "
    CREATE TABLE big (id int, k int, t text);
    INSERT INTO big SELECT i, (i * 7919::bigint % 150001)::int, 'text ' || i * 104729::bigint % 300007
    FROM generate_series(1, 300000) i";

/// Each gives one row, which says all about what was sorted, joined or gathered on the way to it.
const QUERIES: &[&str] = &[
    // A sort, read as a whole and from its middle.
    "SELECT count(*), sum(r * (id % 1000)::numeric) FROM (SELECT id, row_number() OVER (ORDER BY t DESC, id) AS r FROM big) q",
    "SELECT string_agg(t, ',') FROM (SELECT t FROM big ORDER BY k, t, id OFFSET 150000 LIMIT 20) q",
    // Row values keep the names of their fields.
    "SELECT string_agg(to_json(r)::text, ',') FROM (SELECT b AS r FROM big b ORDER BY t OFFSET 200000 LIMIT 3) q",
    // Hash joins of every kind.
    "SELECT count(*), sum(a.id::bigint + b.id) FROM big a JOIN big b ON a.k = b.id",
    "SELECT count(*), sum(b.id), sum(a.id) FROM big a LEFT JOIN (SELECT * FROM big WHERE id % 3 = 0) b ON a.t = b.t",
    "SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM big WHERE id % 2 = 0) a FULL JOIN (SELECT * FROM big WHERE id % 3 = 0) b ON a.id = b.id",
    "SELECT count(*) FROM big a WHERE EXISTS (SELECT FROM big b WHERE b.k = a.id AND b.id <> a.id)",
    "SELECT count(*) FROM big a WHERE NOT EXISTS (SELECT FROM big b WHERE b.k = a.id)",
    // One key for all: no hash divides it.
    "SELECT count(*) FROM (SELECT 1 AS one, id FROM big) a JOIN (SELECT 1 AS one FROM big WHERE id <= 10) b USING (one)",
    // Groups, distinct rows, set operations.
    "SELECT count(*), sum(n), max(length(m)) FROM (SELECT t, count(*) AS n, max(t) AS m FROM big GROUP BY t) q",
    "SELECT count(*), sum(h) FROM (SELECT DISTINCT t, id % 7 AS h FROM big) q",
    "SELECT count(*) FROM (SELECT id FROM big UNION SELECT k FROM big) q",
    "SELECT count(*), sum(id) FROM (SELECT id FROM big INTERSECT SELECT k FROM big) q",
    "SELECT count(*), sum(id) FROM (SELECT id FROM big WHERE id % 2 = 0 EXCEPT SELECT k FROM big) q",
    "SELECT count(*), sum(v) FROM (SELECT id % 100003 AS v FROM big INTERSECT ALL SELECT k FROM big) q",
    "SELECT count(*), sum(v) FROM (SELECT id % 100003 AS v FROM big EXCEPT ALL SELECT k FROM big) q",
    // Values that aggregates keep for DISTINCT and ORDER BY, of all rows and of groups.
    "SELECT count(DISTINCT t), count(DISTINCT k), sum(DISTINCT k) FROM big",
    "SELECT md5(string_agg(t, ',' ORDER BY t DESC, id)), md5(string_agg(DISTINCT t, ',')) FROM big",
    "SELECT sum(n), md5(string_agg(s, ',' ORDER BY g)) FROM (SELECT id % 5 AS g, count(DISTINCT t) AS n, md5(array_agg(t ORDER BY k, id)::text) AS s FROM big GROUP BY 1) q",
    "SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY k), percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY t), mode() WITHIN GROUP (ORDER BY id % 7) FROM big",
    "SELECT rank('text 2') WITHIN GROUP (ORDER BY t), dense_rank(1000) WITHIN GROUP (ORDER BY k), cume_dist(5) WITHIN GROUP (ORDER BY id) FROM big",
    // Subqueries that are looked up for every row, with and without a match, and with NULLs about.
    "SELECT count(*) FILTER (WHERE f), count(*) FILTER (WHERE NOT f) FROM (SELECT id IN (SELECT k FROM big) AS f FROM big) q",
    "SELECT count(*) FROM big WHERE id % 10 = 0 AND t NOT IN (SELECT t FROM big WHERE id % 3 > 0)",
    "SELECT count(f), count(*) FROM (SELECT id IN (SELECT nullif(k, 7) FROM big) AS f FROM big WHERE id < 200 OR id > 299900) q",
    // Rows kept: a common table expression read twice, the inner side of a loop, a large partition.
    "WITH c AS MATERIALIZED (SELECT id, t FROM big) SELECT count(*), min(a.t) FROM c a JOIN c b ON b.id = a.id + 1",
    "SELECT count(*) FROM (SELECT id FROM big WHERE id < 4) a JOIN (SELECT id FROM big OFFSET 0) b ON a.id + b.id > 10",
    "SELECT sum(n), count(f) FROM (SELECT lead(id, 1000) OVER (ORDER BY id) - id AS n, first_value(t) OVER (ORDER BY id ROWS 10 PRECEDING) AS f FROM big) q",
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT count(*), sum(n) FROM c",
    "WITH RECURSIVE c (n, t) AS (SELECT 1, 'row ' || 1 UNION SELECT n % 100000 + 1, 'row ' || n % 100000 + 1 FROM c) SELECT count(*), sum(n), max(t) FROM c",
];

fn one_row(client: &mut Client, query: &str) -> String {
    let messages = client.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let row = messages.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let row = row.unwrap_or_else(|| panic!("{query}: no row"));
    (0..row.len()).map(|column| row.get(column).unwrap_or("NULL").to_owned()).collect::<Vec<_>>().join("|")
}

/// Temporary files there are.
fn temporary_files(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("data/tmp")).map_or(0, Iterator::count)
}

fn fill(client: &mut Client) {
    client.batch_execute(SETUP).unwrap();
    client.batch_execute("ANALYZE big").unwrap();
}

#[test]
fn what_does_not_fit_into_work_mem_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    fill(&mut client);
    for query in QUERIES {
        client.batch_execute("SET work_mem = '1GB'").unwrap();
        let in_memory = one_row(&mut client, query);
        client.batch_execute("SET work_mem = '256kB'").unwrap();
        assert_eq!(one_row(&mut client, query), in_memory, "{query}");
        assert_eq!(temporary_files(folder.path()), 0, "files were left by {query}");
    }
    // An error in the middle, and a cursor that is closed before its end, leave nothing either.
    let error = client.simple_query("SELECT 1 / (id - 299999) FROM (SELECT id, t FROM big ORDER BY t) q").unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    assert_eq!(temporary_files(folder.path()), 0);
    client.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT t FROM big ORDER BY t; FETCH 5 FROM c").unwrap();
    assert!(temporary_files(folder.path()) > 0, "a sort of this size was to be in files");
    client.batch_execute("CLOSE c; COMMIT").unwrap();
    assert_eq!(temporary_files(folder.path()), 0);
}

#[test]
fn cursors_that_keep_many_rows_keep_them_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    fill(&mut client);
    client.batch_execute("SET work_mem = '256kB'").unwrap();
    client
        .batch_execute("BEGIN; DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT id, t FROM big ORDER BY id; COMMIT")
        .unwrap();
    assert!(temporary_files(folder.path()) > 0, "rows held were to be in a file");
    assert_eq!(one_row(&mut client, "FETCH ABSOLUTE 200000 FROM held").split('|').next(), Some("200000"));
    assert_eq!(one_row(&mut client, "FETCH PRIOR FROM held").split('|').next(), Some("199999"));
    assert_eq!(one_row(&mut client, "FETCH LAST FROM held").split('|').next(), Some("300000"));
    client.batch_execute("CLOSE held").unwrap();
    assert_eq!(temporary_files(folder.path()), 0);
    // A function's loop and its cursor, which gather their rows first.
    let body = "DECLARE r record; c CURSOR FOR SELECT id FROM big; n bigint := 0;
        BEGIN FOR r IN SELECT id, t FROM big LOOP n := n + r.id; END LOOP;
        FOR r IN c LOOP n := n - r.id; END LOOP; RETURN n; END";
    client.batch_execute(&format!("CREATE FUNCTION gather() RETURNS bigint LANGUAGE plpgsql AS $${body}$$")).unwrap();
    assert_eq!(one_row(&mut client, "SELECT gather()"), "0");
    assert_eq!(temporary_files(folder.path()), 0);
}

#[test]
fn what_one_fetch_and_one_execute_give_is_in_a_file_until_it_has_been_given() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    fill(&mut client);
    client.batch_execute("SET work_mem = '256kB'; PREPARE every AS SELECT id, t FROM big ORDER BY id").unwrap();
    for statement in ["FETCH ALL FROM c", "EXECUTE every"] {
        let mut transaction = client.transaction().unwrap();
        transaction.batch_execute("DECLARE c CURSOR FOR SELECT id, t FROM big ORDER BY id; MOVE 0 IN c").unwrap();
        let portal = transaction.bind(statement, &[]).unwrap();
        let mut expected = 0;
        for (limit, found) in [(5, 5), (100_000, 100_000), (0, 199_995), (0, 0)] {
            let rows = transaction.query_portal(&portal, limit).unwrap();
            assert_eq!(rows.len(), found, "{statement}");
            for row in rows {
                expected += 1;
                assert_eq!(row.get::<_, i32>(0), expected);
            }
            if expected < 300_000 {
                assert!(temporary_files(folder.path()) > 0, "{statement}: its rows were to be in a file");
            }
        }
        transaction.batch_execute("MOVE BACKWARD ALL IN c; MOVE 1000 IN c").unwrap();
        let next = transaction.query_one("FETCH c", &[]).unwrap();
        assert_eq!(next.get::<_, i32>(0), 1001, "what a MOVE passes is counted");
        transaction.rollback().unwrap();
        assert_eq!(temporary_files(folder.path()), 0);
    }
}

#[test]
fn explain_analyze_says_what_was_kept_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    fill(&mut client);
    let mut plan_of = |work_mem: &str, query: &str| -> String {
        client.batch_execute(&format!("SET work_mem = '{work_mem}'")).unwrap();
        let rows =
            client.query(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {query}"), &[]).unwrap();
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
    };
    for (work_mem, query, wanted) in [
        ("1GB", "SELECT * FROM big ORDER BY t", "Sort Method: quicksort  Memory: "),
        ("256kB", "SELECT * FROM big ORDER BY t", "Sort Method: external merge  Disk: "),
        ("256kB", "SELECT * FROM big ORDER BY t LIMIT 5", "Sort Method: top-N heapsort  Memory: "),
        ("1GB", "SELECT k, count(*) FROM big GROUP BY k", "  Batches: 1  Memory Usage: "),
        ("256kB", "SELECT k, count(*) FROM big GROUP BY k", "kB  Disk Usage: "),
        ("1GB", "SELECT count(*) FROM big a JOIN big b ON a.k = b.id", "  Batches: 1  Memory Usage: "),
        ("1GB", "SELECT count(*) FROM big a JOIN big b ON a.k = b.id", "Buckets: "),
    ] {
        let plan = plan_of(work_mem, query);
        assert!(plan.contains(wanted), "{query} with {work_mem}: no {wanted:?} in\n{plan}");
    }
}

#[test]
fn explain_buffers_counts_the_pages_of_its_own_statement() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    fill(&mut client);
    for statement in ["SET work_mem = '1MB'", "VACUUM ANALYZE big", "CHECKPOINT"] {
        client.batch_execute(statement).unwrap();
    }
    let pages = one_row(&mut client, "SELECT pg_relation_size('big') / 8192").parse::<u64>().unwrap();
    // Somebody else is busy meanwhile.
    let mut other = server.connect();
    let busy = std::thread::spawn(move || {
        for _ in 0..20 {
            one_row(&mut other, "SELECT count(*) FROM big");
        }
    });
    let explained = |client: &mut Client, options: &str, query: &str| {
        let rows = client.query(&format!("EXPLAIN ({options}) {query}"), &[]).unwrap();
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
    };
    let text = explained(&mut client, "ANALYZE, BUFFERS", "SELECT count(*) FROM big");
    let counted = text.lines().rfind(|line| line.contains("Buffers: shared")).expect("the scan uses pages");
    let numbers = counted.split(['=', ' ']).filter_map(|part| part.parse::<u64>().ok());
    let used = numbers.sum::<u64>();
    assert!((pages..pages + 16).contains(&used), "{used} of {pages}: {text}");
    assert!(!text.contains("temp"), "{text}");
    let text = explained(&mut client, "ANALYZE, BUFFERS", "SELECT * FROM big ORDER BY t, id");
    assert!(text.contains(", temp read="), "{text}");
    let yaml = explained(&mut client, "ANALYZE, BUFFERS, FORMAT YAML", "SELECT * FROM big ORDER BY t, id");
    let written =
        yaml.lines().find_map(|line| line.trim().strip_prefix("Temp Written Blocks: ")).expect("it is counted");
    assert!(written.parse::<u64>().unwrap() > 100, "{yaml}");
    let text = explained(&mut client, "ANALYZE, BUFFERS, TIMING off", "UPDATE big SET k = k WHERE id <= 10");
    assert!(text.contains("dirtied="), "{text}");
    assert!(!explained(&mut client, "ANALYZE", "SELECT count(*) FROM big").contains("Buffers"));
    busy.join().unwrap();
    server.stop();
}

#[test]
fn a_recursion_without_end_is_read_as_far_as_its_reader_wants() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    client.batch_execute("SET statement_timeout = '60s'").unwrap();
    let query = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
                 SELECT sum(n) FROM (SELECT n FROM c LIMIT 100) q";
    assert_eq!(one_row(&mut client, query), "5050");
    client.batch_execute("SET work_mem = '64kB'").unwrap();
    let query = query.replace("LIMIT 100", "LIMIT 50000");
    assert_eq!(one_row(&mut client, &query), "1250025000");
    assert_eq!(temporary_files(folder.path()), 0);
}

#[test]
fn a_crash_in_the_middle_of_a_sort_leaves_no_files_once_the_server_is_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    fill(&mut client);
    client.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT t FROM big ORDER BY t; FETCH 5 FROM c").unwrap();
    assert!(temporary_files(folder.path()) > 0);
    server.kill();
    assert!(temporary_files(folder.path()) > 0, "nobody was there to remove them");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(one_row(&mut server.connect(), "SELECT count(*) FROM big"), "300000");
    assert_eq!(temporary_files(folder.path()), 0);
}

/// The most memory the server's process has had for itself, in bytes.
#[cfg(target_os = "linux")]
fn most_memory_bytes(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[test]
fn statements_over_many_rows_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["shared_buffers=128MB"]);
    let mut client = server.connect();
    fill(&mut client);
    client.batch_execute("SET work_mem = '1MB'").unwrap();
    // All of the table is in the page cache from here on.
    one_row(&mut client, "SELECT count(*), max(t) FROM big");
    let before = most_memory_bytes(server.id());
    let rows = "(SELECT id * 5 + n AS id, t || repeat('-', 40) AS t FROM big, generate_series(0, 4) n OFFSET 0)";
    // 1.5 million rows of more than 100 bytes: each of these would take 200 MB or more at once.
    for query in [
        format!("SELECT count(*) FROM (SELECT t FROM {rows} q ORDER BY t, id OFFSET 1) s"),
        format!("SELECT count(*) FROM {rows} a JOIN {rows} b USING (id)"),
        format!("SELECT count(*) FROM (SELECT id, max(t) FROM {rows} q GROUP BY id) s"),
        format!("SELECT count(*) FROM (SELECT DISTINCT id, t FROM {rows} q) s"),
        format!("SELECT count(*) FROM (SELECT * FROM {rows} a EXCEPT SELECT * FROM {rows} b) s"),
        format!("SELECT count(DISTINCT t) FROM {rows} q"),
        format!("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM {rows} q"),
    ] {
        one_row(&mut client, &query);
    }
    let grown = most_memory_bytes(server.id()).saturating_sub(before);
    assert!(grown < 100 << 20, "memory grew by {} MB", grown >> 20);
}

/// Each row is larger than `work_mem`: a merge of many runs would have a row of each in memory.
#[cfg(target_os = "linux")]
#[test]
fn sorts_of_large_rows_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["shared_buffers=128MB", "worker_threads=1"]);
    let mut client = server.connect();
    client.batch_execute("SET work_mem = '1MB'").unwrap();
    // 600 MB of texts that are told apart by their beginnings.
    let rows = "(SELECT i * 7919 % 211 || repeat('x', 3000000) AS t, i FROM generate_series(1, 200) i OFFSET 0)";
    let before = most_memory_bytes(server.id());
    for (query, expected) in [
        (
            format!(
                "SELECT string_agg(left(t, 3), ' ' ORDER BY i) FROM (SELECT t, row_number() OVER (ORDER BY t) AS i FROM {rows} q) s WHERE i % 50 = 0"
            ),
            "145 194 50x 9xx",
        ),
        (format!("SELECT count(DISTINCT t)::text FROM {rows} q"), "200"),
        (format!("SELECT left(percentile_disc(0.5) WITHIN GROUP (ORDER BY t), 3) FROM {rows} q"), "194"),
    ] {
        assert_eq!(client.query_one(&query, &[]).unwrap().get::<_, String>(0), expected, "{query}");
    }
    let grown = most_memory_bytes(server.id()).saturating_sub(before);
    assert!(grown < 200 << 20, "memory grew by {} MB", grown >> 20);
}
