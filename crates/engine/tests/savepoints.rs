//! Savepoints by the hundred thousand.

mod common;

use cohort_engine::{Database, RowLockMode, Session, Table, WaitPolicy};
use common::*;
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType};

const SAVEPOINTS: usize = 100_000;
/// Over how many savepoints the log's growth is compared.
const STRETCH: usize = 5_000;

fn insert(session: &Session, table: &Table, id: usize) -> base::Tid {
    statement(session, |s| s.insert(table, &[Datum::I32(id as i32), Datum::I64(0)], &PlainKeys)).unwrap()
}

/// How much each stretch of savepoints adds to the log.
struct Growth<'a> {
    database: &'a Database,
    last: u64,
    stretches: Vec<u64>,
}

impl<'a> Growth<'a> {
    fn of(database: &'a Database) -> Growth<'a> {
        Growth { database, last: database.statistics().wal.bytes, stretches: Vec::new() }
    }

    fn after(&mut self, done: usize) {
        if done.is_multiple_of(STRETCH) {
            let bytes = self.database.statistics().wal.bytes;
            self.stretches.push(bytes - self.last);
            self.last = bytes;
        }
    }

    /// The last stretch costs what the second did: nothing grows with what came before.
    fn assert_flat(&self) {
        let (early, late) = (self.stretches[1], *self.stretches.last().unwrap());
        assert!(late <= early + early / 4, "{:?}", self.stretches);
    }
}

// invariants: row 23
#[test]
fn a_hundred_thousand_nested_savepoints_are_released_and_rolled_back_at_the_price_of_few() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[("autovacuum", "off")]);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64]);
    begin(&mut session);
    let mut growth = Growth::of(&database);
    let mut stack = Vec::with_capacity(SAVEPOINTS);
    for id in 0..SAVEPOINTS {
        stack.push(session.savepoint().unwrap());
        insert(&session, &table, id);
        growth.after(id + 1);
    }
    growth.assert_flat();
    // The inner half goes in one step, with its identifiers; a quarter is released one by one, from inside.
    session.rollback_to(stack[SAVEPOINTS / 2]).unwrap();
    assert_eq!(
        database.locks().snapshot().iter().filter(|lock| lock.tag.kind() == "transactionid").count(),
        SAVEPOINTS / 2 + 1
    );
    stack.truncate(SAVEPOINTS / 2 + 1);
    for savepoint in stack.drain(SAVEPOINTS / 4..).rev() {
        session.release(savepoint).unwrap();
    }
    // The changes of a released savepoint went to the level around it, and are rolled back with that level.
    session.rollback_to(stack[SAVEPOINTS / 8]).unwrap();
    session.commit_and_wait().unwrap();
    assert!(database.locks().snapshot().is_empty());
    begin(&mut session);
    let rows = statement(&session, |s| Ok(all(s, &table, |_| ()))).unwrap().len();
    assert_eq!(rows, SAVEPOINTS / 8);
    session.commit_and_wait().unwrap();
}

// invariants: row 23
#[test]
fn a_hundred_thousand_savepoints_one_after_the_other_leave_nothing_but_what_they_kept() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[("autovacuum", "off")]);
    let mut session = database.session().unwrap();
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64]);
    begin(&mut session);
    let kept = insert(&session, &table, SAVEPOINTS);
    let mut growth = Growth::of(&database);
    for id in 0..SAVEPOINTS {
        let savepoint = session.savepoint().unwrap();
        let tid = insert(&session, &table, id);
        statement(&session, |s| s.lock_row(&table, kept, RowLockMode::Update, WaitPolicy::Block)).unwrap();
        if id % 2 == 1 {
            statement(&session, |s| s.delete(&table, tid)).unwrap();
            session.rollback_to(savepoint).unwrap();
        }
        session.release(savepoint).unwrap();
        growth.after(id + 1);
    }
    growth.assert_flat();
    // A session that wants to wait for a rolled-back savepoint finds it ended. Released savepoints end with the
    // transaction.
    let running = database.locks().snapshot().iter().filter(|lock| lock.tag.kind() == "transactionid").count();
    assert_eq!(running, SAVEPOINTS / 2 + 1);
    session.commit_and_wait().unwrap();
    assert!(database.locks().snapshot().is_empty());
    begin(&mut session);
    let rows = statement(&session, |s| Ok(all(s, &table, |_| ()))).unwrap().len();
    assert_eq!(rows, SAVEPOINTS / 2 + 1);
    session.commit_and_wait().unwrap();
}

#[test]
fn a_statement_goes_on_under_its_snapshots_when_a_savepoint_within_it_is_undone() {
    let directory = tempfile::tempdir().unwrap();
    let database = real(directory.path(), &[("autovacuum", "off")]);
    let (mut session, mut other) = (database.session().unwrap(), database.session().unwrap());
    let table = create_table(&mut session, "t", &[PhysicalType::I32, PhysicalType::I64]);
    let add = |session: &Session, id: i32| {
        session.insert(&table, &[Datum::I32(id), Datum::I64(0)], &PlainKeys).unwrap();
    };
    let count = |session: &Session| all(session, &table, |_| ()).len();
    begin(&mut session);
    insert(&session, &table, 1);
    session.begin_statement().unwrap();
    add(&session, 2);
    let depth = session.snapshot_depth();
    let savepoint = session.savepoint().unwrap();
    session.push_snapshot().unwrap();
    add(&session, 3);
    run(&mut other, |other| {
        add(other, 4);
        Ok(())
    })
    .unwrap();
    session.push_snapshot().unwrap();
    assert_eq!(count(&session), 4);
    session.rollback_within(savepoint, depth).unwrap();
    session.release(savepoint).unwrap();
    assert_eq!(session.snapshot_depth(), depth);
    assert_eq!(count(&session), 1, "what the statement wrote itself, and what was committed meanwhile, is not for it");
    session.push_snapshot().unwrap();
    assert_eq!(count(&session), 3);
    session.pop_snapshot();
    assert_eq!(count(&session), 1);
    session.end_statement();
    assert_eq!(statement(&session, |session| Ok(count(session))).unwrap(), 3);
    session.commit_and_wait().unwrap();
}
