//! Random transactions over a few tables, a model of what they did, and the comparison of a recovered database with it.
//!
//! One thread runs a handful of sessions in turn, each on rows of its own. So nobody waits, and a seed determines
//! everything that happens. Every transaction that writes also enters its number in a ledger. So the recovered ledger
//! tells exactly which transactions have survived. These must be a prefix, in commit order, and the prefix must hold
//! every acknowledged transaction. The tables must be as those transactions made them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base::settings::Source;
use base::{Oid, Result};
use cohort_engine::{Database, Direction, KeyRange, Modify, Session, Table, TransactionOptions, VacuumOptions};
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use schema::key::PlainKeys;
use schema::row::{ColumnSet, Datum, PhysicalType, RowBytes};

use super::common::{all, begin, key_i32, statement};
use super::counters::{Counter, SequenceModel};
use super::made::{self, MAKERS, Made, MadeTable, Maker, PreparedModel};

const TABLES: usize = 2;
const SESSIONS: usize = 3;
const COUNTERS: usize = 2;
const IDS_PER_SESSION: i32 = 12;

pub type Value = (i64, Vec<u8>);
type Rows = BTreeMap<i32, Value>;
type State = [Rows; TABLES];

/// One effect of a transaction.
#[derive(Clone, Debug)]
pub enum Effect {
    /// To a row of one of the tables: what became of it.
    Row(usize, i32, Option<Value>),
    /// A maker made a table.
    Made(Oid, usize),
    /// The rows that a made table has now.
    Filled(Oid, BTreeSet<i32>),
    Dropped(Oid),
}

/// A transaction and its effects in their order.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub number: i64,
    pub effects: Vec<Effect>,
}

/// Everything that was committed, in order, and what of it has to be there after a crash.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub committed: Vec<Transaction>,
    /// So many of the first ones were acknowledged, or seen by a reader who was answered.
    pub acknowledged: usize,
    /// Transactions that are prepared, or may be.
    pub prepared: Vec<PreparedModel>,
    /// The values of a sequence that sessions share.
    sequence: SequenceModel,
    next_number: i64,
    tables: Option<(Vec<Oid>, Oid)>,
}

struct Open {
    tables: Vec<Arc<Table>>,
    ledger: Arc<Table>,
}

impl Model {
    /// Whether the tables were made.
    pub fn has_tables(&self) -> bool {
        self.tables.is_some()
    }

    fn state(&self) -> State {
        replay(&self.committed).0
    }

    /// The tables that makers have made.
    pub fn made(&self) -> Made {
        replay(&self.committed).1
    }

    /// Enters a transaction in the ledger, as its last statement.
    pub fn enter(&mut self, session: &Session, effects: &[Effect]) -> Result<Transaction> {
        let number = self.next_number;
        self.next_number += 1;
        let open = self.open(session)?.expect("the tables are made first");
        statement(session, |s| s.insert(&open.ledger, &[Datum::I64(number)], &PlainKeys))?;
        Ok(Transaction { number, effects: effects.to_vec() })
    }

    /// Makes the tables. Before this returns nothing is acknowledged.
    fn create_tables(&mut self, session: &mut Session) -> Result<()> {
        session.begin(TransactionOptions::default())?;
        let mut oids = Vec::new();
        for number in 0..TABLES {
            let def = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, format!("t{number}"), BOOTSTRAP_ROLE)
                .column("id", PhysicalType::I32)
                .column("v", PhysicalType::I64)
                .column("s", PhysicalType::Bytes);
            let pkey = IndexDef::new(session.allocate_oid(), &def, format!("t{number}_pkey"), &[0], true);
            let by_value = IndexDef::new(session.allocate_oid(), &def, format!("t{number}_v"), &[1, 0], false);
            oids.push(def.oid);
            session.create_object(def)?;
            session.create_object(pkey)?;
            session.create_object(by_value)?;
        }
        let ledger = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "ledger", BOOTSTRAP_ROLE)
            .column("number", PhysicalType::I64);
        let pkey = IndexDef::new(session.allocate_oid(), &ledger, "ledger_pkey", &[0], true);
        let ledger_oid = ledger.oid;
        session.create_object(ledger)?;
        session.create_object(pkey)?;
        self.sequence.create(session)?;
        // Perhaps this is as far as it gets: then they may be there or not.
        self.tables = Some((oids, ledger_oid));
        session.commit_and_wait()
    }

    fn open(&self, session: &Session) -> Result<Option<Open>> {
        let Some((tables, ledger)) = &self.tables else { return Ok(None) };
        let tables = tables.iter().map(|oid| session.open_table(*oid)).collect::<Result<_>>()?;
        Ok(Some(Open { tables, ledger: session.open_table(*ledger)? }))
    }
}

