//! Query strings of many statements: they are parsed in parts, which shows in nothing but the memory they take. Other sessions go
//! on meanwhile, and the client may cancel.
// invariants: row 40

mod common;

use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, Talk};
use common::reference::{Reference, server_binaries};
use common::wire::Session;

/// A tenth of what all trees of the texts here take at once.
const GROWTH_MAX_BYTES: u64 = 150 << 20;

/// The most memory that a process has had.
fn peak_bytes(pid: u32) -> u64 {
    memory_bytes(pid, "VmHWM:")
}

fn memory_bytes(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Sends a text in the simple protocol; the kinds of the messages that answer it, and the last error.
fn answer(talk: &mut Talk, text: &str) -> (Vec<u8>, Option<String>) {
    talk.patience = Duration::from_secs(300);
    talk.send(&Sent::query(text).bytes());
    let heard = talk.hear_until_ready();
    let error = heard.iter().rfind(|message| message.starts_with("E ")).cloned();
    (heard.iter().map(|message| message.as_bytes()[0]).collect(), error)
}

/// One statement is parsed as a whole. The memory for that does not stay with the thread that parsed it.
#[test]
fn the_memory_for_a_long_statement_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talk = Talk::start(&server.socket());
    let before = memory_bytes(server.id(), "VmRSS:");
    let whens: String = (0..60_000).map(|number| format!("when a = {number} then {number} ")).collect();
    for _ in 0..3 {
        let (kinds, error) = answer(&mut talk, &format!("select case {whens} end from (values (1)) v (a)"));
        assert_eq!((kinds.as_slice(), error), (b"TDCZ".as_slice(), None));
    }
    let peak = peak_bytes(server.id()).saturating_sub(before);
    let kept = memory_bytes(server.id(), "VmRSS:").saturating_sub(before);
    assert!(peak > 2 * GROWTH_MAX_BYTES, "it takes much memory: {peak} bytes");
    assert!(kept < GROWTH_MAX_BYTES, "{kept} bytes of {peak} are kept");
    server.stop();
}

/// Each thread that parses has had a long text. None of them keeps the memory for its tree.
#[test]
fn the_memory_for_long_statements_of_several_sessions_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let before = memory_bytes(server.id(), "VmRSS:");
    let whens: String = (0..20_000).map(|number| format!("when a = {number} then {number} ")).collect();
    let text = format!("select case {whens} end from (values (1)) v (a)");
    assert!((450_000..512 << 10).contains(&text.len()), "{}", text.len());
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let (kinds, error) = answer(&mut Talk::start(&server.socket()), &text);
                assert_eq!((kinds.as_slice(), error), (b"TDCZ".as_slice(), None));
            });
        }
    });
    let kept = memory_bytes(server.id(), "VmRSS:").saturating_sub(before);
    assert!(kept < GROWTH_MAX_BYTES, "{kept} bytes are kept");
    server.stop();
}

/// A constant that a statement computes is gone with the statement, whatever keeps the statement's plan.
#[test]
fn large_constants_of_plans_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talk = Talk::start(&server.socket());
    let constant = "array_fill(1, array[1000000])";
    let (_, error) = answer(&mut talk, &format!("select cardinality(a) from (select {constant} a offset 0) s"));
    assert_eq!(error, None);
    let before = memory_bytes(server.id(), "VmRSS:");
    for number in 0..12 {
        for text in [
            format!("select cardinality(a) + {number} from (select {constant} a offset 0) s"),
            format!("prepare p{number} as select cardinality(a) from (select {constant} a offset 0) s"),
            format!("execute p{number}"),
        ] {
            let (_, error) = answer(&mut talk, &text);
            assert_eq!(error, None, "{text}");
        }
    }
    let kept = memory_bytes(server.id(), "VmRSS:").saturating_sub(before);
    assert!(kept < GROWTH_MAX_BYTES, "{kept} bytes are kept");
    server.stop();
}

