//! Visibility of transactions to other sessions, and the state they leave behind.
#![cfg(not(shuttle))]

mod support;

use std::path::Path;
use std::time::Duration;

use base::{FileNumber, Lsn, Xid, sqlstate};
use clog::{ClogBits, ClogUpdate, TransactionStatus};
use cohort_xact::{BeginOptions, TransactionState};
use lockmgr::{LockMode, LockOptions, LockTag, RowLockMode};
use support::{Database, REPEATABLE_READ, begin_writing, commit_one};
use sync::{Arc, Interrupt, thread};
use vfs::{SimulatedVfs, Vfs};

#[test]
fn who_only_reads_leaves_no_trace() {
    let database = Database::new();
    let (next_xid, end) = (database.manager.next_xid(), database.wal().reserved());
    let mut session = database.session();
    session.begin(BeginOptions::default());
    session.take_snapshot();
    assert_eq!(session.ctx().xid, Xid::INVALID);
    let outcome = session.commit();
    assert_eq!(outcome.csn, None);
    assert_eq!((database.manager.next_xid(), database.wal().reserved()), (next_xid, end));
    session.begin(BeginOptions::default());
    session.abort();
    assert_eq!(database.wal().reserved(), end);
}

#[test]
fn a_commit_is_seen_at_once_by_new_snapshots_and_never_by_older_ones() {
    let database = Database::new();
    let (mut writer, mut reader) = (database.session(), database.session());
    reader.begin(REPEATABLE_READ);
    let before = reader.take_snapshot();
    let (xid, outcome) = commit_one(&mut writer, b"row");
    let csn = outcome.csn.unwrap();
    assert!(csn > before);
    assert_eq!(database.status(xid), TransactionStatus::Committed(csn));
    assert!(!reader.ctx().sees_commit_of(xid));
    assert_eq!(reader.take_snapshot(), before, "one snapshot for the whole transaction");
    assert!(reader.observed() < csn, "what it didn't see need not be durable");
    let mut late = database.session();
    late.begin(BeginOptions::default());
    assert_eq!(late.take_snapshot(), csn);
    assert!(late.ctx().sees_commit_of(xid));
    // invariants: row 11: what it has seen must be durable before it says anything, though it wrote nothing itself.
    assert_eq!(late.commit().gate, csn);
    assert!(database.wal().durable() < csn, "nobody has waited for the disk");
}

#[test]
fn locks_and_waiters_are_handed_on_before_the_disk() {
    let database = Database::new();
    let mut writer = database.session();
    let xid = begin_writing(&mut writer, b"row");
    let locks = database.manager.locks().clone();
    let interrupt = Interrupt::new();
    locks
        .lock(writer.owner(), LockTag::Relation(base::Oid(1)), LockMode::RowExclusive, &LockOptions::new(&interrupt))
        .unwrap();
    locks.try_lock_row(writer.owner(), xid, base::Oid(1), base::Tid::new(0, 1), RowLockMode::Update);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let other = database.session();
            locks.wait_for_xid(other.owner(), xid, &LockOptions::new(other.interrupt())).unwrap();
            assert!(matches!(database.status(xid), TransactionStatus::Committed(_)), "awake means: it has an outcome");
        });
        while locks.waiting_count() == 0 {
            thread::yield_now();
        }
        let _ = writer.commit();
        waiting.join().unwrap();
    });
    assert!(locks.snapshot().is_empty());
    assert_eq!(database.wal().durable(), database.wal().written());
    assert!(database.manager.running().is_empty());
}

#[test]
fn early_lock_release_off_makes_a_commit_visible_when_it_is_durable() {
    let database = Database::new();
    database.manager.tuning().set_early_lock_release(false);
    let mut session = database.session();
    let (xid, outcome) = commit_one(&mut session, b"row");
    let csn = outcome.csn.unwrap();
    assert!(database.wal().durable() >= csn);
    assert_eq!(database.status(xid), TransactionStatus::Committed(csn));
    assert_eq!(database.manager.horizon(), csn);
    // An asynchronous commit waits for nobody.
    session.set_commit_options(false, wal::DelayPolicy::NONE);
    let (_, outcome) = commit_one(&mut session, b"row");
    assert!(database.wal().durable() < outcome.csn.unwrap());
    assert_eq!(database.manager.horizon(), outcome.csn.unwrap());
}

