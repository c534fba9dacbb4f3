//! Files that are made, cut and removed while checkpoints, write-back and commits go on.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use base::{FileNumber, Result};
use cohort_engine::{Database, LockMode, Modify, OpenOptions, Session, Table, VacuumOptions, WaitPolicy};
use common::*;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use sync::InterruptKind;
use vfs::{Fault, HookedCall, OpenMode, SimulatedOptions, SimulatedVfs, Survival, Vfs};

const TYPES: [PhysicalType; 2] = [PhysicalType::I32, PhysicalType::I64];
const ROWS: i32 = 2000;
const KEPT: i32 = 10;

/// A table of which all but the first rows are deleted; all of it is durable and checkpointed as it was before the deletes.
fn with_deleted_tail(database: &Database) -> (Session, Arc<Table>) {
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    run(&mut session, |s| {
        (0..ROWS).try_for_each(|id| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop))
    })
    .unwrap();
    database.checkpoint().unwrap();
    run(&mut session, |s| {
        let mut row = schema::row::RowBytes::new();
        for id in KEPT..ROWS {
            let tid = s.index_point(&table, 0, key_i32(id).as_slice(), &mut row)?.expect("the row is there");
            assert!(matches!(s.delete(&table, tid)?, Modify::Done { .. }));
        }
        Ok(())
    })
    .unwrap();
    (session, table)
}

/// Only the rows that were kept are there, for those who scan the table and for those who go by its index.
fn check_kept(database: &Database, table: &Table) {
    let mut session = database.session().unwrap();
    let table = session.open_table(table.oid()).unwrap();
    begin(&mut session);
    session.begin_statement().unwrap();
    assert_eq!(all(&session, &table, |_| ()).len(), KEPT as usize, "deleted rows are back");
    session.check_table(&table, &PlainKeys).unwrap();
    session.end_statement();
    session.commit_and_wait().unwrap();
}

fn lose_what_was_not_synced(disk: &SimulatedVfs) -> SimulatedVfs {
    disk.crash_with(SimulatedOptions { survival: Survival::Nothing, ..SimulatedOptions::new(1) })
}

// invariants: row 34
#[test]
fn a_checkpoint_that_begins_while_a_table_is_cut_brings_no_deleted_row_back() {
    let disk = SimulatedVfs::new(1);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let (mut session, table) = with_deleted_tail(&database);
    let is_hooked = AtomicBool::new(false);
    disk.set_hook({
        let (disk, database) = (disk.clone(), database.clone());
        move |call| {
            if call != HookedCall::SetLength || is_hooked.swap(true, Ordering::SeqCst) {
                return;
            }
            // The record is durable, and the file is as long as before. A checkpoint either ends now, or waits for the cut.
            let (ended, end) = mpsc::channel();
            let (database, on) = (database.clone(), disk.clone());
            std::thread::spawn(move || {
                let checkpoint = catch_unwind(AssertUnwindSafe(|| database.checkpoint()));
                assert!(checkpoint.is_ok() || on.is_crashed());
                let _ = ended.send(());
            });
            let _ = end.recv_timeout(Duration::from_millis(300));
            disk.fail_stop("the power fails");
        }
    });
    let vacuumed = catch_unwind(AssertUnwindSafe(|| session.vacuum(&table, VacuumOptions::default())));
    assert!(vacuumed.is_err(), "the vacuum cuts the table");
    let disk = lose_what_was_not_synced(&disk);
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
    drop(database);
    check_kept(&Database::open(options_on(&disk, &[])).unwrap(), &table);
}

// invariants: rows 6, 34
#[test]
fn a_cut_that_fails_after_it_was_logged_ends_the_process() {
    let disk = SimulatedVfs::new(1);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    let (mut session, table) = with_deleted_tail(&database);
    disk.add_fault(Fault::FailSetLength(disk.set_lengths() + 1));
    let vacuumed = catch_unwind(AssertUnwindSafe(|| session.vacuum(&table, VacuumOptions::default())));
    assert!(vacuumed.is_err() && disk.is_crashed(), "nobody goes on with a table that a crash would cut");
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
    drop(database);
    let disk = lose_what_was_not_synced(&disk);
    check_kept(&Database::open(options_on(&disk, &[])).unwrap(), &table);
}

/// Every file that there is, without the catalog's.
fn files(database: &Database) -> Vec<FileNumber> {
    database.pool().list_files().unwrap().into_iter().filter(|file| file.0 != 1).collect()
}

fn drop_table(session: &mut Session, table: &Table) -> Result<()> {
    begin(session);
    session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::Block)?;
    session.drop_object(table.indexes[0].def.oid)?;
    session.drop_object(table.oid())?;
    session.commit_and_wait()
}

