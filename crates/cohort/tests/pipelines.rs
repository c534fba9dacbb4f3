//! Statements that commit by themselves, between others that are sent without a Sync: what they are answered and what is left,
//! compared with a PostgreSQL. And from where to where the time limit of a statement runs, and a cancel counts.

mod common;

use std::path::Path;
use std::time::Duration;

use common::Server;
use common::conversation::{Sent, Talk};
use common::reference::{Reference, server_binaries};

const STATEMENTS: [&str; 14] = [
    "vacuum",
    "vacuum made",
    "analyze made",
    "checkpoint",
    "create index concurrently made_i on made (i)",
    "drop index concurrently made_index",
    "alter system set work_mem = '5MB'",
    "discard all",
    "discard plans",
    "commit prepared 'nobody'",
    "rollback prepared 'nobody'",
    "set local work_mem = '5MB'",
    "lock table made",
    "truncate made",
];

/// The statements before and behind it in its pipeline.
const AROUND: [(&str, &str); 4] = [
    ("insert into made values (1)", "select 1 / (i - i) from made"),
    ("select 1", "select 2"),
    ("", "select 1 / (i - i) from made"),
    ("begin", "commit"),
];

/// One pipeline, and what later statements find.
fn converse(socket: &Path, statement: &str, (before, after): (&str, &str)) -> Vec<String> {
    let mut talk = Talk::start(socket);
    let ask = |talk: &mut Talk, text: &str| {
        talk.send(&Sent::query(text).bytes());
        talk.hear_until_ready()
    };
    ask(&mut talk, "drop table if exists made");
    ask(&mut talk, "create table made (i int); create index made_index on made (i); insert into made values (7)");
    for text in [before, statement, after].into_iter().filter(|text| !text.is_empty()) {
        let verbs = [Sent::parse("", text, &[]), Sent::bind("", "", &[], &[], &[]), Sent::execute("", 0)];
        verbs.iter().for_each(|verb| talk.send(&verb.bytes()));
    }
    talk.send(&Sent::new(b'S', Vec::new()).bytes());
    let mut heard = talk.hear_until_ready();
    heard.extend(ask(
        &mut talk,
        "select i, (select count(*) from pg_indexes where tablename = 'made') from made order by i",
    ));
    ask(&mut talk, "alter system reset work_mem");
    heard
}

#[test]
fn statements_that_commit_by_themselves_take_nothing_along() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    for statement in STATEMENTS {
        for around in AROUND {
            let expected = converse(&reference.socket(), statement, around);
            assert_eq!(converse(&server.socket(), statement, around), expected, "{statement} between {around:?}");
        }
    }
}

/// A step of a client.
enum Step {
    Send(Sent),
    /// Waits until the time limit has passed, and notes what has been told by then.
    Wait,
    /// Sends Sync and hears the answers to it.
    Sync,
}

/// Long enough for a busy machine to do between two `Wait`s what the client asks for.
const LIMIT: &str = "1s";
const LONGER_THAN_THE_LIMIT: Duration = Duration::from_millis(1500);

/// Statements whose messages come slowly. `statement_timeout` runs out in each `Wait`.
fn slow_clients() -> Vec<(&'static str, Vec<Step>)> {
    use Step::{Send, Sync, Wait};
    let parse = |text: &str| Send(Sent::parse("", text, &[]));
    let bind = || Send(Sent::bind("", "", &[], &[], &[]));
    let describe = || Send(Sent::named(b'D', b'P', ""));
    let execute = |rows: i32| Send(Sent::execute("", rows));
    let one = "select 1";
    let three = "select g from generate_series(1, 3) g";
    vec![
        ("between statements", vec![Wait, parse(one), bind(), execute(0), Sync, Wait, parse(one), Sync]),
        ("behind Parse", vec![parse(one), Wait, bind(), execute(0), Sync]),
        ("behind Bind", vec![parse(one), bind(), Wait, execute(0), Sync]),
        ("behind Describe", vec![parse(one), bind(), describe(), Wait, execute(0), Sync]),
        ("behind a part of the rows", vec![parse(three), bind(), execute(1), Wait, execute(1), Sync]),
        ("behind the last row", vec![parse(one), bind(), execute(0), Wait, parse(one), bind(), execute(0), Sync]),
        ("behind an error", vec![parse("select nothing"), Wait, Sync, parse(one), bind(), execute(0), Sync]),
        ("before Sync", vec![parse(one), Wait, Sync, parse(one), bind(), execute(0), Sync]),
    ]
}

