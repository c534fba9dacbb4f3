//! Prepared transactions with tables: what they hold and what they changed survives restarts.

mod common;

use std::sync::Arc;

use base::{Oid, Result, sqlstate};
use cohort_engine::{
    Database, Finisher, Isolation, Modify, RowLockMode, Session, Table, TransactionOptions, VacuumOptions, WaitPolicy,
};
use common::*;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType, RowBytes};
use vfs::{SimulatedOptions, SimulatedVfs, Survival, Vfs};

const TYPES: [PhysicalType; 2] = [PhysicalType::I32, PhysicalType::I64];
const ROLE: Oid = Oid(10);
const FINISHER: Finisher = Finisher { role: ROLE, is_superuser: false };
const SERIALIZABLE: TransactionOptions =
    TransactionOptions { isolation: Isolation::Serializable, read_only: false, deferrable: false };

fn with_rows(rows: i32) -> (Database, SimulatedVfs, Arc<Table>) {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    run(&mut session, |s| {
        (0..rows).try_for_each(|id| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop))
    })
    .unwrap();
    drop(session);
    (database, disk, table)
}

fn prepare(session: &mut Session, gid: &str) {
    let gate = session.prepare_transaction(gid, ROLE).unwrap();
    session.wait_durable(gate);
}

/// The power fails; only what was synced is there.
fn restart(database: Database, disk: &SimulatedVfs, table: &Table) -> (Database, SimulatedVfs, Arc<Table>) {
    let next = disk.survivor(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) });
    drop(database);
    let database = Database::open(options_on(&next, &[])).unwrap();
    let table = database.session().unwrap().open_table(table.oid()).unwrap();
    (database, next, table)
}

/// Tries to lock a row without waiting.
fn try_lock(database: &Database, table: &Table, id: i32, mode: RowLockMode) -> Result<Modify> {
    let mut session = database.session()?;
    begin(&mut session);
    let outcome = statement(&session, |s| {
        let mut row = RowBytes::new();
        let tid = s.index_point(table, 0, key_i32(id).as_slice(), &mut row)?.expect("the row is there");
        s.lock_row(table, tid, mode, WaitPolicy::NoWait)
    });
    session.rollback()?;
    outcome
}

fn is_refused(database: &Database, table: &Table, id: i32, mode: RowLockMode) -> bool {
    match try_lock(database, table, id, mode) {
        Ok(Modify::Done { .. }) => false,
        Err(error) => {
            assert_eq!(error.sqlstate(), sqlstate::LOCK_NOT_AVAILABLE, "{error}");
            true
        }
        other => panic!("{other:?}"),
    }
}

fn value(database: &Database, table: &Table, id: i32) -> Option<i64> {
    let mut session = database.session().unwrap();
    let row = |row: &[Datum]| if let Datum::I64(value) = row[1] { value } else { panic!("column 1 is a number") };
    run(&mut session, |s| Ok(get(s, table, id, row))).unwrap()
}

// invariants: row 21: locks on rows that others have updated since, and whose old versions vacuum would like to have.
#[test]
fn key_share_locks_follow_their_row_through_updates_and_restarts() {
    let (mut database, mut disk, mut table) = with_rows(20);
    let mut session = database.session().unwrap();
    begin(&mut session);
    statement(&session, |s| {
        let mut row = RowBytes::new();
        let tid = s.index_point(&table, 0, key_i32(3).as_slice(), &mut row)?.unwrap();
        s.lock_row(&table, tid, RowLockMode::KeyShare, WaitPolicy::Block)
    })
    .unwrap();
    prepare(&mut session, "keeper");
    let mut updates = 0;
    for round in 0..4 {
        // So many that they leave their page.
        for _ in 0..150 {
            assert!(run(&mut session, |s| set_i64(s, &table, 3, &|old| old + 1)).unwrap());
            updates += 1;
        }
        session.vacuum(&table, VacuumOptions::default()).unwrap();
        assert!(is_refused(&database, &table, 3, RowLockMode::Update), "round {round}");
        if round % 2 == 1 {
            database.checkpoint().unwrap();
        }
        drop(session);
        (database, disk, table) = restart(database, &disk, &table);
        assert!(is_refused(&database, &table, 3, RowLockMode::Update), "round {round}, after the restart");
        assert!(!is_refused(&database, &table, 3, RowLockMode::NoKeyUpdate));
        assert!(!is_refused(&database, &table, 4, RowLockMode::Update));
        assert_eq!(value(&database, &table, 3), Some(updates));
        session = database.session().unwrap();
    }
    let gate = session.commit_prepared("keeper", FINISHER).unwrap();
    session.wait_durable(gate);
    assert!(!is_refused(&database, &table, 3, RowLockMode::Update));
    // This vacuum may remove the versions that were kept for the prepared transaction.
    session.vacuum(&table, VacuumOptions::default()).unwrap();
    assert_eq!(value(&database, &table, 3), Some(updates));
    drop(session);
    database.close().unwrap();
}

