//! No statement of one session blocks the worker's thread for the others: not in a call to the disk, not on a lock that
//! somebody holds who is at the disk.
//!
//! The server's one worker is watched from a session with short statements. The worker sleeps only in its poll, and is
//! runnable as soon as a message has come. So a worker that is found asleep while a short statement has no answer is
//! blocked, however busy the machine is. Each call that may take long takes long for certain on the disk here, which also
//! notes those that the worker makes itself.
//!
//! `COHORT_BLOCKED_KINDS=drop,vacuum` runs only the kinds whose names contain one of these.

#[path = "support/slow_calls.rs"]
mod slow_calls;
mod support;

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use postgres::Client;
use slow_calls::{Call, Met, SlowCalls};
use support::TestServer;

/// How long a slow call takes.
const LATENCY: Duration = Duration::from_millis(30);
/// A worker that is asleep for so long although it has something to do is blocked by a slow call, or by one who makes it.
const BLOCKED: Duration = Duration::from_millis(15);
/// Rounds of each session.
const ROUNDS: usize = 6;
const SESSIONS: usize = 2;
/// So many of a kind's short statements may find the worker asleep: the machine's own disk is slow now and then.
const BLOCKED_TIMES_MAX: usize = ROUNDS * SESSIONS / 4;

/// Statements that have to do with files.
struct Kind {
    name: &'static str,
    /// Run in each session before, on a fast disk. `{n}` is the session's number.
    before: &'static [&'static str],
    /// Run in each round, one by one. `{n}` is another number in each.
    statements: &'static [&'static str],
    /// Whether the worker reads and writes so much that the machine's own disk blocks it. Such a kind is judged by the worker's calls only.
    is_bound_by_disk: bool,
}

/// Calls that a worker makes itself, by the part of the data directory they are about. They are not slowed. Nothing may be added that can be
/// done by another thread.
const OWN_CALLS: &[(Call, &str)] = &[
    // A lone committer leads its own flush.
    (Call::Sync, "wal"),
    // A file for a statement is empty when it is made, and unlinked when it is let go of.
    (Call::SetLength, "tmp"),
    (Call::Remove, "tmp"),
    // The file of a prepared transaction that a checkpoint has saved: a page or two.
    (Call::Remove, "twophase"),
    // A session that needs a frame, and finds dirty pages only, writes some of them.
    (Call::Sync, "base"),
    (Call::Sync, "doublewrite"),
];

