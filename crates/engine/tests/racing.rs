//! Threads that write, checkpoint and vacuum at once on the simulated disk, until the power fails; and objects and sequences
//! across crashes. Seeds as in `crash.rs`; here a seed does not say how the threads interleave.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use base::{Oid, Result};
use cohort_engine::{Database, LockMode, Session, Table, TransactionOptions, VacuumOptions};
use common::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::catalog::{BOOTSTRAP_ROLE, PUBLIC_SCHEMA, SequenceDef};
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{Fault, SimulatedVfs};

const WRITERS: i32 = 3;

fn seeds(default: u64) -> impl Iterator<Item = u64> {
    let parse = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match parse("COHORT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..parse("COHORT_SEEDS").map_or(default, |seeds| seeds / 10 + 1),
    }
}

/// For each writer, the number of its last acknowledged transaction.
type Acknowledged = [AtomicI64; WRITERS as usize];

/// Each transaction enters (writer, number) in the ledger and sets the writer's row to the number.
fn write(session: &mut Session, table: &Table, ledger: &Table, writer: i32, number: i64) -> Result<()> {
    session.begin(TransactionOptions::default())?;
    statement(session, |s| {
        s.insert(ledger, &[Datum::I32(writer), Datum::I64(number), Datum::Bytes(&[7; 150])], &PlainKeys)?;
        set_i64(s, table, writer, &|_| number)
    })?;
    session.commit_and_wait()
}

// invariants: rows 13, 31
#[test]
fn checkpoints_and_vacuums_that_race_commits_lose_none_at_a_crash() {
    for seed in seeds(25) {
        let mut random = StdRng::seed_from_u64(seed);
        let disk = SimulatedVfs::new(seed);
        let database = Database::open(options_on(&disk, &[])).unwrap();
        let (table, ledger) = {
            let mut session = database.session().unwrap();
            let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64]);
            let ledger = create_ledger(&mut session);
            run(&mut session, |s| {
                (0..WRITERS).try_for_each(|id| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop))
            })
            .unwrap();
            (table, ledger)
        };
        disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..700)));
        let acknowledged = Acknowledged::default();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (database, table, ledger, acknowledged) = (&database, &table, &ledger, &acknowledged);
                scope.spawn(move || {
                    // Kept until after the unwinding, so that its end may fail once more.
                    let mut session = database.session().ok();
                    let _ = catch_unwind(AssertUnwindSafe(|| {
                        let session = session.as_mut().expect("a session was to be had");
                        session.set_synchronous_commit(writer != 0);
                        for number in 1..400 {
                            if write(session, table, ledger, writer, number).is_err() {
                                return;
                            }
                            if writer != 0 {
                                acknowledged[writer as usize].store(number, Ordering::SeqCst);
                            }
                        }
                    }));
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(session.take())));
                });
            }
            let (database, disk, table) = (&database, &disk, &table);
            scope.spawn(move || {
                let mut session = database.session().ok();
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let session = session.as_mut().expect("a session was to be had");
                    for _ in 0..200 {
                        if disk.is_crashed() || database.checkpoint().is_err() {
                            return;
                        }
                        database.tidy();
                        let _ = session.vacuum(table, VacuumOptions::default());
                    }
                }));
                let _ = catch_unwind(AssertUnwindSafe(|| drop(session.take())));
            });
        });
        let (table, ledger) = (table.oid(), ledger.oid());
        drop(database);
        let database = Database::open(options_on(&disk.crash(), &[])).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        check(&database, table, ledger, &acknowledged, seed);
    }
}

fn create_ledger(session: &mut Session) -> Arc<Table> {
    use schema::catalog::{IndexDef, TableDef};
    begin(session);
    let def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "ledger", BOOTSTRAP_ROLE)
        .column("writer", PhysicalType::I32)
        .column("number", PhysicalType::I64)
        .column("filler", PhysicalType::Bytes);
    let index = IndexDef::new(session.allocate_oid(), &def, "ledger_pkey", &[0, 1], true);
    let oid = def.oid;
    session.create_object(def).unwrap();
    session.create_object(index).unwrap();
    session.commit_and_wait().unwrap();
    session.open_table(oid).unwrap()
}

