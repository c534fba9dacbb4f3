//! Objects: made and dropped in transactions, with their files; seen by their own transaction first and by others after its
//! commit.

mod common;

use base::{Oid, sqlstate};
use cohort_engine::key::{IndexKeySource, KeyBuffer, PlainKeys};
use cohort_engine::{Database, LockMode, Table, WaitPolicy};
use common::*;
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, SchemaDef, SequenceDef, TableDef};
use schema::row::{Datum, PhysicalType};
use vfs::{SimulatedVfs, Survival};

const TYPES: [PhysicalType; 3] = [PhysicalType::I32, PhysicalType::I64, PhysicalType::Bytes];

fn files(database: &Database) -> Vec<base::FileNumber> {
    database.pool().list_files().unwrap()
}

#[test]
fn a_table_rolled_back_vanishes_with_its_files() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let before = files(&database);
    begin(&mut session);
    let oid = create_table_in_transaction(&session, "t", &TYPES);
    let table = session.open_table(oid).unwrap();
    statement(&session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(2), Datum::Bytes(b"")], &PlainKeys)).unwrap();
    assert_eq!(files(&database).len(), before.len() + 4, "heap, index, overflow heap and its index");
    session.rollback().unwrap();
    assert_eq!(files(&database), before);
    assert!(session.catalog().table(oid).is_none());
    assert_eq!(session.open_table(oid).unwrap_err().sqlstate(), sqlstate::UNDEFINED_TABLE);
    // The name is free again.
    create_table(&mut session, "t", &TYPES);
}

#[test]
fn a_savepoint_rolled_back_takes_its_objects_along_and_leaves_those_before() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    begin(&mut session);
    let kept = create_table_in_transaction(&session, "kept", &TYPES);
    let savepoint = session.savepoint().unwrap();
    let gone = create_table_in_transaction(&session, "gone", &TYPES);
    session.drop_object(session.catalog().indexes_of(kept)[0].oid).unwrap();
    let with = files(&database).len();
    session.rollback_to(savepoint).unwrap();
    assert_eq!(files(&database).len(), with - 4);
    assert!(session.catalog().table(gone).is_none());
    assert_eq!(session.catalog().indexes_of(kept).len(), 1);
    session.commit_and_wait().unwrap();
    assert!(database.catalog().table(kept).is_some() && database.catalog().table(gone).is_none());
    assert_eq!(database.catalog().indexes_of(kept).len(), 1);
}

#[test]
fn others_see_objects_after_the_commit_and_not_before() {
    let (database, _disk) = simulated(1);
    let (mut one, two) = (database.session().unwrap(), database.session().unwrap());
    let version = two.catalog_version();
    begin(&mut one);
    let oid = create_table_in_transaction(&one, "t", &TYPES);
    assert!(one.catalog().table(oid).is_some());
    assert!(one.catalog_version() != version);
    assert!(two.catalog().table(oid).is_none());
    assert_eq!(two.catalog_version(), version);
    one.commit_and_wait().unwrap();
    assert!(two.catalog_version() != version);
    assert_eq!(two.catalog().table_by_name(PUBLIC_SCHEMA, "t").map(|def| def.oid), Some(oid));
    // invariants: row 11. A session that answers from the new catalog waits for the commit that made it.
    assert!(two.observed() >= two.catalog().csn() && two.catalog().csn() > base::Lsn::ZERO);
}

#[test]
fn a_dropped_table_keeps_its_files_until_the_drop_is_durable() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let before = files(&database).len();
    begin(&mut session);
    session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::Block).unwrap();
    for index in session.catalog().indexes_of(table.oid()) {
        session.drop_object(index.oid).unwrap();
    }
    session.drop_object(table.oid()).unwrap();
    session.set_synchronous_commit(false);
    let gate = session.commit().unwrap();
    assert!(gate > base::Lsn::ZERO, "a commit that removes files is waited for, whatever synchronous_commit says");
    assert_eq!(files(&database).len(), before);
    session.wait_durable(gate);
    assert_eq!(files(&database).len(), before - 4);
}