/// A syntax error behind 300,000 statements keeps all of them from running, and is told with its place.
#[test]
fn a_text_that_fails_at_its_end_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talk = Talk::start(&server.socket());
    let before = peak_bytes(server.id());
    let statements = "create table ü (i int);".repeat(300_000);
    let (kinds, error) = answer(&mut talk, &format!("{statements} selec 1; select 2"));
    let growth = peak_bytes(server.id()).saturating_sub(before);
    let error = error.expect("it is wrong");
    let position = statements.chars().count() + 2;
    assert_eq!(kinds, b"EZ");
    assert!(error.contains("at or near \"selec\"") && error.contains(&format!("P={position}")), "{error}");
    assert!(growth < GROWTH_MAX_BYTES, "the server has grown by {growth} bytes");
    server.stop();
}

/// Of a text that runs, the trees of one part are there at a time.
#[test]
fn a_text_that_runs_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talk = Talk::start(&server.socket());
    let before = peak_bytes(server.id());
    let count = 10_000;
    let sum = vec!["1"; 60].join(" + ");
    let (kinds, error) = answer(&mut talk, &format!("select {sum};").repeat(count));
    let growth = peak_bytes(server.id()).saturating_sub(before);
    assert_eq!((kinds.iter().filter(|kind| **kind == b'D').count(), error), (count, None));
    assert!(growth < GROWTH_MAX_BYTES, "the server has grown by {growth} bytes");
    server.stop();
}

/// The memory that is kept for a pattern grows as the pattern does, and not faster.
#[test]
fn a_long_pattern_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talk = Talk::start(&server.socket());
    for pattern in ["repeat('a', 40000)", "repeat('a', 40000) || '(b|c)?'"] {
        let before = peak_bytes(server.id());
        let (kinds, error) = answer(&mut talk, &format!("select 'x' ~ ({pattern})"));
        let growth = peak_bytes(server.id()).saturating_sub(before);
        assert_eq!((String::from_utf8(kinds).unwrap().as_str(), error), ("TDCZ", None));
        assert!(growth < GROWTH_MAX_BYTES, "{pattern}: the server has grown by {growth} bytes");
    }
    server.stop();
}

#[test]
fn other_sessions_go_on_beside_a_long_text_and_it_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["worker_threads=1"]);
    let mut talk = Talk::start(&server.socket());
    talk.patience = Duration::from_secs(300);
    let mut other = server.connect();
    // It would be parsed for minutes.
    let text = "select 1, 'two', 3;".repeat(3_000_000);
    let pid = talk.pid as i32;
    let sending = std::thread::spawn(move || {
        talk.send(&Sent::query(&text).bytes());
        talk.hear_until_ready()
    });
    let mut answered = 0;
    let began = Instant::now();
    let state = "select state from pg_stat_activity where pid = $1";
    while answered < 20 || began.elapsed() < Duration::from_millis(500) {
        answered += 1;
        other.query_one("select 1", &[]).unwrap();
    }
    while other.query_one(state, &[&pid]).unwrap().get::<_, &str>(0) != "active" {}
    other.execute("select pg_cancel_backend($1)", &[&pid]).unwrap();
    let heard = sending.join().unwrap();
    assert!(heard.iter().any(|message| message.contains("C=57014")), "{heard:?}");
    server.stop();
}

/// Fills a text up beyond what is parsed at once, and has something wrong or unusual at its end or in its middle.
fn unusual_texts() -> Vec<String> {
    let filler = format!("set client_min_messages to 'notice'; /* ü;{} */ ", " ".repeat(1000)).repeat(100);
    let endings = [
        "select nothing",
        "select 'ü', nothing; select 1",
        "selec",
        "select 1; select (2",
        "select 1; select 'a",
        "select 1; insert into kept values (1); select 1/0; select 2",
        "insert into kept values (1), (2); select count(*) from kept",
        "begin; insert into kept values (3); savepoint s; select 1; rollback to s; commit; select count(*) from kept",
        "begin; select nothing; select 1",
        "rollback",
        "create function made() returns int begin atomic select 1 as end; select case when true then 2 end; end; selec",
        "do $$ begin raise notice 'told;'; end $$; select 1",
        "declare c cursor for select 1",
        "begin; declare c cursor for select generate_series(1, 3); fetch c; commit",
        "prepare p as select $1::int + 1; execute p(1); deallocate p",
        "create table made (id int); vacuum made",
        "select $1",
        "set standard_conforming_strings to off; select 'a\\;'; set standard_conforming_strings to on",
        "create view made as select i from kept; select pg_get_viewdef('made'); drop view made",
        "",
        ";;",
    ];
    let before = endings.iter().map(|ending| format!("{filler}{ending}"));
    let between = endings.iter().map(|ending| format!("{filler}{ending};{filler}"));
    before.chain(between).collect()
}

