//! A system that gives no more memory for stacks: a session that gets none ends with an error, and no other one does.
// invariants: row 39

mod common;

use std::time::{Duration, Instant};

use common::Server;
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Sessions that the server has stacks for when the system gives no more.
const WITH_STACK: usize = 6;
/// Address space that is left then: less than a stack, and enough for the server's small allocations.
const REMAINING_BYTES: u64 = 1500 << 10;
/// Longer than the rest of the test takes while the stacks are in use.
const SLEEP: &str = "select pg_sleep(4)";

/// The size of the server's address space.
fn address_space_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    size.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Has all of them run a statement at the same time.
fn run_together(clients: &mut [Client], statement: &str) -> Vec<Result<(), postgres::Error>> {
    std::thread::scope(|scope| {
        let running: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(move || client.batch_execute(statement))).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    })
}

fn assert_without_memory(error: &postgres::Error) {
    assert_eq!(error.code(), Some(&SqlState::OUT_OF_MEMORY), "{error}");
}

#[test]
fn a_session_that_gets_no_stack_ends_and_no_other_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1", "shared_buffers=8MB", "autovacuum=off"]);
    let mut control = server.connect();
    control.batch_execute("create table t (i int); insert into t values (1)").unwrap();
    let mut clients: Vec<Client> = (0..3 * WITH_STACK).map(|_| server.connect()).collect();
    let warmed = run_together(&mut clients[..WITH_STACK], "select pg_sleep(0.5); select count(*) from t");
    assert!(warmed.iter().all(Result::is_ok));

    let process = Pid::from_raw(server.id() as i32);
    let unlimited = Rlimit { current: None, maximum: None };
    let limit = address_space_bytes(&server) + REMAINING_BYTES;
    let before = prlimit(process, Resource::As, Rlimit { current: Some(limit), ..unlimited }).unwrap();

    let (url, began) = (server.url(), Instant::now());
    let (answers, newcomer) = std::thread::scope(|scope| {
        let newcomer = scope.spawn(|| {
            // All stacks are in use by now.
            std::thread::sleep(Duration::from_millis(1500));
            Client::connect(&url, NoTls).and_then(|mut client| client.batch_execute("select 1"))
        });
        (run_together(&mut clients, SLEEP), newcomer.join().unwrap())
    });
    let refused = answers.iter().filter_map(|answer| answer.as_ref().err());
    refused.clone().for_each(assert_without_memory);
    let refused = refused.count();
    let slept = answers.len() - refused;
    assert!(refused > 0 && slept >= WITH_STACK, "{refused} sessions got no stack, {slept} got one");
    if began.elapsed() < Duration::from_secs(8) {
        assert_without_memory(&newcomer.expect_err("there is no stack for another session"));
    }
    // Their stacks are free again, and the limit still holds.
    control.batch_execute("insert into t values (2)").unwrap();
    for (client, answer) in clients.iter_mut().zip(&answers) {
        assert_eq!(client.batch_execute("select count(*) from t").is_ok(), answer.is_ok());
    }

    prlimit(process, Resource::As, before).unwrap();
    clients.retain(|client| !client.is_closed());
    clients.extend((0..3 * WITH_STACK).map(|_| server.connect()));
    assert!(run_together(&mut clients, "select pg_sleep(0.2)").iter().all(Result::is_ok));
    assert!(!server.log().contains("panicked"), "{}", server.log());
    drop((clients, control));
    server.stop();
}
