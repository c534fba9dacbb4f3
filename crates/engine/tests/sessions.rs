//! Several sessions at once: waits, conflicts, snapshots, and what is left when one vanishes.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::sqlstate;
use cohort_engine::{
    ConflictOutcome, Isolation, LockMode, Modify, RowLockMode, Session, Table, TransactionOptions, WaitPolicy,
};
use common::*;
use schema::key::PlainKeys;
use schema::row::{ColumnSet, Datum, PhysicalType, RowBytes};

const TYPES: [PhysicalType; 2] = [PhysicalType::I32, PhysicalType::I64];

fn insert(session: &Session, table: &Table, id: i32, value: i64) -> base::Result<base::Tid> {
    session.insert(table, &[Datum::I32(id), Datum::I64(value)], &PlainKeys)
}

fn value(session: &mut Session, table: &Table, id: i32) -> Option<i64> {
    run(session, |s| Ok(get(s, table, id, |row| if let Datum::I64(v) = row[1] { v } else { panic!("{row:?}") })))
        .unwrap()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn increments_of_hot_rows_from_many_threads_are_never_lost() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let table = {
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        run(&mut session, |s| (0..4).try_for_each(|id| insert(s, &table, id, 0).map(drop))).unwrap();
        table
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (database, table) = (&database, &table);
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                session.set_synchronous_commit(thread % 2 == 0);
                for round in 0..150 {
                    let id = (thread + round) % 4;
                    assert!(run(&mut session, |s| set_i64(s, table, id, &|old| old + 1)).unwrap());
                }
            });
        }
    });
    let mut session = database.session().unwrap();
    let total: i64 = (0..4).map(|id| value(&mut session, &table, id).unwrap()).sum();
    assert_eq!(total, 8 * 150);
    run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
    drop(session);
    database.close().unwrap();
}

#[test]
fn who_failed_waits_for_its_turn_before_its_next_snapshot_and_nobody_else_does() {
    const SERIALIZABLE: TransactionOptions =
        TransactionOptions { isolation: Isolation::Serializable, read_only: false, deferrable: false };
    let (database, _disk) = simulated(1);
    let (mut one, mut two) = (database.session().unwrap(), database.session().unwrap());
    let table = create_table(&mut one, "t", &TYPES);
    run(&mut one, |s| insert(s, &table, 0, 0)).unwrap();
    let add = |s: &Session| set_i64(s, &table, 0, &|old| old + 1);
    one.begin(SERIALIZABLE).unwrap();
    statement(&one, |s| Ok(get(s, &table, 0, |_| ()))).unwrap();
    run(&mut two, add).unwrap();
    assert_eq!(statement(&one, add).unwrap_err().sqlstate(), sqlstate::SERIALIZATION_FAILURE);
    one.note_serialization_failure();
    one.rollback().unwrap();

    let retries = database.transactions().ssi().retries().clone();
    let interrupt = sync::Interrupt::new();
    let all = || std::iter::from_fn(|| retries.take_turn(&interrupt, Duration::ZERO).unwrap()).collect::<Vec<_>>();
    let turns = all();
    two.begin(SERIALIZABLE).unwrap();
    statement(&two, add).unwrap();
    two.commit().unwrap();
    run(&mut one, add).unwrap();
    std::thread::scope(|scope| {
        let again = scope.spawn(|| {
            one.set_deadlock_timeout(Duration::from_secs(60));
            one.begin(SERIALIZABLE)?;
            statement(&one, add)?;
            one.commit()
        });
        wait_until("it asks for its turn", || retries.waiting() == 1);
        // Its snapshot comes after this.
        run(&mut two, add).unwrap();
        drop(turns);
        again.join().unwrap().unwrap();
    });
    assert_eq!(value(&mut two, &table, 0), Some(5));
    // Its turn is over, and it has not failed since.
    let turns = all();
    assert!(!turns.is_empty());
    one.begin(SERIALIZABLE).unwrap();
    statement(&one, add).unwrap();
    one.commit().unwrap();
}

#[test]
fn at_repeatable_read_a_concurrent_change_is_a_serialization_failure() {
    let (database, _disk) = simulated(1);
    let (mut one, mut two) = (database.session().unwrap(), database.session().unwrap());
    let table = create_table(&mut one, "t", &TYPES);
    run(&mut one, |s| (0..2).try_for_each(|id| insert(s, &table, id, 0).map(drop))).unwrap();
    one.begin(TransactionOptions { isolation: Isolation::RepeatableRead, ..Default::default() }).unwrap();
    statement(&one, |s| Ok(get(s, &table, 0, |_| ()))).unwrap();
    run(&mut two, |s| set_i64(s, &table, 0, &|old| old + 1)).unwrap();
    assert_eq!(statement(&one, |s| Ok(get(s, &table, 0, |row| row[1] == Datum::I64(0)))).unwrap(), Some(true));
    let error = statement(&one, |s| set_i64(s, &table, 0, &|old| old + 1)).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::SERIALIZATION_FAILURE);
    assert_eq!(error.message(), "could not serialize access due to concurrent update");
    one.rollback().unwrap();
}

