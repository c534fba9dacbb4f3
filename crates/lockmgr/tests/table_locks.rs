//! Relation, object and advisory locks.
#![cfg(not(shuttle))]

mod common;

use std::time::{Duration, Instant};

use base::{Oid, sqlstate};
use cohort_lockmgr::{AdvisoryKey, Granted, LockManager, LockMode, LockTag, Scope, WaitPolicy};
use common::{RELATION, Session, TABLE, owner, until_waiting};
use sync::{Arc, InterruptKind, thread};

fn manager() -> Arc<LockManager> {
    Arc::new(LockManager::new(64))
}

#[test]
fn every_pair_of_modes_excludes_exactly_as_the_table_says() {
    for tag in [TABLE, LockTag::Object { class: Oid(1), object: 7 }, LockTag::Advisory(AdvisoryKey::One(-3))] {
        for held in LockMode::ALL {
            for wanted in LockMode::ALL {
                let locks = manager();
                let (a, b) = (Session::new(&locks, 0), Session::new(&locks, 1));
                assert_eq!(locks.lock(a.owner, tag, held, &a.options()).unwrap(), Granted::Acquired);
                let got = locks.lock(b.owner, tag, wanted, &b.options().policy(WaitPolicy::Skip)).unwrap();
                let expected = if held.conflicts_with(wanted) { Granted::Skipped } else { Granted::Acquired };
                assert_eq!(got, expected, "{tag:?} held {held} wanted {wanted}");
                locks.unlock_all(a.owner, Scope::Transaction);
                locks.unlock_all(b.owner, Scope::Transaction);
                let strongest = LockMode::AccessExclusive;
                assert_eq!(locks.lock(a.owner, tag, strongest, &a.options()).unwrap(), Granted::Acquired);
            }
        }
    }
}

#[test]
fn an_owner_is_never_in_its_own_way() {
    let locks = manager();
    let a = Session::new(&locks, 0);
    for mode in LockMode::ALL {
        assert_eq!(locks.lock(a.owner, TABLE, mode, &a.options()).unwrap(), Granted::Acquired);
        assert_eq!(locks.lock(a.owner, TABLE, mode, &a.options()).unwrap(), Granted::AlreadyHeld);
        assert!(locks.holds(a.owner, TABLE, mode));
    }
    locks.unlock_all(a.owner, Scope::Transaction);
    assert!(locks.snapshot().is_empty());
}

#[test]
fn a_strong_locker_waits_for_fast_path_holders() {
    let locks = manager();
    let weak: Vec<Session> = (0..10).map(|number| Session::new(&locks, number)).collect();
    for session in &weak {
        locks.lock(session.owner, TABLE, LockMode::RowExclusive, &session.options()).unwrap();
    }
    assert!(locks.snapshot().iter().all(|view| view.fast_path));
    thread::scope(|scope| {
        let strong = Session::new(&locks, 20);
        scope.spawn(move || {
            strong.locks.lock(strong.owner, TABLE, LockMode::AccessExclusive, &strong.options()).unwrap();
        });
        until_waiting(&locks, 1);
        assert_eq!(locks.blocking_owners(owner(20)).len(), 10);
        assert!(locks.snapshot().iter().all(|view| !view.fast_path), "all are in the table now");
        // A newcomer queues behind it, though it conflicts with no holder.
        let newcomer = Session::new(&locks, 21);
        let skipped =
            locks.lock(newcomer.owner, TABLE, LockMode::AccessShare, &newcomer.options().policy(WaitPolicy::Skip));
        assert_eq!(skipped.unwrap(), Granted::Skipped);
        // An owner that holds the lock already doesn't queue behind a session that waits for it.
        let again = locks.lock(weak[0].owner, TABLE, LockMode::RowShare, &weak[0].options()).unwrap();
        assert_eq!(again, Granted::Acquired);
        for session in &weak {
            assert!(!locks.holds(owner(20), TABLE, LockMode::AccessExclusive));
            locks.unlock_all(session.owner, Scope::Transaction);
        }
    });
    assert!(locks.holds(owner(20), TABLE, LockMode::AccessExclusive));
    locks.unlock_all(owner(20), Scope::Transaction);
    locks.lock(weak[0].owner, TABLE, LockMode::AccessShare, &weak[0].options()).unwrap();
    assert!(locks.snapshot().iter().all(|view| view.fast_path), "the fast path is open again");
}