#[test]
fn changes_of_savepoints_wait_with_their_transaction() {
    for commits in [true, false] {
        let (database, disk, table) = with_rows(5);
        let mut session = database.session().unwrap();
        begin(&mut session);
        statement(&session, |s| set_i64(s, &table, 0, &|_| 10)).unwrap();
        let undone = session.savepoint().unwrap();
        statement(&session, |s| set_i64(s, &table, 1, &|_| 11)).unwrap();
        session.rollback_to(undone).unwrap();
        session.savepoint().unwrap();
        statement(&session, |s| set_i64(s, &table, 2, &|_| 12)).unwrap();
        prepare(&mut session, "x");
        drop(session);
        let (database, _, table) = restart(database, &disk, &table);
        assert_eq!([0, 1, 2].map(|id| value(&database, &table, id)), [Some(0); 3]);
        let refused = [0, 1, 2].map(|id| is_refused(&database, &table, id, RowLockMode::NoKeyUpdate));
        assert_eq!(refused, [true, false, true]);
        let mut session = database.session().unwrap();
        if commits {
            session.commit_prepared("x", FINISHER).unwrap();
            assert_eq!([0, 1, 2].map(|id| value(&database, &table, id)), [Some(10), Some(0), Some(12)]);
        } else {
            session.rollback_prepared("x", FINISHER).unwrap();
            assert_eq!([0, 1, 2].map(|id| value(&database, &table, id)), [Some(0); 3]);
        }
        assert!(!is_refused(&database, &table, 2, RowLockMode::Update));
    }
}

// Tables made and dropped, with the process ended between the phases or not.
#[test]
fn the_catalog_changes_with_the_second_phase() {
    for (commits, restarts) in [(true, false), (true, true), (false, false), (false, true)] {
        let (mut database, mut disk, mut table) = with_rows(3);
        let files = |disk: &SimulatedVfs| disk.list_dir("/data/base".as_ref()).unwrap().len();
        let before = files(&disk);
        let mut session = database.session().unwrap();
        begin(&mut session);
        let made = create_table_in_transaction(&session, "made", &TYPES);
        statement(&session, |s| {
            let table = s.open_table(made)?;
            s.insert(&table, &[Datum::I32(1), Datum::I64(7)], &PlainKeys)
        })
        .unwrap();
        let dropped = table.oid();
        session.lock_relation(dropped, cohort_engine::LockMode::AccessExclusive, WaitPolicy::Block).unwrap();
        let indexes: Vec<Oid> = session.catalog().indexes_of(dropped).iter().map(|index| index.oid).collect();
        indexes.into_iter().for_each(|index| session.drop_object(index).unwrap());
        session.drop_object(dropped).unwrap();
        prepare(&mut session, "ddl");
        assert!(session.catalog().table(made).is_none() && session.catalog().table(dropped).is_some());
        drop(session);
        if restarts {
            (database, disk, table) = restart(database, &disk, &table);
        }
        let mut session = database.session().unwrap();
        let locked = session.database().locks().snapshot();
        assert!(locked.iter().any(|lock| lock.tag == cohort_engine::LockTag::Relation(dropped)));
        // Another transaction changes the catalog in between.
        let other = create_table(&mut session, "other", &TYPES);
        if commits {
            session.commit_prepared("ddl", FINISHER).unwrap();
        } else {
            session.rollback_prepared("ddl", FINISHER).unwrap();
        }
        let catalog = session.catalog();
        assert_eq!(catalog.table(made).is_some(), commits);
        assert_eq!(catalog.table(dropped).is_some(), !commits);
        assert!(catalog.table(other.oid()).is_some());
        if commits {
            let made = session.open_table(made).unwrap();
            assert_eq!(value(&database, &made, 1), Some(7));
        } else {
            assert_eq!(value(&database, &table, 1), Some(0));
        }
        let mut latest = database.session().unwrap();
        let another = create_table(&mut latest, "another", &TYPES);
        drop((session, latest, catalog));
        let (database, disk, _) = restart(database, &disk, &another);
        // Either way one table of the two is left, beside two more: two files each.
        assert_eq!(files(&disk), before + 4, "commits: {commits}, restarts: {restarts}");
        database.close().unwrap();
    }
}

