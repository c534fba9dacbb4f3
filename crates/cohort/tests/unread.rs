//! Clients that don't read what they have asked for: the server's memory stays within `max_unsent_output`, the session
//! waits, and a client that reads later gets everything in order.
// invariants: row 40

mod common;

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, Talk};

/// Half of what each test would have the server keep if it kept everything, and far more than it may.
const GROWTH_MAX_BYTES: u64 = 24 << 20;
/// How long the server may take until it stands still.
const STANDSTILL_LIMIT: Duration = Duration::from_secs(60);

fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// The processor time that a process has used.
fn used_ticks(pid: u32) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = line.rsplit_once(") ").unwrap();
    rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Waits until the server does nothing any more.
fn await_standstill(pid: u32) {
    let deadline = Instant::now() + STANDSTILL_LIMIT;
    let (mut before, mut still) = (used_ticks(pid), 0);
    while still < 4 {
        assert!(Instant::now() < deadline, "the server goes on");
        std::thread::sleep(Duration::from_millis(100));
        let now = used_ticks(pid);
        // It has other things to do now and then.
        still = if now <= before + 1 { still + 1 } else { 0 };
        before = now;
    }
}

/// The next message of the server.
fn message(reader: &mut impl Read) -> (u8, Vec<u8>) {
    let mut head = [0; 5];
    reader.read_exact(&mut head).unwrap();
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut body = vec![0; length - 4];
    reader.read_exact(&mut body).unwrap();
    (head[0], body)
}

fn server(folder: &std::path::Path) -> Server {
    Server::start(folder, &["max_unsent_output=64kB", "max_notify_queue_pages=64"])
}

/// Runs statements and reads their answers.
fn run(talk: &mut Talk, text: &str) {
    talk.send(&Sent::query(text).bytes());
    let answer = talk.hear_until_ready();
    assert!(!answer.iter().any(|message| message.starts_with("E ")), "{answer:?}");
}

/// Sends `messages` in a session that is prepared by `setup` and reads nothing until the server stands still. Then
/// everything is read up to the last ReadyForQuery of so many, and given to `heard`.
fn leave_unread(setup: &str, messages: Vec<u8>, ready_count: usize, mut heard: impl FnMut(u8, &[u8])) {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let mut talk = Talk::start(&server.socket());
    run(&mut talk, setup);
    let stream = talk.into_stream();
    let before = resident_bytes(server.id());
    let mut writer = stream.try_clone().unwrap();
    // The server stops reading, too.
    let sending = std::thread::spawn(move || writer.write_all(&messages).unwrap());
    await_standstill(server.id());
    let growth = resident_bytes(server.id()).saturating_sub(before);
    assert!(growth < GROWTH_MAX_BYTES, "the server has grown by {growth} bytes");
    let mut reader = BufReader::new(stream);
    let mut left = ready_count;
    while left > 0 {
        let (kind, body) = message(&mut reader);
        left -= usize::from(kind == b'Z');
        heard(kind, &body);
    }
    sending.join().unwrap();
    server.stop();
}

/// The first column of a DataRow as a number.
fn number(row: &[u8]) -> usize {
    let length = u32::from_be_bytes([row[2], row[3], row[4], row[5]]) as usize;
    std::str::from_utf8(&row[6..6 + length]).unwrap().parse().unwrap()
}

/// So many of the same messages.
fn times(count: usize, messages: &[Sent]) -> Vec<u8> {
    let once: Vec<u8> = messages.iter().flat_map(Sent::bytes).collect();
    once.repeat(count)
}

#[test]
fn few_rows_that_are_wide() {
    let query = Sent::query("select g, repeat('x', 1000000) from generate_series(1, 60) g");
    let mut next = 1;
    leave_unread("", query.bytes(), 1, |kind, body| {
        if kind == b'D' {
            assert_eq!((number(body), body.len() > 1_000_000), (next, true));
            next += 1;
        }
    });
    assert_eq!(next, 61);
}

#[test]
fn portals_in_a_pipeline() {
    let mut messages = Sent::parse("", "select $1::int, repeat('x', 2000) from generate_series(1, 3)", &[]).bytes();
    for turn in 0..10_000 {
        let value = turn.to_string();
        messages.extend(Sent::bind("", "", &[], &[Some(value.as_bytes())], &[]).bytes());
        messages.extend(Sent::execute("", 0).bytes());
    }
    messages.extend(Sent::new(b'S', []).bytes());
    let mut count = 0;
    leave_unread("", messages, 1, |kind, body| {
        if kind == b'D' {
            assert_eq!(number(body), count / 3);
            count += 1;
        }
    });
    assert_eq!(count, 30_000);
}