#[test]
fn names_are_unique_and_errors_are_those_of_postgresql() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    create_table(&mut session, "t", &TYPES);
    begin(&mut session);
    let error = session
        .create_object(SequenceDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "t", BOOTSTRAP_ROLE))
        .unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::DUPLICATE_TABLE);
    assert_eq!(error.message(), "relation \"t\" already exists");
    let schema = SchemaDef { oid: session.allocate_oid(), name: "public".into(), owner: BOOTSTRAP_ROLE, comment: None };
    assert_eq!(session.create_object(schema).unwrap_err().sqlstate(), sqlstate::DUPLICATE_SCHEMA);
    let missing = session.drop_object(Oid(99_999)).unwrap_err();
    assert_eq!(missing.sqlstate(), sqlstate::UNDEFINED_OBJECT);
    session.rollback().unwrap();
}

#[test]
fn truncate_empties_a_table_and_its_rollback_brings_everything_back() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let large = vec![9; 30_000];
    run(&mut session, |s| {
        s.insert(&table, &[Datum::I32(1), Datum::I64(2), Datum::Bytes(&large)], &PlainKeys)?;
        s.insert(&table, &[Datum::I32(2), Datum::I64(3), Datum::Bytes(b"small")], &PlainKeys)
    })
    .unwrap();
    for commit in [false, true] {
        begin(&mut session);
        session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::Block).unwrap();
        session.truncate(&table).unwrap();
        let emptied = session.open_table(table.oid()).unwrap();
        statement(&session, |s| {
            assert_eq!(all(s, &emptied, |_| ()).len(), 0);
            assert_eq!(get(s, &emptied, 1, |_| ()), None);
            s.insert(&emptied, &[Datum::I32(1), Datum::I64(0), Datum::Null], &PlainKeys)
        })
        .unwrap();
        if commit {
            session.commit_and_wait().unwrap()
        } else {
            session.rollback().unwrap()
        }
        let now = session.open_table(table.oid()).unwrap();
        let rows = run(&mut session, |s| Ok(all(s, &now, |row| row[2] == Datum::Bytes(&large)))).unwrap();
        assert_eq!(rows, if commit { vec![false] } else { vec![true, false] });
    }
}

#[test]
fn a_stale_table_is_refused_once_its_storage_is_another() {
    let (database, _disk) = simulated(1);
    let (mut one, mut two) = (database.session().unwrap(), database.session().unwrap());
    let table = create_table(&mut one, "t", &TYPES);
    begin(&mut one);
    one.truncate(&table).unwrap();
    one.commit_and_wait().unwrap();
    let row = [Datum::I32(1), Datum::I64(1), Datum::Null];
    let error = run(&mut two, |s| s.insert(&table, &row, &PlainKeys)).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE);
    let table = two.open_table(table.oid()).unwrap();
    run(&mut two, |s| s.insert(&table, &row, &PlainKeys)).unwrap();
}

/// Keys with a description, as the SQL layer gives them.
struct Described;

impl IndexKeySource for Described {
    fn key(&self, table: &Table, position: usize, row: &[Datum], out: &mut KeyBuffer) -> base::Result<bool> {
        PlainKeys.key(table, position, row, out)
    }

    fn describe(&self, _table: &Table, _position: usize, row: &[Datum]) -> base::Result<Option<String>> {
        Ok(Some(format!("Key (v)=({:?})", row[1])))
    }
}

