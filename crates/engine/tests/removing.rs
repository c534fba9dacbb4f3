//! Files are removed by the thread made for it: no session, no leader of a flush and no other thread unlinks one, syncs the
//! directory afterwards or waits for either.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::Result;
use cohort_engine::{Database, Finisher, LockMode, OpenOptions, Session, Table, WaitPolicy};
use common::*;
use schema::catalog::BOOTSTRAP_ROLE;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};
use vfs::{HookedCall, SimulatedVfs};

const TYPES: [PhysicalType; 2] = [PhysicalType::I32, PhysicalType::I64];
const ME: Finisher = Finisher { role: BOOTSTRAP_ROLE, is_superuser: true };
/// The remover, and the checkpointer, which removes files before the remover has begun.
const REMOVERS: [&str; 2] = ["cohort file remover", "cohort checkpointer"];
/// A wait that lasts this long is taken for one without end.
const LIMIT: Duration = Duration::from_secs(60);

/// Something that is done with the directory of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DirectoryChange {
    Made,
    Synced,
    Removed,
}

/// How often each thread has made each change.
type ChangesByThread = BTreeMap<(String, DirectoryChange), usize>;

fn own_name() -> String {
    std::thread::current().name().unwrap_or("nameless").to_owned()
}

/// A database with all its threads, the one that removes files among them.
fn with_threads(disk: &SimulatedVfs) -> Database {
    let options = OpenOptions { background: true, ..options_on(disk, &[("synchronous_commit", "on")]) };
    let database = Database::open(options).unwrap();
    let mut session = database.session().unwrap();
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    disk.set_hook(move |call| {
        if matches!(call, HookedCall::Remove(_)) {
            // Nobody may listen any more.
            let _ = tell.lock().unwrap().send(own_name());
        }
    });
    // Until it has begun, those who commit do it.
    let began = Instant::now();
    loop {
        let table = create_table(&mut session, "first", &TYPES);
        drop_table(&mut session, &table).unwrap();
        if told.recv_timeout(LIMIT).unwrap() == REMOVERS[0] {
            break;
        }
        assert!(began.elapsed() < LIMIT, "the thread does not begin");
    }
    database.checkpoint().unwrap();
    database
}

fn drop_in_transaction(session: &Session, table: &Table) -> Result<()> {
    session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::Block)?;
    session.drop_object(table.indexes[0].def.oid)?;
    session.drop_object(table.oid())
}

fn drop_table(session: &mut Session, table: &Table) -> Result<()> {
    begin(session);
    drop_in_transaction(session, table)?;
    session.commit_and_wait()
}

fn fill(session: &mut Session, table: &Arc<Table>) -> Result<()> {
    run(session, |s| {
        (0..200).try_for_each(|id| s.insert(table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).map(drop))
    })
}

/// Files that one call of leave_files certainly leaves behind.
const FILES_LEFT_MIN: usize = 10;

/// Everything that leaves files behind.
fn leave_files(session: &mut Session, number: usize) -> Result<()> {
    let name = |what: &str| format!("{what}{number}");
    let table = create_table(session, &name("dropped"), &TYPES);
    fill(session, &table)?;
    drop_table(session, &table)?;

    let table = create_table(session, &name("cut"), &TYPES);
    fill(session, &table)?;
    begin(session);
    session.lock_relation(table.oid(), LockMode::AccessExclusive, WaitPolicy::Block)?;
    session.truncate(&table)?;
    session.commit_and_wait()?;
    let table = session.open_table(table.oid())?;

    begin(session);
    create_table_in_transaction(session, &name("undone"), &TYPES);
    let savepoint = session.savepoint()?;
    create_table_in_transaction(session, &name("undone_before"), &TYPES);
    session.rollback_to(savepoint)?;
    session.rollback()?;

    // A commit that nobody waits for is retired by another thread.
    session.set_synchronous_commit(number.is_multiple_of(2));
    drop_table(session, &table)?;
    session.set_synchronous_commit(true);

    let table = create_table(session, &name("prepared"), &TYPES);
    begin(session);
    drop_in_transaction(session, &table)?;
    create_table_in_transaction(session, &name("undone_late"), &TYPES);
    session.prepare_transaction(&name("p"), BOOTSTRAP_ROLE).map(|gate| session.wait_durable(gate))?;
    match number % 2 {
        0 => session.commit_prepared(&name("p"), ME),
        _ => session.rollback_prepared(&name("p"), ME),
    }
    .map(|gate| session.wait_durable(gate))
}