// invariants: row 32
#[test]
fn files_that_nobody_owns_go_at_every_start_and_their_numbers_are_not_given_out() {
    let disk = SimulatedVfs::new(1);
    Database::open(options_on(&disk, &[])).unwrap().close().unwrap();
    let stray = Path::new("/data/base/500");
    disk.open(stray, OpenMode::CreateNew).unwrap();
    // One that can't be removed.
    disk.add_fault(Fault::FailRemoval(disk.removals() + 1));
    let database = Database::open(options_on(&disk, &[])).unwrap();
    assert!(disk.exists(stray), "the removal failed");
    let table = create_table(&mut database.session().unwrap(), "t", &TYPES);
    assert!(table.def.file.0 > 500);
    database.close().unwrap();
    drop(database);
    let _database = Database::open(options_on(&disk, &[])).unwrap();
    assert!(!disk.exists(stray), "nothing was to be redone, and the file is gone all the same");
}

#[test]
fn files_that_the_database_can_not_have_named_are_left_alone() {
    let disk = SimulatedVfs::new(1);
    Database::open(options_on(&disk, &[])).unwrap().close().unwrap();
    let names = ["18446744073709551615", "18446744073709551614", "9223372036854775808", "281474976710656", "007", "+9"];
    let strays = names.map(|name| Path::new("/data/base").join(name));
    for stray in &strays {
        disk.open(stray, OpenMode::CreateNew).unwrap();
    }
    for fsync in ["on", "off", "on"] {
        let database = Database::open(options_on(&disk, &[("fsync", fsync)])).unwrap();
        let mut session = database.session().unwrap();
        let table = create_table(&mut session, "t", &TYPES);
        assert!(table.def.file.0 < 100, "{}", table.def.file);
        drop_table(&mut session, &table).unwrap();
    }
    assert!(strays.iter().all(|stray| disk.exists(stray)));
}

#[test]
fn without_threads_dropped_files_go_with_the_commit() {
    let (database, _disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    assert_eq!(files(&database).len(), 2);
    drop_table(&mut session, &table).unwrap();
    assert_eq!(files(&database), []);
    begin(&mut session);
    create_table_in_transaction(&session, "u", &TYPES);
    assert_eq!(files(&database).len(), 2);
    session.rollback().unwrap();
    assert_eq!(files(&database), []);
}

#[test]
fn a_close_removes_what_is_still_to_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let mut session = database.session().unwrap();
    for number in 0..20 {
        let table = create_table(&mut session, &format!("t{number}"), &TYPES);
        drop_table(&mut session, &table).unwrap();
    }
    drop(session);
    database.close().unwrap();
    assert_eq!(files(&database), []);
}

#[test]
fn a_new_database_lasts_though_the_directories_above_it_are_new() {
    let disk = SimulatedVfs::new(1);
    let options = || OpenOptions { directory: "/new/below/data".into(), ..options_on(&disk, &[]) };
    let database = Database::open(options()).unwrap();
    let oid = create_table(&mut database.session().unwrap(), "t", &TYPES).oid();
    drop(database);
    let next = lose_what_was_not_synced(&disk);
    let options = OpenOptions { vfs: Arc::new(next), create: false, ..options() };
    assert!(Database::open(options).unwrap().catalog().table(oid).is_some());
}

fn make_fill_and_drop(session: &mut Session, name: &str) -> Result<()> {
    let table = create_table(session, name, &TYPES);
    run(session, |s| {
        (0..300).try_for_each(|id| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop))
    })?;
    drop_table(session, &table)
}

// invariants: row 32
#[test]
fn a_file_that_can_not_be_removed_is_tried_again_at_the_next_checkpoint() {
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let file = Path::new("/data/base").join(table.def.file.to_string());
    for number in 1..=3 {
        disk.add_fault(Fault::FailRemoval(disk.removals() + number));
    }
    drop_table(&mut session, &table).unwrap();
    assert!(disk.exists(&file), "the removal failed");
    let mut has_failed_again = false;
    while disk.exists(&file) {
        assert!(disk.removals() < 100, "nobody tries again");
        // Other files are removed as ever.
        make_fill_and_drop(&mut session, "other").unwrap();
        has_failed_again |= disk.exists(&file);
        database.checkpoint().unwrap();
    }
    assert!(has_failed_again);
    assert_eq!(files(&database), []);
    database.close().unwrap();
}

