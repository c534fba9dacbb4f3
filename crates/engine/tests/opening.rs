//! Every state a data directory may be found in.

mod common;

use std::path::Path;
use std::sync::Arc;

use base::{Oid, sqlstate};
use cohort_engine::{CONTROL_FILE, Database, OpenOptions};
use common::*;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{FailStop, Fault, OpenMode, SimulatedOptions, SimulatedVfs, Survival, Vfs};

const TYPES: [PhysicalType; 2] = [PhysicalType::I32, PhysicalType::I64];

fn error_of(options: OpenOptions) -> base::Error {
    match Database::open(options) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

#[test]
fn a_missing_or_empty_directory_is_made_only_when_asked() {
    let disk = SimulatedVfs::new(1);
    let not_made = || OpenOptions { create: false, ..options_on(&disk, &[]) };
    assert_eq!(error_of(not_made()).sqlstate(), sqlstate::UNDEFINED_FILE);
    disk.create_dir_all(Path::new("/data")).unwrap();
    assert_eq!(error_of(not_made()).sqlstate(), sqlstate::UNDEFINED_FILE);
    drop(Database::open(options_on(&disk, &[])).unwrap());
    drop(Database::open(not_made()).unwrap());
}

#[test]
fn a_directory_in_use_is_refused() {
    let (database, disk) = simulated(1);
    let error = error_of(options_on(&disk, &[]));
    assert_eq!(error.sqlstate(), sqlstate::LOCK_FILE_EXISTS);
    database.close().unwrap();
    drop(Database::open(options_on(&disk, &[])).unwrap());
}

#[test]
fn a_directory_that_is_not_ours_or_not_whole_is_refused_and_left_alone() {
    let disk = SimulatedVfs::new(1);
    disk.create_dir_all(Path::new("/data")).unwrap();
    disk.open(Path::new("/data/important.txt"), OpenMode::Create).unwrap().write_all_at(b"text", 0).unwrap();
    let error = error_of(options_on(&disk, &[]));
    assert_eq!(error.sqlstate(), sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert!(disk.contents().iter().any(|(path, bytes)| path.ends_with("important.txt") && bytes == b"text"));

    for part in ["wal", "base", "clog", CONTROL_FILE] {
        let (database, disk) = simulated(1);
        database.close().unwrap();
        drop(database);
        let path = Path::new("/data").join(part);
        if part == CONTROL_FILE {
            disk.remove_file(&path).unwrap()
        } else {
            disk.remove_dir_all(&path).unwrap()
        }
        let error = error_of(options_on(&disk, &[]));
        assert_eq!(error.sqlstate(), sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "{part}");
    }
}

#[test]
fn a_damaged_control_file_is_refused() {
    let (database, disk) = simulated(1);
    database.close().unwrap();
    drop(database);
    let path = Path::new("/data").join(CONTROL_FILE);
    disk.flip_bit(&path, 25, 1).unwrap();
    drop(Database::open(options_on(&disk, &[])).expect("one whole copy is enough"));
    let file = disk.open(&path, OpenMode::ReadWrite).unwrap();
    file.write_all_at(&[0; 8192], 0).unwrap();
    assert_eq!(error_of(options_on(&disk, &[])).sqlstate(), sqlstate::DATA_CORRUPTED);
}

#[test]
fn an_unreadable_directory_is_an_error() {
    let disk = SimulatedVfs::new(1);
    drop(Database::open(options_on(&disk, &[])).unwrap());
    for read in 1..6 {
        let disk = disk.crash();
        disk.add_fault(Fault::FailRead(read));
        if let Err(error) = Database::open(options_on(&disk, &[])) {
            assert_eq!(error.sqlstate(), sqlstate::IO_ERROR);
        }
    }
}

/// A database that was killed with work in its log: a start has to make files longer, and to write the log, for which it needs
/// another segment if this one is nearly full.
fn killed_with_work_to_redo(is_segment_full: bool) -> (SimulatedVfs, Vec<Oid>) {
    let (database, disk) = simulated(5);
    let mut session = database.session().unwrap();
    let mut tables = Vec::new();
    for number in 0..4 {
        let table = create_table(&mut session, &format!("t{number}"), &TYPES);
        begin(&mut session);
        for id in 0..1000 {
            statement(&session, |s| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys)).unwrap();
        }
        session.commit_and_wait().unwrap();
        tables.push(table.oid());
    }
    let left_bytes = || SEGMENT_BYTES - database.wal().durable().0 % SEGMENT_BYTES;
    let other = create_table(&mut session, "other", &TYPES);
    for id in 0.. {
        if !is_segment_full || left_bytes() < 100 {
            break;
        }
        run(&mut session, |s| s.insert(&other, &[Datum::I32(id), Datum::I64(0)], &PlainKeys)).unwrap();
    }
    drop((session, database));
    (disk, tables)
}

/// As [`options_on`] says.
const SEGMENT_BYTES: u64 = 64 << 10;

/// Starts at every write from which on the disk is full; then there is room again. How many of the starts were refused with 53100,
/// and how many ended the process.
fn starts_without_room(is_segment_full: bool) -> (u32, u32) {
    let (killed, tables) = killed_with_work_to_redo(is_segment_full);
    let survivors = || killed.crash_with(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(5) });
    let writes = {
        let disk = survivors();
        drop(Database::open(options_on(&disk, &[])).unwrap());
        disk.writes()
    };
    let (mut refused, mut ended) = (0, 0);
    for write in 1..=writes {
        let disk = survivors();
        disk.add_fault(Fault::NoSpaceFromWrite(write));
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Database::open(options_on(&disk, &[]))));
        match opened {
            Ok(Ok(database)) => drop(database),
            Ok(Err(error)) => {
                assert_eq!(error.sqlstate(), sqlstate::DISK_FULL, "write {write}: {error}");
                refused += 1;
            }
            Err(panic) => {
                let FailStop(message) = panic.downcast_ref().expect("it ends itself");
                assert!(message.contains("No space left on device (simulated) (SQLSTATE 53100)"), "{message}");
                ended += 1;
            }
        }
        disk.clear_faults();
        let disk = if write % 2 == 0 { disk.kill() } else { disk.crash() };
        let database = Database::open(options_on(&disk, &[])).unwrap_or_else(|error| panic!("write {write}: {error}"));
        let mut session = database.session().unwrap();
        for oid in &tables {
            let table = session.open_table(*oid).unwrap();
            let rows = run(&mut session, |s| Ok(all(s, &table, |_| ()).len())).unwrap();
            assert_eq!(rows, 1000, "write {write}");
        }
    }
    (refused, ended)
}