fn replay(committed: &[Transaction]) -> (State, Made) {
    let (mut state, mut made) = (State::default(), Made::default());
    for effect in committed.iter().flat_map(|transaction| transaction.effects.clone()) {
        match effect {
            Effect::Row(table, id, value) => apply(&mut state, table, id, value),
            Effect::Made(oid, maker) => drop(made.insert(oid, MadeTable { maker, ids: BTreeSet::new() })),
            Effect::Filled(oid, ids) => made.get_mut(&oid).expect("it was made before").ids = ids,
            Effect::Dropped(oid) => drop(made.remove(&oid)),
        }
    }
    (state, made)
}

struct Client {
    session: Session,
    pending: Option<Pending>,
    number: i32,
}

struct Pending {
    effects: Vec<Effect>,
    savepoint: Option<(cohort_engine::SavepointId, usize)>,
    state: State,
    failed: bool,
}

/// The sessions of a run. They outlive the simulated process's end, which would otherwise find them in the middle of its
/// unwinding, where they can't fail again.
pub struct Runner<'a> {
    database: &'a Database,
    clients: Vec<Client>,
    makers: Vec<Maker>,
    counters: Vec<Counter>,
    helper: Option<Session>,
}

impl<'a> Runner<'a> {
    pub fn new(database: &'a Database) -> Runner<'a> {
        let clients = (0..SESSIONS as i32)
            .map(|number| Client { session: database.session().unwrap(), pending: None, number })
            .collect();
        let makers = (0..MAKERS).map(|number| Maker::new(database, number)).collect();
        let counters = (0..COUNTERS).map(|_| Counter::new(database)).collect();
        Runner { database, clients, makers, counters, helper: Some(database.session().unwrap()) }
    }

    /// Makes the tables unless they were made before.
    pub fn create_tables(&mut self, model: &mut Model) -> Result<()> {
        if model.has_tables() { Ok(()) } else { model.create_tables(self.helper.as_mut().expect("until dropped")) }
    }

    /// Runs `steps` random steps. Errors of the disk roll the transaction they hit back and are counted; whatever ends the
    /// simulated process panics through here.
    pub fn run(&mut self, model: &mut Model, seed: u64, steps: u32) -> u32 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut errors = 0;
        for _ in 0..steps {
            let helper = self.helper.as_mut().expect("until dropped");
            let outcome = match random.random_range(0..100) {
                0..3 => self.database.checkpoint(),
                3..5 => {
                    self.database.tidy();
                    Ok(())
                }
                5..7 => vacuum(helper, model, &mut random),
                7..10 => read_only(helper, model),
                10..13 => made::vacuum(helper, model, &mut random),
                13..14 => {
                    reload(self.database, &mut random);
                    Ok(())
                }
                14..20 => {
                    let which = random.random_range(0..self.counters.len());
                    self.counters[which].step(&mut model.sequence, &mut random)
                }
                20..36 => {
                    let which = random.random_range(0..self.makers.len());
                    self.makers[which].step(model, &mut random)
                }
                _ => {
                    let which = random.random_range(0..self.clients.len());
                    let client = &mut self.clients[which];
                    step(client, model, &mut random).inspect_err(|_| {
                        client.pending = None;
                        client.session.rollback().unwrap();
                    })
                }
            };
            if outcome.is_err() {
                errors += 1;
                self.helper.as_mut().expect("until dropped").rollback().unwrap();
            }
        }
        errors
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        let clients = self.clients.drain(..).map(|client| client.session);
        let makers = self.makers.drain(..).map(Maker::into_session);
        let counters = self.counters.drain(..).map(Counter::into_session);
        for session in clients.chain(makers).chain(counters).chain(self.helper.take()) {
            // Dropping a session rolls its open transaction back. The end of the simulated process may stop the rollback.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
        }
    }
}

/// A change of the settings of the commit path while transactions are under way.
fn reload(database: &Database, random: &mut StdRng) {
    let changes: [(&str, &[&str]); 4] = [
        ("group_commit", &["on", "off"]),
        ("early_lock_release", &["on", "off"]),
        ("clog_update", &["cohort", "group", "each"]),
        ("twophase_state", &["memory", "wal", "file"]),
    ];
    let (name, values) = changes[random.random_range(0..changes.len())];
    let value = values[random.random_range(0..values.len())];
    database.settings().set_at_start(name, value, Source::CommandLine).unwrap();
    database.reload();
}

