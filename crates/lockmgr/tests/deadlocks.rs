//! Circles of waits.
#![cfg(not(shuttle))]

mod common;

use std::time::Duration;

use base::{Oid, Result, Tid, sqlstate};
use cohort_lockmgr::{AdvisoryKey, Granted, LockManager, LockMode, LockTag, RowLockMode, Scope};
use common::{RELATION, ROW, Session, TABLE, owner, until_waiting, xid};
use sync::{Arc, Coroutine, ReadyQueue, StackPool, Step, thread};

fn manager() -> Arc<LockManager> {
    let locks = LockManager::new(64);
    locks.set_database(Oid(5));
    Arc::new(locks)
}

fn session(locks: &Arc<LockManager>, number: u32, deadlock_timeout_ms: u64) -> Session {
    let mut session = Session::new(locks, number);
    session.deadlock_timeout = Duration::from_millis(deadlock_timeout_ms);
    locks.set_process_id(session.owner, 100 + number as i32);
    session
}

/// Acts as a victim does: releases all locks and ends the transaction.
fn roll_back(session: &Session, id: u64) {
    session.locks.unlock_all(session.owner, Scope::Transaction);
    session.locks.transaction_ended(xid(id));
}

// invariants: row 22
#[test]
fn a_ring_of_transactions_has_exactly_one_victim() {
    for size in [2, 3, 10] {
        let locks = manager();
        for number in 0..size {
            locks.transaction_started(xid(100 + u64::from(number)), owner(number));
        }
        let victims: usize = thread::scope(|scope| {
            let ring: Vec<_> = (0..size)
                .map(|number| {
                    let session = session(&locks, number, 30);
                    scope.spawn(move || {
                        let next = xid(100 + u64::from((number + 1) % size));
                        let result = session.locks.wait_for_xid(session.owner, next, &session.options());
                        roll_back(&session, 100 + u64::from(number));
                        result
                    })
                })
                .collect();
            let errors = ring.into_iter().filter_map(|member| member.join().unwrap().err());
            errors
                .map(|error| {
                    assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
                    assert_eq!(error.message(), "deadlock detected");
                    let detail = error.fields().detail.clone().unwrap();
                    assert_eq!(detail.lines().count(), size as usize, "{detail}");
                })
                .count()
        });
        assert_eq!(victims, 1, "ring of {size}");
        assert!(locks.snapshot().is_empty());
    }
}

// invariants: row 22
#[test]
fn a_circle_through_rows_relations_and_advisory_locks_is_described_as_postgresql_does() {
    let locks = manager();
    let advisory = LockTag::Advisory(AdvisoryKey::One((7 << 32) + 9));
    // 0 holds a row and waits for the relation; 1 holds it and waits for an advisory lock; 2 holds that, and queues for
    // the row behind 3, which is the row's head.
    let victim = session(&locks, 0, 60_000);
    locks.transaction_started(xid(100), victim.owner);
    let (one, two, three) = (session(&locks, 1, 60_000), session(&locks, 2, 200), session(&locks, 3, 60_000));
    locks.lock(one.owner, TABLE, LockMode::RowExclusive, &one.options()).unwrap();
    locks.lock(two.owner, advisory, LockMode::Exclusive, &two.options()).unwrap();
    thread::scope(|scope| {
        let head = scope.spawn(|| {
            let turn = locks.wait_for_row(three.owner, RELATION, ROW, xid(100), RowLockMode::Update, &three.options());
            drop(turn.unwrap());
        });
        until_waiting(&locks, 1);
        scope.spawn(|| locks.lock(victim.owner, TABLE, LockMode::AccessExclusive, &victim.options()).unwrap());
        until_waiting(&locks, 2);
        let released = scope.spawn(|| {
            locks.lock(one.owner, advisory, LockMode::Share, &one.options()).unwrap();
            locks.unlock_all(one.owner, Scope::Transaction);
        });
        until_waiting(&locks, 3);
        let options = two.options();
        let error =
            locks.wait_for_row(two.owner, RELATION, ROW, xid(100), RowLockMode::NoKeyUpdate, &options).err().unwrap();
        assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
        assert_eq!(
            error.fields().detail.as_deref().unwrap(),
            "Process 102 waits for ExclusiveLock on tuple (0,1) of relation 16384 of database 5; blocked by process 103.\n\
             Process 103 waits for ShareLock on transaction 100; blocked by process 100.\n\
             Process 100 waits for AccessExclusiveLock on relation 16384 of database 5; blocked by process 101.\n\
             Process 101 waits for ShareLock on advisory lock [5,7,9,1]; blocked by process 102."
        );
        assert_eq!(error.fields().hint.as_deref(), Some("See server log for query details."));
        locks.unlock_all(two.owner, Scope::Transaction);
        released.join().unwrap();
        locks.transaction_ended(xid(100));
        head.join().unwrap();
    });
}