// invariants: row 17, with a transaction that can't be the victim
#[test]
fn prepared_serializable_transactions_are_never_sacrificed_before_or_after_a_restart() {
    for restarts in [false, true] {
        let (mut database, disk, mut table) = with_rows(4);
        // Write skew: each reads what the other writes.
        let mut one = database.session().unwrap();
        one.begin(SERIALIZABLE).unwrap();
        statement(&one, |s| {
            get(s, &table, 0, |_| ()).unwrap();
            set_i64(s, &table, 1, &|_| 1)
        })
        .unwrap();
        prepare(&mut one, "skew");
        drop(one);
        if restarts {
            (database, _, table) = restart(database, &disk, &table);
        }
        let mut other = database.session().unwrap();
        other.begin(SERIALIZABLE).unwrap();
        let skewed = statement(&other, |s| {
            s.index_point(&table, 0, key_i32(1).as_slice(), &mut RowBytes::new())?;
            set_i64(s, &table, 0, &|_| 1)
        })
        .and_then(|_| other.commit());
        assert_eq!(skewed.unwrap_err().sqlstate(), sqlstate::SERIALIZATION_FAILURE, "restarts: {restarts}");
        other.rollback().unwrap();
        // One that has nothing to do with it is left alone.
        other.begin(SERIALIZABLE).unwrap();
        statement(&other, |s| {
            get(s, &table, 2, |_| ()).unwrap();
            set_i64(s, &table, 3, &|_| 1)
        })
        .unwrap();
        other.commit().unwrap();
        other.commit_prepared("skew", FINISHER).unwrap();
        assert_eq!([0, 1, 3].map(|id| value(&database, &table, id)), [Some(0), Some(1), Some(1)]);
    }
}

#[test]
fn a_database_is_closed_with_prepared_transactions_in_it() {
    let (database, disk, table) = with_rows(2);
    let mut session = database.session().unwrap();
    begin(&mut session);
    statement(&session, |s| set_i64(s, &table, 0, &|_| 1)).unwrap();
    prepare(&mut session, "x");
    drop(session);
    database.close().unwrap();
    drop(database);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let mut session = database.session().unwrap();
    let gids: Vec<String> = session.prepared_transactions().iter().map(|found| found.gid.to_string()).collect();
    assert_eq!(gids, ["x"]);
    assert!(is_refused(&database, &table, 0, RowLockMode::NoKeyUpdate));
    session.commit_prepared("x", FINISHER).unwrap();
    assert_eq!(value(&database, &table, 0), Some(1));
    drop(session);
    database.close().unwrap();
}

#[test]
fn more_are_restored_than_may_be_prepared_now() {
    let (database, disk, table) = with_rows(4);
    let mut session = database.session().unwrap();
    for id in 0..4 {
        begin(&mut session);
        statement(&session, |s| set_i64(s, &table, id, &|_| 1)).unwrap();
        prepare(&mut session, &id.to_string());
    }
    drop((session, database));
    let next = disk.crash();
    let database = Database::open(options_on(&next, &[("max_prepared_transactions", "0")])).unwrap();
    let mut session = database.session().unwrap();
    begin(&mut session);
    let refused = session.prepare_transaction("more", ROLE).unwrap_err();
    assert_eq!(refused.message(), "prepared transactions are disabled");
    for id in 0..4 {
        session.commit_prepared(&id.to_string(), FINISHER).unwrap();
    }
    assert_eq!(value(&database, &table, 3), Some(1));
}

#[test]
fn only_its_owner_or_a_superuser_finishes_a_transaction() {
    let (database, _, table) = with_rows(1);
    let mut session = database.session().unwrap();
    begin(&mut session);
    statement(&session, |s| set_i64(s, &table, 0, &|_| 1)).unwrap();
    prepare(&mut session, "x");
    let other = Finisher { role: Oid(99), ..FINISHER };
    assert_eq!(session.commit_prepared("x", other).unwrap_err().sqlstate(), sqlstate::INSUFFICIENT_PRIVILEGE);
    let mut elsewhere = database.session_in(Oid(1)).unwrap();
    assert_eq!(elsewhere.commit_prepared("x", FINISHER).unwrap_err().sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
    let superuser = Finisher { is_superuser: true, ..other };
    session.rollback_prepared("x", superuser).unwrap();
    assert_eq!(value(&database, &table, 0), Some(0));
}
