//! How a server stops: SIGTERM lets running statements end, SIGINT and a second SIGTERM interrupt them.

mod common;

use std::time::{Duration, Instant};

use common::Server;
use common::conversation::{Sent, Talk};

/// A running statement that nobody interrupts takes about so long after the signal.
const SLEEP: &str = "select pg_sleep(1.5)";
/// Longer than any test.
const ENDLESS: &str = "select pg_sleep(600)";
/// No stop that has nothing to wait for takes nearly as long.
const LIMIT: Duration = Duration::from_secs(30);
/// Longer than a statement needs from its arrival to its sleep or wait.
const BEGINS: Duration = Duration::from_millis(400);
const TOLD: &str = "SFATAL C57P01 Mterminating connection due to administrator command";

fn start(folder: &std::path::Path) -> Server {
    let server = Server::start(folder, &["worker_threads=2", "max_prepared_transactions=2"]);
    server.connect().batch_execute("create table t (id int, word text); insert into t values (0, 'first')").unwrap();
    server
}

/// The table's only row is changed by a transaction that is prepared.
fn start_with_prepared_transaction(folder: &std::path::Path) -> Server {
    let server = start(folder);
    let prepare = "begin isolation level serializable; update t set word = 'prepared'; prepare transaction 'p'";
    server.connect().batch_execute(prepare).unwrap();
    server
}

/// Prepares a transaction that has changed another table.
fn prepare_elsewhere(server: &Server) {
    server.connect().batch_execute("create table z (id int)").unwrap();
    server.connect().batch_execute("begin; insert into z values (1); prepare transaction 'p'").unwrap();
}

fn talk(server: &Server) -> Talk {
    let mut talk = Talk::start(&server.socket());
    talk.patience = LIMIT;
    talk
}

/// The kinds of the messages that are heard until the connection ends, and what the last one says.
fn ending(talk: &mut Talk) -> (String, String) {
    let heard = talk.hear_to_the_end();
    let kinds = heard.iter().map(|message| &message[..1]).collect();
    let fields = ["S=", "C=", "M="].map(|field| {
        let last = heard.last().map_or("", String::as_str);
        let found = last.split_once(field).map_or("", |(_, rest)| rest);
        let next = found.find(" V=").or_else(|| found.find(" C=")).or_else(|| found.find(" M="));
        format!("{}{}", &field[..1], next.map_or(found, |next| &found[..next]).trim())
    });
    (kinds, fields.join(" "))
}

/// The words in the table after the data folder is served again.
fn words_after_restart(folder: &std::path::Path) -> String {
    let server = Server::start(folder, &["max_prepared_transactions=2"]);
    let words = server.psql("select string_agg(word, ' ' order by id) from t");
    server.stop();
    words
}

fn statement(text: &str) -> Vec<u8> {
    let messages = [Sent::parse("", text, &[]), Sent::bind("", "", &[], &[], &[]), Sent::execute("", 0)];
    messages.iter().flat_map(Sent::bytes).collect()
}

const SYNC: &[u8] = b"S\0\0\0\x04";

#[test]
fn a_running_statement_ends_and_is_answered_before_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let (mut simple, mut extended, mut split) = (talk(&server), talk(&server), talk(&server));
    // Each statement of the message that runs belongs to it.
    simple.send(&Sent::query(&format!("{SLEEP}; insert into t values (1, 'simple')")).bytes());
    let slow_insert =
        |id: i32, word: &str| format!("insert into t select {id}, '{word}' from (select pg_sleep(1.5)) s");
    extended.send(&[&statement(&slow_insert(2, "extended"))[..], SYNC].concat());
    // The end of its transaction is not in the same packet; what runs nothing may lie between.
    split.send(&statement(&slow_insert(3, "split")));
    std::thread::sleep(BEGINS);
    split.send(&[&Sent::named(b'C', b'P', "").bytes()[..], SYNC].concat());
    let mut idle = talk(&server);
    let ending_of_idle = std::thread::scope(|scope| {
        server.signal("TERM");
        let told = scope.spawn(|| (Instant::now(), ending(&mut idle))).join().unwrap();
        assert!(told.0.elapsed() < Duration::from_millis(1000), "{:?}", told.0.elapsed());
        told.1
    });
    assert_eq!(ending_of_idle, ("E".to_owned(), TOLD.to_owned()));
    assert_eq!(ending(&mut simple), ("TDCCZE".to_owned(), TOLD.to_owned()));
    assert_eq!(ending(&mut extended), ("12CZE".to_owned(), TOLD.to_owned()));
    assert_eq!(ending(&mut split), ("12C3ZE".to_owned(), TOLD.to_owned()));
    server.wait_within(LIMIT);
    assert_eq!(words_after_restart(folder.path()), "first simple extended split");
}

