//! Sequences that are dropped, made again and restarted while others take values from them.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::Server;
use common::wire::Session;

/// How long the sessions work beside each other.
const LENGTH: Duration = Duration::from_secs(3);

/// Errors that tell of damage, internal errors and failing files.
fn is_bad(answer: &str) -> bool {
    ["ERROR XX", "ERROR 58", "ERROR 53", "FATAL", "PANIC", "closed"].iter().any(|word| answer.contains(word))
}

/// Says the texts in turn, each time all of them, until the time is over; how many were answered without an error.
fn repeat(server: &Server, texts: &[&str], is_over: &AtomicBool) -> u64 {
    let mut session = Session::connect(&server.socket(), "postgres");
    let mut successes = 0;
    // No list is left in the middle: a prepared transaction would stay, and others would wait for it.
    while !is_over.load(Ordering::Relaxed) {
        for text in texts {
            let answer = session.simple(text);
            assert!(!is_bad(&answer), "{text}: {answer}");
            successes += u64::from(!answer.contains("ERROR"));
        }
    }
    successes
}

/// A value that is asked for while the sequence's file is removed must not bring a page of that file back: its write-back
/// would find no file, and end the server.
// invariants: row 33
#[test]
fn values_are_taken_while_sequences_are_dropped_made_and_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Server::start(folder.path(), &["shared_buffers=1MB", "worker_threads=4", "max_prepared_transactions=4"]);
    let mut control = Session::connect(&server.socket(), "postgres");
    for text in ["create sequence s", "create table n (id serial, v int)"] {
        assert!(control.simple(text).contains("tag CREATE"));
    }
    let (is_over, taken, changed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let takers: &[&[&str]] = &[
        &["select nextval('s')"],
        &["begin; select nextval('s'); commit"],
        &["select nextval('s'), nextval('n_id_seq')"],
        &["select setval('s', 7)", "select last_value from s", "select * from pg_sequences"],
        &["select nextval('n_id_seq')", "insert into n (v) select g from generate_series(1, 20) g"],
    ];
    let changers: &[&[&str]] = &[
        &["drop sequence if exists s", "create sequence if not exists s"],
        &[
            "alter sequence s restart with 5",
            "begin; drop sequence s; rollback",
            "begin; alter sequence s restart; rollback",
        ],
        &["truncate n restart identity", "begin; truncate n restart identity; rollback"],
        &["begin; alter sequence s restart with 9; prepare transaction 'p'", "commit prepared 'p'", "rollback"],
    ];
    std::thread::scope(|scope| {
        for texts in takers {
            scope.spawn(|| taken.fetch_add(repeat(&server, texts, &is_over), Ordering::Relaxed));
        }
        for texts in changers {
            scope.spawn(|| changed.fetch_add(repeat(&server, texts, &is_over), Ordering::Relaxed));
        }
        scope.spawn(|| repeat(&server, &["checkpoint"], &is_over));
        let started = Instant::now();
        while started.elapsed() < LENGTH && !has_ended(&mut control) {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let (taken, changed) = (taken.into_inner(), changed.into_inner());
    println!("{taken} values taken, {changed} changes");
    assert!(taken > 0 && changed > 0);
    assert!(control.simple("checkpoint").contains("tag CHECKPOINT"));
    server.stop();
}

/// Whether the server has ended.
fn has_ended(control: &mut Session) -> bool {
    is_bad(&control.simple("select 1"))
}