const fn kind(name: &'static str, before: &'static [&'static str], statements: &'static [&'static str]) -> Kind {
    Kind { name, before, statements, is_bound_by_disk: false }
}

const fn bound_by_disk(kind: Kind) -> Kind {
    Kind { is_bound_by_disk: true, ..kind }
}

/// The worker makes and unlinks its files: while that is slow, the worker must be found blocked.
const CONTROL: Kind = kind(
    "control",
    &["set work_mem = '256kB'"],
    &["select count(*) from (select i from generate_series(1, 30000) i order by md5(i::text)) s"],
);

const KINDS: &[Kind] = &[
    kind("nothing", &[], &["select 1"]),
    kind("create tables", &[], &["create table made{n} (id serial primary key, t text unique)"]),
    kind(
        "drop tables",
        &[],
        &[
            "create table one{n} (id int primary key, t text)",
            "insert into one{n} select i, repeat('x', 3000) from generate_series(1, 100) i",
            "drop table one{n}",
        ],
    ),
    kind(
        "drop many tables",
        &["do 'begin for i in 1..120 loop execute format($$create table many%s_%s (id int)$$, {n}, i); end loop; end'"],
        &[
            "do 'begin for i in 1..120 loop execute format($$drop table if exists many%s_%s$$, {n} % 10, i); end loop; end'",
        ],
    ),
    kind(
        "truncate",
        &["create table cut{n} (id int primary key)"],
        &["insert into cut{s} select generate_series(1, 500)", "truncate cut{s}"],
    ),
    kind(
        "rollback of tables",
        &[],
        &[
            "begin",
            "create table undone{n} (id int primary key)",
            "savepoint s",
            "create table undone_too{n} (id int primary key)",
            "rollback to s",
            "rollback",
        ],
    ),
    kind(
        "prepared transactions",
        &[],
        &[
            "begin",
            "create table prepared{n} (id int primary key)",
            "prepare transaction 'p{n}'",
            "checkpoint",
            "rollback prepared 'p{n}'",
            "begin",
            "create table prepared{n} (id int primary key)",
            "prepare transaction 'p{n}'",
            "commit prepared 'p{n}'",
        ],
    ),
    kind(
        "checkpoint",
        &["create table dirty{n} (id int, t text)"],
        &["insert into dirty{s} select i, repeat('x', 100) from generate_series(1, 2000) i", "checkpoint"],
    ),
    kind(
        "vacuum",
        &["create table swept{n} (id int primary key, t text)"],
        &[
            "insert into swept{s} select i, repeat('x', 500) from generate_series(1, 2000) i",
            "delete from swept{s}",
            "vacuum swept{s}",
        ],
    ),
    kind(
        "index built with runs",
        &[
            "set maintenance_work_mem = '1MB'",
            "create table indexed{n} as select i, md5(i::text) t from generate_series(1, 30000) i",
        ],
        &["create index i{n} on indexed{s} (t, i)", "drop index i{n}"],
    ),
    kind(
        "rewritten table",
        &["create table rewritten{n} as select i from generate_series(1, 1000) i"],
        &["alter table rewritten{s} alter i type bigint", "alter table rewritten{s} alter i type int"],
    ),
    kind(
        "materialized view",
        &["create materialized view seen{n} as select i from generate_series(1, 1000) i"],
        &["refresh materialized view seen{s}"],
    ),
    kind(
        "temporary tables",
        &[],
        &[
            "create temporary table short{n} (id int primary key) on commit drop",
            "create temporary table long{n} (id int primary key)",
            "discard temp",
        ],
    ),
    bound_by_disk(kind(
        "spilling sort",
        &["set work_mem = '64kB'"],
        &[
            "select count(*) from (select i from generate_series(1, 30000) i order by md5(i::text)) s",
            "select count(*) from generate_series(1, 20000) a join generate_series(1, 20000) b on a = b",
        ],
    )),
    bound_by_disk(kind(
        "much log",
        &["create table logged{n} (id int, t text)"],
        &["insert into logged{s} select i, repeat('x', 7000) from generate_series(1, 800) i"],
    )),
    bound_by_disk(kind(
        "more pages than fit",
        &["create table large{n} as select i, repeat('x', 400) t from generate_series(1, 12000) i"],
        &["update large{s} set i = i + 1"],
    )),
    kind("sequences", &["create sequence numbers{n}"], &["select nextval('numbers{s}') from generate_series(1, 200)"]),
    kind(
        "analyze",
        &["create table looked_at{n} as select i from generate_series(1, 5000) i"],
        &["analyze looked_at{s}"],
    ),
    bound_by_disk(kind(
        "cursors with hold",
        &["set work_mem = '64kB'"],
        &[
            "declare held cursor with hold for select i from generate_series(1, 20000) i",
            "fetch 10 from held",
            "close held",
        ],
    )),
    kind("settings", &[], &["select pg_reload_conf()", "select pg_stat_reset()"]),
];

fn is_wanted(name: &str) -> bool {
    match std::env::var("COHORT_BLOCKED_KINDS") {
        Ok(wanted) => wanted.split(',').any(|wanted| name.contains(wanted)),
        Err(_) => true,
    }
}

/// Where the system tells whether the only worker of this process sleeps. A thread that a worker has made is called as the worker until it has
/// given itself a name.
fn worker_state() -> PathBuf {
    let started = Instant::now();
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let is_worker =
            |task: &PathBuf| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("worker "));
        let workers: Vec<PathBuf> = tasks.filter(is_worker).collect();
        match workers.as_slice() {
            [worker] => return worker.join("stat"),
            _ => assert!(started.elapsed() < Duration::from_secs(10), "{} workers", workers.len()),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a thread sleeps. One that is runnable and has no processor doesn't.
fn is_asleep(state: &Path) -> bool {
    let text = std::fs::read_to_string(state).unwrap();
    let (_, state) = text.rsplit_once(") ").unwrap();
    !state.starts_with('R')
}

/// A session with short statements, in whose answers nobody but the worker has a part.
struct Short {
    stream: UnixStream,
    heard: Vec<u8>,
    state: PathBuf,
}

/// How long the worker was asleep although it had something to do.
#[derive(Default, Debug)]
struct Blocked {
    /// In how many statements it was so for [`BLOCKED`] or more.
    times: usize,
    longest: Duration,
}

impl Short {
    fn connect(server: &TestServer) -> Short {
        let stream = UnixStream::connect(server.socket()).unwrap();
        let mut short = Short { stream, heard: Vec::new(), state: PathBuf::new() };
        let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        short.stream.write_all(&[&(body.len() as u32 + 4).to_be_bytes(), &body[..]].concat()).unwrap();
        short.wait_until_ready();
        short.state = worker_state();
        // Its answers wait for nobody's flush.
        short.send("set synchronous_commit = off");
        short.wait_until_ready();
        short
    }

    fn send(&mut self, text: &str) {
        let length = text.len() as u32 + 5;
        self.stream.set_nonblocking(false).unwrap();
        self.stream.write_all(&[b"Q", &length.to_be_bytes()[..], text.as_bytes(), &[0]].concat()).unwrap();
    }

    /// Reads once.
    fn read(&mut self) {
        let mut part = [0; 4096];
        match self.stream.read(&mut part) {
            Ok(length) => {
                assert!(length > 0, "the connection is closed");
                self.heard.extend_from_slice(&part[..length]);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }

    fn wait_until_ready(&mut self) {
        self.stream.set_nonblocking(false).unwrap();
        while !self.heard.ends_with(b"Z\0\0\0\x05I") {
            self.read();
        }
        self.heard.clear();
    }

    /// One statement.
    fn ask(&mut self, blocked: &mut Blocked) {
        self.send("select 1");
        self.stream.set_nonblocking(true).unwrap();
        let (mut asleep_since, mut longest) = (None, Duration::ZERO);
        loop {
            // In this order: a worker that sleeps since it has answered is not blocked.
            let (is_asleep, now) = (is_asleep(&self.state), Instant::now());
            self.read();
            if !self.heard.is_empty() {
                break;
            }
            asleep_since = if is_asleep { asleep_since.or(Some(now)) } else { None };
            longest = asleep_since.map_or(longest, |since| longest.max(now - since));
            std::thread::sleep(Duration::from_micros(500));
        }
        blocked.longest = blocked.longest.max(longest);
        blocked.times += usize::from(longest >= BLOCKED);
        self.wait_until_ready();
    }
}

/// Runs one statement of a session: `{s}` is the session's number, `{n}` another one in each round.
fn run(client: &mut Client, kind: &Kind, statement: &str, session: usize, number: usize) {
    let statement = statement.replace("{s}", &session.to_string()).replace("{n}", &number.to_string());
    client.batch_execute(&statement).unwrap_or_else(|error| panic!("{}: {statement}: {error}", kind.name));
}

/// Runs one kind in some sessions, with short statements beside it.
fn try_kind(kind: &Kind, server: &TestServer, disk: &SlowCalls, short: &mut Short) -> (Blocked, Met) {
    let mut clients: Vec<Client> = (0..SESSIONS).map(|_| server.connect()).collect();
    for (session, client) in clients.iter_mut().enumerate() {
        for statement in kind.before {
            run(client, kind, statement, session, session);
        }
    }
    clients[0].batch_execute("checkpoint").unwrap();
    disk.take_met();
    disk.set_latency(LATENCY);
    let mut blocked = Blocked::default();
    std::thread::scope(|scope| {
        let working: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(session, client)| {
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        for statement in kind.statements {
                            run(client, kind, statement, session, (round + 1) * 10 + session);
                        }
                    }
                })
            })
            .collect();
        while working.iter().any(|working| !working.is_finished()) {
            short.ask(&mut blocked);
        }
    });
    // The end of the sessions belongs to the kind.
    drop(clients);
    let end = Instant::now() + LATENCY * 4;
    while Instant::now() < end {
        short.ask(&mut blocked);
    }
    disk.set_latency(Duration::ZERO);
    (blocked, disk.take_met())
}

// invariants: row 41
#[test]
fn no_statement_blocks_the_worker_for_others() {
    let disk = SlowCalls::new();
    let settings = [("shared_buffers", "8MB"), ("max_prepared_transactions", "8"), ("autovacuum", "off")];
    let server = TestServer::start(Arc::new(disk.clone()), &settings, 1);
    let mut short = Short::connect(&server);
    // The calls that the worker may make itself are still slow.
    let (blocked, met) = try_kind(&CONTROL, &server, &disk, &mut short);
    assert!(
        blocked.times > BLOCKED_TIMES_MAX,
        "a blocked worker goes unnoticed: {blocked:?}, the worker called {met:?}"
    );
    disk.set_swift(OWN_CALLS);
    let mut wrong = Vec::new();
    for kind in KINDS.iter().filter(|kind| is_wanted(kind.name)) {
        let (blocked, mut met) = try_kind(kind, &server, &disk, &mut short);
        println!("{:24} {blocked:?}, the worker called {met:?}", kind.name);
        met.retain(|(call, part), _| !OWN_CALLS.contains(&(*call, part)));
        let is_blocked = blocked.times > BLOCKED_TIMES_MAX && !kind.is_bound_by_disk;
        if is_blocked || !met.is_empty() {
            wrong.push(format!("{}: {blocked:?}, the worker called {met:?}", kind.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