// invariants: row 7
#[test]
fn a_start_without_room_for_a_table_says_so_and_a_later_one_with_room_has_everything() {
    let (refused, ended) = starts_without_room(false);
    assert!(refused > 0 && ended == 0, "{refused} were refused, {ended} ended");
}

// invariants: row 7
#[test]
fn a_start_without_room_for_the_log_says_so_and_a_later_one_with_room_has_everything() {
    let (refused, ended) = starts_without_room(true);
    assert!(refused > 0 && ended > 0, "{refused} were refused, {ended} ended");
}

#[test]
fn making_a_database_may_be_interrupted_anywhere_and_is_begun_again() {
    let calls = {
        let disk = SimulatedVfs::new(0);
        drop(Database::open(options_on(&disk, &[])).unwrap());
        disk.io_calls()
    };
    for call in 1..=calls {
        let disk = SimulatedVfs::new(call);
        disk.add_fault(Fault::CrashAtCall(call));
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Database::open(options_on(&disk, &[]))));
        drop(opened);
        let after = disk.crash();
        let database = match Database::open(options_on(&after, &[])) {
            Ok(database) => database,
            Err(error) => panic!("crash at call {call}: {error}"),
        };
        assert!(database.catalog().schema_by_name("public").is_some(), "crash at call {call}");
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        run(&mut session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(1)], &PlainKeys)).unwrap();
    }
}

#[test]
fn a_closed_database_has_nothing_to_redo_and_takes_no_more_work() {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    begin(&mut session);
    session.xid().unwrap();
    assert_eq!(database.close().unwrap_err().sqlstate(), sqlstate::OBJECT_IN_USE);
    session.rollback().unwrap();
    run(&mut session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(1)], &PlainKeys)).unwrap();
    database.close().unwrap();
    assert_eq!(session.begin(Default::default()).unwrap_err().sqlstate(), sqlstate::ADMIN_SHUTDOWN);
    assert_eq!(database.session().unwrap_err().sqlstate(), sqlstate::ADMIN_SHUTDOWN);
    assert!(database.control().closed);
    assert_eq!(database.control().redo, database.wal().durable());
    drop((session, database));
    let database = Database::open(options_on(&disk, &[])).unwrap();
    assert!(!database.control().closed);
    let mut session = database.session().unwrap();
    let table = session.open_table(table.oid()).unwrap();
    assert_eq!(run(&mut session, |s| Ok(get(s, &table, 1, |_| ()))).unwrap(), Some(()));
}

// invariants: row 4
#[test]
fn damage_in_the_log_before_its_durable_end_is_refused_loudly_and_changes_nothing() {
    let disk = SimulatedVfs::new(1);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    for id in 0..50 {
        run(&mut session, |s| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys)).unwrap();
    }
    let redo = database.control().redo;
    let end = database.wal().durable();
    drop((session, database));
    let crashed = disk.crash();
    let middle = redo.0 + (end.0 - redo.0) / 2;
    let (segment, offset) = (middle / (64 << 10), middle % (64 << 10));
    let names = crashed.list_dir(Path::new("/data/wal")).unwrap();
    let name = names
        .iter()
        .find(|name| u64::from_str_radix(name, 16) == Ok(segment) || name.ends_with(&format!("{segment:X}")));
    let path = Path::new("/data/wal").join(name.unwrap_or_else(|| panic!("segment {segment} among {names:?}")));
    // Up to seven bytes between two records belong to none.
    for byte in offset..offset + 8 {
        crashed.flip_bit(&path, byte, 3).unwrap();
    }
    let before = crashed.contents();
    let error = error_of(options_on(&crashed, &[]));
    assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED, "{error}");
    let log = |contents: Vec<(String, Vec<u8>)>| {
        contents.into_iter().filter(|(path, _)| path.contains("/wal/")).collect::<Vec<_>>()
    };
    assert!(log(before) == log(crashed.contents()), "nothing of the log was cut off");
}

#[test]
fn dropping_the_last_handle_ends_all_threads_and_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let oid = {
        let database = real(directory.path(), &[]);
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        run(&mut session, |s| s.insert(&table, &[Datum::I32(1), Datum::I64(1)], &PlainKeys)).unwrap();
        let wal = Arc::downgrade(database.wal());
        drop((session, database));
        let oid = table.oid();
        drop(table);
        assert_eq!(wal.strong_count(), 0, "nobody holds the log any more");
        oid
    };
    let database = real(directory.path(), &[]);
    let mut session = database.session().unwrap();
    let table = session.open_table(oid).unwrap();
    assert_eq!(run(&mut session, |s| Ok(get(s, &table, 1, |_| ()))).unwrap(), Some(()));
    drop((session, table));
    database.close().unwrap();
}