// invariants: row 22
#[test]
fn a_circle_that_closes_again_behind_its_victim_is_found() {
    // Session 0 has changed the row and waits for 2, which queues for the row behind 1. If the victim is 1, then 2 waits for
    // 0 itself, which closes a circle again. The detector must find it although both sessions have looked before.
    let locks = manager();
    let (zero, one, two) = (session(&locks, 0, 600_000), session(&locks, 1, 250), session(&locks, 2, 20));
    (0..3).for_each(|number| locks.transaction_started(xid(100 + number), owner(number as u32)));
    let queue = |session: &Session, id: u64| {
        let options = session.options();
        let turn = locks.wait_for_row(session.owner, RELATION, ROW, xid(100), RowLockMode::Update, &options);
        let waited: Result<()> = turn.and_then(|turn| {
            let mut turn = turn.expect("no turn is skipped");
            while locks.owner_of(xid(100)).is_some() {
                turn.wait_again(ROW, xid(100), &options)?;
            }
            Ok(())
        });
        roll_back(session, id);
        waited.err().map(|error| error.sqlstate())
    };
    thread::scope(|scope| {
        let head = scope.spawn(|| queue(&one, 101));
        until_waiting(&locks, 1);
        let behind = scope.spawn(|| queue(&two, 102));
        until_waiting(&locks, 2);
        thread::sleep(Duration::from_millis(100));
        locks.wait_for_xid(zero.owner, xid(102), &zero.options()).unwrap();
        roll_back(&zero, 100);
        let _ = head.join().unwrap();
        assert_eq!(behind.join().unwrap(), Some(sqlstate::DEADLOCK_DETECTED));
    });
    assert!(locks.snapshot().is_empty());
}

// invariants: row 22
#[test]
fn one_that_comes_to_the_front_looks_again() {
    // 2 has looked for a deadlock while it stood behind 1. Then 1 has the row, 2 waits for it, and it for 2.
    let locks = manager();
    let (one, two) = (session(&locks, 1, 600_000), session(&locks, 2, 200));
    (0..3).for_each(|number| locks.transaction_started(xid(100 + number), owner(number as u32)));
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mode = RowLockMode::Update;
            let turn = locks.wait_for_row(one.owner, RELATION, ROW, xid(100), mode, &one.options()).unwrap();
            turn.expect("no turn is skipped").updated(ROW, xid(101), mode);
            locks.wait_for_xid(one.owner, xid(102), &one.options()).unwrap();
            roll_back(&one, 101);
        });
        until_waiting(&locks, 1);
        let second = scope.spawn(|| {
            let mode = RowLockMode::Update;
            let turn = locks.wait_for_row(two.owner, RELATION, ROW, xid(100), mode, &two.options()).map(drop);
            roll_back(&two, 102);
            turn
        });
        common::until(|| locks.detector_work().looks == 1, "a look for a deadlock");
        locks.transaction_ended(xid(100));
        assert_eq!(second.join().unwrap().unwrap_err().sqlstate(), sqlstate::DEADLOCK_DETECTED);
        first.join().unwrap();
    });
    assert!(locks.snapshot().is_empty());
}

