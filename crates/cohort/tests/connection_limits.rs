//! As many clients as want to come, and as few descriptors as there may be: the server answers those that it has, and its log does
//! not fail.
// invariants: row 39

mod common;

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use common::Server;
use common::leftovers::Watch;
use common::recording::Target;
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

const SETUP: &str = "create table kept (id int primary key, note text); insert into kept values (1, 'one')";

/// The error that a client gets when it tries to connect; "" if it can connect.
fn told(url: &str) -> String {
    match Client::connect(url, NoTls) {
        Ok(_) => String::new(),
        Err(error) => error
            .as_db_error()
            .map_or_else(|| error.to_string(), |error| format!("{} {}", error.code().code(), error.message())),
    }
}

#[test]
fn thousands_of_silent_connections_keep_nobody_out() {
    vfs::descriptors::raise_limit();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=2", "max_connections=50"]);
    server.connect().batch_execute(SETUP).unwrap();
    let mut watch = Watch::start(&server, folder.path().join("data"), 2);
    let (tcp, unix) = (Target::tcp(server.port()), Target::unix(&server.socket()));
    let mut silent = Vec::new();
    for number in 0..3000 {
        let socket = [&tcp, &unix][number % 2].connect();
        // Nothing, half a start-up, a request for encryption, half a cancel.
        let said: &[u8] =
            [b"", &b"\0\0\0\x17\0\x03\0\0user"[..], b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x10\x04\xd2"][number % 4];
        // The server may have closed it already.
        let _ = (&socket).write_all(said);
        silent.push(socket);
        if number % 300 == 0 {
            let started = Instant::now();
            server
                .connect()
                .batch_execute("insert into kept values (2, 'two'); delete from kept where id = 2")
                .unwrap();
            assert!(started.elapsed() < Duration::from_secs(5), "a client waited for {:?}", started.elapsed());
        }
    }
    // The oldest had to go, and were told why.
    let oldest = &mut silent[0];
    oldest.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = Vec::new();
    oldest.read_to_end(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("C53300\0Msorry, too many clients already"));
    drop(silent);
    watch.assert_nothing_is_left("thousands of silent connections");
    drop(watch);
    server.stop();
}

#[test]
fn without_descriptors_for_clients_the_log_and_all_files_have_theirs() {
    vfs::descriptors::raise_limit();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_limited(folder.path(), 256, &["worker_threads=2", "work_mem=64kB"], &[]);
    server.wait_for_log("the system allows 256 open files");
    let mut control = server.connect();
    control.batch_execute(SETUP).unwrap();
    let mut watch = Watch::start(&server, folder.path().join("data"), 2);
    let mut clients = Vec::new();
    let mut refused = 0;
    let silent: Vec<_> = (0..300).map(|_| Target::tcp(server.port()).connect()).collect();
    for number in 0..300 {
        match Client::connect(&server.url(), NoTls) {
            Ok(client) => clients.push(client),
            Err(error) => {
                refused += 1;
                // One that was refused at once may not have read why when its own bytes met a closed socket.
                if let Some(error) = error.as_db_error() {
                    assert_eq!(error.code(), &SqlState::TOO_MANY_CONNECTIONS, "{error}");
                    assert_eq!(error.message(), "sorry, too many clients already");
                }
            }
        }
        // More tables than files may be open, and segments of the log.
        control.batch_execute(&format!("create table t{number} as select repeat('x', 10000)")).unwrap();
    }
    assert!(clients.len() >= 50 && refused >= 100, "{} connected, {refused} were refused", clients.len());
    for client in clients.iter_mut().step_by(10) {
        let sorted = "select count(*) from (select i from generate_series(1, 20000) i order by i % 100, i) s";
        assert_eq!(client.query_one(sorted, &[]).unwrap().get::<_, i64>(0), 20_000);
    }
    control.batch_execute("checkpoint").unwrap();
    drop((clients, silent));
    drop(control);
    watch.assert_nothing_is_left("a crowd");
    assert_eq!(told(&server.url()), "");
    drop(watch);
    server.stop();
}

#[test]
fn what_could_not_be_accepted_is_accepted_later_without_another_arrival() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut control = server.connect();
    control.batch_execute(SETUP).unwrap();
    // The log makes its next segments soon after the start, and needs descriptors for that.
    control.batch_execute("checkpoint").unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let process = Pid::from_raw(server.id() as i32);
    let before = prlimit(process, Resource::Nofile, rustix::process::getrlimit(Resource::Nofile)).unwrap();
    prlimit(process, Resource::Nofile, Rlimit { current: Some(1), ..before }).unwrap();
    let mut waiting = Target::tcp(server.port()).connect();
    waiting.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").unwrap();
    waiting.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut answer = [0; 1];
    let read = waiting.read(&mut answer);
    let is_waiting = read.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    assert!(is_waiting, "it was accepted: {read:?}");
    control.batch_execute("select 1").unwrap();
    prlimit(process, Resource::Nofile, before).unwrap();
    waiting.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"R");
    server.stop();
}

#[test]
fn the_last_places_are_for_superusers() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["max_connections=5", "superuser_reserved_connections=2"]);
    let mut control = server.connect();
    control.batch_execute("create role app login").unwrap();
    let as_app = server.url().replace("user=postgres", "user=app");
    let apps: Vec<_> = (0..2).map(|_| Client::connect(&as_app, NoTls).unwrap()).collect();
    let reserved = "53300 remaining connection slots are reserved for non-replication superuser connections";
    assert_eq!(told(&as_app), reserved);
    let others: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for url in [&as_app, &server.url()] {
        assert_eq!(told(url), "53300 sorry, too many clients already");
    }
    drop((apps, others));
    let started = Instant::now();
    while !told(&as_app).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(10), "places of sessions that are gone stay taken");
    }
    server.stop();
}