#[test]
fn a_unique_check_waits_for_the_other_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let mut first = database.session().unwrap();
    let table = create_table(&mut first, "t", &TYPES);
    for (id, commits) in [(1, true), (2, false)] {
        begin(&mut first);
        statement(&first, |s| insert(s, &table, id, 10)).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut session = database.session().unwrap();
                run(&mut session, |s| insert(s, &table, id, 20))
            });
            wait_until("the second one waits", || database.locks().waiting_count() == 1);
            if commits {
                first.commit_and_wait().unwrap()
            } else {
                first.rollback().unwrap()
            }
            let outcome = second.join().unwrap();
            match commits {
                true => assert_eq!(outcome.unwrap_err().sqlstate(), sqlstate::UNIQUE_VIOLATION),
                false => assert!(outcome.is_ok()),
            }
        });
    }
    assert_eq!((value(&mut first, &table, 1), value(&mut first, &table, 2)), (Some(10), Some(20)));
}

#[test]
fn two_who_make_the_same_name_come_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let mut first = database.session().unwrap();
    begin(&mut first);
    create_table_in_transaction(&first, "t", &TYPES);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut session = database.session().unwrap();
            begin(&mut session);
            session.lock_name(schema::catalog::PUBLIC_SCHEMA, "t", false).unwrap();
            session.catalog().table_by_name(schema::catalog::PUBLIC_SCHEMA, "t").is_some()
        });
        wait_until("the second one waits", || database.locks().waiting_count() == 1);
        first.commit_and_wait().unwrap();
        assert!(second.join().unwrap(), "the second one sees what the first one made");
    });
}

#[test]
fn a_deadlock_tells_the_relation_and_its_database() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[("deadlock_timeout", "10")]);
    let mut session = database.session().unwrap();
    let tables = ["a", "b"].map(|name| create_table(&mut session, name, &TYPES).oid());
    let both_have_one = std::sync::Barrier::new(2);
    let lock = |own: usize| {
        let mut session = database.session().unwrap();
        begin(&mut session);
        session.lock_relation(tables[own], LockMode::Exclusive, WaitPolicy::Block).unwrap();
        both_have_one.wait();
        session.lock_relation(tables[1 - own], LockMode::Exclusive, WaitPolicy::Block).err()
    };
    let lock = &lock;
    let errors =
        std::thread::scope(|scope| [0, 1].map(|own| scope.spawn(move || lock(own))).map(|one| one.join().unwrap()));
    let mut errors = errors.into_iter().flatten();
    let (Some(error), None) = (errors.next(), errors.next()) else { panic!("one of them is the victim") };
    assert_eq!(error.sqlstate(), sqlstate::DEADLOCK_DETECTED);
    let detail = error.fields().detail.clone().unwrap_or_default();
    assert!(tables.iter().all(|table| detail.contains(&format!("relation {table} of database 5"))), "{detail}");
}

#[test]
fn upserts_of_the_same_keys_from_many_threads_neither_fail_nor_double() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let table = create_table(&mut database.session().unwrap(), "t", &TYPES);
    let inserted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut session = database.session().unwrap();
                for round in 0..120 {
                    run(&mut session, |s| upsert(s, &table, round % 10, &inserted)).unwrap();
                }
            });
        }
    });
    assert_eq!(inserted.into_inner(), 10);
    let mut session = database.session().unwrap();
    let total: i64 = (0..10).map(|id| value(&mut session, &table, id).unwrap()).sum();
    assert_eq!(total, 6 * 120);
    run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
}