// invariants: row 22
#[test]
fn a_circle_closed_by_joining_two_queues_of_a_row_is_found() {
    // 1 and 2 have their turns at the old version. 1 keeps its turn and waits for 3, which queues at the new version. Both have
    // looked for a deadlock when 2 goes on to the new version. The two queues become one, and 3 waits for 1 from then on.
    let locks = manager();
    let new = Tid::new(7, 3);
    const MODE: RowLockMode = RowLockMode::Share;
    let (mut one, two, three) = (session(&locks, 1, 50), session(&locks, 2, 600_000), session(&locks, 3, 50));
    one.lock_timeout = Some(Duration::from_secs(10));
    (0..5).for_each(|number| locks.transaction_started(xid(100 + number), owner(number as u32)));
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let turn = locks.wait_for_row(one.owner, RELATION, ROW, xid(100), MODE, &one.options()).unwrap();
            let kept = turn.unwrap().keep().unwrap();
            let waited = locks.wait_for_xid(one.owner, xid(103), &one.options());
            drop(locks.resume(kept));
            roll_back(&one, 101);
            waited
        });
        until_waiting(&locks, 1);
        let second = scope.spawn(|| {
            let turn = locks.wait_for_row(two.owner, RELATION, ROW, xid(100), MODE, &two.options()).unwrap();
            let mut turn = turn.unwrap();
            common::until(|| locks.detector_work().looks == 2, "two looks for a deadlock");
            assert!(turn.wait_again(new, xid(104), &two.options()).unwrap());
            drop(turn);
            roll_back(&two, 102);
        });
        until_waiting(&locks, 2);
        locks.transaction_ended(xid(100));
        let third = scope.spawn(|| {
            let mode = RowLockMode::Update;
            let turn = locks.wait_for_row(three.owner, RELATION, new, xid(104), mode, &three.options()).map(drop);
            roll_back(&three, 103);
            turn
        });
        let victim = first.join().unwrap();
        locks.transaction_ended(xid(104));
        second.join().unwrap();
        assert_eq!(victim.unwrap_err().sqlstate(), sqlstate::DEADLOCK_DETECTED);
        third.join().unwrap().unwrap();
    });
    assert!(locks.snapshot().is_empty());
    assert!(!locks.has_row_entry(RELATION, new));
}

/// Sessions that each look for a deadlock once they wait, in coroutines of this thread; dropped, they leave their queues.
fn suspended(
    locks: &Arc<LockManager>,
    owners: std::ops::Range<u32>,
    run: fn(&Session) -> Result<()>,
) -> Vec<Coroutine<()>> {
    let (ready, stacks) = (Arc::new(ReadyQueue::new(|| {})), StackPool::new(64 << 10, 16));
    owners
        .map(|number| {
            let mut session = Session::new(locks, number);
            session.deadlock_timeout = Duration::ZERO;
            let body = move || assert!(run(&session).is_ok(), "no victim");
            let mut coroutine = Coroutine::new(&stacks, ready.clone(), u64::from(number), body);
            assert!(matches!(coroutine.resume(), Step::Suspended { .. }));
            coroutine
        })
        .collect()
}

const MANY: u32 = 5_000;

fn many_keys(number: i64) -> LockTag {
    LockTag::Advisory(AdvisoryKey::One(number))
}

fn lock_key(session: &Session, number: i64) -> Result<()> {
    session.locks.lock(session.owner, many_keys(number), LockMode::Exclusive, &session.options()).map(drop)
}

// invariants: rows 28 and 38
#[test]
fn thousands_that_wait_for_one_key_look_at_its_holder_only() {
    let locks = Arc::new(LockManager::new(MANY + 1));
    lock_key(&Session::new(&locks, MANY), 1).unwrap();
    let waiting = suspended(&locks, 0..MANY, |session| lock_key(session, 1));
    let work = locks.detector_work();
    assert_eq!((work.looks, work.freezes), (u64::from(MANY), 0));
    assert!(work.edges <= 2 * u64::from(MANY), "{work:?}");
    drop(waiting);
    assert_eq!(locks.waiting_count(), 0);
}

// invariants: rows 28 and 38
#[test]
fn thousands_that_wait_for_one_row_look_at_its_holder_only() {
    let locks = Arc::new(LockManager::new(MANY + 1));
    locks.transaction_started(xid(10), owner(MANY));
    let waiting = suspended(&locks, 0..MANY, |session| {
        let mode = RowLockMode::NoKeyUpdate;
        session.locks.wait_for_row(session.owner, RELATION, ROW, xid(10), mode, &session.options()).map(drop)
    });
    let work = locks.detector_work();
    assert_eq!((work.looks, work.freezes), (u64::from(MANY), 0));
    assert!(work.edges <= 4 * u64::from(MANY), "{work:?}");
    drop(waiting);
    assert_eq!(locks.waiting_count(), 0);
}