fn check(database: &Database, table: Oid, ledger: Oid, acknowledged: &Acknowledged, seed: u64) {
    let mut session = database.session().unwrap();
    let (table, ledger) = (session.open_table(table).unwrap(), session.open_table(ledger).unwrap());
    run(&mut session, |s| {
        let mut numbers = [const { Vec::new() }; WRITERS as usize];
        for (writer, number) in all(s, &ledger, |row| match row {
            [Datum::I32(writer), Datum::I64(number), _] => (*writer, *number),
            _ => panic!("{row:?}"),
        }) {
            numbers[writer as usize].push(number);
        }
        for (writer, numbers) in numbers.iter_mut().enumerate() {
            numbers.sort_unstable();
            let last = numbers.len() as i64;
            assert_eq!(*numbers, (1..=last).collect::<Vec<_>>(), "seed {seed}: writer {writer}");
            let told = acknowledged[writer].load(Ordering::SeqCst);
            assert!(last >= told, "seed {seed}: writer {writer} was told {told}, {last} are there");
            let now = get(s, &table, writer as i32, |row| row[1] == Datum::I64(last));
            assert_eq!(now, Some(true), "seed {seed}: row and ledger of writer {writer} agree");
        }
        s.check_table(&table, &PlainKeys)?;
        s.check_table(&ledger, &PlainKeys)?;
        Ok(())
    })
    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
}

// invariants: rows 1, 2, for objects and their files
#[test]
fn objects_and_files_agree_after_a_crash_at_any_call() {
    for seed in seeds(40) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        // Names in order of their commits, and how many of these were acknowledged.
        let committed: Mutex<(Vec<Vec<String>>, usize)> = Mutex::default();
        for _ in 0..3 {
            let database = Database::open(options_on(&disk, &[])).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..400)));
            let mut session = database.session().ok();
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let session = session.as_mut().expect("a session was to be had");
                for _ in 0..60 {
                    if change_objects(&database, session, &mut random, &committed).is_err()
                        && session.rollback().is_err()
                    {
                        return;
                    }
                }
            }));
            let _ = catch_unwind(AssertUnwindSafe(|| drop(session.take())));
            drop(database);
            disk = disk.crash();
            let database = Database::open(options_on(&disk, &[])).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            let catalog = database.catalog();
            let mut names: Vec<String> = catalog.tables().map(|def| def.name.clone()).collect();
            names.sort();
            let mut state = committed.lock().unwrap();
            let is_there = |at: usize| if at == 0 { names.is_empty() } else { state.0[at - 1] == names };
            let Some(found) = (state.1..=state.0.len()).rev().find(|at| is_there(*at)) else {
                panic!("seed {seed}: {names:?} is no state from {} on of {:?}", state.1, state.0);
            };
            state.0.truncate(found);
            state.1 = found;
            let mut owned: Vec<_> = catalog.objects().flat_map(|object| object.files()).collect();
            owned.push(base::FileNumber(1));
            owned.sort();
            assert_eq!(database.pool().list_files().unwrap(), owned, "seed {seed}: files and their owners");
            let mut session = database.session().unwrap();
            for def in catalog.tables() {
                let table = session.open_table(def.oid).unwrap();
                let summary = run(&mut session, |s| s.check_table(&table, &PlainKeys)).unwrap();
                assert_eq!(summary.rows, 30, "seed {seed}: table {}", def.name);
            }
            drop(session);
            drop(database);
            disk = disk.crash();
        }
    }
}

fn change_objects(
    database: &Database,
    session: &mut Session,
    random: &mut StdRng,
    committed: &Mutex<(Vec<Vec<String>>, usize)>,
) -> Result<()> {
    if random.random_bool(0.1) {
        return database.checkpoint();
    }
    begin(session);
    for _ in 0..random.random_range(1..4) {
        let catalog = session.catalog();
        let name = format!("t{}", random.random_range(0..5));
        match catalog.table_by_name(PUBLIC_SCHEMA, &name) {
            None => {
                let types = [PhysicalType::I32, PhysicalType::Bytes];
                let mut def =
                    schema::catalog::TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, &name, BOOTSTRAP_ROLE);
                for kind in types {
                    def = def.column(format!("{kind:?}"), kind);
                }
                let index =
                    schema::catalog::IndexDef::new(session.allocate_oid(), &def, format!("{name}_pkey"), &[0], true);
                let oid = def.oid;
                session.create_object(def)?;
                session.create_object(index)?;
                fill(session, oid)?;
            }
            Some(def) if random.random_bool(0.5) => {
                let table = session.open_table(def.oid)?;
                session.truncate(&table)?;
                fill(session, def.oid)?;
            }
            Some(def) => {
                for index in catalog.indexes_of(def.oid) {
                    session.drop_object(index.oid)?;
                }
                session.drop_object(def.oid)?;
            }
        }
    }
    if random.random_bool(0.25) {
        return session.rollback();
    }
    let mut names: Vec<String> = session.catalog().tables().map(|def| def.name.clone()).collect();
    names.sort();
    committed.lock().unwrap().0.push(names);
    session.commit_and_wait()?;
    let mut state = committed.lock().unwrap();
    state.1 = state.0.len();
    Ok(())
}

