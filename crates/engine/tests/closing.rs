//! Nothing writes to a closed database.

mod common;

use std::sync::Arc;

use base::{Oid, Result, sqlstate};
use cohort_engine::{Database, Finisher, Isolation, Session, Table, TransactionOptions, VacuumOptions};
use common::{begin, create_table, options_on, run, simulated, statement};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::catalog::{BOOTSTRAP_ROLE, PUBLIC_SCHEMA, SequenceDef};
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{Fault, SimulatedVfs};

const TYPES: [PhysicalType; 2] = [PhysicalType::I32, PhysicalType::I64];
const ME: Finisher = Finisher { role: BOOTSTRAP_ROLE, is_superuser: true };

fn create_sequence(session: &mut Session) -> Oid {
    begin(session);
    let def = SequenceDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "s", BOOTSTRAP_ROLE);
    let oid = def.oid;
    session.create_object(def).unwrap();
    session.commit_and_wait().unwrap();
    oid
}

fn insert(session: &Session, table: &Arc<Table>, id: i32) -> Result<()> {
    session.insert(table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop)
}

fn prepare(session: &mut Session, table: &Arc<Table>, id: i32) -> Result<()> {
    session.begin(TransactionOptions::default())?;
    statement(session, |session| insert(session, table, id)).and_then(|()| {
        session.prepare_transaction(&format!("p{id}"), BOOTSTRAP_ROLE).map(|gate| session.wait_durable(gate))
    })
}

fn is_refused<T: std::fmt::Debug>(result: Result<T>) {
    assert_eq!(result.unwrap_err().sqlstate(), sqlstate::ADMIN_SHUTDOWN);
}

// invariants: row 37
#[test]
fn what_was_begun_before_the_close_is_refused_and_writes_nothing() {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let sequence = create_sequence(&mut session);
    run(&mut session, |session| (1..50).try_for_each(|id| insert(session, &table, id))).unwrap();
    run(&mut session, |session| session.nextval(sequence)).unwrap();
    prepare(&mut session, &table, 100).unwrap();
    prepare(&mut session, &table, 101).unwrap();

    let mut reader = database.session().unwrap();
    reader.begin(TransactionOptions { isolation: Isolation::RepeatableRead, ..Default::default() }).unwrap();
    statement(&reader, |_| Ok(())).unwrap();
    // Reading evicts pages, which are written.
    assert_eq!(database.close().unwrap_err().sqlstate(), sqlstate::OBJECT_IN_USE);
    statement(&reader, |_| Ok(())).unwrap();
    reader.rollback().unwrap();

    let begun: Vec<Session> = (0..4)
        .map(|_| {
            let mut session = database.session().unwrap();
            begin(&mut session);
            session
        })
        .collect();
    database.close().unwrap();
    let written = disk.writes();
    is_refused(statement(&begun[0], |session| insert(session, &table, 200)));
    is_refused(begun[0].xid());
    is_refused(insert(&begun[1], &table, 201));
    is_refused(begun[2].nextval(sequence));
    is_refused(begun[2].setval(sequence, 7, true));
    is_refused(begun[3].push_snapshot());
    is_refused(session.nextval(sequence));
    is_refused(session.vacuum(&table, VacuumOptions::default()));
    is_refused(session.commit_prepared("p100", ME));
    is_refused(session.rollback_prepared("p101", ME));
    is_refused(database.checkpoint());
    is_refused(database.vacuum_where_needed());
    database.tidy();
    for mut session in begun {
        session.commit_and_wait().unwrap();
    }
    drop((session, reader));
    database.close().unwrap();
    assert_eq!(disk.writes(), written);

    // Somebody else has it now.
    let reopened = Database::open(options_on(&disk, &[])).unwrap();
    let mut session = reopened.session().unwrap();
    let gate = session.commit_prepared("p100", ME).unwrap();
    session.wait_durable(gate);
    assert_eq!(common::all(&session, &session.open_table(table.oid()).unwrap(), |_| ()).len(), 50);
}

/// Identifiers are reserved in the log, thousands at a time.
// invariants: row 37
#[test]
fn identifiers_of_a_closed_database_are_not_logged() {
    let (database, _disk) = simulated(1);
    let session = database.session().unwrap();
    assert_ne!(session.allocate_oid(), Oid::INVALID);
    database.close().unwrap();
    let end = database.wal().reserved();
    for _ in 0..20_000 {
        session.allocate_oid();
    }
    assert_eq!(database.wal().reserved(), end);
}

/// Works on the database until it is told that it is closed. Returns the rows that were acknowledged.
fn work_until_closed(mut session: Session, table: &Arc<Table>, sequence: Oid, number: i32, seed: u64) -> Vec<i32> {
    let mut random = StdRng::seed_from_u64(seed);
    let database = session.database().clone();
    let mut acknowledged = Vec::new();
    let (mut next_id, mut last_value) = (number * 100_000, 0);
    let mut prepared = Vec::new();
    let mut attempt = |session: &mut Session| -> Result<()> {
        match random.random_range(0..9) {
            0..=2 => {
                next_id += 1;
                run(session, |session| insert(session, table, next_id))?;
                acknowledged.push(next_id);
            }
            3 => {
                let value = run(session, |session| session.nextval(sequence))?;
                assert!(value > last_value, "{value} after {last_value}");
                last_value = value;
            }
            4 => run(session, |session| Ok(common::all(session, table, |_| ())))?.clear(),
            5 => database.checkpoint()?,
            6 => session.vacuum(table, VacuumOptions { skip_locked: true, ..VacuumOptions::default() }).map(drop)?,
            7 if prepared.is_empty() => {
                next_id += 1;
                prepare(session, table, next_id)?;
                prepared.push(next_id);
            }
            _ => {
                if let Some(id) = prepared.pop() {
                    let gate = session.commit_prepared(&format!("p{id}"), ME)?;
                    session.wait_durable(gate);
                    acknowledged.push(id);
                }
                database.tidy();
            }
        }
        Ok(())
    };
    loop {
        match attempt(&mut session) {
            Ok(()) => {}
            Err(error) if error.sqlstate() == sqlstate::ADMIN_SHUTDOWN => break,
            Err(error) if error.sqlstate() == sqlstate::LOCK_NOT_AVAILABLE => {}
            Err(error) => panic!("{error}"),
        }
        let _ = session.rollback();
    }
    let _ = session.rollback();
    acknowledged
}