/// The answers to a client that waits here and there.
fn answers_to_slow(socket: &Path, steps: &[Step]) -> Vec<String> {
    let mut talk = Talk::start(socket);
    talk.send(&Sent::query(&format!("set statement_timeout = '{LIMIT}'")).bytes());
    talk.hear_until_ready();
    answers(&mut talk, steps, || std::thread::sleep(LONGER_THAN_THE_LIMIT))
}

/// Long enough for a server to have told what has been asked for, and to have met a cancel.
const A_WHILE: Duration = Duration::from_millis(100);

/// The answers to a client that is cancelled while it waits here and there.
fn answers_to_cancelled(socket: &Path, steps: &[Step]) -> Vec<String> {
    let (mut talk, mut other) = (Talk::start(socket), Talk::start(socket));
    let cancel = Sent::query(&format!("select pg_cancel_backend({})", talk.pid)).bytes();
    answers(&mut talk, steps, || {
        std::thread::sleep(A_WHILE);
        other.send(&cancel);
        other.hear_until_ready();
        std::thread::sleep(A_WHILE);
    })
}

/// The answers to a client that calls `wait` here and there.
fn answers(talk: &mut Talk, steps: &[Step], mut wait: impl FnMut()) -> Vec<String> {
    let mut heard = Vec::new();
    for step in steps {
        match step {
            Step::Send(message) => talk.send(&message.bytes()),
            Step::Wait => {
                wait();
                heard.extend(talk.hear());
                heard.push("the client goes on".to_owned());
            }
            Step::Sync => {
                talk.send(&Sent::new(b'S', []).bytes());
                heard.extend(talk.hear_until_ready());
            }
        }
    }
    heard
}

#[test]
fn the_time_limit_of_a_statement_runs_from_its_first_message_to_its_last_row() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let mut limited = 0;
    for (place, steps) in slow_clients() {
        let expected = answers_to_slow(&reference.socket(), &steps);
        assert_eq!(answers_to_slow(&server.socket(), &steps), expected, "a client that waits {place}");
        limited += usize::from(expected.iter().any(|message| message.contains("C=57014")));
    }
    assert!((1..slow_clients().len()).contains(&limited), "{limited} reach the limit");
}

#[test]
fn a_cancel_while_a_session_waits_for_its_client_cancels_nothing() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    for (place, steps) in slow_clients() {
        let expected = answers_to_cancelled(&reference.socket(), &steps);
        assert!(!expected.iter().any(|message| message.contains("C=57014")), "{place}: {expected:?}");
        assert_eq!(answers_to_cancelled(&server.socket(), &steps), expected, "a client that waits {place}");
    }
}

#[test]
fn close_all_closes_suspended_portals_too() {
    let Some(binaries) = server_binaries() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let reference = Reference::start_with(&binaries, &["autovacuum=off"]);
    let answers = |socket: &Path| {
        let mut talk = Talk::start(socket);
        let begin = [Sent::parse("", "begin", &[]), Sent::bind("", "", &[], &[], &[]), Sent::execute("", 0)];
        let part = [
            Sent::parse("s", "select g from generate_series(1, 3) g", &[]),
            Sent::bind("p", "s", &[], &[], &[]),
            Sent::execute("p", 1),
        ];
        let close = [Sent::parse("", "close all", &[]), Sent::bind("", "", &[], &[], &[]), Sent::execute("", 0)];
        let rest = [Sent::execute("p", 1), Sent::new(b'S', [])];
        begin.iter().chain(&part).chain(&close).chain(&rest).for_each(|message| talk.send(&message.bytes()));
        talk.hear_until_ready()
    };
    assert_eq!(answers(&server.socket()), answers(&reference.socket()));
}