#[test]
fn nobody_new_is_let_in_while_statements_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut running = talk(&server);
    running.send(&Sent::query(SLEEP).bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    std::thread::sleep(Duration::from_millis(200));
    for url in [server.url(), format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port())] {
        let refused = postgres::Client::connect(&url, postgres::NoTls).err().expect("the server stops");
        let error = refused.as_db_error().expect("the server says why");
        assert_eq!(
            (error.severity(), error.code().code(), error.message()),
            ("FATAL", "57P03", "the database system is shutting down")
        );
    }
    assert_eq!(ending(&mut running).0, "TDCZE");
    server.wait_within(LIMIT);
}

#[test]
fn open_transactions_roll_back_and_who_waits_for_their_locks_gets_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let (mut idle, mut waiting, mut within) = (talk(&server), talk(&server), talk(&server));
    idle.send(&Sent::query("begin; update t set word = 'idle' where id = 0").bytes());
    idle.hear_until_ready();
    within.send(&Sent::query("begin; insert into t values (1, 'within')").bytes());
    within.hear_until_ready();
    within.send(&Sent::query(&format!("insert into t values (2, 'running'); {SLEEP}")).bytes());
    waiting.send(&Sent::query("update t set word = 'waited' where id = 0").bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    assert_eq!(ending(&mut idle), ("E".to_owned(), TOLD.to_owned()));
    assert_eq!(ending(&mut waiting), ("CZE".to_owned(), TOLD.to_owned()));
    assert_eq!(ending(&mut within), ("CTDCZE".to_owned(), TOLD.to_owned()));
    server.wait_within(LIMIT);
    assert_eq!(words_after_restart(folder.path()), "waited");
}

/// Nobody can finish the prepared transaction while the server stops.
#[test]
fn sessions_that_wait_for_a_prepared_transaction_are_interrupted_once_no_others_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_with_prepared_transaction(folder.path());
    let (mut row, mut table, mut snapshot, mut running) = (talk(&server), talk(&server), talk(&server), talk(&server));
    row.send(&Sent::query("update t set word = 'row'").bytes());
    // A time limit of before, and one that is lifted, hold up nobody.
    table.send(&Sent::query("set statement_timeout = '100s'").bytes());
    table.hear_until_ready();
    table.send(&Sent::query("select 1; set statement_timeout = 0").bytes());
    table.hear_until_ready();
    let deferrable = "begin isolation level serializable read only deferrable; select * from t";
    table.send(&Sent::query("alter table t add column c int").bytes());
    snapshot.send(&Sent::query(deferrable).bytes());
    running.send(&Sent::query("select pg_sleep(5)").bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    assert_eq!(ending(&mut running), ("TDCZE".to_owned(), TOLD.to_owned()));
    let others_ended = Instant::now();
    for talk in [&mut row, &mut table, &mut snapshot] {
        assert_eq!(ending(talk).1, TOLD);
        assert!(others_ended.elapsed() > Duration::from_secs(1), "{:?}", others_ended.elapsed());
    }
    server.wait_within(LIMIT);
    let server = Server::start(folder.path(), &["max_prepared_transactions=2"]);
    assert_eq!(server.psql("commit prepared 'p'"), "COMMIT PREPARED");
    assert_eq!(server.psql("select word from t"), "prepared");
    server.stop();
}

/// Its limit ends the wait, and what comes then may be all that the client wants.
#[test]
fn a_wait_for_a_prepared_transaction_that_has_a_time_limit_ends_by_itself() {
    for limit in ["lock_timeout", "statement_timeout"] {
        let folder = tempfile::tempdir().unwrap();
        let server = start_with_prepared_transaction(folder.path());
        let (mut limited, mut behind) = (talk(&server), talk(&server));
        limited.send(&Sent::query(&format!("set {limit} = '6s'; begin; lock table t in row exclusive mode")).bytes());
        limited.hear_until_ready();
        behind.send(&Sent::query("alter table t add column c int").bytes());
        let fallback = "do $$ begin update t set word = 'limited'; exception when lock_not_available then
            insert into t values (1, 'fallback'); end $$; commit";
        limited.send(&Sent::query(fallback).bytes());
        std::thread::sleep(BEGINS);
        server.signal("TERM");
        match limit {
            "lock_timeout" => assert_eq!(ending(&mut limited), ("CCZE".to_owned(), TOLD.to_owned())),
            _ => assert_eq!(ending(&mut limited), ("EZE".to_owned(), TOLD.to_owned())),
        }
        assert_eq!(ending(&mut behind).1, TOLD);
        server.wait_within(LIMIT);
        let words = if limit == "lock_timeout" { "first fallback" } else { "first" };
        assert_eq!(words_after_restart(folder.path()), words);
    }
}

