//! NOTIFY reaches sessions that idle, on this worker and on others.

mod support;

use std::sync::Arc;
use std::time::Duration;

use fallible_iterator::FallibleIterator;
use support::TestServer;
use vfs::{RealVfs, SlowedVfs};

/// The notifications that the client receives within a generous time, at most `count`.
fn heard(client: &mut postgres::Client, count: usize) -> Vec<(String, String)> {
    let mut notifications = client.notifications();
    let mut heard = Vec::new();
    while heard.len() < count {
        match notifications.timeout_iter(Duration::from_secs(20)).next().unwrap() {
            Some(told) => heard.push((told.channel().to_owned(), told.payload().to_owned())),
            None => break,
        }
    }
    heard
}

#[test]
fn idle_sessions_hear_at_once_and_those_in_a_transaction_at_its_end() {
    let server = TestServer::start(Arc::new(RealVfs::new()), &[], 2);
    let mut listeners: Vec<_> = (0..4).map(|_| server.connect()).collect();
    let mut speaker = server.connect();
    for listener in &mut listeners {
        listener.batch_execute("listen news").unwrap();
    }
    speaker.batch_execute("notify news, 'one'; notify other, 'nobody'").unwrap();
    let one = ("news".to_owned(), "one".to_owned());
    for listener in &mut listeners {
        assert_eq!(heard(listener, 1), std::slice::from_ref(&one));
    }

    listeners[0].batch_execute("begin; select 1").unwrap();
    speaker.batch_execute("begin; notify news, 'two'; notify news, 'three'; notify news, 'two'; commit").unwrap();
    let [two, three] = ["two", "three"].map(|payload| ("news".to_owned(), payload.to_owned()));
    assert_eq!(heard(&mut listeners[1], 2), [two.clone(), three.clone()], "in order, each once");
    let mut inside = listeners[0].notifications();
    assert!(inside.timeout_iter(Duration::from_millis(200)).next().unwrap().is_none(), "not in a transaction");
    drop(inside);
    listeners[0].batch_execute("commit").unwrap();
    assert_eq!(heard(&mut listeners[0], 2), [two, three]);

    speaker.batch_execute("begin; notify news, 'rolled back'; rollback; notify news, 'four'").unwrap();
    assert_eq!(heard(&mut listeners[3], 3).last(), Some(&("news".to_owned(), "four".to_owned())));
    listeners[2].batch_execute("unlisten *").unwrap();
    speaker.batch_execute("notify news, 'five'").unwrap();
    assert_eq!(heard(&mut listeners[3], 1), [("news".to_owned(), "five".to_owned())]);
}

#[test]
fn a_commit_that_fails_notifies_nobody_and_listens_to_nothing() {
    let server = TestServer::start(Arc::new(RealVfs::new()), &[], 2);
    let [mut listener, mut speaker, mut rival] = std::array::from_fn(|_| server.connect());
    listener.batch_execute("listen news; create table t (v int); insert into t values (1), (2)").unwrap();
    let begin = "begin isolation level serializable; select count(*) from t";
    speaker.batch_execute(&format!("{begin}; notify news, 'lost'; listen more")).unwrap();
    rival.batch_execute(begin).unwrap();
    speaker.batch_execute("insert into t values (3)").unwrap();
    rival.batch_execute("insert into t values (4); commit").unwrap();
    let error = speaker.batch_execute("commit").unwrap_err();
    assert_eq!(error.code(), Some(&postgres::error::SqlState::T_R_SERIALIZATION_FAILURE));

    speaker.batch_execute("notify news, 'kept'").unwrap();
    assert_eq!(heard(&mut listener, 1), [("news".to_owned(), "kept".to_owned())]);
    assert!(speaker.query("select pg_listening_channels()", &[]).unwrap().is_empty());
}

// invariants: row 11
#[test]
fn commits_that_do_not_wait_for_the_disk_are_heard_in_order_and_when_they_are_durable() {
    let disk = Arc::new(SlowedVfs::new(Arc::new(RealVfs::new()), Duration::ZERO));
    // Each committer waits for the disk in its own session, with its locks handed on already.
    let server = TestServer::start(disk.clone(), &[("group_commit", "off"), ("commit_delay", "0")], 2);
    let [mut listener, mut patient, mut hasty] = std::array::from_fn(|_| server.connect());
    listener.batch_execute("listen news; create table t (v int); insert into t values (0)").unwrap();
    hasty.batch_execute("set synchronous_commit = off").unwrap();
    disk.set_sync_latency(Duration::from_millis(200));
    for _ in 0..3 {
        patient.batch_execute("begin; update t set v = v + 1; notify news, 'first'").unwrap();
        std::thread::scope(|scope| {
            // The row's lock makes it commit after the patient one.
            scope
                .spawn(|| hasty.batch_execute("begin; update t set v = v + 1; notify news, 'second'; commit").unwrap());
            scope.spawn(|| patient.batch_execute("commit").unwrap());
        });
        let place = server.database.horizon();
        let heard: Vec<String> = heard(&mut listener, 2).into_iter().map(|(_, payload)| payload).collect();
        assert_eq!(heard, ["first", "second"]);
        assert!(server.database.wal().durable() >= place, "a crash could take back what was heard");
    }
}