fn vacuum(session: &mut Session, model: &Model, random: &mut StdRng) -> Result<()> {
    let Some(open) = model.open(session)? else { return Ok(()) };
    let table = &open.tables[random.random_range(0..TABLES)];
    // The others are in the middle of their transactions: only what is not locked.
    match session.vacuum(table, VacuumOptions { skip_locked: true, ..VacuumOptions::default() }) {
        Err(error) if error.sqlstate() == base::sqlstate::LOCK_NOT_AVAILABLE => Ok(()),
        other => other.map(drop),
    }
}

/// invariants: row 11. A read-only transaction is answered when all commits that it saw are durable: from then on they
/// must survive.
fn read_only(session: &mut Session, model: &mut Model) -> Result<()> {
    let Some(open) = model.open(session)? else { return Ok(()) };
    begin(session);
    let seen = statement(session, |s| Ok(all(s, &open.ledger, |row| row[0] == Datum::Null).len()))?;
    session.commit_and_wait()?;
    model.acknowledged = model.acknowledged.max(seen);
    Ok(())
}

fn step(client: &mut Client, model: &mut Model, random: &mut StdRng) -> Result<()> {
    let Some(open) = model.open(&client.session)? else { return Ok(()) };
    let Some(pending) = &mut client.pending else {
        let mut options = TransactionOptions::default();
        if random.random_bool(0.3) {
            options.isolation = cohort_engine::Isolation::RepeatableRead;
        }
        client.session.set_synchronous_commit(random.random_bool(0.6));
        client.session.begin(options)?;
        client.pending = Some(Pending { effects: Vec::new(), savepoint: None, state: model.state(), failed: false });
        return Ok(());
    };
    match random.random_range(0..20) {
        0..13 => write(client, &open, random),
        13 => {
            if pending.savepoint.is_none() {
                pending.savepoint = Some((client.session.savepoint()?, pending.effects.len()));
            }
            Ok(())
        }
        14 => {
            if let Some((savepoint, kept)) = pending.savepoint.take() {
                client.session.rollback_to(savepoint)?;
                client.session.release(savepoint)?;
                pending.effects.truncate(kept);
                pending.state = model.state();
                for effect in pending.effects.clone() {
                    if let Effect::Row(table, id, value) = effect {
                        apply(&mut pending.state, table, id, value);
                    }
                }
                pending.failed = false;
            }
            Ok(())
        }
        15 => {
            client.pending = None;
            client.session.rollback()
        }
        _ => commit(client, model),
    }
}

fn apply(state: &mut State, table: usize, id: i32, value: Option<Value>) {
    match value {
        Some(value) => state[table].insert(id, value),
        None => state[table].remove(&id),
    };
}

fn write(client: &mut Client, open: &Open, random: &mut StdRng) -> Result<()> {
    let Some(pending) = &mut client.pending else { return Ok(()) };
    let number = random.random_range(0..TABLES);
    let table = &open.tables[number];
    let id = client.number * IDS_PER_SESSION + random.random_range(0..IDS_PER_SESSION);
    let value: Value = (random.random_range(0..50), text(random));
    let row = [Datum::I32(id), Datum::I64(value.0), Datum::Bytes(&value.1)];
    let old = pending.state[number].get(&id).cloned();
    let session = &client.session;
    let delete = random.random_bool(0.2);
    let keep_text = random.random_bool(0.5);
    let new = statement(session, |s| {
        let Some(old) = &old else {
            s.insert(table, &row, &PlainKeys)?;
            return Ok(Some(value.clone()));
        };
        let mut bytes = RowBytes::new();
        let found = s.index_point(table, 0, key_i32(id).as_slice(), &mut bytes)?;
        let tid = found.unwrap_or_else(|| panic!("row {id} of table {number} is not found"));
        assert_eq!(value_of(&table.decode(&bytes)), *old);
        if delete {
            assert!(matches!(s.delete(table, tid)?, Modify::Done { .. }));
            return Ok(None);
        }
        let (changed, new): (ColumnSet, Value) = if keep_text {
            ([1].into_iter().collect(), (value.0, old.1.clone()))
        } else {
            ([1, 2].into_iter().collect(), value.clone())
        };
        let row = [Datum::I32(id), Datum::I64(new.0), Datum::Bytes(&new.1)];
        assert!(matches!(s.update(table, tid, &row, &changed, &PlainKeys)?, Modify::Done { .. }));
        Ok(Some(new))
    })?;
    pending.effects.push(Effect::Row(number, id, new.clone()));
    apply(&mut pending.state, number, id, new);
    Ok(())
}

