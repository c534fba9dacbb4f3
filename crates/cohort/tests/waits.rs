//! How waits end, and the errors of those that end without the lock.

mod common;

use std::time::{Duration, Instant};

use common::Server;
use common::reference::{Reference, server_binaries};
use common::wire::Session;
use postgres::error::SqlState;
use postgres::{Client, NoTls};

fn connect(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap()
}

/// Sessions that wait for a lock.
fn wait_for_waiters(client: &mut Client, count: i64) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let query = "select count(*) from pg_locks where not granted";
        if client.query_one(query, &[]).unwrap().get::<_, i64>(0) == count {
            return;
        }
        assert!(Instant::now() < deadline, "nobody waits");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A text with every number, most of which are identifiers of this run, replaced.
fn without_identifiers(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        shown.push_str(if digits.is_empty() { "" } else { "N" });
        shown.push_str(&word[digits.len()..]);
    }
    shown
}

/// Message, detail and hint of the victim of a circle of two, each with one statement it holds and one it waits in.
fn deadlock(url: &str, held: [&str; 2], wanted: [&str; 2]) -> String {
    let [mut patient, mut victim, mut watcher] = [0; 3].map(|_| connect(url));
    patient.batch_execute(&format!("begin; set local deadlock_timeout = '60s'; {}", held[0])).unwrap();
    victim.batch_execute(&format!("begin; set local deadlock_timeout = '10ms'; {}", held[1])).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| patient.batch_execute(wanted[0]).unwrap());
        wait_for_waiters(&mut watcher, 1);
        let error = victim.batch_execute(wanted[1]).unwrap_err();
        waiting.join().unwrap();
        let error = error.as_db_error().unwrap();
        let text = format!("{}\n{}\n{}", error.message(), error.detail().unwrap(), error.hint().unwrap());
        without_identifiers(&text)
    })
}

// invariants: row 22
#[test]
fn a_deadlock_is_described_as_postgresql_describes_it() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    for url in [server.url(), reference.url()] {
        connect(&url).batch_execute("create table t (id int primary key); insert into t values (1), (2)").unwrap();
    }
    let row = |id: i32| format!("select id from t where id = {id} for update");
    let (one, two) = (row(1), row(2));
    let table = "lock table t in access exclusive mode";
    let cases: [([&str; 2], [&str; 2]); 3] = [
        ([&one, &two], [&two, &one]),
        (["select pg_advisory_lock(3, 4)", &one], [&one, "select pg_advisory_lock(3, 4)"]),
        (["select pg_advisory_xact_lock(5)", table], [table, "select pg_advisory_xact_lock(5)"]),
    ];
    for (held, wanted) in cases {
        let (expected, found) = (deadlock(&reference.url(), held, wanted), deadlock(&server.url(), held, wanted));
        assert_eq!(found, expected);
        assert!(expected.contains("; blocked by process N."), "{expected}");
    }
    server.stop();
}

/// Whether a session that did `before` in a transaction is ended with this code, and what it held is free then.
fn ends_idle_transaction(before: &str, code: &str) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (mut idle, mut other) = (server.connect(), server.connect());
    other.batch_execute("create table t (id int); insert into t values (1)").unwrap();
    for statement in before.split("; ").chain(["update t set id = 2"]) {
        idle.batch_execute(statement).unwrap();
    }
    // It waits until the other session is ended.
    other.batch_execute("update t set id = 3 where id = 1").unwrap();
    let error = idle.batch_execute("select 1").unwrap_err();
    assert_eq!(error.code().map(SqlState::code), Some(code), "{error}");
    assert_eq!(server.psql("select id from t"), "3");
    server.stop();
}

#[test]
fn who_idles_in_a_transaction_is_ended_and_its_locks_go() {
    ends_idle_transaction("begin; set local idle_in_transaction_session_timeout = '100ms'", "25P03");
}

#[test]
fn a_transaction_that_takes_too_long_is_ended_where_it_idles() {
    ends_idle_transaction("set transaction_timeout = '300ms'; begin", "25P04");
}

#[test]
fn a_transaction_that_takes_too_long_is_ended_where_it_waits() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (mut holder, mut waiter) = (server.connect(), server.connect());
    holder.batch_execute("create table t (id int)").unwrap();
    holder.batch_execute("begin; lock table t").unwrap();
    waiter.batch_execute("set transaction_timeout = '100ms'").unwrap();
    let error = waiter.batch_execute("select * from t").unwrap_err();
    assert_eq!(error.code().map(SqlState::code), Some("25P04"), "{error}");
    let after = waiter.batch_execute("select 1").unwrap_err();
    assert!(after.as_db_error().is_none(), "the session has ended: {after}");
    holder.batch_execute("commit").unwrap();
    // One that ends in time is none of its business.
    let mut quick = server.connect();
    quick.batch_execute("set transaction_timeout = '20s'; begin; select * from t; commit").unwrap();
    quick.batch_execute("select * from t").unwrap();
    server.stop();
}