// invariants: rows 22 and 38
#[test]
fn a_circle_behind_thousands_of_waiters_costs_no_more_than_there_are() {
    let locks = Arc::new(LockManager::new(MANY + 2));
    let (holder, mut last) = (Session::new(&locks, MANY), Session::new(&locks, MANY + 1));
    lock_key(&holder, 1).unwrap();
    lock_key(&last, 2).unwrap();
    let waiting = suspended(&locks, 0..MANY, |session| lock_key(session, 1));
    last.deadlock_timeout = Duration::ZERO;
    thread::scope(|scope| {
        let patient = scope.spawn(|| lock_key(&holder, 2));
        until_waiting(&locks, MANY as usize + 1);
        let before = locks.detector_work();
        assert_eq!(lock_key(&last, 1).unwrap_err().sqlstate(), sqlstate::DEADLOCK_DETECTED);
        let work = locks.detector_work();
        assert_eq!(work.freezes - before.freezes, 1);
        assert!(work.edges - before.edges <= 20 * u64::from(MANY), "{work:?}");
        locks.unlock_all(last.owner, Scope::Transaction);
        patient.join().unwrap().unwrap();
    });
    drop(waiting);
    assert_eq!(locks.waiting_count(), 0);
}

// invariants: row 38
#[test]
fn a_request_that_can_never_be_granted_is_refused_at_once() {
    let locks = manager();
    let (one, two) = (session(&locks, 1, 600_000), session(&locks, 2, 600_000));
    for session in [&one, &two] {
        locks.lock(session.owner, TABLE, LockMode::Share, &session.options()).unwrap();
    }
    thread::scope(|scope| {
        let first = scope.spawn(|| locks.lock(one.owner, TABLE, LockMode::ShareRowExclusive, &one.options()));
        until_waiting(&locks, 1);
        let error = locks.lock(two.owner, TABLE, LockMode::RowExclusive, &two.options()).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
        assert_eq!(
            error.fields().detail.as_deref().unwrap(),
            "Process 102 waits for RowExclusiveLock on relation 16384 of database 5; blocked by process 101.\n\
             Process 101 waits for ShareRowExclusiveLock on relation 16384 of database 5; blocked by process 102."
        );
        assert_eq!(locks.detector_work().looks, 0);
        locks.unlock_all(two.owner, Scope::Transaction);
        assert_eq!(first.join().unwrap().unwrap(), Granted::Acquired);
    });
}

// invariants: row 38
#[test]
fn one_that_may_go_before_another_goes_just_before_it() {
    // 0 shares the key and waits for 4, which wants to share it too. Before 4 queue 1, 2 and 3, each for itself: 4 goes before
    // the first of them, and they keep their order.
    let locks = manager();
    let sessions: Vec<Session> =
        (0..5).map(|number| session(&locks, number, if number == 0 { 10 } else { 600_000 })).collect();
    locks.transaction_started(xid(104), owner(4));
    let key = LockTag::Object { class: Oid(1), object: 1 };
    locks.lock(owner(0), key, LockMode::Share, &sessions[0].options()).unwrap();
    let order = sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (number, session) in sessions.iter().enumerate().skip(1) {
            let (order, locks) = (&order, &locks);
            scope.spawn(move || {
                let mode = if number == 4 { LockMode::Share } else { LockMode::Exclusive };
                locks.lock(session.owner, key, mode, &session.options()).unwrap();
                order.lock().push(number);
                locks.unlock_all(session.owner, Scope::Transaction);
                locks.transaction_ended(xid(100 + number as u64));
            });
            until_waiting(locks, number);
        }
        assert!(locks.wait_for_xid(owner(0), xid(104), &sessions[0].options()).unwrap());
        assert_eq!(*order.lock(), [4]);
        locks.unlock_all(owner(0), Scope::Transaction);
    });
    assert_eq!(*order.lock(), [4, 1, 2, 3]);
}