/// Short, compressible, or too large for a row.
fn text(random: &mut StdRng) -> Vec<u8> {
    match random.random_range(0..20) {
        0 => {
            let mut bytes = vec![0; random.random_range(3000..12_000)];
            random.fill_bytes(&mut bytes);
            bytes
        }
        1 => vec![b'x'; random.random_range(2000..20_000)],
        _ => vec![b'a'; random.random_range(0..200)],
    }
}

fn commit(client: &mut Client, model: &mut Model) -> Result<()> {
    let Some(pending) = client.pending.take() else { return Ok(()) };
    let wrote = !pending.effects.is_empty();
    if wrote {
        let transaction = model.enter(&client.session, &pending.effects)?;
        // Perhaps this is as far as it gets: then it may be there or not.
        model.committed.push(transaction);
    }
    let gate = client.session.commit()?;
    client.session.wait_durable(gate);
    // With synchronous_commit off the gate is zero, and nothing is promised. A transaction that wrote nothing waits only
    // for the commits that it saw.
    if wrote && gate > base::Lsn::ZERO {
        model.acknowledged = model.committed.len();
    }
    Ok(())
}

fn value_of(row: &[Datum]) -> Value {
    match row[1..] {
        [Datum::I64(v), Datum::Bytes(s)] => (v, s.to_vec()),
        _ => panic!("{row:?}"),
    }
}

/// Holds the database against the model, and cuts the model back to what is there.
///
/// invariants: rows 1, 2, 12.
pub fn verify(database: &Database, model: &mut Model) {
    let mut session = database.session().unwrap();
    let Some((oids, _)) = model.tables.clone() else { return };
    if session.catalog().table(oids[0]).is_none() {
        assert_eq!(model.acknowledged, 0, "the tables are gone, but transactions on them were acknowledged");
        *model = Model::default();
        return;
    }
    let open = model.open(&session).unwrap().expect("the tables are known");
    begin(&mut session);
    session.begin_statement().unwrap();
    let numbers: BTreeSet<i64> = all(&session, &open.ledger, |row| match row[0] {
        Datum::I64(number) => number,
        _ => panic!("{row:?}"),
    })
    .into_iter()
    .collect();
    let expected: Vec<i64> = model.committed.iter().map(|transaction| transaction.number).collect();
    let found = numbers.len();
    assert!(found <= expected.len(), "{found} transactions found, {} committed", expected.len());
    let prefix: BTreeSet<i64> = expected[..found].iter().copied().collect();
    assert_eq!(numbers, prefix, "what is recovered is no prefix in commit order");
    if std::env::var("COHORT_TRACE").is_ok() {
        eprintln!("committed {} acknowledged {} found {found}", expected.len(), model.acknowledged);
    }
    assert!(found >= model.acknowledged, "{} were acknowledged, {found} recovered", model.acknowledged);
    let (state, _) = replay(&model.committed[..found]);
    for (table, rows) in open.tables.iter().zip(&state) {
        let scanned: Rows = all(&session, table, row_of).into_iter().collect();
        assert_eq!(scanned, *rows, "table {}", table.def.name);
        for position in 0..table.indexes.len() {
            let mut scan = session.index_scan(table, position, KeyRange::all(), Direction::Forward).unwrap();
            let mut indexed = Rows::new();
            while let Some((_, bytes)) = scan.next(&session).unwrap() {
                let (id, value) = row_of(&table.decode(bytes));
                assert!(indexed.insert(id, value).is_none(), "row {id} is twice in index {position}");
            }
            assert_eq!(indexed, *rows, "index {position} of table {}", table.def.name);
        }
    }
    for table in open.tables.iter().chain([&open.ledger]) {
        session.check_table(table, &PlainKeys).unwrap();
    }
    session.end_statement();
    session.commit().unwrap();
    model.committed.truncate(found);
    model.acknowledged = found;
    model.sequence.verify(database);
    made::verify_prepared(database, model, &numbers, found.is_multiple_of(2));
    let made_now = model.made();
    begin(&mut session);
    session.begin_statement().unwrap();
    made::verify(database, &session, &made_now);
    session.end_statement();
    session.commit().unwrap();
}

fn row_of(row: &[Datum]) -> (i32, Value) {
    match row[0] {
        Datum::I32(id) => (id, value_of(row)),
        _ => panic!("{row:?}"),
    }
}