/// Notes what is done with the directory of tables, and by which thread.
fn record(disk: &SimulatedVfs) -> Arc<Mutex<ChangesByThread>> {
    let changes = Arc::new(Mutex::new(ChangesByThread::new()));
    let noted = Arc::clone(&changes);
    let disk_before = disk.clone();
    disk.set_hook(move |call| {
        let is_ours = |path: &Path| path.starts_with("/data/base");
        let done = match call {
            HookedCall::Open(path) if is_ours(path) && !vfs::Vfs::exists(&disk_before, path) => DirectoryChange::Made,
            HookedCall::SyncDirectory(path) if is_ours(path) => DirectoryChange::Synced,
            HookedCall::Remove(path) if is_ours(path) => DirectoryChange::Removed,
            _ => return,
        };
        *noted.lock().unwrap().entry((own_name(), done)).or_default() += 1;
    });
    changes
}

// invariants: row 33
#[test]
fn no_thread_but_the_remover_unlinks_files_or_syncs_their_removal() {
    const SESSIONS: usize = 3;
    const ROUNDS: usize = 12;
    let disk = SimulatedVfs::new(1);
    let database = with_threads(&disk);
    let changes = record(&disk);
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let database = database.clone();
            let work = move || {
                let mut own = database.session().unwrap();
                for round in 0..ROUNDS {
                    leave_files(&mut own, session * ROUNDS + round).unwrap();
                    if round % 4 == session {
                        database.checkpoint().unwrap();
                    }
                }
            };
            std::thread::Builder::new().name(format!("session {session}")).spawn_scoped(scope, work).unwrap();
        }
    });
    database.checkpoint().unwrap();
    let changes = changes.lock().unwrap().clone();
    let count = |thread: &str, done| changes.get(&(thread.to_owned(), done)).copied().unwrap_or(0);
    let removed: usize = REMOVERS.iter().map(|remover| count(remover, DirectoryChange::Removed)).sum();
    assert!(removed >= SESSIONS * ROUNDS * FILES_LEFT_MIN, "{changes:?}");
    for (thread, done) in changes.keys().filter(|(thread, _)| !REMOVERS.contains(&thread.as_str())) {
        assert_ne!(*done, DirectoryChange::Removed, "\"{thread}\" has removed a file: {changes:?}");
        // A thread that makes a file makes its name durable.
        let (synced, made) = (count(thread, DirectoryChange::Synced), count(thread, DirectoryChange::Made));
        assert!(synced <= made, "\"{thread}\" has synced a removal: {changes:?}");
    }
    database.close().unwrap();
}

/// Until `go_on` is dropped, every removal waits. The name of the thread that is about to make one is sent.
fn hold_removals(disk: &SimulatedVfs) -> (Sender<()>, Receiver<String>) {
    let (go_on, may_go_on) = channel::<()>();
    let (tell, told) = channel();
    let ends = Mutex::new((tell, may_go_on));
    disk.set_hook(move |call| {
        if matches!(call, HookedCall::Remove(_)) {
            let (tell, may_go_on) = &*ends.lock().unwrap();
            // Nobody may listen any more.
            let _ = tell.send(own_name());
            let _ = may_go_on.recv_timeout(LIMIT);
        }
    });
    (go_on, told)
}

// invariants: row 33
#[test]
fn while_a_removal_takes_its_time_everything_but_a_checkpoint_goes_on() {
    let disk = SimulatedVfs::new(1);
    let database = with_threads(&disk);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &TYPES);
    fill(&mut session, &table).unwrap();
    let kept = create_table(&mut session, "kept", &TYPES);
    let (go_on, told) = hold_removals(&disk);
    drop_table(&mut session, &table).unwrap();
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), REMOVERS[0]);
    let (tell, ended) = channel();
    let worker = {
        let database = database.clone();
        std::thread::spawn(move || {
            let mut session = database.session().unwrap();
            fill(&mut session, &kept).unwrap();
            (0..4).for_each(|number| leave_files(&mut session, number).unwrap());
            tell.send(()).unwrap();
        })
    };
    ended.recv_timeout(LIMIT / 2).expect("it waits for the removal of a file");
    worker.join().unwrap();
    drop(go_on);
    drop(session);
    database.close().unwrap();
}