/// Closes, as often as that is refused because of transactions in progress.
fn close(database: &Database) -> u64 {
    let mut refused = 0;
    loop {
        match database.close() {
            Ok(()) => return refused,
            Err(error) => assert_eq!(error.sqlstate(), sqlstate::OBJECT_IN_USE),
        }
        refused += 1;
    }
}

// invariants: row 37
#[test]
fn a_close_among_busy_sessions_loses_nothing_and_ends_all_writing() {
    let rounds = std::env::var("COHORT_SEEDS").map_or(30, |text| text.parse().expect("a number of seeds"));
    for seed in 0..rounds {
        let disk = SimulatedVfs::new(seed);
        let database = Database::open(options_on(&disk, &[])).unwrap();
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        let sequence = create_sequence(&mut session);
        drop(session);
        let (acknowledged, written) = std::thread::scope(|scope| {
            let workers: Vec<_> = (1..4)
                .map(|number| {
                    let (session, table) = (database.session().unwrap(), &table);
                    scope.spawn(move || work_until_closed(session, table, sequence, number, seed * 10 + number as u64))
                })
                .collect();
            std::thread::sleep(std::time::Duration::from_millis(seed % 20));
            close(&database);
            let written = disk.writes();
            let acknowledged: Vec<i32> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
            (acknowledged, written)
        });
        assert_eq!(disk.writes(), written, "seed {seed}: the closed database was written");
        let oid = table.oid();
        drop((table, database));
        let database = Database::open(options_on(&disk, &[])).unwrap();
        let mut session = database.session().unwrap();
        let table = session.open_table(oid).unwrap();
        let id_of = |row: &[Datum]| match row[0] {
            Datum::I32(id) => id,
            ref other => panic!("{other:?}"),
        };
        let mut ids = run(&mut session, |session| Ok(common::all(session, &table, id_of))).unwrap();
        ids.sort_unstable();
        let mut expected = acknowledged;
        expected.sort_unstable();
        assert_eq!(ids, expected, "seed {seed}");
    }
}

#[test]
fn the_vacuum_of_the_database_itself_is_no_reason_to_stay_open() {
    for seed in 0..20 {
        let (database, _disk) = simulated(seed);
        let mut session = database.session().unwrap();
        let tables: Vec<Arc<Table>> =
            (0..10).map(|number| create_table(&mut session, &format!("t{number}"), &TYPES)).collect();
        for table in &tables {
            run(&mut session, |session| (0..100).try_for_each(|id| insert(session, table, id))).unwrap();
            run(&mut session, |session| {
                let mut scan = session.scan(table)?;
                let mut places = Vec::new();
                while let Some((tid, _)) = scan.next(session)? {
                    places.push(tid);
                }
                places.into_iter().try_for_each(|tid| session.delete(table, tid).map(drop))
            })
            .unwrap();
        }
        drop(session);
        let vacuum = {
            let database = database.clone();
            std::thread::spawn(move || database.vacuum_where_needed())
        };
        std::thread::sleep(std::time::Duration::from_micros(200 * seed));
        database.close().unwrap();
        if let Err(error) = vacuum.join().unwrap() {
            assert_eq!(error.sqlstate(), sqlstate::ADMIN_SHUTDOWN);
        }
    }
}

/// A sequence's page can't be read, so that its true position can't be written back.
// invariants: row 37
#[test]
fn a_close_that_fails_is_taken_up_again_and_leaves_nothing_out() {
    let disk = SimulatedVfs::new(1);
    let database = Database::open(options_on(&disk, &[("shared_buffers", "128kB")])).unwrap();
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let sequence = create_sequence(&mut session);
    run(&mut session, |session| session.nextval(sequence)).unwrap();
    run(&mut session, |session| (1..20_000).try_for_each(|id| insert(session, &table, id))).unwrap();
    begin(&mut session);
    database.checkpoint().unwrap();
    for number in 1..=2 {
        disk.add_fault(Fault::FailRead(disk.reads() + 1));
        assert_eq!(database.close().unwrap_err().sqlstate(), sqlstate::IO_ERROR, "attempt {number}");
        assert!(!database.control().closed);
        is_refused(session.xid());
    }
    database.close().unwrap();
    is_refused(session.nextval(sequence));
    assert!(database.control().closed);
    let written = disk.writes();
    database.close().unwrap();
    assert_eq!(disk.writes(), written);
    drop((session, database));
    let reopened = Database::open(options_on(&disk, &[])).unwrap();
    assert_eq!(run(&mut reopened.session().unwrap(), |session| session.nextval(sequence)).unwrap(), 2);
}