#[test]
fn switching_early_lock_release_under_load_keeps_commit_order() {
    let database = Database::new();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut session = database.session();
                let mut last = Lsn::ZERO;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let (xid, outcome) = commit_one(&mut session, b"row");
                    assert!(outcome.csn.unwrap() > last);
                    last = outcome.csn.unwrap();
                    // Others may have committed so much meanwhile that its position is no longer kept: then it is as old as can be.
                    let status = database.status(xid);
                    let is_told = [last, Lsn::ZERO].map(TransactionStatus::Committed).contains(&status);
                    assert!(is_told, "{status:?}, not at {last}");
                    assert!(database.manager.horizon() >= last, "own commits are seen");
                    database.reply(&outcome);
                }
            });
        }
        for round in 0..200 {
            database.manager.tuning().set_early_lock_release(round % 2 == 0);
            thread::sleep(Duration::from_millis(1));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    database.settle();
    assert_eq!(database.manager.unretired(), 0);
}

#[test]
fn rolled_back_transactions_and_savepoints_are_aborted_before_their_locks_go() {
    let database = Database::new();
    let mut session = database.session();
    let top = begin_writing(&mut session, b"a");
    let outer = session.savepoint();
    let inner = session.savepoint();
    let sub = session.assign_xid().unwrap();
    assert!(sub > top);
    assert!(session.ctx().is_own(sub));
    assert_eq!(database.manager.status().top_of(sub), top);
    session.release(inner).unwrap();
    let middle = session.ctx().xid;
    assert!(middle > top && middle < sub, "the outer savepoint got its xid first");
    let mut other = database.session();
    thread::scope(|scope| {
        let locks = database.manager.locks();
        let waiting = scope.spawn(|| {
            other.begin(BeginOptions::default());
            locks.wait_for_xid(other.owner(), sub, &LockOptions::new(other.interrupt())).unwrap();
            assert_eq!(database.status(sub), TransactionStatus::Aborted);
            assert_eq!(database.status(top), TransactionStatus::InProgress);
        });
        while locks.waiting_count() == 0 {
            thread::yield_now();
        }
        session.rollback_to(outer).unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(database.manager.status().clog().get(sub).unwrap(), ClogBits::Aborted);
    assert_eq!(database.status(middle), TransactionStatus::Aborted);
    assert!(!session.ctx().is_own(sub), "what it wrote is not its own any more");
    assert_eq!(session.depth(), 1, "the savepoint is still there");
    assert_eq!(session.release(inner).unwrap_err().sqlstate(), sqlstate::INVALID_SAVEPOINT_SPECIFICATION);
    let again = session.assign_xid().unwrap();
    assert!(again > sub);
    let outcome = session.commit();
    assert_eq!(database.status(again), database.status(top));
    assert_eq!(database.status(sub), TransactionStatus::Aborted);
    database.reply(&outcome);
    database.settle();
    for (xid, bits) in [(top, ClogBits::Committed), (again, ClogBits::Committed), (middle, ClogBits::Aborted)] {
        assert_eq!(database.manager.status().clog().get(xid).unwrap(), bits);
    }
}

#[test]
fn errors_are_postgresqls() {
    let database = Database::with_options(support::small_log(), 2);
    let mut session = database.session();
    session.begin(BeginOptions { read_only: true, ..BeginOptions::default() });
    assert_eq!(session.assign_xid().unwrap_err().sqlstate(), sqlstate::READ_ONLY_SQL_TRANSACTION);
    session.take_snapshot();
    assert_eq!(session.set_options(REPEATABLE_READ).unwrap_err().sqlstate(), sqlstate::ACTIVE_SQL_TRANSACTION);
    session.abort();
    let second = database.session();
    let error = database.manager.register_session(Arc::new(Interrupt::new())).err().unwrap();
    assert_eq!(
        (error.sqlstate(), error.message()),
        (sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
    );
    drop(second);
    drop(database.session());
}

#[test]
fn a_failed_transaction_commits_nothing() {
    let database = Database::new();
    let mut session = database.session();
    let xid = begin_writing(&mut session, b"a");
    let savepoint = session.savepoint();
    session.fail();
    assert_eq!(session.state(), TransactionState::Failed);
    session.rollback_to(savepoint).unwrap();
    assert_eq!(session.state(), TransactionState::Active);
    session.fail();
    assert_eq!(session.commit().csn, None);
    assert_eq!(database.status(xid), TransactionStatus::Aborted);
    assert_eq!(session.state(), TransactionState::Idle);
}

#[test]
fn files_go_when_durable_or_when_rolled_back() {
    let database = Database::new();
    let mut session = database.session();
    begin_writing(&mut session, b"drop table");
    session.drop_file_at_commit(FileNumber(1));
    session.drop_file_at_abort(FileNumber(2));
    let savepoint = session.savepoint();
    session.assign_xid().unwrap();
    session.drop_file_at_commit(FileNumber(3));
    session.drop_file_at_abort(FileNumber(4));
    session.raise_catalog_version();
    session.rollback_to(savepoint).unwrap();
    assert_eq!(*database.removed.0.lock(), [FileNumber(4)], "made after the savepoint");
    let version = database.manager.catalog_version();
    let outcome = session.commit();
    assert_eq!(database.manager.catalog_version(), version, "what raised it was rolled back");
    assert!(outcome.must_wait, "even with synchronous_commit off");
    assert_eq!(*database.removed.0.lock(), [FileNumber(4)], "not before it is durable");
    database.settle();
    assert_eq!(*database.removed.0.lock(), [FileNumber(4), FileNumber(1)]);
    begin_writing(&mut session, b"create table");
    session.drop_file_at_abort(FileNumber(5));
    session.raise_catalog_version();
    session.abort();
    assert_eq!(database.removed.0.lock().last(), Some(&FileNumber(5)));
    begin_writing(&mut session, b"create table");
    session.raise_catalog_version();
    let _ = session.commit();
    assert_eq!(database.manager.catalog_version(), version + 1);
}

// invariants: row 14, as far as committing goes
#[test]
fn status_bits_are_set_for_all_in_every_mode() {
    for mode in [ClogUpdate::Cohort, ClogUpdate::Group, ClogUpdate::Each] {
        let database = Database::new();
        database.manager.tuning().set_clog_update(mode);
        let outcomes: Vec<(Xid, bool)> = thread::scope(|scope| {
            let sessions: Vec<_> = (0..4)
                .map(|number| {
                    let database = &database;
                    scope.spawn(move || {
                        let mut session = database.session();
                        let mut outcomes = Vec::new();
                        for round in 0..300 {
                            let top = begin_writing(&mut session, b"row");
                            let savepoint = session.savepoint();
                            let sub = session.assign_xid().unwrap();
                            let undone = round % 3 == number % 3;
                            if undone {
                                session.rollback_to(savepoint).unwrap();
                            }
                            let committed = round % 7 != 0;
                            if committed {
                                let outcome = session.commit();
                                if round % 5 != 0 {
                                    // The others reply late, or vanish without a reply.
                                    database.reply(&outcome);
                                }
                            } else {
                                session.abort();
                            }
                            outcomes.extend([(top, committed), (sub, committed && !undone)]);
                        }
                        outcomes
                    })
                })
                .collect();
            sessions.into_iter().flat_map(|session| session.join().unwrap()).collect()
        });
        database.settle();
        assert_eq!(database.manager.unretired(), 0, "{mode:?}");
        for (xid, committed) in outcomes {
            let expected = if committed { ClogBits::Committed } else { ClogBits::Aborted };
            assert_eq!(database.manager.status().clog().get(xid).unwrap(), expected, "{xid:?} {mode:?}");
            assert_eq!(matches!(database.status(xid), TransactionStatus::Committed(_)), committed);
        }
    }
}

// invariants: row 23, smaller
#[test]
fn many_savepoints_nested_released_and_rolled_back() {
    let count: u32 =
        std::env::var("COHORT_TEST_SAVEPOINTS").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000);
    let database = Database::new();
    let mut session = database.session();
    // Nested, all written, some undone.
    let top = begin_writing(&mut session, b"a");
    let ids: Vec<_> = (0..count)
        .map(|_| {
            let id = session.savepoint();
            (id, session.assign_xid().unwrap())
        })
        .collect();
    session.rollback_to(ids[count as usize / 2].0).unwrap();
    let outcome = session.commit();
    database.reply(&outcome);
    for (index, (_, xid)) in ids.iter().enumerate() {
        let expected = if index < count as usize / 2 { database.status(top) } else { TransactionStatus::Aborted };
        assert_eq!(database.status(*xid), expected);
    }
    // One after the other, as exception blocks in a loop make them.
    begin_writing(&mut session, b"b");
    for round in 0..count {
        let id = session.savepoint();
        session.assign_xid().unwrap();
        if round % 4 == 0 {
            session.rollback_to(id).unwrap();
        }
        session.release(id).unwrap();
    }
    let outcome = session.commit();
    database.reply(&outcome);
    database.settle();
    assert_eq!(database.manager.unretired(), 0);
}

// invariants: row 27
#[test]
fn clients_that_vanish_leave_nothing() {
    let database = Database::with_options(support::small_log(), 1001);
    let mut sessions: Vec<_> = (0..1000).map(|_| database.session()).collect();
    let interrupt = Interrupt::new();
    for (number, session) in sessions.iter_mut().enumerate() {
        let xid = begin_writing(session, b"x");
        session.take_snapshot();
        let _held = session.hold_snapshot();
        session.savepoint();
        session.assign_xid().unwrap();
        let locks = database.manager.locks();
        let options = LockOptions::new(&interrupt);
        locks.lock(session.owner(), LockTag::Relation(base::Oid(5)), LockMode::RowExclusive, &options).unwrap();
        let advisory = LockTag::Advisory(lockmgr::AdvisoryKey::One(number as i64));
        locks.lock(session.owner(), advisory, LockMode::Exclusive, &options.for_session()).unwrap();
        locks.try_lock_row(session.owner(), xid, base::Oid(5), base::Tid::new(number as u32, 1), RowLockMode::Update);
    }
    drop(sessions);
    assert!(database.manager.running().is_empty());
    assert!(database.manager.locks().snapshot().is_empty());
    assert_eq!(database.manager.oldest_running_xid(), database.manager.next_xid());
    assert_eq!(database.manager.oldest_snapshot(), database.manager.horizon());
    let again: Vec<_> = (0..1001).map(|_| database.session()).collect();
    assert_eq!(again.len(), 1001);
}

#[test]
fn the_removal_floor_stays_below_every_snapshot_in_use() {
    let database = Database::new();
    let mut writer = database.session();
    let (mut old, mut held, mut importer) = (database.session(), database.session(), database.session());
    old.begin(REPEATABLE_READ);
    let first = old.take_snapshot();
    let _ = commit_one(&mut writer, b"1");
    held.begin(BeginOptions::default());
    held.take_snapshot();
    let hold = held.hold_snapshot();
    held.release_statement_snapshot();
    let _ = commit_one(&mut writer, b"2");
    held.take_snapshot();
    assert_eq!(database.manager.refresh_removal_floor(), first);
    importer.begin(REPEATABLE_READ);
    importer.import_snapshot(hold.csn, false).unwrap();
    let _ = old.commit();
    assert_eq!(database.manager.refresh_removal_floor(), hold.csn);
    let csn = hold.csn;
    held.release_hold(hold);
    let _ = held.commit();
    assert_eq!(database.manager.refresh_removal_floor(), csn, "the importer uses it still");
    let _ = importer.commit();
    assert_eq!(database.manager.refresh_removal_floor(), database.manager.horizon());
    importer.begin(REPEATABLE_READ);
    let error = importer.import_snapshot(csn, false).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE);
}

#[test]
fn snapshots_that_are_kept_are_given_up_in_any_order() {
    let database = Database::new();
    let mut writer = database.session();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let mut reader = database.session();
        reader.begin(BeginOptions::default());
        let mut kept = [None, None, None];
        for hold in &mut kept {
            reader.take_snapshot();
            *hold = Some(reader.hold_snapshot());
            let _ = commit_one(&mut writer, b"1");
        }
        reader.release_statement_snapshot();
        for place in order {
            let oldest = kept.iter().flatten().map(|hold| hold.csn).min();
            assert_eq!(reader.oldest_snapshot(), oldest, "{order:?}");
            reader.release_hold(kept[place].take().unwrap());
        }
        assert_eq!(reader.oldest_snapshot(), None);
        let _ = reader.commit();
    }
}