/// The prepared transaction has nothing to do with it.
#[test]
fn a_deadlock_beside_a_prepared_transaction_is_left_to_its_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_with_prepared_transaction(folder.path());
    server.connect().batch_execute("create table u (id int); insert into u values (1), (2)").unwrap();
    let mut talks = [(1, 2), (2, 1)].map(|(first, second)| {
        let mut talk = talk(&server);
        let takes = format!("set deadlock_timeout = '15s'; begin; update u set id = id where id = {first}");
        talk.send(&Sent::query(&takes).bytes());
        talk.hear_until_ready();
        (talk, second)
    });
    for (talk, second) in &mut talks {
        talk.send(&Sent::query(&format!("update u set id = id where id = {second}; commit")).bytes());
    }
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    let mut kinds = talks.map(|(mut talk, _)| ending(&mut talk).0);
    kinds.sort();
    // One has the deadlock's error, and the other one goes on.
    assert_eq!(kinds, ["CCZE", "EZE"]);
    server.wait_within(LIMIT);
}

/// No deadlock detector sees this circle, with a prepared transaction beside it or without.
#[test]
fn sessions_in_a_circle_with_a_wait_for_a_safe_snapshot_are_interrupted() {
    for prepares in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path());
        if prepares {
            prepare_elsewhere(&server);
        }
        let (mut reading, mut writing) = (talk(&server), talk(&server));
        reading.send(&Sent::query("select pg_advisory_lock(1)").bytes());
        reading.hear_until_ready();
        let writes = "begin isolation level serializable; update t set word = 'circle'; select 1 from t";
        writing.send(&Sent::query(writes).bytes());
        writing.hear_until_ready();
        let deferrable = "begin isolation level serializable read only deferrable; select * from t";
        reading.send(&Sent::query(deferrable).bytes());
        std::thread::sleep(BEGINS);
        writing.send(&Sent::query("select pg_advisory_lock(1)").bytes());
        std::thread::sleep(BEGINS);
        server.signal("TERM");
        for talk in [&mut reading, &mut writing] {
            assert_eq!(ending(talk).1, TOLD);
        }
        server.wait_within(LIMIT);
        assert_eq!(words_after_restart(folder.path()), "first");
    }
}

/// One member of the circle waits for a prepared transaction as well. It leaves as the deadlock's victim, and the other one goes on.
#[test]
fn a_deadlock_with_one_that_waits_for_a_prepared_transaction_too_is_left_to_its_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    prepare_elsewhere(&server);
    server.connect().batch_execute("create table u (id int)").unwrap();
    let (mut victim, mut other) = (talk(&server), talk(&server));
    let first = "set deadlock_timeout = '14s'; begin; lock table u in access exclusive mode";
    victim.send(&Sent::query(first).bytes());
    victim.hear_until_ready();
    let second =
        "set deadlock_timeout = '100s'; begin; lock table z in row exclusive mode; insert into t values (2, 'on')";
    other.send(&Sent::query(second).bytes());
    other.hear_until_ready();
    victim.send(&Sent::query("lock table z in access exclusive mode").bytes());
    std::thread::sleep(BEGINS);
    other.send(&Sent::query("insert into u values (1); commit").bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    let heard = other.hear_to_the_end();
    assert_eq!(ending(&mut victim).0, "EZE");
    assert_eq!(heard.iter().map(|message| &message[..1]).collect::<String>(), "CCZE", "{heard:?}");
    server.wait_within(LIMIT);
    assert_eq!(words_after_restart(folder.path()), "first on");
}

/// The reader's answer is no shorter for the sessions that are stuck.
#[test]
fn a_slow_reader_beside_sessions_that_are_stuck_gets_all_of_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_with_prepared_transaction(folder.path());
    let (mut row, mut reading) = (talk(&server), talk(&server));
    row.send(&Sent::query("update t set id = 2").bytes());
    reading.send(&Sent::query("select repeat('x', 1000) from generate_series(1, 20000)").bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    let mut kinds = String::new();
    for _ in 0..5 {
        let heard = reading.hear_until(|heard| heard.len() > 3000);
        kinds.extend(heard.iter().map(|message| message.chars().next().unwrap()));
        std::thread::sleep(Duration::from_millis(1500));
    }
    kinds.push_str(&ending(&mut reading).0);
    assert_eq!(kinds.matches('D').count(), 20_000);
    assert_eq!(ending(&mut row).1, TOLD);
    server.wait_within(LIMIT);
}

