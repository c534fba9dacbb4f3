//! How sessions end: when they are told to, when the server stops, when their client is gone or reads nothing.
// invariants: rows 27 and 39

mod common;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use common::Server;
use common::conversation::Sent;
use common::leftovers::Watch;
use common::recording::Target;
use common::wire::Session;
use postgres::Client;

/// More than a session may keep unsent and a socket takes.
const BIG_ANSWER: &str = "select repeat('x', 1000) from generate_series(1, 30000)";
/// More than a socket takes, and little enough for a session to keep unsent.
const UNSENT_ANSWER: &str = "select repeat('x', 1000) from generate_series(1, 3000)";

fn wait_until(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < limit, "{what}: not after {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn count(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap().get(0)
}

/// A session, its process number, and its name for the server.
fn session(server: &Server) -> (Session, i32) {
    let mut session = Session::connect(&server.socket(), "postgres");
    let answer = session.simple("select pg_backend_pid()");
    let pid = answer.split("row ").nth(1).and_then(|rest| rest.lines().next()).unwrap().parse().unwrap();
    (session, pid)
}

fn is_there(control: &mut Client, pid: i32) -> bool {
    control.query_one("select count(*) from pg_stat_activity where pid = $1", &[&pid]).unwrap().get::<_, i64>(0) > 0
}

fn terminate(control: &mut Client, pid: i32) {
    assert!(control.query_one("select pg_terminate_backend($1)", &[&pid]).unwrap().get::<_, bool>(0));
}

const TOLD: &str = "FATAL 57P01: terminating connection due to administrator command";

#[test]
fn a_session_that_idles_is_terminated_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut control = server.connect();
    control.batch_execute("create table t (id int)").unwrap();
    for work in [
        "select 1",
        "begin; lock table t; insert into t values (1)",
        "begin; select 1 / 0",
        "create temporary table mine (id int); listen changes",
    ] {
        let (mut idle, pid) = session(&server);
        idle.simple(work);
        terminate(&mut control, pid);
        let told = idle.answer();
        assert!(told.contains(TOLD) && told.contains("the connection is closed"), "{work}: {told}");
        wait_until(work, Duration::from_secs(10), || !is_there(&mut control, pid));
        let held = "select count(*) from pg_locks where pid is distinct from pg_backend_pid()";
        assert_eq!(count(&mut control, held), 0, "{work}");
        assert_eq!(count(&mut control, "select count(*) from pg_namespace where nspname like 'pg\\_temp\\_%'"), 0);
        assert_eq!(count(&mut control, "select count(*) from t"), 0);
    }
    // One that waits for the session's end hears of it.
    let (_idle, pid) = session(&server);
    assert!(control.query_one("select pg_terminate_backend($1, 10000)", &[&pid]).unwrap().get::<_, bool>(0));
    server.stop();
}

#[test]
fn a_session_that_waits_for_a_lock_or_writes_to_a_deaf_client_is_terminated() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut control = server.connect();
    control.batch_execute("create table t (id int)").unwrap();
    control.batch_execute("begin; lock table t").unwrap();
    let (mut waiting, pid) = session(&server);
    waiting.send("select * from t");
    wait_until("it waits", Duration::from_secs(10), || {
        count(&mut control, "select count(*) from pg_locks where not granted") == 1
    });
    terminate(&mut control, pid);
    assert!(waiting.answer().contains(TOLD));
    wait_until("it is gone", Duration::from_secs(10), || !is_there(&mut control, pid));
    control.batch_execute("commit").unwrap();

    let (mut deaf, pid) = session(&server);
    deaf.send(BIG_ANSWER);
    std::thread::sleep(Duration::from_millis(200));
    terminate(&mut control, pid);
    wait_until("it is gone", Duration::from_secs(10), || !is_there(&mut control, pid));
    drop(deaf);
    server.stop();
}

/// Stops a server, which may take this long.
fn stop_within(server: Server, limit: Duration) {
    let id = server.id();
    let (done, stopped) = std::sync::mpsc::channel();
    let watchdog = std::thread::spawn(move || {
        if stopped.recv_timeout(limit).is_err() {
            std::process::Command::new("kill").args(["-9", &id.to_string()]).status().unwrap();
        }
    });
    server.stop();
    done.send(()).unwrap();
    watchdog.join().unwrap();
}

#[test]
fn clients_that_read_nothing_do_not_hold_up_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=2"]);
    server.connect().batch_execute("create table t (id int)").unwrap();
    let mut deaf: Vec<Session> = (0..4).map(|_| session(&server).0).collect();
    deaf[0].send(BIG_ANSWER);
    deaf[1].send(UNSENT_ANSWER);
    deaf[2].send(&format!("begin; insert into t values (1); {BIG_ANSWER}"));
    // A client that says farewell and never reads what it has asked for.
    deaf[3].send(UNSENT_ANSWER);
    deaf[3].send_farewell();
    let silent = Target::unix(&server.socket()).connect();
    let half = Target::tcp(server.port()).connect();
    (&half).write_all(b"\0\0\0\x17\0\x03\0\0us").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    stop_within(server, Duration::from_secs(30));
    drop((deaf, silent, half));
}

