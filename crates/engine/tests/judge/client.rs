//! A client: makes its wishes come true, and writes down what it saw.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use base::{Result, Tid, sqlstate};
use cohort_engine::key::{KeyBuffer, PlainKeys};
use cohort_engine::{
    ConflictOutcome, Database, Direction, Isolation, KeyRange, Modify, RowLockMode, Session, Table, TransactionOptions,
    VacuumOptions, WaitPolicy,
};
use judge::{
    Clock, End, Object, Operation, Predicate, PredicateRead, Read, Span, Transaction, TransactionId, VersionId, Write,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schema::row::{ColumnSet, Datum, RowBytes};
use sync::{Interrupt, InterruptKind};

use crate::common::key_i32;
use crate::drivers::Run;
use crate::mix::{CLASSES, Step, Wish};

/// How often a transaction that can't be serialized is tried again.
const TRIES: usize = 20;
/// Makes rows so long that a page holds about a dozen.
const FILLER: &[u8] = &[b'.'; 500];

/// The state that all clients of a run share.
pub struct World {
    pub database: Database,
    pub run: Run,
    pub table: Arc<Table>,
    clock: Clock,
    transactions: AtomicU64,
    interrupts: Mutex<Vec<Arc<Interrupt>>>,
}

/// One client.
struct Client<'w> {
    world: &'w World,
    session: Session,
    random: StdRng,
    /// The operations of the transaction in progress.
    operations: Vec<Operation>,
    id: u64,
    /// When the transaction's snapshot was taken; none at read committed.
    looked: Option<Span>,
    done: Vec<Transaction>,
}

/// A row as a read found it.
#[derive(Clone, Copy)]
struct Found {
    tid: Tid,
    key: i32,
    version: VersionId,
    class: i32,
}

fn object(key: i32) -> Object {
    Object { table: 1, key: i64::from(key) }
}

fn found(table: &Table, tid: Tid, bytes: &[u8]) -> Found {
    match table.decode(bytes)[..] {
        [Datum::I32(key), Datum::I64(version), Datum::I32(class), _] => {
            Found { tid, key, version: VersionId(version as u64), class }
        }
        ref row => panic!("{row:?} is no row of the table"),
    }
}

fn read(found: &Found) -> Read {
    Read { object: object(found.key), version: found.version }
}

fn row(key: i32, version: VersionId, class: i32) -> [Datum<'static>; 4] {
    [Datum::I32(key), Datum::I64(version.0 as i64), Datum::I32(class), Datum::Bytes(FILLER)]
}

impl World {
    pub fn new(database: Database, run: Run, table: Arc<Table>) -> World {
        World {
            database,
            run,
            table,
            clock: Clock::new(),
            transactions: AtomicU64::new(1),
            interrupts: Mutex::default(),
        }
    }

    /// A moment, to see whether anything happens.
    pub fn moment(&self) -> u64 {
        self.clock.now()
    }

    /// Has all clients fail who wait for something.
    pub fn cancel(&self) {
        self.interrupts.lock().unwrap().iter().for_each(|interrupt| interrupt.raise(InterruptKind::Cancel));
    }

    /// Fills the table: the first transaction of the history.
    pub fn fill(&self) -> Vec<Transaction> {
        let mut client = Client::new(self, u64::MAX);
        let steps = (0..self.run.mix.keys()).step_by(2).map(|key| Step::Insert { key, class: key % CLASSES }).collect();
        client.fulfil(&Wish { steps, read_only: false, deferrable: false, gives_up: false });
        client.done
    }

    /// Runs `wishes` transactions as client `number`, and tries each again after a failure. Returns a record of every
    /// attempt.
    pub fn client(&self, number: u64, wishes: usize) -> Vec<Transaction> {
        let mut client = Client::new(self, number);
        for _ in 0..wishes {
            let wish = self.run.mix.wish(&mut client.random);
            client.fulfil(&wish);
            if client.random.random_range(0..30) == 0 {
                self.database.tidy();
                client.session.vacuum(&self.table, VacuumOptions::default()).unwrap();
            }
        }
        client.done
    }
}