#[test]
fn an_index_is_built_from_rows_in_place_and_refuses_duplicates() {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    run(&mut session, |s| {
        for id in 0..3000 {
            let value = if id % 100 == 0 { Datum::Null } else { Datum::I64(i64::from(id) * 7 % 3000) };
            s.insert(&table, &[Datum::I32(id), value, Datum::Null], &PlainKeys)?;
        }
        Ok(())
    })
    .unwrap();
    begin(&mut session);
    session.lock_relation(table.oid(), LockMode::Share, WaitPolicy::Block).unwrap();
    let index = IndexDef::new(session.allocate_oid(), &table.def, "by_v", &[1], true);
    session.create_object(index.clone()).unwrap();
    let with = session.open_table(table.oid()).unwrap();
    let position = with.index_position(index.oid).unwrap();
    statement(&session, |s| s.build_index(&with, position, &PlainKeys)).unwrap();
    session.commit_and_wait().unwrap();
    let with = session.open_table(table.oid()).unwrap();
    run(&mut session, |s| s.check_table(&with, &PlainKeys)).unwrap();
    // Nulls are equal to nothing; other keys are.
    run(&mut session, |s| s.insert(&with, &[Datum::I32(5000), Datum::Null, Datum::Null], &PlainKeys)).unwrap();
    let error = run(&mut session, |s| s.insert(&with, &[Datum::I32(5001), Datum::I64(7), Datum::Null], &Described));
    let error = error.unwrap_err();
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"by_v\"");
    assert_eq!(error.fields().detail.as_deref(), Some("Key (v)=(I64(7)) already exists."));
    assert_eq!(error.fields().schema.as_deref(), Some("public"));

    // Another unique index over a column with equal values can't be built, and leaves nothing.
    run(&mut session, |s| s.insert(&with, &[Datum::I32(6000), Datum::I64(-1), Datum::Bytes(b"x")], &PlainKeys))
        .unwrap();
    run(&mut session, |s| s.insert(&with, &[Datum::I32(6001), Datum::I64(-2), Datum::Bytes(b"x")], &PlainKeys))
        .unwrap();
    let before = files(&database);
    begin(&mut session);
    let index = IndexDef::new(session.allocate_oid(), &table.def, "by_s", &[2], true);
    session.create_object(index.clone()).unwrap();
    let wider = session.open_table(table.oid()).unwrap();
    let position = wider.index_position(index.oid).unwrap();
    let error = statement(&session, |s| s.build_index(&wider, position, &Described)).unwrap_err();
    assert_eq!(error.message(), "could not create unique index \"by_s\"");
    assert!(error.fields().detail.as_deref().unwrap().ends_with("is duplicated."));
    session.rollback().unwrap();
    assert_eq!(files(&database), before);
    drop((session, database, disk));
}

#[test]
fn orphans_of_a_crash_are_swept_up_at_the_next_start() {
    let disk = SimulatedVfs::new(5);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let mut session = database.session().unwrap();
    create_table(&mut session, "kept", &TYPES);
    database.checkpoint().unwrap();
    let before = files(&database);
    begin(&mut session);
    create_table_in_transaction(&session, "lost", &TYPES);
    database.wal().flush(database.wal().inserted());
    assert!(files(&database).len() > before.len());
    let options = vfs::SimulatedOptions { seed: 5, survival: Survival::Everything, faults: Vec::new() };
    let crashed = disk.crash_with(options);
    let database = Database::open(options_on(&crashed, &[])).unwrap();
    assert_eq!(files(&database), before);
    // Numbers are not given out again.
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "next", &TYPES);
    assert!(table.def.files().all(|file| !before.contains(&file)));
}

#[test]
fn many_objects_and_long_descriptions_survive_a_restart() {
    let (database, disk) = simulated(3);
    let mut session = database.session().unwrap();
    begin(&mut session);
    let mut def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "wide", BOOTSTRAP_ROLE);
    for number in 0..300 {
        def = def.column(format!("a_column_with_quite_a_long_name_{number}"), PhysicalType::I32);
    }
    def.comment = Some("x".repeat(50_000));
    session.create_object(def.clone()).unwrap();
    for number in 0..50 {
        let sequence = SequenceDef::new(session.allocate_oid(), PUBLIC_SCHEMA, format!("s{number}"), BOOTSTRAP_ROLE);
        session.create_object(sequence).unwrap();
    }
    session.commit_and_wait().unwrap();
    let committed = session.catalog().table(def.oid).unwrap().clone();
    drop((session, database));
    let database = Database::open(options_on(&disk.crash(), &[])).unwrap();
    assert_eq!(*database.catalog().table(def.oid).unwrap(), committed);
    assert_eq!(database.catalog().sequences().count(), 50);
    assert!(database.catalog().schema_by_name("public").is_some());
}