#[test]
fn more_relations_than_fast_slots_are_locked_and_released() {
    let locks = manager();
    let a = Session::new(&locks, 0);
    for number in 0..100 {
        locks.lock(a.owner, LockTag::Relation(Oid(1000 + number)), LockMode::AccessShare, &a.options()).unwrap();
    }
    assert_eq!(locks.snapshot().len(), 100);
    locks.unlock_all(a.owner, Scope::Transaction);
    assert!(locks.snapshot().is_empty());
}

#[test]
fn the_queue_is_served_in_order() {
    let locks = manager();
    let holder = Session::new(&locks, 0);
    locks.lock(holder.owner, TABLE, LockMode::AccessExclusive, &holder.options()).unwrap();
    let order = sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for number in 1..6 {
            let session = Session::new(&locks, number);
            let order = &order;
            scope.spawn(move || {
                session.locks.lock(session.owner, TABLE, LockMode::Exclusive, &session.options()).unwrap();
                order.lock().push(session.owner.0);
                session.locks.unlock_all(session.owner, Scope::Transaction);
            });
            until_waiting(&locks, number as usize);
        }
        locks.unlock_all(holder.owner, Scope::Transaction);
    });
    assert_eq!(*order.lock(), [1, 2, 3, 4, 5]);
}

#[test]
fn nowait_lock_timeout_and_cancel_leave_nothing_behind() {
    let locks = manager();
    let a = Session::new(&locks, 0);
    let mut b = Session::new(&locks, 1);
    locks.lock(a.owner, TABLE, LockMode::AccessExclusive, &a.options()).unwrap();
    let error = locks.lock(b.owner, TABLE, LockMode::Share, &b.options().policy(WaitPolicy::NoWait)).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::LOCK_NOT_AVAILABLE);
    assert_eq!(error.message(), "could not obtain lock on relation with OID 16384");
    b.lock_timeout = Some(Duration::from_millis(20));
    let start = Instant::now();
    let error = locks.lock(b.owner, TABLE, LockMode::Share, &b.options()).unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(
        (error.sqlstate(), error.message()),
        (sqlstate::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
    );
    b.lock_timeout = None;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| locks.lock(b.owner, TABLE, LockMode::Share, &b.options()).unwrap_err());
        until_waiting(&locks, 1);
        b.interrupt.raise(InterruptKind::Cancel);
        assert_eq!(waiting.join().unwrap().sqlstate(), sqlstate::QUERY_CANCELED);
    });
    locks.unlock_all(a.owner, Scope::Transaction);
    assert!(locks.snapshot().is_empty());
    locks.lock(a.owner, TABLE, LockMode::AccessShare, &a.options()).unwrap();
    assert!(locks.snapshot()[0].fast_path, "every announcement was taken back");
}

#[test]
fn one_who_gives_up_lets_those_behind_through() {
    let locks = manager();
    let reader = Session::new(&locks, 0);
    locks.lock(reader.owner, TABLE, LockMode::AccessShare, &reader.options()).unwrap();
    let writer = Session::new(&locks, 1);
    thread::scope(|scope| {
        let waiting =
            scope.spawn(|| locks.lock(writer.owner, TABLE, LockMode::AccessExclusive, &writer.options()).unwrap_err());
        until_waiting(&locks, 1);
        let second = Session::new(&locks, 2);
        let behind = scope
            .spawn(move || second.locks.lock(second.owner, TABLE, LockMode::AccessShare, &second.options()).unwrap());
        until_waiting(&locks, 2);
        writer.interrupt.raise(InterruptKind::Cancel);
        waiting.join().unwrap();
        assert_eq!(behind.join().unwrap(), Granted::Acquired);
    });
}