// invariants: row 9, as far as counting goes
#[test]
fn siblings_are_those_with_an_xid_who_do_not_wait() {
    use wal::SiblingsProbe;
    let database = Database::new();
    let (mut a, mut b, mut reader) = (database.session(), database.session(), database.session());
    reader.begin(BeginOptions::default());
    reader.take_snapshot();
    assert_eq!(database.manager.unjoined_writers(), 0);
    let xid = begin_writing(&mut a, b"a");
    begin_writing(&mut b, b"b");
    assert_eq!((database.manager.writers(), database.manager.unjoined_writers()), (2, 2));
    a.while_joined(|| assert_eq!(database.manager.unjoined_writers(), 1));
    thread::scope(|scope| {
        let locks = database.manager.locks();
        let (owner, interrupt) = (b.owner(), b.interrupt());
        let waiting = scope.spawn(move || locks.wait_for_xid(owner, xid, &LockOptions::new(interrupt)).unwrap());
        while locks.waiting_count() == 0 {
            thread::yield_now();
        }
        assert_eq!(database.manager.unjoined_writers(), 1);
        let _ = a.commit();
        waiting.join().unwrap();
    });
    assert_eq!((database.manager.writers(), database.manager.unjoined_writers()), (2, 1), "one has joined");
    database.settle();
    assert_eq!((database.manager.writers(), database.manager.unjoined_writers()), (1, 1));
    b.abort();
    assert_eq!(database.manager.writers(), 0);
}