#[test]
fn a_client_that_reads_nothing_loses_its_place_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1", "max_unsent_output=8MB"]);
    server.connect().batch_execute("create table kept (id int); insert into kept values (1)").unwrap();
    let mut watch = Watch::start(&server, folder.path().join("data"), 1);
    let (mut deaf, _) = session(&server);
    deaf.simple("set idle_in_transaction_session_timeout = '100ms'");
    deaf.send(&format!("begin; lock table kept in share mode; {UNSENT_ANSWER}"));
    let (mut timed, _) = session(&server);
    timed.simple("set idle_session_timeout = '100ms'");
    timed.send(UNSENT_ANSWER);
    watch.assert_nothing_is_left_within(Duration::from_secs(40), "their time was over");
    drop((deaf, timed));
    drop(watch);
    server.stop();
}

/// Reads a little now and then until the connection ends.
fn read_trickle(mut session: Session) {
    std::thread::spawn(move || {
        while session.read_some(16 * 1024) > 0 {
            std::thread::sleep(Duration::from_millis(300));
        }
    });
}

/// A server whose sessions keep as much unsent as a trickle needs minutes for.
fn start_with_much_unsent(folder: &std::path::Path) -> Server {
    Server::start(folder, &["worker_threads=1", "max_connections=4", "max_unsent_output=64MB"])
}

#[test]
fn clients_that_read_a_trickle_do_not_hold_up_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_with_much_unsent(folder.path());
    for says_farewell in [false, true] {
        let (mut slow, _) = session(&server);
        slow.send(BIG_ANSWER);
        if says_farewell {
            slow.send_farewell();
        }
        read_trickle(slow);
    }
    std::thread::sleep(Duration::from_secs(1));
    stop_within(server, Duration::from_secs(25));
}

/// A session that has ended keeps its place until its connection is gone: what it has unsent takes memory as before.
#[test]
fn a_client_that_reads_a_trickle_keeps_its_place_for_a_limited_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_with_much_unsent(folder.path());
    let mut control = server.connect();
    for _ in 0..3 {
        let (mut slow, pid) = session(&server);
        slow.send(BIG_ANSWER);
        slow.send_farewell();
        wait_until("the session ends", Duration::from_secs(20), || !is_there(&mut control, pid));
        read_trickle(slow);
    }
    let refused = Client::connect(&server.url(), postgres::NoTls).err().expect("each place is taken");
    assert_eq!(refused.code(), Some(&postgres::error::SqlState::TOO_MANY_CONNECTIONS), "{refused}");
    wait_until("there is a place again", Duration::from_secs(90), || {
        Client::connect(&server.url(), postgres::NoTls).is_ok()
    });
    server.stop();
}

fn start_up_and_queries(texts: &[&str]) -> Vec<u8> {
    let mut bytes = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0".to_vec();
    texts.iter().for_each(|text| bytes.extend(Sent::query(text).bytes()));
    bytes
}

/// A client's start-up, two statements, and the stream's end, in one packet.
#[test]
fn what_came_before_the_streams_end_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    server.connect().batch_execute("create table kept (id int); insert into kept values (1)").unwrap();
    let mut watch = Watch::start(&server, folder.path().join("data"), 1);
    let bytes = start_up_and_queries(&[
        "create temporary table mine (id int)",
        "insert into mine values (1), (2)",
        UNSENT_ANSWER,
    ]);
    for target in [Target::unix(&server.socket()), Target::tcp(server.port())] {
        let mut socket = target.connect();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.write_all(&bytes).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        // Slowly at first: the server has to keep what the socket does not take.
        std::thread::sleep(Duration::from_millis(300));
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let has = |wanted: &[u8]| answer.windows(wanted.len()).any(|part| part == wanted);
        assert!(has(b"INSERT 0 2\0") && has(b"SELECT 3000\0Z\0\0\0\x05I"), "{} bytes", answer.len());
        assert!(answer.ends_with(b"Z\0\0\0\x05I"));
    }
    watch.assert_nothing_is_left("the end came with the bytes");
    drop(watch);
    server.stop();
}

/// A client's start-up, a COPY with some of its data, and the stream's end, in one packet. The rows are not kept, nor the locks.
#[test]
fn a_copy_that_ends_with_the_stream_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    server.connect().batch_execute("create table kept (id int); insert into kept values (1)").unwrap();
    let mut watch = Watch::start(&server, folder.path().join("data"), 1);
    for text in ["copy kept from stdin", "begin; lock table kept; copy kept from stdin; commit"] {
        for data in [&b"d\0\0\0\x0a10\n11\n"[..], b"d\0\0\0\x07100", b"d\0\0\0\x0a10", b""] {
            let bytes = [&start_up_and_queries(&[text]), data].concat();
            for target in [Target::unix(&server.socket()), Target::tcp(server.port())] {
                let mut socket = target.connect();
                socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                socket.write_all(&bytes).unwrap();
                socket.shutdown(Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                socket.read_to_end(&mut answer).unwrap();
                assert!(answer.windows(2).any(|part| part == b"G\0"), "the copy has begun");
            }
            watch.assert_nothing_is_left(&format!("{text} ended with the stream after {data:?}"));
        }
    }
    drop(watch);
    server.stop();
}