// invariants: row 11
#[test]
fn a_client_that_reads_nothing_holds_up_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    server.connect().batch_execute("create table t (a int)").unwrap();
    // Commits whose answers stand behind more than the socket takes.
    let mut slow = Session::connect(&server.socket(), "postgres");
    let rounds = 40;
    for round in 0..rounds {
        slow.send(&format!("select repeat('x', {})", 20_000 + round * 7_000));
        slow.send("insert into t values (1)");
    }
    let (done, all_served) = std::sync::mpsc::channel();
    let url = server.url();
    std::thread::spawn(move || {
        for _ in 0..10 {
            let mut other = connect(&url);
            other.batch_execute("insert into t values (2)").unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        done.send(()).unwrap();
    });
    all_served.recv_timeout(Duration::from_secs(30)).expect("others are served");
    for _ in 0..rounds {
        assert!(slow.answer().contains("tag SELECT 1"));
        assert!(slow.answer().contains("tag INSERT 0 1"));
    }
    let count = "select count(*) from t where a = 1";
    assert_eq!(server.connect().query_one(count, &[]).unwrap().get::<_, i64>(0), rounds);
    server.stop();
}

/// The answers of a server to a statement that is parsed while another transaction changes the table that it names, and the rows there are then.
fn answers_to_parse_during_change(
    socket: &std::path::Path,
    url: &str,
    change: &str,
    ask: fn(&mut Session) -> String,
) -> String {
    let [mut changing, mut watcher] = [0; 2].map(|_| connect(url));
    watcher
        .batch_execute(
            "drop table if exists parsed; create table parsed (a int, b text); insert into parsed values (7, 'q')",
        )
        .unwrap();
    changing.batch_execute(&format!("begin; {change}")).unwrap();
    let mut asking = Session::connect(socket, "postgres");
    asking.show_details();
    std::thread::scope(|scope| {
        let answer = scope.spawn(move || ask(&mut asking));
        wait_for_waiters(&mut watcher, 1);
        changing.batch_execute("commit").unwrap();
        let mut answer = answer.join().unwrap();
        answer += &Session::connect(socket, "postgres").simple("select * from parsed order by 1");
        answer
    })
}

#[test]
fn parse_waits_for_table_locks_and_uses_the_changed_tables() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let asked: [fn(&mut Session) -> String; 8] = [
        |session| session.extended_with("insert into parsed (a) values ($1)", &["05"]),
        |session| session.extended_with("update parsed set a = $1 where b = $2", &["05", "q"]),
        |session| session.extended_with("delete from parsed where a = $1", &["07"]),
        |session| session.extended("select * from parsed"),
        |session| session.describe("select a, b from parsed where a = $1"),
        |session| session.bind("", "select a from parsed"),
        |session| {
            let prepared = session.prepare("named", "insert into parsed (a) values ($1)");
            prepared + &session.run_prepared_with("named", &[Some("05")])
        },
        |session| {
            let prepared = session.simple("prepare p as insert into parsed (a) values ($1)");
            prepared + &session.simple("execute p ('05')")
        },
    ];
    let changes = [
        "alter table parsed alter a type text",
        "alter table parsed alter a type numeric(6,2)",
        "alter table parsed drop column a",
        "alter table parsed add column c int default 3",
        "alter table parsed rename to other; alter table other rename to parsed",
        "drop table parsed; create table parsed (a date, b text)",
    ];
    for change in changes {
        for ask in asked {
            let expected = answers_to_parse_during_change(&reference.socket(), &reference.url(), change, ask);
            let found = answers_to_parse_during_change(&server.socket(), &server.url(), change, ask);
            assert_eq!(found, expected, "{change}");
        }
    }
    server.stop();
}

/// The answers to a change of a table while a transaction is open that has parsed a statement about it, and after that transaction.
fn answers_to_change_after_parse(socket: &std::path::Path, parse: fn(&mut Session) -> String) -> String {
    let [mut parsing, mut changing] = [0; 2].map(|_| Session::connect(socket, "postgres"));
    let mut answers = changing.simple("drop table if exists parsed; create table parsed (a int, b text)");
    answers += &changing.simple("set lock_timeout = '100ms'");
    answers += &parsing.simple("begin");
    answers += &parse(&mut parsing);
    let change = "alter table parsed add z int";
    let during = changing.simple(change);
    assert!(during.contains("55P03"), "{during}");
    answers += &during;
    answers += &parsing.simple("commit");
    answers + &changing.simple(change)
}

#[test]
fn parse_and_prepare_keep_table_locks_until_the_transaction_ends() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start(&binaries);
    let parses: [fn(&mut Session) -> String; 3] = [
        |session| session.simple("prepare p as select * from parsed"),
        |session| session.prepare("named", "insert into parsed (a) values ($1)"),
        |session| session.describe("select a from parsed where b = $1"),
    ];
    for parse in parses {
        let expected = answers_to_change_after_parse(&reference.socket(), parse);
        let found = answers_to_change_after_parse(&server.socket(), parse);
        assert_eq!(found, expected);
    }
    server.stop();
}