#[test]
fn notices_of_a_loop() {
    let query = "do $$ begin for i in 1 .. 50000 loop raise notice '% %', i, repeat('x', 1000); end loop; end $$";
    let mut next = 1;
    leave_unread("", Sent::query(query).bytes(), 1, |kind, body| {
        if kind == b'N' {
            let text = String::from_utf8_lossy(body);
            assert!(text.contains(&format!("\0M{next} x")), "{}", &text[..60]);
            next += 1;
        }
    });
    assert_eq!(next, 50_001);
}

#[test]
fn notices_of_utility_statements_in_a_loop() {
    let name = "n".repeat(60);
    let query = format!(
        "do $$ begin for i in 1 .. 60000 loop execute 'drop table if exists {name}, {name}a, {name}b, {name}c'; end loop; end $$"
    );
    let mut count = 0;
    leave_unread("", Sent::query(&query).bytes(), 1, |kind, _| count += usize::from(kind == b'N'));
    assert!(count >= 240_000, "{count}");
}

#[test]
fn errors() {
    let messages = times(20_000, &[Sent::query("select repeat('x', 3000)::int")]);
    let mut count = 0;
    leave_unread("", messages, 20_000, |kind, body| {
        if kind == b'E' {
            assert!(body.len() > 3000);
            count += 1;
        }
    });
    assert_eq!(count, 20_000);
}

#[test]
fn copied_data() {
    let query = Sent::query("copy (select g, repeat('x', 1000) from generate_series(1, 60000) g) to stdout");
    let mut next = 1;
    leave_unread("", query.bytes(), 1, |kind, body| {
        if kind == b'd' {
            assert!(body.starts_with(format!("{next}\tx").as_bytes()));
            next += 1;
        }
    });
    assert_eq!(next, 60_001);
}

#[test]
fn settings_that_are_reported() {
    let value = |turn: usize| format!("{turn:0>60}");
    let set = |turn| Sent::query(&format!("set application_name to '{}'", value(turn)));
    let messages: Vec<u8> = (0..400_000).flat_map(|turn| set(turn).bytes()).collect();
    let mut next = 0;
    leave_unread("", messages, 400_000, |kind, body| {
        if kind == b'S' {
            assert_eq!(body, format!("application_name\0{}\0", value(next)).as_bytes());
            next += 1;
        }
    });
    assert_eq!(next, 400_000);
}

#[test]
fn descriptions() {
    let columns: Vec<String> = (0..1000).map(|number| format!("{number} as a_column_number_{number}")).collect();
    let mut messages = Sent::parse("wide", &format!("select {}", columns.join(", ")), &[]).bytes();
    messages.extend(times(1500, &[Sent::named(b'D', b'S', "wide")]));
    messages.extend(Sent::new(b'S', []).bytes());
    let mut count = 0;
    leave_unread("", messages, 1, |kind, body| {
        if kind == b'T' {
            assert!(body.len() > 30_000);
            count += 1;
        }
    });
    assert_eq!(count, 1500);
}

#[test]
fn settings_that_are_shown() {
    let mut count = 0;
    leave_unread("", times(3000, &[Sent::query("show all")]), 3000, |kind, _| count += usize::from(kind == b'C'));
    assert_eq!(count, 3000);
}

#[test]
fn statements_of_one_string() {
    let statements: Vec<String> =
        (0..300).map(|number| format!("select {number}, repeat('x', 40000) from generate_series(1, 5)")).collect();
    let mut count = 0;
    leave_unread("", Sent::query(&statements.join(";")).bytes(), 1, |kind, body| {
        if kind == b'D' {
            assert_eq!(number(body), count / 5);
            count += 1;
        }
    });
    assert_eq!(count, 1500);
}

/// Commits must be durable before their answers leave. The session waits for the disk and for its client at once.
#[test]
fn commits_in_a_pipeline() {
    let insert = Sent::query("insert into kept select count(*) from kept returning i, repeat('x', 20000)");
    let mut next = 0;
    leave_unread("create table kept (i int)", times(3000, &[insert]), 3000, |kind, body| {
        if kind == b'D' {
            assert_eq!(number(body), next);
            next += 1;
        }
    });
    assert_eq!(next, 3000);
}

#[test]
fn notifications_to_a_session_that_idles() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let mut listener = Talk::start(&server.socket());
    run(&mut listener, "listen ch");
    let mut notifier = Talk::start(&server.socket());
    let before = resident_bytes(server.id());
    let (mut sent, mut refused) = (0, false);
    while !refused && sent < 10_000 {
        notifier.send(&Sent::query(&format!("notify ch, '{sent} {}'", "x".repeat(7000))).bytes());
        let answer = notifier.hear_until_ready();
        refused = answer.iter().any(|message| message.contains("C=54000"));
        sent += usize::from(!refused);
    }
    assert!(refused, "the queue has no limit");
    let growth = resident_bytes(server.id()).saturating_sub(before);
    assert!(growth < GROWTH_MAX_BYTES, "the server has grown by {growth} bytes");
    let heard = listener.hear_until(|heard| heard.len() == sent);
    for (number, message) in heard.iter().enumerate() {
        assert!(message.starts_with(&format!("A ch\\x00{number} x")), "{}", &message[..20]);
    }
    assert_eq!(heard.len(), sent);
    // A listener that has read everything gets further notifications.
    run(&mut notifier, "notify ch, 'last'");
    assert_eq!(listener.hear_until(|heard| !heard.is_empty()), ["A ch\\x00last\\x00"]);
    server.stop();
}

