//! `pg_reload_conf` may take long, and its worker goes on meanwhile.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use sql::ConnectRequest;
use support::TestServer;
use vfs::RealVfs;

// invariants: row 41
#[test]
fn a_reload_that_takes_long_does_not_hold_its_worker() {
    let server = TestServer::start(Arc::new(RealVfs::new()), &[], 1);
    let (answered, other_is_answered) = mpsc::channel();
    let (other_is_answered, has_begun) = (Mutex::new(other_is_answered), Arc::new(AtomicBool::new(false)));
    let begins = Arc::clone(&has_begun);
    // It succeeds if another session is answered before it ends.
    server.instance.set_reload(Arc::new(move || {
        begins.store(true, Ordering::SeqCst);
        other_is_answered.lock().unwrap().recv_timeout(Duration::from_secs(10)).is_ok()
    }));
    let (mut reloading, mut other) = (server.connect(), server.connect());
    std::thread::scope(|scope| {
        let reload = scope.spawn(|| reloading.query_one("select pg_reload_conf()", &[]).unwrap().get::<_, bool>(0));
        while !has_begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        other.batch_execute("select 1").unwrap();
        // Nobody receives this any more if the reload has given up.
        let _ = answered.send(());
        assert!(reload.join().unwrap(), "the other session was answered only after the reload");
    });
}

/// A session may look at its settings while it still uses the copies of an earlier look.
#[test]
fn a_reload_between_two_looks_at_the_settings_is_taken_up_after_both() {
    let server = TestServer::start(Arc::new(RealVfs::new()), &[], 1);
    let names = || "postgres".to_owned();
    let request = ConnectRequest { user: names(), database: names(), ..ConnectRequest::default() };
    let session = server.instance.connect(request).unwrap();
    let state = session.state();
    let before = state.plan_path();
    let first = state.execution_settings();
    let entries = [("search_path".to_owned(), "pg_catalog".to_owned())];
    server.instance.database().settings().reload(&entries).unwrap();
    assert_eq!(state.plan_path(), before);
    drop(first);
    assert_ne!(state.plan_path(), before);
}