#[test]
fn session_locks_outlive_transactions_and_are_counted() {
    let locks = manager();
    let a = Session::new(&locks, 0);
    let key = LockTag::Advisory(AdvisoryKey::Two(1, 2));
    for _ in 0..2 {
        locks.lock(a.owner, key, LockMode::Exclusive, &a.options().for_session()).unwrap();
    }
    locks.lock(a.owner, key, LockMode::Exclusive, &a.options()).unwrap();
    locks.unlock_all(a.owner, Scope::Transaction);
    assert!(locks.unlock(a.owner, key, LockMode::Exclusive));
    assert!(locks.holds(a.owner, key, LockMode::Exclusive));
    assert!(locks.unlock(a.owner, key, LockMode::Exclusive));
    assert!(!locks.unlock(a.owner, key, LockMode::Exclusive), "not held any more");
    assert!(locks.snapshot().is_empty());
    locks.lock(a.owner, key, LockMode::Share, &a.options().for_session()).unwrap();
    locks.lock(a.owner, TABLE, LockMode::ShareUpdateExclusive, &a.options().for_session()).unwrap();
    locks.unlock_all(a.owner, Scope::SessionAdvisory);
    assert!(!locks.holds(a.owner, key, LockMode::Share));
    assert!(locks.holds(a.owner, TABLE, LockMode::ShareUpdateExclusive));
    locks.unlock_all(a.owner, Scope::Session);
    assert!(locks.snapshot().is_empty());
}

#[test]
fn a_session_lock_keeps_what_the_fast_path_gave() {
    let locks = manager();
    let a = Session::new(&locks, 0);
    locks.lock(a.owner, TABLE, LockMode::AccessShare, &a.options()).unwrap();
    locks.lock(a.owner, TABLE, LockMode::AccessShare, &a.options().for_session()).unwrap();
    locks.unlock_all(a.owner, Scope::Transaction);
    let b = Session::new(&locks, 1);
    let wanted = b.options().policy(WaitPolicy::Skip);
    assert_eq!(locks.lock(b.owner, TABLE, LockMode::AccessExclusive, &wanted).unwrap(), Granted::Skipped);
    assert!(locks.unlock(a.owner, TABLE, LockMode::AccessShare));
    assert_eq!(locks.lock(b.owner, TABLE, LockMode::AccessExclusive, &wanted).unwrap(), Granted::Acquired);
}

#[test]
fn rolling_back_to_a_savepoint_releases_what_came_after_it() {
    let locks = manager();
    let (a, b) = (Session::new(&locks, 0), Session::new(&locks, 1));
    let relation = |number: u32| LockTag::Relation(Oid(RELATION.0 + number));
    locks.lock(a.owner, relation(0), LockMode::RowExclusive, &a.options()).unwrap();
    locks.lock(a.owner, relation(1), LockMode::Share, &a.options()).unwrap();
    let mark = locks.mark(a.owner);
    // Held before: stays, though asked for again.
    locks.lock(a.owner, relation(0), LockMode::RowExclusive, &a.options()).unwrap();
    locks.lock(a.owner, relation(2), LockMode::RowExclusive, &a.options()).unwrap();
    locks.lock(a.owner, relation(3), LockMode::Share, &a.options()).unwrap();
    let _inner = locks.mark(a.owner);
    locks.lock(a.owner, relation(4), LockMode::AccessShare, &a.options()).unwrap();
    locks.unlock_all(a.owner, Scope::Subtransaction(mark));
    let skip = b.options().policy(WaitPolicy::Skip);
    for (number, free) in [(0, false), (1, false), (2, true), (3, true), (4, true)] {
        let got = locks.lock(b.owner, relation(number), LockMode::AccessExclusive, &skip).unwrap();
        assert_eq!(got == Granted::Acquired, free, "relation {number}");
    }
}

#[test]
fn weak_and_strong_lockers_exclude_each_other_under_load() {
    let locks = manager();
    let rounds: usize = std::env::var("COHORT_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3000);
    let writers = std::sync::atomic::AtomicI64::new(0);
    thread::scope(|scope| {
        for number in 0..4 {
            let session = Session::new(&locks, number);
            let writers = &writers;
            scope.spawn(move || {
                use std::sync::atomic::Ordering::SeqCst;
                for round in 0..rounds {
                    let strong = number == 0 && round % 16 == 0;
                    let mode = if strong { LockMode::AccessExclusive } else { LockMode::RowExclusive };
                    session.locks.lock(session.owner, TABLE, mode, &session.options()).unwrap();
                    if strong {
                        assert_eq!(writers.swap(-1, SeqCst), 0, "weak holders beside a strong one");
                        writers.store(0, SeqCst);
                    } else {
                        assert!(writers.fetch_add(1, SeqCst) >= 0, "a strong holder beside a weak one");
                        writers.fetch_sub(1, SeqCst);
                    }
                    session.locks.unlock_all(session.owner, Scope::Transaction);
                }
            });
        }
    });
    assert!(locks.snapshot().is_empty());
}