/// INSERT ... ON CONFLICT DO UPDATE SET v = v + 1.
fn upsert(session: &Session, table: &Table, id: i32, inserted: &AtomicU64) -> base::Result<()> {
    let changed: ColumnSet = [1].into_iter().collect();
    let mut row = RowBytes::new();
    loop {
        match session.insert_on_conflict(table, &[Datum::I32(id), Datum::I64(1)], &PlainKeys, Some(&[0]))? {
            ConflictOutcome::Inserted(_) => {
                inserted.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            ConflictOutcome::Conflict { index_position, tid } => {
                assert_eq!(index_position, 0);
                if !matches!(session.lock_row(table, tid, RowLockMode::Update, WaitPolicy::Block)?, Modify::Done { .. })
                {
                    continue;
                }
                let Some(tid) = session.newest_version(table, tid, &mut row)? else { continue };
                let Datum::I64(old) = table.row(&row).get(1) else { panic!("column 1 is a number") };
                let new = [Datum::I32(id), Datum::I64(old + 1)];
                if let Modify::Done { .. } = session.update(table, tid, &new, &changed, &PlainKeys)? {
                    return Ok(());
                }
            }
        }
    }
}

// invariants: row 15
#[test]
fn a_snapshot_stays_as_it_is_while_others_move_money() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[("autovacuum_naptime", "1s"), ("autovacuum_vacuum_threshold", "1")]);
    let table = create_table(&mut database.session().unwrap(), "t", &TYPES);
    run(&mut database.session().unwrap(), |s| (0..20).try_for_each(|id| insert(s, &table, id, 100).map(drop))).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (database, table, stop) = (&database, &table, &stop);
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                session.set_synchronous_commit(false);
                let mut round = thread;
                while !stop.load(Ordering::Relaxed) {
                    round += 7;
                    // Rows are locked in order of their number, so nobody waits in a circle.
                    let (a, b) = (round % 20, (round / 20) % 20);
                    let (low, high) = (a.min(b), a.max(b));
                    if low != high {
                        begin(&mut session);
                        statement(&session, |s| set_i64(s, table, low, &|old| old - 1)).unwrap();
                        statement(&session, |s| set_i64(s, table, high, &|old| old + 1)).unwrap();
                        session.commit().unwrap();
                    }
                }
            });
        }
        let mut reader = database.session().unwrap();
        let sum = |s: &Session| -> base::Result<(i64, Vec<i64>)> {
            let values = all(s, &table, |row| if let Datum::I64(v) = row[1] { v } else { 0 });
            assert_eq!(values.len(), 20);
            Ok((
                values.iter().sum(),
                (0..20)
                    .filter_map(|id| {
                        get(s, &table, id, |row| match row[1] {
                            Datum::I64(v) => v,
                            _ => 0,
                        })
                    })
                    .collect(),
            ))
        };
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline {
            reader.begin(TransactionOptions { isolation: Isolation::RepeatableRead, ..Default::default() }).unwrap();
            let (total, first) = statement(&reader, sum).unwrap();
            assert_eq!(total, 2000);
            for _ in 0..3 {
                let (total, again) = statement(&reader, sum).unwrap();
                assert_eq!((total, &again), (2000, &first));
            }
            reader.commit().unwrap();
            let (total, _) = run(&mut reader, sum).unwrap();
            assert_eq!(total, 2000);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut session = database.session().unwrap();
    run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
}

// invariants: row 27
#[test]
fn sessions_that_vanish_in_the_middle_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    run(&mut session, |s| (0..10).try_for_each(|id| insert(s, &table, id, 0).map(drop))).unwrap();
    for round in 0..300 {
        let mut victim = database.session().unwrap();
        begin(&mut victim);
        victim.begin_statement().unwrap();
        set_i64(&victim, &table, round % 10, &|old| old + 1).unwrap();
        insert(&victim, &table, 1000 + round, 0).unwrap();
        victim.lock_relation(table.oid(), LockMode::ShareUpdateExclusive, WaitPolicy::Block).unwrap();
        victim.savepoint().unwrap();
        create_table_in_transaction(&victim, "never", &TYPES);
        drop(victim);
    }
    assert_eq!(database.transactions().running(), []);
    assert!(database.locks().snapshot().is_empty(), "{:?}", database.locks().snapshot());
    begin(&mut session);
    session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::NoWait).unwrap();
    let rows = statement(&session, |s| Ok(all(s, &table, |row| row[1] == Datum::I64(0)))).unwrap();
    assert_eq!(rows, vec![true; 10]);
    session.commit().unwrap();
    assert!(session.catalog().table_by_name(schema::catalog::PUBLIC_SCHEMA, "never").is_none());
}

