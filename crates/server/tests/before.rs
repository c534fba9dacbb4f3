//! The switches that restore how PostgreSQL committed before 9.2 and 9.3, over the wire: by what is counted, not by time.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{TestServer, commit_figure};
use vfs::{RealVfs, SlowedVfs};
use wal::{DelayScope, WalStatistics};

const CLIENTS: u64 = 12;
const COMMITS: u64 = 15;

fn slowed_disk() -> Arc<SlowedVfs> {
    Arc::new(SlowedVfs::new(Arc::new(RealVfs::new()), Duration::from_millis(2)))
}

/// The log's statistics before and after `CLIENTS` connections make `COMMITS` commits each.
fn under_load(server: &TestServer, settings: &str) -> (WalStatistics, WalStatistics) {
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.batch_execute(settings).unwrap();
    }
    let before = server.database.wal().statistics();
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                for _ in 0..COMMITS {
                    client.execute("insert into t values (1, 'test')", &[]).unwrap();
                }
            });
        }
    });
    let after = server.database.wal().statistics();
    let commits_per_sync = (CLIENTS * COMMITS) as f64 / (after.syncs - before.syncs) as f64;
    println!("{commits_per_sync:.1} commits per sync, {:.2} members per flush", members_per_flush(&before, &after));
    (before, after)
}

fn members_per_flush(before: &WalStatistics, after: &WalStatistics) -> f64 {
    after.cohort_members.since(&before.cohort_members).mean()
}

#[test]
fn with_group_commit_off_every_session_takes_the_log_in_turn_and_flushes_for_itself() {
    let server = TestServer::start(slowed_disk(), &[("group_commit", "off"), ("commit_delay", "0")], 2);
    server.connect().batch_execute("create table t (id int, info text)").unwrap();

    let (before, after) = under_load(&server, "select 1");
    assert!(after.turns_taken - before.turns_taken >= CLIENTS * COMMITS * 9 / 10, "{after:?}");
    assert!(members_per_flush(&before, &after) <= 1.05, "{after:?}");

    server.database.wal().tuning().set_group_commit(true);
    let (before, after) = under_load(&server, "select 1");
    assert_eq!(after.turns_taken, before.turns_taken);
    assert!(members_per_flush(&before, &after) > 1.5, "{after:?}");
    assert!(after.syncs - before.syncs < CLIENTS * COMMITS / 2, "{after:?}");
}

#[test]
fn with_scope_each_every_committer_sleeps_and_with_scope_leader_only_leaders_do() {
    // Flushes that no session asks for wait for nobody.
    let settings = [("commit_delay_scope", "each"), ("commit_delay", "0")];
    let server = TestServer::start(slowed_disk(), &settings, 2);
    let mut client = server.connect();
    client.batch_execute("create table t (id int, info text)").unwrap();
    // A writer that never joins: there is always a sibling, so the figures are exact.
    client.batch_execute("begin; insert into t values (0, 'sibling')").unwrap();

    for (delay_us, round) in [(200, 1), (2000, 2)] {
        let settings = format!("set commit_delay = {delay_us}; set commit_siblings = 1");
        under_load(&server, &settings);
        assert_eq!(commit_figure(&mut client, "committers_delayed") as u64, CLIENTS * COMMITS * round);
        assert_eq!(commit_figure(&mut client, "delays_taken") as u64, 0);
    }

    server.database.wal().tuning().set_delay_scope(DelayScope::Leader);
    let (before, after) = under_load(&server, "set commit_delay = 200; set commit_siblings = 1");
    assert_eq!(after.committers_delayed, before.committers_delayed);
    let delays = after.delays_taken - before.delays_taken;
    assert!(delays > 0 && delays <= after.syncs - before.syncs, "{after:?}");
    assert!(delays < CLIENTS * COMMITS / 2, "{after:?}");
}

#[test]
fn a_sleeping_committer_does_not_keep_its_worker() {
    let server = TestServer::start(slowed_disk(), &[("commit_delay_scope", "each")], 1);
    let mut watcher = server.connect();
    watcher.batch_execute("create table t (id int, info text)").unwrap();
    watcher.batch_execute("begin; insert into t values (0, 'sibling')").unwrap();
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        client.batch_execute("set commit_delay = 100000; set commit_siblings = 1").unwrap();
    }
    // Both sleep at a time, and the watcher is answered meanwhile. On a busy machine it may come too late once or twice.
    let seen = (0..20).any(|_| {
        let before = server.database.wal().statistics().committers_delayed;
        let finished = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for client in &mut clients {
                let finished = &finished;
                scope.spawn(move || {
                    client.execute("insert into t values (1, 'test')", &[]).unwrap();
                    finished.fetch_add(1, Ordering::SeqCst);
                });
            }
            while (commit_figure(&mut watcher, "committers_delayed") as u64) < before + 2 {}
            finished.load(Ordering::SeqCst) == 0
        })
    });
    assert!(seen, "sessions slept one after the other");
}