/// A checkpoint that waits for the removal of a file, which takes as long as the test likes.
#[test]
fn an_interrupt_ends_the_wait_for_a_checkpoint_and_not_the_checkpoint() {
    let disk = SimulatedVfs::new(1);
    let options = OpenOptions { background: true, ..options_on(&disk, &[]) };
    let database = Database::open(options).unwrap();
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (begins, has_begun) = mpsc::channel();
    let ends = std::sync::Mutex::new((begins, may_go_on));
    disk.set_hook(move |call| {
        if matches!(call, HookedCall::Remove(_)) {
            let (begins, may_go_on) = &*ends.lock().unwrap();
            let _ = begins.send(());
            let _ = may_go_on.recv_timeout(Duration::from_secs(60));
        }
    });
    // It removes the file itself if the thread made for that has not begun yet.
    let mut dropping = database.session().unwrap();
    let dropping = std::thread::spawn(move || drop_table(&mut dropping, &table).unwrap());
    has_begun.recv().unwrap();
    for kind in [InterruptKind::Cancel, InterruptKind::StatementTimeout, InterruptKind::Terminate] {
        let interrupt = Arc::clone(session.interrupt());
        let raising = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            interrupt.raise(kind);
        });
        let started = Instant::now();
        assert_eq!(session.checkpoint().unwrap_err().sqlstate(), kind.error().sqlstate());
        assert!(started.elapsed() < Duration::from_secs(20), "{kind:?}");
        raising.join().unwrap();
        session.interrupt().take_end();
    }
    let redo = database.control().redo;
    drop(go_on);
    let started = Instant::now();
    while database.control().redo == redo {
        assert!(started.elapsed() < Duration::from_secs(20), "the checkpoint is not made");
        std::thread::sleep(Duration::from_millis(5));
    }
    session.checkpoint().unwrap();
    dropping.join().unwrap();
    drop(session);
    database.close().unwrap();
}

/// Recovery makes each file whose making it finds in the log.
#[test]
fn recovery_makes_the_names_of_files_durable_at_once() {
    const TABLES: u64 = 100;
    let (database, disk) = simulated(1);
    let mut session = database.session().unwrap();
    database.checkpoint().unwrap();
    let before = disk.directory_syncs();
    for number in 0..TABLES {
        create_table(&mut session, &format!("t{number}"), &TYPES);
    }
    assert!(disk.directory_syncs() - before >= 2 * TABLES, "a transaction's files are durable when it commits");
    drop((session, database));
    // All files' names are lost but those that a crash would leave.
    let disk = lose_what_was_not_synced(&disk);
    for file in files_below(&disk) {
        disk.remove_file(&file).unwrap();
    }
    let before = disk.directory_syncs();
    let database = Database::open(options_on(&disk, &[])).unwrap();
    assert!(disk.directory_syncs() - before < TABLES / 2, "{} syncs", disk.directory_syncs() - before);
    drop(database);
    let disk = lose_what_was_not_synced(&disk);
    let database = Database::open(options_on(&disk, &[])).unwrap();
    assert_eq!(files(&database).len() as u64, 2 * TABLES);
}

/// The relations' files but the catalog's.
fn files_below(disk: &SimulatedVfs) -> Vec<std::path::PathBuf> {
    let directory = Path::new("/data/base");
    let names = disk.list_dir(directory).unwrap();
    names.iter().filter(|name| *name != "1").map(|name| directory.join(name)).collect()
}

/// Sessions that make and drop tables, sessions that update rows, and checkpoints, in a cache that is too small for them.
///
/// invariants: row 33.
#[test]
fn tables_dropped_beside_updates_and_checkpoints_stop_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[]);
    let table = create_table(&mut database.session().unwrap(), "t", &TYPES);
    run(&mut database.session().unwrap(), |s| {
        (0..8).try_for_each(|id| s.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop))
    })
    .unwrap();
    let (steps, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut threads = Vec::new();
    for number in 0..9 {
        let (database, table, steps, stop) = (database.clone(), table.clone(), steps.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            let mut session = database.session().unwrap();
            while !stop.load(Ordering::SeqCst) {
                match number {
                    0..4 => make_fill_and_drop(&mut session, &format!("made{number}")).unwrap(),
                    4..8 => assert!(run(&mut session, |s| set_i64(s, &table, number, &|old| old + 1)).unwrap()),
                    _ => database.checkpoint().unwrap(),
                }
                steps.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    let watch = |is_over: &dyn Fn() -> bool| {
        let (mut seen, mut since) = (steps.load(Ordering::SeqCst), Instant::now());
        while !is_over() {
            std::thread::sleep(Duration::from_millis(20));
            let now = steps.load(Ordering::SeqCst);
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < Duration::from_secs(60), "nobody has come further for a minute");
        }
    };
    let begun = Instant::now();
    watch(&|| begun.elapsed() > Duration::from_secs(4));
    stop.store(true, Ordering::SeqCst);
    watch(&|| threads.iter().all(|thread| thread.is_finished()));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    database.close().unwrap();
}