fn fill(session: &Session, oid: Oid) -> Result<()> {
    let table = session.open_table(oid)?;
    statement(session, |s| {
        (0..30).try_for_each(|id| s.insert(&table, &[Datum::I32(id), Datum::Bytes(&[1; 300])], &PlainKeys).map(drop))
    })
}

// invariants: row 11
#[test]
fn the_end_of_a_sequence_is_told_after_the_values_that_others_took_are_durable() {
    let database = Database::open(options_on(&SimulatedVfs::new(9), &[])).unwrap();
    let (mut one, other) = (database.session().unwrap(), database.session().unwrap());
    begin(&mut one);
    let def = SequenceDef { maximum: 1, ..SequenceDef::new(one.allocate_oid(), PUBLIC_SCHEMA, "s", BOOTSTRAP_ROLE) };
    let oid = def.oid;
    one.create_object(def).unwrap();
    one.commit_and_wait().unwrap();
    assert_eq!(one.nextval(oid).unwrap(), 1);
    assert!(one.gate() > other.gate());
    assert!(other.nextval(oid).is_err());
    assert_eq!(other.gate(), one.gate());
}

// invariants: row 36
#[test]
fn a_value_of_a_sequence_waits_for_the_record_that_another_session_has_made_for_it() {
    let database = Database::open(options_on(&SimulatedVfs::new(9), &[])).unwrap();
    let (mut one, other) = (database.session().unwrap(), database.session().unwrap());
    begin(&mut one);
    let def = SequenceDef::new(one.allocate_oid(), PUBLIC_SCHEMA, "s", BOOTSTRAP_ROLE);
    let oid = def.oid;
    one.create_object(def).unwrap();
    one.commit_and_wait().unwrap();
    assert_eq!(one.nextval(oid).unwrap(), 1);
    assert!(database.wal().durable() < one.gate(), "nobody has flushed the record");
    assert!(other.gate() < one.gate());
    // The record is of several values ahead, so this one makes none.
    assert_eq!(other.nextval(oid).unwrap(), 2);
    assert!(other.gate() >= one.gate());
}

#[test]
fn a_sequence_never_gives_a_value_twice_and_a_clean_stop_leaves_no_gap() {
    let mut disk = SimulatedVfs::new(9);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let oid = {
        let mut session = database.session().unwrap();
        begin(&mut session);
        let def = SequenceDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "s", BOOTSTRAP_ROLE);
        let oid = def.oid;
        session.create_object(def).unwrap();
        session.commit_and_wait().unwrap();
        oid
    };
    drop(database);
    disk = disk.crash();
    let mut last = 0;
    for round in 0..6 {
        let database = Database::open(options_on(&disk, &[])).unwrap();
        let session = database.session().unwrap();
        assert_eq!(session.currval(oid).unwrap_err().sqlstate(), base::sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE);
        for number in 0..50 {
            let value = session.nextval(oid).unwrap();
            assert!(value > last, "round {round}: {value} after {last}");
            // After a clean stop, and within a run, values follow each other.
            assert!(
                value == last + 1 || (number == 0 && round > 0 && round % 2 == 0),
                "round {round}: {value} after {last}"
            );
            last = value;
            assert_eq!((session.currval(oid).unwrap(), session.lastval().unwrap()), (value, value));
        }
        // Only what was gated is known outside.
        session.wait_durable(session.gate());
        if round % 2 == 0 {
            drop(session);
            database.close().unwrap();
            drop(database);
        } else {
            if round == 3 {
                database.checkpoint().unwrap();
            }
            drop((session, database));
            disk = disk.crash();
        }
    }
}

#[test]
fn a_sequence_obeys_setval_and_its_bounds() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    begin(&mut session);
    let def = SequenceDef {
        maximum: 5,
        cache: 3,
        ..SequenceDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "s", BOOTSTRAP_ROLE)
    };
    let oid = def.oid;
    session.create_object(def).unwrap();
    session.commit_and_wait().unwrap();
    assert_eq!((1..=5).map(|_| session.nextval(oid).unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let error = session.nextval(oid).unwrap_err();
    assert_eq!(error.message(), "nextval: reached maximum value of sequence \"s\" (5)");
    session.setval(oid, 2, true).unwrap();
    assert_eq!(session.nextval(oid).unwrap(), 3);
    session.setval(oid, 2, false).unwrap();
    assert_eq!(session.nextval(oid).unwrap(), 2);
    assert!(session.setval(oid, 6, true).is_err());
    assert_eq!(
        session.sequence_state(oid, LockMode::AccessShare).unwrap(),
        (4, true),
        "a session with a cache takes three at once"
    );
}
