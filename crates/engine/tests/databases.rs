//! Databases as copies of others: what a copy has, that it is a database of its own, and crashes at any call while databases are made and dropped.
//!
//! `COHORT_SEEDS` says how many seeds the test of crashes runs, `COHORT_SEED` runs a single one.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base::{Oid, Result, sqlstate};
use cohort_engine::{AdvisoryKey, Database, Granted, LockMode, Session, Table, WaitPolicy};
use common::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::catalog::{BOOTSTRAP_ROLE, DATABASE_OID, DatabaseDef, PUBLIC_SCHEMA, TEMPLATE1_DATABASE};
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{FailStop, Fault, SimulatedVfs};

/// Number, value, and a text that may be too long for a page.
const TYPES: [PhysicalType; 3] = [PhysicalType::I32, PhysicalType::I64, PhysicalType::Bytes];

/// The rows of table `t` of a database: the value and the length of the text, by number.
type Rows = BTreeMap<i32, (i64, usize)>;
/// The rows in each database, by the name of the database.
type Model = BTreeMap<String, Rows>;

fn text_of(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 31 % 251) as u8).collect()
}

fn put(session: &mut Session, id: i32, value: i64, length: usize) -> Result<()> {
    let table = table_of(session);
    let text = text_of(length);
    run(session, |session| {
        session.insert(&table, &[Datum::I32(id), Datum::I64(value), Datum::Bytes(&text)], &PlainKeys)
    })
    .map(drop)
}

fn table_of(session: &Session) -> Arc<Table> {
    let oid = session.catalog().table_by_name(PUBLIC_SCHEMA, "t").expect("each database has it").oid;
    session.open_table(oid).unwrap()
}

/// All rows by scan, each of which must be found by its key, too.
fn rows_of(session: &mut Session) -> Rows {
    let table = table_of(session);
    begin(session);
    let rows = statement(session, |session| {
        let rows: Rows = all(session, &table, |row| match row {
            [Datum::I32(id), Datum::I64(value), Datum::Bytes(text)] => (*id, (*value, text.len(), text.to_vec())),
            other => panic!("{other:?}"),
        })
        .into_iter()
        .map(|(id, (value, length, text))| {
            assert_eq!(text, text_of(length), "the text of row {id}");
            (id, (value, length))
        })
        .collect();
        for (id, (value, _)) in &rows {
            assert_eq!(get(session, &table, *id, |row| row[1] == Datum::I64(*value)), Some(true));
        }
        Ok(rows)
    });
    session.rollback().unwrap();
    rows.unwrap()
}

fn create(session: &mut Session, name: &str, template: Oid) -> Result<Oid> {
    session.begin(Default::default())?;
    let def = DatabaseDef::new(session.allocate_oid(), name, BOOTSTRAP_ROLE);
    let oid = def.oid;
    match session.create_database(def, template) {
        Ok(()) => session.commit_and_wait().map(|()| oid),
        Err(error) => session.rollback().and(Err(error)),
    }
}

fn drop_database(session: &mut Session, oid: Oid) -> Result<()> {
    session.begin(Default::default())?;
    session.drop_database(oid)?;
    session.commit_and_wait()
}

#[test]
fn a_copy_has_all_of_its_template_and_is_a_database_of_its_own() {
    let (database, disk) = simulated(1);
    let mut first = database.session().unwrap();
    let table = create_table(&mut first, "t", &TYPES);
    for id in 0..300 {
        put(&mut first, id, i64::from(id), if id % 50 == 0 { 20_000 } else { 10 }).unwrap();
    }
    let copy = create(&mut first, "copy", DATABASE_OID).unwrap();
    let mut other = database.session_in(copy).unwrap();
    assert_eq!(table_of(&other).oid(), table.oid(), "rows may hold numbers of objects");
    assert_eq!(rows_of(&mut first), rows_of(&mut other));

    put(&mut other, 1000, 1, 30_000).unwrap();
    run(&mut first, |session| set_i64(session, &table, 5, &|_| -1)).unwrap();
    assert_eq!((rows_of(&mut first).len(), rows_of(&mut other).len()), (300, 301));
    assert_eq!((rows_of(&mut first)[&5].0, rows_of(&mut other)[&5].0), (-1, 5));

    // Locks of one table are not in the way of the other one.
    begin(&mut first);
    begin(&mut other);
    for (session, key) in [(&first, AdvisoryKey::One(7)), (&other, AdvisoryKey::One(7))] {
        let granted = session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::NoWait).unwrap();
        assert_eq!(granted, Granted::Acquired);
        let granted = session.advisory_lock(key, LockMode::Exclusive, WaitPolicy::NoWait, false).unwrap();
        assert_eq!(granted, Granted::Acquired);
    }
    first.rollback().unwrap();
    other.rollback().unwrap();

    let taken = create(&mut first, "copy", DATABASE_OID).unwrap_err();
    assert_eq!(taken.sqlstate(), sqlstate::DUPLICATE_DATABASE);
    drop((first, other, table));
    database.close().unwrap();
    drop(database);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let mut other = database.session_in(copy).unwrap();
    assert_eq!(rows_of(&mut other).len(), 301);
    put(&mut other, 1001, 1, 10).unwrap();
}