// invariants: row 24
#[test]
fn identifiers_near_their_limits_work_or_are_refused_plainly() {
    for (first, last) in [((1 << 32) - 40, None), (Xid::LIMIT.0 - 50, Some(Xid::LIMIT.0 - 1))] {
        let vfs: Arc<dyn Vfs> = Arc::new(SimulatedVfs::new(1));
        let database = Database::create_at(&vfs, Path::new(support::DIR), support::small_log(), 8, Xid(first));
        let mut session = database.session();
        let mut given = Vec::new();
        let refused = (0..100).find_map(|_| {
            session.begin(BeginOptions::default());
            match session.assign_xid() {
                Ok(xid) => {
                    given.push((xid, session.commit().csn.unwrap()));
                    None
                }
                Err(error) => {
                    session.abort();
                    Some(error)
                }
            }
        });
        database.settle();
        for (xid, csn) in &given {
            assert_eq!(database.status(*xid), TransactionStatus::Committed(*csn));
            assert_eq!(database.manager.status().clog().get(*xid).unwrap(), ClogBits::Committed);
        }
        assert_eq!(given[0].0, Xid(first));
        match last {
            None => assert!(refused.is_none() && given[99].0 == Xid(first + 99)),
            Some(last) => {
                assert_eq!(given.last().unwrap().0, Xid(last));
                assert_eq!(refused.unwrap().sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
                // A transaction that only reads goes on.
                session.begin(BeginOptions::default());
                session.take_snapshot();
                assert_eq!(session.commit().csn, None);
            }
        }
    }
}

#[test]
fn the_isolation_level_stays_what_it_was_at_the_first_snapshot() {
    let database = Database::new();
    let mut session = database.session();
    session.begin(BeginOptions::default());
    session.set_options(REPEATABLE_READ).unwrap();
    session.set_options(BeginOptions::default()).unwrap();
    session.take_snapshot();
    session.release_statement_snapshot();
    let error = session.set_options(REPEATABLE_READ).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::ACTIVE_SQL_TRANSACTION);
    session.set_options(BeginOptions::default()).unwrap();
    let _ = session.commit();
    session.begin(BeginOptions::default());
    session.savepoint();
    assert_eq!(session.set_options(REPEATABLE_READ).unwrap_err().sqlstate(), sqlstate::ACTIVE_SQL_TRANSACTION);
}