#[test]
fn a_pipeline_ends_with_the_statement_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let (mut one, mut each) = (talk(&server), talk(&server));
    let [first, second] = [1, 2].map(|id| format!("insert into t select {id}, 'w{id}' from (select pg_sleep(1.5)) s"));
    one.send(&[statement(&first), statement(&second), SYNC.to_vec()].concat());
    each.send(&[statement(&first), SYNC.to_vec(), statement(&second), SYNC.to_vec()].concat());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    // Both statements are of one transaction, which can't commit without the second.
    assert_eq!(ending(&mut one), ("12CE".to_owned(), TOLD.to_owned()));
    assert_eq!(ending(&mut each), ("12CZE".to_owned(), TOLD.to_owned()));
    server.wait_within(LIMIT);
    assert_eq!(words_after_restart(folder.path()), "first w1");
}

#[test]
fn sigint_and_a_second_sigterm_interrupt_running_statements() {
    for signals in [&["INT"][..], &["TERM", "TERM"], &["TERM", "INT"]] {
        let folder = tempfile::tempdir().unwrap();
        let server = start(folder.path());
        let (mut running, mut sleeping) = (talk(&server), talk(&server));
        running.send(&Sent::query(&format!("insert into t values (1, 'ran'); {ENDLESS}")).bytes());
        let slow = "insert into t select 2, 'slept' from (select pg_sleep(600)) s";
        sleeping.send(&[&statement(slow)[..], SYNC].concat());
        std::thread::sleep(BEGINS);
        for signal in signals {
            server.signal(signal);
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(ending(&mut running).1, TOLD, "{signals:?}");
        assert_eq!(ending(&mut sleeping).1, TOLD, "{signals:?}");
        server.wait_within(LIMIT);
        assert_eq!(words_after_restart(folder.path()), "first", "{signals:?}");
    }
}

#[test]
fn sigquit_ends_a_server_that_waits_for_its_statements() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut running = talk(&server);
    running.send(&Sent::query(ENDLESS).bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    std::thread::sleep(Duration::from_millis(100));
    server.signal("QUIT");
    assert_eq!(server.wait_for_end(LIMIT).code(), Some(2));
    assert_eq!(words_after_restart(folder.path()), "first");
}

#[test]
fn a_statement_that_waits_for_its_client_does_not_hold_up_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let (mut copying, mut deaf, mut pipelined) = (talk(&server), talk(&server), talk(&server));
    copying.send(&Sent::query("copy t from stdin").bytes());
    copying.send(&Sent::new(b'd', *b"1\tcopied\n").bytes());
    copying.hear_until(|heard| heard.last().is_some_and(|last| last.starts_with('G')));
    deaf.send(&Sent::query("begin; insert into t values (2, 'deaf')").bytes());
    deaf.hear_until_ready();
    let unread = "select repeat('x', 1000) from generate_series(1, 100000)";
    deaf.send(&Sent::query(unread).bytes());
    pipelined.send(&[&statement(unread)[..], &statement(unread), SYNC].concat());
    std::thread::sleep(BEGINS);
    let signalled = Instant::now();
    server.signal("TERM");
    assert_eq!(ending(&mut copying), ("E".to_owned(), TOLD.to_owned()));
    assert!(signalled.elapsed() < Duration::from_secs(3), "{:?}", signalled.elapsed());
    server.wait_within(LIMIT);
    assert_eq!(words_after_restart(folder.path()), "first");
}

/// When the session begins to wait for its client, the commit of a statement before holds back all that it has to say.
#[test]
fn a_client_that_reads_nothing_behind_a_commit_does_not_hold_up_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut deaf = talk(&server);
    let unread = "select repeat('x', 1000) from generate_series(1, 100000)";
    deaf.send(&Sent::query(&format!("{SLEEP}; begin; update t set id = id; commit; {unread}")).bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    server.wait_within(LIMIT);
    assert_eq!(words_after_restart(folder.path()), "first");
}

/// A client that pauses now and then reads its answer to the end.
#[test]
fn a_client_that_reads_its_answer_gets_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut reading = talk(&server);
    reading.send(&Sent::query("select repeat('x', 1000) from generate_series(1, 20000)").bytes());
    std::thread::sleep(BEGINS);
    server.signal("TERM");
    let mut kinds = String::new();
    for round in 0.. {
        let before = kinds.len();
        let heard = reading.hear_until(|heard| heard.len() > 5000);
        kinds.extend(heard.iter().map(|message| message.chars().next().unwrap()));
        if kinds.len() == before || reading.is_closed {
            break;
        }
        if round < 3 {
            std::thread::sleep(Duration::from_millis(1500));
        }
    }
    assert_eq!(kinds.matches('D').count(), 20_000);
    assert!(kinds.ends_with("DCZE"), "{}", &kinds[kinds.len() - 10..]);
    server.wait_within(LIMIT);
}