/// The databases with a table `t`, and its rows. No file is left that nobody has.
fn contents(database: &Database) -> Model {
    let catalogs = database.catalogs();
    let shared = catalogs.of(Oid::INVALID);
    let of_user = shared.databases().filter(|def| catalogs.of(def.oid).table_by_name(PUBLIC_SCHEMA, "t").is_some());
    let model = of_user.map(|def| (def.name.clone(), rows_of(&mut database.session_in(def.oid).unwrap()))).collect();
    let mut owned: BTreeSet<_> = catalogs.objects().flat_map(|object| object.files()).collect();
    owned.insert(base::FileNumber(1));
    let files: BTreeSet<_> = database.pool().list_files().unwrap().into_iter().collect();
    assert!(files.is_subset(&owned), "files that nobody has: {:?}", files.difference(&owned).collect::<Vec<_>>());
    for def in catalogs.databases() {
        assert!(shared.database_def(def.database()).is_some(), "objects of a database that is not there");
    }
    model
}

/// One random change, as far as it comes; `after` is the model if it comes to its end. Its sessions are left to the caller: none may end
/// while the process that has died unwinds.
fn change(
    database: &Database,
    sessions: &mut Vec<Session>,
    model: &Model,
    random: &mut StdRng,
    after: &mut Model,
) -> Result<()> {
    let names: Vec<&String> = model.keys().collect();
    let name = names[random.random_range(0..names.len())].clone();
    let catalogs = database.catalogs();
    let oid = catalogs.of(Oid::INVALID).database_by_name(&name).unwrap().oid;
    sessions.push(database.session_in(if random.random_range(0..10) < 5 { oid } else { DATABASE_OID })?);
    *after = model.clone();
    let own = sessions.last_mut().expect("one was made");
    let is_within = own.database_oid() == oid;
    match random.random_range(0..10) {
        0 | 1 if model.len() < 6 => {
            let new = (0..).map(|number| format!("d{number}")).find(|new| !model.contains_key(new)).unwrap();
            after.insert(new.clone(), model[&name].clone());
            create(own, &new, oid).map(drop)
        }
        2 if !is_within => {
            after.remove(&name);
            drop_database(own, oid)
        }
        3 => {
            // Rolled back.
            own.begin(Default::default())?;
            let def = DatabaseDef::new(own.allocate_oid(), "undone", BOOTSTRAP_ROLE);
            own.create_database(def, oid)?;
            own.rollback()
        }
        4 => database.checkpoint(),
        _ if !is_within => Ok(()),
        _ => {
            let id = model[&name].keys().next_back().map_or(0, |last| last + 1);
            let (value, length) = (random.random_range(0..1000), [5, 100, 3000, 20_000][random.random_range(0..4)]);
            after.get_mut(&name).unwrap().insert(id, (value, length));
            put(own, id, value, length)
        }
    }
}

// invariants: rows 1, 2, 3
#[test]
fn databases_are_made_and_dropped_as_a_whole_wherever_the_power_fails() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("COHORT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("COHORT_SEEDS").unwrap_or(25),
    };
    for seed in seeds {
        let mut random = StdRng::seed_from_u64(seed);
        let mut disk = SimulatedVfs::new(seed);
        let mut database = Database::open(options_on(&disk, &[])).unwrap();
        create_table(&mut database.session().unwrap(), "t", &TYPES);
        let mut model: Model = [("postgres".to_owned(), Rows::new())].into();
        for _ in 0..4 {
            disk.add_fault(Fault::CrashAtCall(disk.io_calls() + random.random_range(1..300)));
            let mut after = model.clone();
            while !disk.is_crashed() {
                let mut sessions = Vec::new();
                let changed = catch_unwind(AssertUnwindSafe(|| {
                    change(&database, &mut sessions, &model, &mut random, &mut after)
                }));
                // A session that ends on a dead disk may panic, too.
                let _ = catch_unwind(AssertUnwindSafe(|| sessions.clear()));
                match changed {
                    Ok(Ok(())) if !disk.is_crashed() => model = after.clone(),
                    Ok(Err(error)) if !disk.is_crashed() => panic!("COHORT_SEED={seed}: {error}"),
                    Ok(_) => break,
                    Err(panic) if panic.is::<FailStop>() || disk.is_crashed() => break,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            drop(database);
            disk = disk.crash();
            database = Database::open(options_on(&disk, &[])).unwrap();
            let found = contents(&database);
            assert!(found == model || found == after, "COHORT_SEED={seed}\n{found:?}\n{model:?}\n{after:?}");
            model = found;
        }
        assert!(database.catalogs().of(TEMPLATE1_DATABASE).tables().next().is_none());
    }
}