#[test]
fn every_end_of_a_transaction_counts_once_and_every_awaited_commit_has_its_time() {
    let database = Database::new();
    let counted = || database.manager.statistics();
    let mut session = database.session();
    session.begin(BeginOptions::default());
    session.take_snapshot();
    let _ = session.commit();
    session.abort();
    assert_eq!((counted().committed, counted().rolled_back), (1, 0), "one that read; and no transaction, no end");

    let (_, outcome) = commit_one(&mut session, b"awaited");
    assert_eq!(counted().commit_latency.count(), 0, "nobody has flushed");
    database.wal().flush(outcome.gate);
    session.set_commit_options(false, wal::DelayPolicy::NONE);
    let (_, outcome) = commit_one(&mut session, b"not awaited");
    database.wal().flush(outcome.gate);
    assert_eq!((counted().committed, counted().commit_latency.count()), (3, 1));

    begin_writing(&mut session, b"failed");
    session.fail();
    assert_eq!(counted().rolled_back, 1, "it is over, though its client has not heard");
    session.abort();
    session.begin(BeginOptions::default());
    session.savepoint();
    session.fail();
    assert_eq!(counted().rolled_back, 1, "only back to the savepoint");
    session.abort();
    session.begin(BeginOptions::default());
    session.take_snapshot();
    session.withdraw();
    assert_eq!((counted().committed, counted().rolled_back), (3, 2), "nobody asked for it");
    begin_writing(&mut session, b"given up");
    drop(session);
    let after = counted();
    assert_eq!((after.committed, after.rolled_back), (3, 3));
    assert_eq!(after.since(&after), cohort_xact::TransactionStatistics::default());
}