#[test]
fn a_cancelled_or_timed_out_wait_ends_and_releases_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let mut holder = database.session().unwrap();
    let table = create_table(&mut holder, "t", &TYPES);
    run(&mut holder, |s| insert(s, &table, 1, 0)).unwrap();
    begin(&mut holder);
    statement(&holder, |s| set_i64(s, &table, 1, &|old| old + 1)).unwrap();
    let mut waiter = database.session().unwrap();
    waiter.set_lock_timeout(Some(Duration::from_millis(50)));
    let error = run(&mut waiter, |s| set_i64(s, &table, 1, &|old| old + 1)).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::LOCK_NOT_AVAILABLE);
    waiter.set_lock_timeout(None);
    let interrupt = waiter.interrupt().clone();
    std::thread::scope(|scope| {
        let outcome = scope.spawn(move || run(&mut waiter, |s| set_i64(s, &table, 1, &|old| old + 1)));
        wait_until("it waits", || database.locks().waiting_count() == 1);
        interrupt.raise(sync::InterruptKind::Cancel);
        let error = outcome.join().unwrap().unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED);
        assert_eq!(error.message(), "canceling statement due to user request");
    });
    assert_eq!(database.locks().waiting_count(), 0);
    holder.commit_and_wait().unwrap();
}

#[test]
fn nested_statements_see_what_the_outer_one_wrote_and_leave_its_snapshot_alone() {
    let (database, _disk) = simulated(1);
    let (mut one, mut two) = (database.session().unwrap(), database.session().unwrap());
    let table = create_table(&mut one, "t", &TYPES);
    begin(&mut one);
    one.begin_statement().unwrap();
    insert(&one, &table, 1, 1).unwrap();
    assert_eq!(all(&one, &table, |_| ()).len(), 0, "a statement does not see what it wrote itself");
    run(&mut two, |s| insert(s, &table, 2, 2)).unwrap();
    one.push_snapshot().unwrap();
    assert_eq!(all(&one, &table, |_| ()).len(), 2, "a statement inside it sees that, and what others have committed");
    insert(&one, &table, 3, 3).unwrap();
    one.pop_snapshot();
    assert_eq!(all(&one, &table, |_| ()).len(), 0);
    one.advance_command().unwrap();
    assert_eq!(all(&one, &table, |_| ()).len(), 2, "its own rows, not the other session's");
    one.end_statement();
    one.commit_and_wait().unwrap();
}

#[test]
fn a_portal_goes_on_reading_with_its_snapshot() {
    let (database, _disk) = simulated(1);
    let (mut one, mut two) = (database.session().unwrap(), database.session().unwrap());
    let table = create_table(&mut one, "t", &TYPES);
    run(&mut one, |s| (0..500).try_for_each(|id| insert(s, &table, id, 0).map(drop))).unwrap();
    begin(&mut one);
    one.begin_statement().unwrap();
    let portal = one.keep_snapshot();
    let mut scan = one.scan(&table).unwrap();
    for _ in 0..10 {
        assert!(scan.next(&one).unwrap().is_some());
    }
    one.end_statement();
    for id in 0..500 {
        run(&mut two, |s| set_i64(s, &table, id, &|old| old + 1)).unwrap();
    }
    two.vacuum(&table, cohort_engine::VacuumOptions::default()).unwrap();
    // Another statement in between sees the present.
    assert_eq!(statement(&one, |s| Ok(get(s, &table, 499, |row| row[1] == Datum::I64(1)))).unwrap(), Some(true));
    one.enter_snapshot(&portal);
    let mut rest = 0;
    while let Some((_, bytes)) = scan.next(&one).unwrap() {
        assert_eq!(table.row(bytes).get(1), Datum::I64(0));
        rest += 1;
    }
    assert_eq!(rest, 490);
    one.pop_snapshot();
    one.release_snapshot(portal);
    one.commit().unwrap();
}

/// Rule R4: a ticket tells of a commit, it doesn't hold it.
// invariants: row 12
#[test]
fn a_commit_whose_ticket_was_dropped_is_durable_before_any_later_one() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let insert_async = |session: &mut Session, id: i32| {
        begin(session);
        statement(session, |s| insert(s, &table, id, 0)).unwrap();
        session.commit_async().unwrap()
    };
    let dropped = insert_async(&mut session, 1);
    assert!(!dropped.is_durable());
    drop(dropped);
    let mut other = database.session().unwrap();
    assert_eq!(value(&mut other, &table, 1), Some(0), "visible at once");
    // Without a flusher thread the first poll leads the flush.
    let mut awaited = std::pin::pin!(insert_async(&mut session, 2));
    assert_eq!(awaited.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(()));
    let oid = table.def.oid;
    drop((session, other, database));

    let database = cohort_engine::Database::open(options_on(&disk.crash(), &[])).unwrap();
    let mut session = database.session().unwrap();
    let table = session.open_table(oid).unwrap();
    let ids = run(&mut session, |s| Ok(all(s, &table, |row| if let Datum::I32(id) = row[0] { id } else { 0 })));
    assert_eq!(ids.unwrap(), [1, 2]);
}

/// Tasks take their sessions from thread to thread.
#[test]
fn sessions_can_be_sent() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&simulated(1).0.session().unwrap());
}