/// A session listens on so many channels and no more; those that it stops listening on make room.
#[test]
fn channels_that_a_session_listens_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let mut talk = Talk::start(&server.socket());
    let listen = |from: usize, to: usize| {
        format!("do $$ begin for i in {from}..{to} loop execute 'listen c' || i; end loop; end $$")
    };
    for from in [1, 8001] {
        run(&mut talk, &listen(from, from + 7999));
    }
    // Those that it listens on already take nothing.
    run(&mut talk, &listen(1, 16_000));
    for statement in [listen(16_001, 17_000), listen(20_000, 40_000)] {
        talk.send(&Sent::query(&statement).bytes());
        let answer = talk.hear_until_ready();
        assert!(answer.iter().any(|message| message.contains("C=54000")), "{answer:?}");
    }
    run(&mut talk, &format!("unlisten *; {}", listen(20_001, 36_000)));
    talk.send(&Sent::query("select count(*) from pg_listening_channels()").bytes());
    assert!(talk.hear_until_ready().iter().any(|message| message.contains("16000")));
    server.stop();
}

/// A session whose client reads nothing of a long answer, and how it ends.
fn interrupted(setup: &str, interrupt: impl FnOnce(&mut Talk, u32)) -> Vec<(u8, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let mut other = Talk::start(&server.socket());
    let mut talk = Talk::start(&server.socket());
    run(&mut talk, setup);
    let pid = talk.pid;
    talk.send(&Sent::query("select g, repeat('x', 1000) from generate_series(1, 100000000) g").bytes());
    await_standstill(server.id());
    interrupt(&mut other, pid);
    let mut reader: BufReader<UnixStream> = BufReader::new(talk.into_stream());
    let mut rest = Vec::new();
    while !rest.last().is_some_and(|(kind, body): &(u8, Vec<u8>)| {
        *kind == b'Z' || *kind == b'E' && body.windows(6).any(|field| field == b"VFATAL")
    }) {
        let (kind, body) = message(&mut reader);
        if kind != b'D' {
            rest.push((kind, body));
        }
    }
    rest
}

/// The code of the last error.
fn code(messages: &[(u8, Vec<u8>)]) -> String {
    let (_, error) = messages.iter().rfind(|(kind, _)| *kind == b'E').expect("an error");
    let field = error.split(|byte| *byte == 0).find(|field| field.first() == Some(&b'C')).expect("a code");
    String::from_utf8_lossy(&field[1..]).into_owned()
}

#[test]
fn a_session_that_waits_for_its_client_can_be_interrupted() {
    let cancel = |other: &mut Talk, pid: u32| run(other, &format!("select pg_cancel_backend({pid})"));
    let canceled = interrupted("", cancel);
    assert_eq!((code(&canceled).as_str(), canceled.last().map(|(kind, _)| *kind)), ("57014", Some(b'Z')));
    let terminate = |other: &mut Talk, pid: u32| run(other, &format!("select pg_terminate_backend({pid})"));
    assert_eq!(code(&interrupted("", terminate)), "57P01");
    let timed_out = interrupted("set statement_timeout to '500ms'", |_, _| {});
    assert_eq!((code(&timed_out).as_str(), timed_out.last().map(|(kind, _)| *kind)), ("57014", Some(b'Z')));
}

/// The notifications of a transaction wait for its end, each once.
#[test]
fn notifications_of_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let mut talk = Talk::start(&server.socket());
    let repeated = "do $$ begin for i in 1..20000 loop perform pg_notify('c', repeat('x', 5000)); end loop; end $$";
    run(&mut talk, repeated);
    let different =
        "do $$ begin for i in 1..1000 loop perform pg_notify('c', i || repeat('x', 5000)); end loop; end $$";
    talk.send(&Sent::query(different).bytes());
    let answer = talk.hear_until_ready();
    assert!(answer.iter().any(|message| message.contains("C=54000")), "{answer:?}");
    // A rollback makes room.
    let undone = "do $$ begin for i in 1..1000 loop
        begin perform pg_notify('c', i || repeat('x', 5000)); raise division_by_zero;
        exception when division_by_zero then null; end; end loop; end $$";
    run(&mut talk, undone);
    server.stop();
}
