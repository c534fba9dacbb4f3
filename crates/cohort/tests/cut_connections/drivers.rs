//! Conversations of real drivers that hold all that a session can hold, and go the same way each time.

use std::process::Command;

use futures_util::{SinkExt as _, StreamExt as _, TryStreamExt as _};
use tokio_postgres::{Client, NoTls};

fn run(command: &mut Command) {
    let output = command.env("PGSSLMODE", "disable").env("PGGSSENCMODE", "disable").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Time limits, COPY in both directions, temporary tables, locks, a cursor, savepoints, a failed transaction, a sort that spills.
pub fn psql(port: u16) {
    let script = "
        set statement_timeout = '1h';
        set transaction_timeout = '2h';
        create temporary table mine (id int primary key, note text);
        copy mine from stdin;
1\tone
2\ttwo
\\.
        copy mine to stdout;
        listen changes;
        notify changes, 'heard';
        select pg_advisory_lock(7);
        begin;
        lock table filled in access exclusive mode;
        insert into filled select i, 'note ' || i from generate_series(1, 30) i;
        savepoint half;
        select * from kept for update;
        rollback to half;
        declare c cursor for select * from filled order by note;
        fetch 3 from c;
        rollback;
        begin;
        select 1 / 0;
        commit;
        create temporary table kept_on as select i, repeat('x', 100) note from generate_series(1, 20) i;
        set work_mem = '64kB';
        select count(*) from (select i from generate_series(1, 20000) i order by i % 100, i) sorted;
";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.sql");
    std::fs::write(&path, script).unwrap();
    run(Command::new("psql")
        .args(["-XqAt", "-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-f"])
        .arg(&path)
        .arg("postgres"));
}

/// A query of a role that has a password.
pub fn psql_as_ann(port: u16, encryption: &str) {
    let url = format!(
        "host=127.0.0.1 port={port} user=ann password=secret dbname=postgres gssencmode=disable sslmode={encryption}"
    );
    let output = Command::new("psql").args(["-XAt", "-c", "select 1", &url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Transactions as pgbench runs them.
pub fn pgbench(port: u16, mode: &str) {
    let script = "begin;\nupdate branches set balance = balance + 1 where id = 1;\nselect balance from branches;\n\
                  insert into filled values (1, 'bench');\nrollback;\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.sql");
    std::fs::write(&path, script).unwrap();
    run(Command::new("pgbench")
        .args(["-n", "-t", "2", "-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-M", mode, "-f"])
        .arg(&path)
        .arg("postgres"));
}

fn with_client<F: Future<Output = ()>>(port: u16, work: impl FnOnce(Client) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = format!("postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        work(client).await;
        connection.await.unwrap().unwrap();
    });
}

/// Statements, COPY, cursors and notifications, one after the other.
pub fn tokio_postgres(port: u16) {
    with_client(port, async |mut client| {
        client.batch_execute("listen changes; create temporary table mine (id int, note text)").await.unwrap();
        let select = client.prepare("select id, note from kept where id = $1 and note = $2").await.unwrap();
        assert_eq!(client.query(&select, &[&1, &"one"]).await.unwrap().len(), 1);
        let sink = client.copy_in::<_, bytes::Bytes>("copy mine from stdin").await.unwrap();
        let mut sink = std::pin::pin!(sink);
        for line in ["2\ttwo\n", "3\tthree\n"] {
            sink.send(bytes::Bytes::from_static(line.as_bytes())).await.unwrap();
        }
        sink.finish().await.unwrap();
        let stream = client.copy_out("copy mine to stdout").await.unwrap();
        let rows: Vec<_> = stream.try_collect().await.unwrap();
        assert_eq!(rows.len(), 2);
        let transaction = client.transaction().await.unwrap();
        transaction.execute("select pg_advisory_xact_lock(9)", &[]).await.unwrap();
        transaction.batch_execute("insert into filled select i, 'x' from generate_series(1, 50) i").await.unwrap();
        let portal = transaction.bind("select id from filled", &[]).await.unwrap();
        assert_eq!(transaction.query_portal(&portal, 10).await.unwrap().len(), 10);
        assert_eq!(transaction.query_portal(&portal, 10).await.unwrap().len(), 10);
        drop(portal);
        transaction.rollback().await.unwrap();
        client.batch_execute("notify changes, 'heard'").await.unwrap();
        assert!(client.query_one("select 1 / $1::int", &[&0]).await.is_err());
    });
}

/// Statements that are sent before earlier ones are answered.
pub fn pipelines(port: u16) {
    with_client(port, async |client| {
        let begin = "set statement_timeout = '1h'; begin; lock table filled; select pg_advisory_lock(11)";
        client.batch_execute(begin).await.unwrap();
        let insert = client.prepare("insert into filled values ($1, $2)").await.unwrap();
        let select = client.prepare("select id, note from filled where id > $1 for update").await.unwrap();
        let running = futures_util::stream::FuturesUnordered::new();
        for number in 0..12 {
            let (client, insert, select) = (&client, &insert, &select);
            running.push(async move {
                client.execute(insert, &[&number, &"piped"]).await.unwrap();
                client.query(select, &[&0]).await.unwrap();
            });
        }
        running.for_each(async |()| {}).await;
        client.batch_execute("rollback").await.unwrap();
    });
}
