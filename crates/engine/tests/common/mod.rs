//! Helpers that the tests of the engine share.
#![allow(dead_code)]

use std::path::Path;
use std::sync::Arc;

use base::Oid;
use base::settings::{ServerSettings, Source};
use cohort_engine::key::{KeyBuffer, PlainKeys};
use cohort_engine::{Database, Modify, OpenOptions, Session, Table, TransactionOptions};
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use schema::row::{ColumnSet, Datum, PhysicalType, RowBytes};
use vfs::descriptors::FileShare;
use vfs::{SimulatedVfs, Vfs};

/// Settings small enough for tests, with some of their own.
pub fn settings(own: &[(&str, &str)]) -> Arc<ServerSettings> {
    let settings = ServerSettings::new();
    let small = [
        ("max_connections", "40"),
        ("max_prepared_transactions", "4"),
        ("shared_buffers", "64"),
        ("transaction_buffers", "16"),
        ("wal_buffers", "64kB"),
    ];
    for (name, value) in small.iter().chain(own) {
        settings.set_at_start(name, value, Source::CommandLine).unwrap();
    }
    Arc::new(settings)
}

/// A database on a simulated disk, everything done by the calling thread, with as few files open as may be.
pub fn options_on(disk: &SimulatedVfs, own: &[(&str, &str)]) -> OpenOptions {
    OpenOptions {
        vfs: Arc::new(disk.clone()) as Arc<dyn Vfs>,
        settings: settings(own),
        background: false,
        segment_size_bytes: 64 << 10,
        csn_window: 4096,
        files: FileShare::SMALLEST,
        ..OpenOptions::new("/data")
    }
}

/// A database on a simulated disk of its own.
pub fn simulated(seed: u64) -> (Database, SimulatedVfs) {
    let disk = SimulatedVfs::new(seed);
    (Database::open(options_on(&disk, &[])).unwrap(), disk)
}

/// A database on real files, with all its threads.
pub fn real(directory: &Path, own: &[(&str, &str)]) -> Database {
    Database::open(OpenOptions { settings: settings(own), csn_window: 1 << 16, ..OpenOptions::new(directory) }).unwrap()
}

pub fn begin(session: &mut Session) {
    session.begin(TransactionOptions::default()).unwrap();
}

/// Makes a table with a unique index on its first column, and opens it.
pub fn create_table(session: &mut Session, name: &str, types: &[PhysicalType]) -> Arc<Table> {
    begin(session);
    let oid = create_table_in_transaction(session, name, types);
    session.commit_and_wait().unwrap();
    session.open_table(oid).unwrap()
}

pub fn create_table_in_transaction(session: &Session, name: &str, types: &[PhysicalType]) -> Oid {
    let mut def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, name, BOOTSTRAP_ROLE);
    for (number, kind) in types.iter().enumerate() {
        def = def.column(format!("c{number}"), *kind);
    }
    let index = IndexDef::new(session.allocate_oid(), &def, format!("{name}_pkey"), &[0], true);
    let oid = def.oid;
    session.create_object(def).unwrap();
    session.create_object(index).unwrap();
    oid
}

/// One statement in the transaction in progress.
pub fn statement<R>(session: &Session, f: impl FnOnce(&Session) -> base::Result<R>) -> base::Result<R> {
    session.begin_statement()?;
    let result = f(session);
    session.end_statement();
    result
}

/// One statement in a transaction of its own, durable when this returns.
pub fn run<R>(session: &mut Session, f: impl FnOnce(&Session) -> base::Result<R>) -> base::Result<R> {
    session.begin(TransactionOptions::default())?;
    match statement(session, f) {
        Ok(result) => {
            session.commit_and_wait()?;
            Ok(result)
        }
        Err(error) => {
            session.rollback()?;
            Err(error)
        }
    }
}

pub fn key_i32(value: i32) -> KeyBuffer {
    let mut key = KeyBuffer::new();
    key.push_i32(value);
    key
}

/// The row whose first column is `id`, decoded by `f`.
pub fn get<R>(session: &Session, table: &Table, id: i32, f: impl FnOnce(&[Datum]) -> R) -> Option<R> {
    let mut row = RowBytes::new();
    session.index_point(table, 0, key_i32(id).as_slice(), &mut row).unwrap().map(|_| f(&table.decode(&row)))
}

/// Sets column 1 of the row whose first column is `id`; false if there is no such row. Retries as read committed does.
pub fn set_i64(session: &Session, table: &Table, id: i32, change: &dyn Fn(i64) -> i64) -> base::Result<bool> {
    let mut row = RowBytes::new();
    let Some(mut tid) = session.index_point(table, 0, key_i32(id).as_slice(), &mut row)? else { return Ok(false) };
    let changed: ColumnSet = [1].into_iter().collect();
    loop {
        let mut values = table.decode(&row).to_vec();
        let Datum::I64(old) = values[1] else { panic!("column 1 is a number") };
        values[1] = Datum::I64(change(old));
        match session.update(table, tid, &values, &changed, &PlainKeys)? {
            Modify::Done { .. } => return Ok(true),
            Modify::Deleted { .. } => return Ok(false),
            Modify::Updated { newest, .. } => {
                drop(values);
                match session.newest_version(table, newest, &mut row)? {
                    Some(newest) => tid = newest,
                    None => return Ok(false),
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// All rows, by table scan, decoded by `f`.
pub fn all<R>(session: &Session, table: &Arc<Table>, mut f: impl FnMut(&[Datum]) -> R) -> Vec<R> {
    let mut scan = session.scan(table).unwrap();
    let mut rows = Vec::new();
    while let Some((_, bytes)) = scan.next(session).unwrap() {
        rows.push(f(&table.decode(bytes)));
    }
    rows
}