impl<'w> Client<'w> {
    fn new(world: &'w World, number: u64) -> Client<'w> {
        let mut session = world.database.session().unwrap();
        session.set_synchronous_commit(number.is_multiple_of(2));
        world.interrupts.lock().unwrap().push(session.interrupt().clone());
        Client {
            world,
            session,
            random: StdRng::seed_from_u64(world.run.seed.wrapping_mul(1000).wrapping_add(number)),
            operations: Vec::new(),
            id: 0,
            looked: None,
            done: Vec::new(),
        }
    }

    /// Runs a transaction until it commits or gives up.
    fn fulfil(&mut self, wish: &Wish) {
        for _ in 0..TRIES {
            self.id = self.world.transactions.fetch_add(1, Ordering::Relaxed);
            self.looked = None;
            let options = TransactionOptions {
                isolation: self.world.run.isolation,
                read_only: wish.read_only,
                deferrable: wish.deferrable,
            };
            self.session.begin(options).unwrap();
            let outcome = self.attempt(wish);
            let end = match outcome {
                Ok(end) => end,
                Err(ref error) => {
                    let expected =
                        [sqlstate::SERIALIZATION_FAILURE, sqlstate::DEADLOCK_DETECTED].contains(&error.sqlstate());
                    assert!(expected, "{}: {error}\n{wish:?}\n{:?}", self.world.run, self.operations);
                    self.session.rollback().unwrap();
                    End::Aborted
                }
            };
            let operations = std::mem::take(&mut self.operations);
            self.done.push(Transaction { id: TransactionId(self.id), operations, end });
            sync::yield_now();
            if outcome.is_ok() {
                break;
            }
        }
    }

    fn attempt(&mut self, wish: &Wish) -> Result<End> {
        for step in &wish.steps {
            sync::yield_now();
            self.take(step)?;
        }
        sync::yield_now();
        if wish.gives_up {
            self.session.rollback()?;
            return Ok(End::Aborted);
        }
        let began = self.world.clock.now();
        let gate = self.session.commit()?;
        let commit = Span { began, ended: self.world.clock.now() };
        self.session.wait_durable(gate);
        Ok(End::Committed(commit))
    }

    fn take(&mut self, step: &Step) -> Result<()> {
        let Step::Savepoint { steps, rolled_back } = step else { return self.statement(step) };
        let savepoint = self.session.savepoint()?;
        let before = self.operations.len();
        for step in steps {
            sync::yield_now();
            self.take(step)?;
        }
        if *rolled_back {
            self.session.rollback_to(savepoint)?;
            for operation in &mut self.operations[before..] {
                if let Operation::Write(write) = operation {
                    write.is_undone = true;
                }
            }
        } else {
            self.session.release(savepoint)?;
        }
        Ok(())
    }

    fn statement(&mut self, step: &Step) -> Result<()> {
        let began = self.world.clock.now();
        self.session.begin_statement()?;
        if self.world.run.isolation != Isolation::ReadCommitted && self.looked.is_none() {
            self.looked = Some(Span { began, ended: self.world.clock.now() });
        }
        let result = match step {
            Step::Read(key) => self.read(*key, began),
            Step::Range(keys) => self.range(keys, began),
            Step::Classes(classes) => self.classes(classes, began),
            Step::Scan(classes) => self.scan(classes, began),
            Step::Lock { key, for_share } => self.lock(*key, *for_share, began),
            Step::Update { key, class } => self.update(*key, *class, began),
            Step::Insert { key, class } => self.insert(*key, *class),
            Step::Delete(key) => self.delete(*key, began),
            Step::Savepoint { .. } => unreachable!("savepoints are no statements"),
        };
        self.session.end_statement();
        result
    }

    fn note_scan(&mut self, began: u64, keys: RangeInclusive<i32>, classes: RangeInclusive<i32>, found: &[Found]) {
        let looked = self.looked.unwrap_or_else(|| Span { began, ended: self.world.clock.now() });
        let wide = |range: RangeInclusive<i32>| i64::from(*range.start())..=i64::from(*range.end());
        self.operations.push(Operation::PredicateRead(PredicateRead {
            predicate: Predicate { table: 1, keys: wide(keys), classes: wide(classes) },
            seen: found.iter().map(read).collect(),
            looked,
        }));
    }

    fn note_absence(&mut self, began: u64, key: i32) {
        self.note_scan(began, key..=key, 0..=CLASSES, &[]);
    }

    fn note_write(&mut self, key: i32, version: VersionId, replaces: Option<VersionId>, class: Option<i32>) {
        let at = self.world.clock.now();
        let write = Write { object: object(key), version, replaces, class: class.map(i64::from), at, is_undone: false };
        self.operations.push(Operation::Write(write));
    }

    /// A version that nobody has written before.
    fn new_version(&self) -> VersionId {
        VersionId(self.id << 16 | self.operations.len() as u64)
    }

    fn find(&self, key: i32) -> Result<Option<Found>> {
        let (table, mut bytes) = (&*self.world.table, RowBytes::new());
        let tid = self.session.index_point(table, 0, key_i32(key).as_slice(), &mut bytes)?;
        Ok(tid.map(|tid| found(table, tid, &bytes)))
    }

    /// The row's newest version, for who found an older one and is at read committed.
    fn follow(&self, newest: Tid) -> Result<Option<Found>> {
        let (table, mut bytes) = (&*self.world.table, RowBytes::new());
        let tid = self.session.newest_version(table, newest, &mut bytes)?;
        Ok(tid.map(|tid| found(table, tid, &bytes)))
    }

    /// Finds a row and changes it by `change`, its newest version if need be, as read committed does. Returns the row as
    /// it was found, if it was changed.
    fn modify(&self, key: i32, change: impl Fn(&Found) -> Result<Modify>) -> Result<Option<Found>> {
        let mut row = self.find(key)?;
        while let Some(found) = row {
            row = match change(&found)? {
                Modify::Done { .. } => return Ok(Some(found)),
                Modify::Updated { newest, .. } => self.follow(newest)?,
                Modify::Deleted { .. } => None,
                other => panic!("{}: row {key} was {other:?}", self.world.run),
            };
        }
        Ok(None)
    }

    fn read(&mut self, key: i32, began: u64) -> Result<()> {
        match self.find(key)? {
            Some(found) => self.operations.push(Operation::Read(read(&found))),
            None => self.note_absence(began, key),
        }
        Ok(())
    }

    fn lock(&mut self, key: i32, for_share: bool, began: u64) -> Result<()> {
        let mode = if for_share { RowLockMode::Share } else { RowLockMode::Update };
        let table = &*self.world.table;
        match self.modify(key, |found| self.session.lock_row(table, found.tid, mode, WaitPolicy::Block))? {
            Some(found) => self.operations.push(Operation::Read(read(&found))),
            None => self.note_absence(began, key),
        }
        Ok(())
    }

    fn update(&mut self, key: i32, class: Option<i32>, began: u64) -> Result<()> {
        let version = self.new_version();
        let changed: ColumnSet = if class.is_some() { [1, 2].into_iter().collect() } else { [1].into_iter().collect() };
        let updated = self.modify(key, |found| {
            let new = row(key, version, class.unwrap_or(found.class));
            self.session.update(&self.world.table, found.tid, &new, &changed, &PlainKeys)
        })?;
        match updated {
            Some(old) => self.note_write(key, version, Some(old.version), Some(class.unwrap_or(old.class))),
            None => self.note_absence(began, key),
        }
        Ok(())
    }

    fn delete(&mut self, key: i32, began: u64) -> Result<()> {
        let version = self.new_version();
        match self.modify(key, |found| self.session.delete(&self.world.table, found.tid))? {
            Some(old) => self.note_write(key, version, Some(old.version), None),
            None => self.note_absence(began, key),
        }
        Ok(())
    }

    /// A row in the way is no read: what it was is not looked at, and it may be one that the snapshot does not see.
    fn insert(&mut self, key: i32, class: i32) -> Result<()> {
        let version = self.new_version();
        let new = row(key, version, class);
        match self.session.insert_on_conflict(&self.world.table, &new, &PlainKeys, Some(&[0]))? {
            ConflictOutcome::Inserted(_) => self.note_write(key, version, None, Some(class)),
            ConflictOutcome::Conflict { .. } => {}
        }
        Ok(())
    }

    fn range(&mut self, keys: &RangeInclusive<i32>, began: u64) -> Result<()> {
        let found = self.index_scan(0, keys)?;
        self.note_scan(began, keys.clone(), 0..=CLASSES, &found);
        Ok(())
    }

    fn classes(&mut self, classes: &RangeInclusive<i32>, began: u64) -> Result<()> {
        let found = self.index_scan(1, classes)?;
        self.note_scan(began, 0..=self.world.run.mix.keys(), classes.clone(), &found);
        Ok(())
    }

    fn index_scan(&mut self, index: usize, range: &RangeInclusive<i32>) -> Result<Vec<Found>> {
        let bound = |value: i32| {
            let mut key = KeyBuffer::new();
            key.push_i32(value);
            key.as_slice().to_vec()
        };
        let range = KeyRange {
            lower: std::ops::Bound::Included(bound(*range.start())),
            upper: std::ops::Bound::Included(bound(*range.end())),
        };
        let direction = if self.random.random_bool(0.7) { Direction::Forward } else { Direction::Backward };
        let mut scan = self.session.index_scan(&self.world.table, index, range, direction)?;
        let mut all = Vec::new();
        while let Some((tid, bytes)) = scan.next(&self.session)? {
            all.push(found(&self.world.table, tid, bytes));
            if self.random.random_range(0..4) == 0 {
                sync::yield_now();
            }
        }
        Ok(all)
    }

    fn scan(&mut self, classes: &RangeInclusive<i32>, began: u64) -> Result<()> {
        let mut scan = self.session.scan(&self.world.table)?;
        let mut all = Vec::new();
        while let Some((tid, bytes)) = scan.next(&self.session)? {
            let found = found(&self.world.table, tid, bytes);
            if classes.contains(&found.class) {
                all.push(found);
            }
            if self.random.random_range(0..8) == 0 {
                sync::yield_now();
            }
        }
        self.note_scan(began, 0..=self.world.run.mix.keys(), classes.clone(), &all);
        Ok(())
    }
}