#[test]
fn long_texts_do_what_they_do_in_postgresql() {
    let Some(binaries) = server_binaries() else { return };
    let reference = Reference::start(&binaries);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let [mut ours, mut theirs] =
        [server.socket(), reference.socket()].map(|socket| Session::connect(&socket, "postgres"));
    for session in [&mut ours, &mut theirs] {
        session.simple("create table kept (i int)");
    }
    for text in unusual_texts() {
        let (answer, wanted) = (ours.simple(&text), theirs.simple(&text));
        let tail = |answer: &str| answer[answer.floor_char_boundary(answer.len().saturating_sub(600))..].to_owned();
        for session in [&mut ours, &mut theirs] {
            session.simple("rollback");
        }
        assert!(answer == wanted, "{}\n--- Cohort\n{}\n--- PostgreSQL\n{}", tail(&text), tail(&answer), tail(&wanted));
    }
    // Prepared statements are single statements, however long their text is.
    let filler = "select 1;".repeat(10_000);
    for text in [filler.clone(), format!("{filler} selec"), format!("select 1; -- {filler}"), format!("/*{filler}*/")] {
        assert_eq!(ours.extended(&text), theirs.extended(&text));
    }
    server.stop();
}

/// `pg_stat_activity` keeps the beginning of a text, cut between two letters.
#[test]
fn activity_shows_the_beginning_of_a_text() {
    let Some(binaries) = server_binaries() else { return };
    let setting = "track_activity_query_size=200";
    let reference = Reference::start_with(&binaries, &[setting]);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[setting]);
    let [mut ours, mut theirs] =
        [server.socket(), reference.socket()].map(|socket| Session::connect(&socket, "postgres"));
    let shown = "select query, octet_length(query) from pg_stat_activity where pid = pg_backend_pid()";
    for spaces in 0..4 {
        for letters in [10, 30, 31, 32, 3000, 40_000] {
            let text = format!("{shown} /*{} {}*/", " ".repeat(spaces), "\u{20ac}".repeat(letters));
            assert_eq!(ours.simple(&text), theirs.simple(&text));
            assert_eq!(ours.extended(&text), theirs.extended(&text));
        }
    }
    assert_eq!(ours.simple("show track_activity_query_size"), theirs.simple("show track_activity_query_size"));
    server.stop();
}

/// The text that a session ran last takes no memory in proportion to its length.
#[test]
fn texts_that_ran_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talks: Vec<Talk> = (0..8).map(|_| Talk::start(&server.socket())).collect();
    let text = format!("select 1 /*{}*/", "x".repeat(30 << 20));
    answer(&mut talks[0], &text);
    let before = peak_bytes(server.id());
    for talk in &mut talks {
        answer(talk, &text);
    }
    let growth = peak_bytes(server.id()).saturating_sub(before);
    // A few copies are there while a text runs, now and then one of the text before. Eight that were kept would be 240 MB more.
    assert!(growth < 180 << 20, "the server has grown by {growth} bytes");
    server.stop();
}

/// PostgreSQL refuses such a message, too. With a length that doesn't fit its field, a client would take values for messages.
#[test]
fn a_row_that_is_too_long_for_a_message_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut talk = Talk::start(&server.socket());
    // A message of 1.1 GB; the value is there once.
    let columns = vec!["v"; 1_100].join(", ");
    let row = format!("select {columns} from (select repeat('x', 1000000) as v offset 0) s");
    for text in [row.clone(), format!("copy ({row}) to stdout"), format!("copy ({row}) to stdout (format binary)")] {
        let (kinds, error) = answer(&mut talk, &text);
        assert!(kinds.ends_with(b"EZ") && !kinds.contains(&b'D') && !kinds.contains(&b'C'), "{}", kinds.escape_ascii());
        let error = error.unwrap();
        assert!(error.contains("54000") && error.contains("Cannot enlarge string buffer containing 107"), "{error}");
        assert_eq!(answer(&mut talk, "select 1").0, b"TDCZ");
    }
    server.stop();
}
