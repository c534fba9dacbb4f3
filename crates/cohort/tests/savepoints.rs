//! Savepoints by the hundred thousand, as SQL and PL/pgSQL make them.

mod common;

use common::Server;
use postgres::Client;

/// Bytes of log that exist by now.
fn log_bytes(client: &mut Client) -> i64 {
    client.query_one("select wal_bytes::int8 from pg_stat_wal", &[]).unwrap().get(0)
}

// invariants: row 23
#[test]
fn a_hundred_thousand_exception_blocks_cost_the_last_what_they_cost_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["autovacuum=off"]);
    let mut client = server.connect();
    client
        .batch_execute(
            "create table kept (n int primary key);
             create function many(first int, last int) returns int language plpgsql as $$
             declare failed int := 0;
             begin
               for i in first..last loop
                 begin
                   insert into kept values (i);
                   if i % 2 = 0 then
                     insert into kept values (i);
                   end if;
                 exception when unique_violation then
                   failed := failed + 1;
                 end;
               end loop;
               return failed;
             end $$",
        )
        .unwrap();
    let mut block = client.transaction().unwrap();
    let mut stretches = Vec::new();
    for stretch in 0..10 {
        let before: i64 = block.query_one("select wal_bytes::int8 from pg_stat_wal", &[]).unwrap().get(0);
        let (first, last) = (stretch * 10_000 + 1, stretch * 10_000 + 10_000);
        let failed: i32 = block.query_one("select many($1, $2)", &[&first, &last]).unwrap().get(0);
        assert_eq!(failed, 5_000);
        let after: i64 = block.query_one("select wal_bytes::int8 from pg_stat_wal", &[]).unwrap().get(0);
        stretches.push(after - before);
    }
    block.commit().unwrap();
    assert!(stretches[9] <= stretches[1] + stretches[1] / 4, "{stretches:?}");
    assert_eq!(server.psql("select count(*), sum(n % 2) from kept"), "50000|50000");
    server.stop();
}

// invariants: row 23
#[test]
fn savepoints_nested_ten_thousand_deep_are_released_and_rolled_back_by_name() {
    const DEPTH: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["autovacuum=off"]);
    let mut client = server.connect();
    client.batch_execute("create table kept (n int)").unwrap();
    client.batch_execute("begin").unwrap();
    let mut stretches = Vec::new();
    for thousand in 0..DEPTH / 1_000 {
        let before = log_bytes(&mut client);
        let statements = (thousand * 1_000..thousand * 1_000 + 1_000)
            .map(|n| format!("savepoint s{n}; insert into kept values ({n});"))
            .collect::<String>();
        client.batch_execute(&statements).unwrap();
        stretches.push(log_bytes(&mut client) - before);
    }
    assert!(stretches[9] <= stretches[1] + stretches[1] / 4, "{stretches:?}");
    client
        .batch_execute(
            "rollback to s8000; release s4000; savepoint again; insert into kept values (-1); rollback to s2000",
        )
        .unwrap();
    client.batch_execute("commit").unwrap();
    assert_eq!(server.psql("select count(*), max(n) from kept"), "2000|1999");
    server.stop();
}