#[test]
fn a_session_whose_end_must_wait_does_not_stop_the_others_of_its_worker() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let (mut leaving, pid) = session(&server);
    leaving.simple("create temporary table mine (id int)");
    let mut holder = server.connect();
    let name: String = holder
        .query_one("select relnamespace::regnamespace || '.mine' from pg_class where relname = 'mine'", &[])
        .unwrap()
        .get(0);
    // The table's catalog rows can't be deleted before it is known whether this change of them commits.
    holder.batch_execute(&format!("begin; comment on table {name} is 'not to be dropped yet'")).unwrap();
    drop(leaving);
    wait_until("its end waits for the holder", Duration::from_secs(10), || {
        count(&mut holder, "select count(*) from pg_locks where not granted") == 1
    });
    assert!(is_there(&mut holder, pid));
    server.connect().batch_execute("select 1").unwrap();
    holder.batch_execute("rollback").unwrap();
    wait_until("it is gone", Duration::from_secs(10), || !is_there(&mut holder, pid));
    assert_eq!(count(&mut holder, "select count(*) from pg_class where relname = 'mine'"), 0);
    server.stop();
}

/// The end of a session waits for whoever has locked one of its temporary tables. That one may wait for an advisory lock of the
/// session that ends.
#[test]
fn advisory_locks_are_given_back_before_a_session_waits_for_its_temporary_tables() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut control = server.connect();
    let (mut ending, _) = session(&server);
    ending.simple("create temporary table scratch (a int); select pg_advisory_lock(7)");
    let schema: String = control
        .query_one("select relnamespace::regnamespace::text from pg_class where relname = 'scratch'", &[])
        .unwrap()
        .get(0);
    let mut other = Session::connect(&server.socket(), "postgres");
    let locked = other.simple(&format!("begin; lock table {schema}.scratch in access share mode"));
    assert!(!locked.contains("ERROR"), "{locked}");
    ending.send_farewell();
    let mut is_so = |query: &str| control.query_one(query, &[]).unwrap().get::<_, bool>(0);
    wait_until("the advisory lock is free", Duration::from_secs(60), || is_so("select pg_try_advisory_lock(7)"));
    let waits = "select exists(select from pg_locks where not granted)";
    wait_until("the session waits for the table after that", Duration::from_secs(10), || is_so(waits));
    other.simple("rollback");
    server.stop();
}

#[test]
fn a_client_that_does_not_say_who_it_is_has_as_long_as_the_setting_says() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1", "authentication_timeout=1s"]);
    let mut silent = Target::tcp(server.port()).connect();
    silent.write_all(b"\0\0\0\x17\0\x03\0\0us").unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(silent.read(&mut [0; 100]).unwrap(), 0);
    let (mut quiet, _) = session(&server);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(quiet.simple("select 1").contains("row 1"));
    server.stop();
}

/// After how long the server asks whether a silent client is still there, by the system's list of connections.
fn keepalive_within(server: &Server, client_port: u16) -> Duration {
    let end = |port: u16| format!(":{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let is_wanted = |fields: &Vec<&str>| {
        fields.len() > 5 && fields[1].ends_with(&end(server.port())) && fields[2].ends_with(&end(client_port))
    };
    let fields = table.lines().map(|line| line.split_whitespace().collect()).find(is_wanted).unwrap();
    let (kind, ticks) = fields[5].split_once(':').unwrap();
    // Another timer runs as long as bytes have not been acknowledged.
    let ticks = if kind == "02" { u64::from_str_radix(ticks, 16).unwrap() } else { 0 };
    Duration::from_millis(ticks * 10)
}

#[test]
fn keepalives_follow_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1", "tcp_keepalives_idle=1000"]);
    let mut socket = Target::tcp(server.port()).connect();
    let port = socket.local_addr().unwrap().as_socket().unwrap().port();
    socket.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").unwrap();
    let wait_for = |limit: std::ops::Range<u64>| {
        wait_until("the keepalive time is set", Duration::from_secs(10), || {
            limit.contains(&keepalive_within(&server, port).as_secs())
        });
    };
    let mut say = |text: &str| {
        let mut message = vec![b'Q'];
        message.extend_from_slice(&(text.len() as u32 + 5).to_be_bytes());
        message.extend_from_slice(text.as_bytes());
        message.push(0);
        socket.write_all(&message).unwrap();
    };
    wait_for(900..1001);
    say("set tcp_keepalives_idle = 50");
    wait_for(20..51);
    say("set tcp_keepalives_idle = 0");
    wait_for(1001..100_000);
    server.stop();
}