#[test]
fn a_wait_without_a_circle_is_left_alone() {
    let locks = manager();
    locks.transaction_started(xid(100), owner(0));
    thread::scope(|scope| {
        let members: Vec<_> = (1..8)
            .map(|number| {
                let session = session(&locks, number, 5);
                scope.spawn(move || {
                    let mode = RowLockMode::Update;
                    session
                        .locks
                        .wait_for_row(session.owner, RELATION, ROW, xid(100), mode, &session.options())
                        .map(drop)
                })
            })
            .collect();
        until_waiting(&locks, 7);
        thread::sleep(Duration::from_millis(60));
        assert_eq!(locks.waiting_count(), 7);
        locks.transaction_ended(xid(100));
        assert!(members.into_iter().all(|member| member.join().unwrap().is_ok()));
    });
}

/// The textbook case for soft edges: A holds a share lock and waits elsewhere for B, which queues for a share lock behind
/// C's exclusive request. B could go before C.
#[test]
fn a_circle_through_a_place_in_a_queue_is_broken_by_reordering() {
    let locks = manager();
    let (a, b, c) = (session(&locks, 0, 100), session(&locks, 1, 60_000), session(&locks, 2, 60_000));
    locks.transaction_started(xid(101), b.owner);
    let object = LockTag::Object { class: Oid(1259), object: 4 };
    locks.lock(a.owner, object, LockMode::Share, &a.options()).unwrap();
    thread::scope(|scope| {
        let exclusive = scope.spawn(|| locks.lock(c.owner, object, LockMode::Exclusive, &c.options()));
        until_waiting(&locks, 1);
        let share = scope.spawn(|| {
            let granted: Result<Granted> = locks.lock(b.owner, object, LockMode::Share, &b.options());
            locks.unlock_all(b.owner, Scope::Transaction);
            locks.transaction_ended(xid(101));
            granted
        });
        until_waiting(&locks, 2);
        // Waits for B, which waits for C, which waits for A: after its deadlock timeout B goes before C.
        assert!(locks.wait_for_xid(a.owner, xid(101), &a.options()).unwrap());
        assert_eq!(share.join().unwrap().unwrap(), Granted::Acquired);
        locks.unlock_all(a.owner, Scope::Transaction);
        assert_eq!(exclusive.join().unwrap().unwrap(), Granted::Acquired);
    });
}

#[test]
fn two_who_upgrade_the_same_lock_have_one_victim() {
    let locks = manager();
    let results: Vec<Result<Granted>> = thread::scope(|scope| {
        let both: Vec<_> = (0..2)
            .map(|number| {
                let session = session(&locks, number, 40);
                let locks = &locks;
                scope.spawn(move || {
                    locks.lock(session.owner, TABLE, LockMode::Share, &session.options()).unwrap();
                    while locks.snapshot().iter().filter(|view| view.granted).count() < 2 {
                        thread::yield_now();
                    }
                    until_started(locks, number);
                    let result = locks.lock(session.owner, TABLE, LockMode::ShareRowExclusive, &session.options());
                    locks.unlock_all(session.owner, Scope::Transaction);
                    result
                })
            })
            .collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
}

/// The second goes on when the first waits.
fn until_started(locks: &LockManager, number: u32) {
    while number == 1 && locks.waiting_count() == 0 {
        thread::yield_now();
    }
}

/// Transfers between accounts in random order: every circle is broken, and everybody gets through by trying again.
#[test]
fn random_circles_all_end() {
    let locks = manager();
    let rounds: u64 = std::env::var("COHORT_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(30);
    thread::scope(|scope| {
        for number in 0..6u32 {
            let session = session(&locks, number, 3);
            scope.spawn(move || {
                let mut random = u64::from(number) * 77 + 1;
                let mut next = || {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    random
                };
                for _ in 0..rounds {
                    loop {
                        let result: Result<()> = (0..4).try_for_each(|_| {
                            let tag = LockTag::Object { class: Oid(1), object: next() % 5 };
                            let mode = if next() % 3 == 0 { LockMode::Share } else { LockMode::Exclusive };
                            session.locks.lock(session.owner, tag, mode, &session.options()).map(drop)
                        });
                        session.locks.unlock_all(session.owner, Scope::Transaction);
                        match result {
                            Ok(()) => break,
                            Err(error) => assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED),
                        }
                    }
                }
            });
        }
    });
    assert!(locks.snapshot().is_empty());
    assert_eq!(locks.waiting_count(), 0);
}
