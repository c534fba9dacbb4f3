//! Sessions that make, fill, truncate and drop tables of their own, in transactions that stay open across checkpoints,
//! are rolled back, prepared or committed. The [`workload`](super::workload) runs them beside its other sessions.

use std::collections::{BTreeMap, BTreeSet};

use base::{Oid, Result};
use cohort_engine::{
    Database, Finisher, LockMode, Modify, SavepointId, Session, TransactionOptions, VacuumOptions, WaitPolicy,
};
use rand::Rng;
use rand::rngs::StdRng;
use schema::catalog::{BOOTSTRAP_ROLE, IndexDef, PUBLIC_SCHEMA, TableDef};
use schema::key::PlainKeys;
use schema::row::{Datum, PhysicalType, RowBytes};

use super::common::{all, key_i32, statement};
use super::workload::{Effect, Model, Transaction};

pub const MAKERS: usize = 2;
const TABLES_PER_MAKER: usize = 3;
/// A page holds a handful of such rows.
const FILLER_BYTES: usize = 900;
const FINISHER: Finisher = Finisher { role: BOOTSTRAP_ROLE, is_superuser: true };

/// The tables that makers have made, by object identifier.
pub type Made = BTreeMap<Oid, MadeTable>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeTable {
    pub maker: usize,
    pub ids: BTreeSet<i32>,
}

/// A prepared transaction that somebody has to finish.
#[derive(Clone, Debug)]
pub struct PreparedModel {
    pub gid: String,
    pub transaction: Transaction,
    /// It was told that it is prepared.
    pub acknowledged: bool,
    /// Somebody has begun to roll it back: it may be gone.
    pub rollback_begun: bool,
}

pub struct Maker {
    number: usize,
    session: Session,
    pending: Option<Pending>,
}

struct Pending {
    made: Made,
    effects: Vec<Effect>,
    savepoint: Option<(SavepointId, Made, usize)>,
    /// The name of the transaction, once it is prepared.
    gid: Option<String>,
}

impl Maker {
    pub fn new(database: &Database, number: usize) -> Maker {
        Maker { number, session: database.session().unwrap(), pending: None }
    }

    pub fn into_session(self) -> Session {
        self.session
    }

    /// One random step. After an error of the disk the transaction is rolled back, unless it is prepared.
    pub fn step(&mut self, model: &mut Model, random: &mut StdRng) -> Result<()> {
        let outcome = self.try_step(model, random);
        if outcome.is_err() && self.pending.as_ref().is_some_and(|pending| pending.gid.is_none()) {
            self.pending = None;
            self.session.rollback()?;
        }
        outcome
    }

    fn try_step(&mut self, model: &mut Model, random: &mut StdRng) -> Result<()> {
        let Some(pending) = &mut self.pending else {
            self.session.set_synchronous_commit(random.random_bool(0.6));
            self.session.begin(TransactionOptions::default())?;
            let mut made = model.made();
            made.retain(|_, table| table.maker == self.number);
            self.pending = Some(Pending { made, effects: Vec::new(), savepoint: None, gid: None });
            return Ok(());
        };
        if pending.gid.is_some() {
            return if random.random_bool(0.3) { self.finish(model, random) } else { Ok(()) };
        }
        match random.random_range(0..22) {
            0..4 => self.create(),
            4..10 => self.insert(random),
            10..12 => self.delete(random),
            12 => self.truncate(random),
            13 => self.drop_table(random),
            14 => {
                if pending.savepoint.is_none() {
                    let (made, effects) = (pending.made.clone(), pending.effects.len());
                    pending.savepoint = Some((self.session.savepoint()?, made, effects));
                }
                Ok(())
            }
            15 => {
                if let Some((savepoint, made, effects)) = pending.savepoint.take() {
                    self.session.rollback_to(savepoint)?;
                    self.session.release(savepoint)?;
                    pending.made = made;
                    pending.effects.truncate(effects);
                }
                Ok(())
            }
            16 => {
                self.pending = None;
                self.session.rollback()
            }
            17 => self.prepare(model),
            _ => self.commit(model),
        }
    }

    fn create(&mut self) -> Result<()> {
        let pending = self.pending.as_mut().expect("a transaction is in progress");
        if pending.made.len() >= TABLES_PER_MAKER {
            return Ok(());
        }
        let session = &self.session;
        let oid = session.allocate_oid();
        let name = format!("made{}", oid.0);
        let def = TableDef::new(oid, PUBLIC_SCHEMA, &name, BOOTSTRAP_ROLE)
            .column("id", PhysicalType::I32)
            .column("filler", PhysicalType::Bytes);
        let index = IndexDef::new(session.allocate_oid(), &def, format!("{name}_pkey"), &[0], true);
        statement(session, |s| {
            s.create_object(def)?;
            s.create_object(index)
        })?;
        pending.made.insert(oid, MadeTable { maker: self.number, ids: BTreeSet::new() });
        pending.effects.push(Effect::Made(oid, self.number));
        Ok(())
    }

    /// One of the tables that the transaction sees.
    fn any_table(&self, random: &mut StdRng) -> Option<(Oid, BTreeSet<i32>)> {
        let made = &self.pending.as_ref().expect("a transaction is in progress").made;
        let nth = random.random_range(0..made.len().max(1));
        made.iter().nth(nth).map(|(oid, table)| (*oid, table.ids.clone()))
    }

    fn note(&mut self, oid: Oid, ids: BTreeSet<i32>) {
        let pending = self.pending.as_mut().expect("a transaction is in progress");
        if let Some(table) = pending.made.get_mut(&oid) {
            table.ids = ids.clone();
        }
        pending.effects.push(Effect::Filled(oid, ids));
    }

    fn insert(&mut self, random: &mut StdRng) -> Result<()> {
        let Some((oid, mut ids)) = self.any_table(random) else { return Ok(()) };
        let table = self.session.open_table(oid)?;
        let filler = vec![b'f'; random.random_range(1..FILLER_BYTES)];
        let first = ids.last().map_or(0, |last| last + 1);
        let new: Vec<i32> = (first..first + random.random_range(1..20)).collect();
        statement(&self.session, |s| {
            new.iter()
                .try_for_each(|id| s.insert(&table, &[Datum::I32(*id), Datum::Bytes(&filler)], &PlainKeys).map(drop))
        })?;
        ids.extend(new);
        self.note(oid, ids);
        Ok(())
    }

    /// Deletes the last rows of a table, so that a vacuum finds a tail to cut off.
    fn delete(&mut self, random: &mut StdRng) -> Result<()> {
        let Some((oid, mut ids)) = self.any_table(random) else { return Ok(()) };
        let Some(last) = ids.last().copied() else { return Ok(()) };
        let gone = ids.split_off(&random.random_range(0..=last));
        let table = self.session.open_table(oid)?;
        statement(&self.session, |s| {
            let mut row = RowBytes::new();
            for id in &gone {
                let found = s.index_point(&table, 0, key_i32(*id).as_slice(), &mut row)?;
                let tid = found.unwrap_or_else(|| panic!("row {id} of table {oid} is not found"));
                assert!(matches!(s.delete(&table, tid)?, Modify::Done { .. }));
            }
            Ok(())
        })?;
        self.note(oid, ids);
        Ok(())
    }

    fn truncate(&mut self, random: &mut StdRng) -> Result<()> {
        let Some((oid, _)) = self.any_table(random) else { return Ok(()) };
        self.session.lock_relation(oid, LockMode::AccessExclusive, WaitPolicy::NoWait)?;
        let table = self.session.open_table(oid)?;
        statement(&self.session, |s| s.truncate(&table))?;
        self.note(oid, BTreeSet::new());
        Ok(())
    }

    fn drop_table(&mut self, random: &mut StdRng) -> Result<()> {
        let Some((oid, _)) = self.any_table(random) else { return Ok(()) };
        self.session.lock_relation(oid, LockMode::AccessExclusive, WaitPolicy::NoWait)?;
        let index = self.session.catalog().indexes_of(oid)[0].oid;
        statement(&self.session, |s| {
            s.drop_object(index)?;
            s.drop_object(oid)
        })?;
        let pending = self.pending.as_mut().expect("a transaction is in progress");
        pending.made.remove(&oid);
        pending.effects.push(Effect::Dropped(oid));
        Ok(())
    }

    fn prepare(&mut self, model: &mut Model) -> Result<()> {
        let pending = self.pending.as_mut().expect("a transaction is in progress");
        let transaction = model.enter(&self.session, &pending.effects)?;
        let gid = format!("gid{}", transaction.number);
        pending.gid = Some(gid.clone());
        // Perhaps this is as far as it gets: then it may be prepared or not.
        let entry = PreparedModel { gid: gid.clone(), transaction, acknowledged: false, rollback_begun: false };
        model.prepared.push(entry);
        match self.session.prepare_transaction(&gid, BOOTSTRAP_ROLE) {
            Ok(gate) => {
                self.session.wait_durable(gate);
                model.prepared.last_mut().expect("just entered").acknowledged = true;
                model.acknowledged = model.committed.len();
                Ok(())
            }
            Err(error) => {
                // It was rolled back.
                model.prepared.pop();
                self.pending = None;
                Err(error)
            }
        }
    }

    fn finish(&mut self, model: &mut Model, random: &mut StdRng) -> Result<()> {
        let gid = self.pending.as_ref().and_then(|pending| pending.gid.clone()).expect("it is prepared");
        finish(&mut self.session, model, &gid, random.random_bool(0.6))?;
        self.pending = None;
        Ok(())
    }

    fn commit(&mut self, model: &mut Model) -> Result<()> {
        let pending = self.pending.as_ref().expect("a transaction is in progress");
        let wrote = !pending.effects.is_empty();
        let transaction = if wrote { Some(model.enter(&self.session, &pending.effects)?) } else { None };
        self.pending = None;
        // Perhaps this is as far as it gets: then it may be there or not.
        model.committed.extend(transaction);
        let gate = self.session.commit()?;
        self.session.wait_durable(gate);
        if wrote && gate > base::Lsn::ZERO {
            model.acknowledged = model.committed.len();
        }
        Ok(())
    }
}

/// Commits a prepared transaction or rolls it back.
fn finish(session: &mut Session, model: &mut Model, gid: &str, commits: bool) -> Result<()> {
    let position = model.prepared.iter().position(|prepared| prepared.gid == gid).expect("the model knows it");
    if commits {
        let transaction = model.prepared[position].transaction.clone();
        model.committed.push(transaction);
        let gate = session.commit_prepared(gid, FINISHER).inspect_err(|_| drop(model.committed.pop()))?;
        session.wait_durable(gate);
        model.acknowledged = model.committed.len();
    } else {
        model.prepared[position].rollback_begun = true;
        let gate = session.rollback_prepared(gid, FINISHER)?;
        session.wait_durable(gate);
    }
    model.prepared.remove(position);
    Ok(())
}

/// Vacuums a table of a maker, and cuts its empty tail off.
pub fn vacuum(session: &mut Session, model: &Model, random: &mut StdRng) -> Result<()> {
    let made = model.made();
    let Some((oid, _)) = made.iter().nth(random.random_range(0..made.len().max(1))) else { return Ok(()) };
    let options = VacuumOptions { skip_locked: true, ..VacuumOptions::default() };
    let vacuumed = session.open_table(*oid).and_then(|table| session.vacuum(&table, options));
    match vacuumed {
        Err(error) if error.sqlstate() == base::sqlstate::LOCK_NOT_AVAILABLE => Ok(()),
        other => other.map(drop),
    }
}

/// Finishes what a crash has left prepared, and holds the list of it against the model. `found` are the numbers of the
/// transactions that are committed.
pub fn verify_prepared(database: &Database, model: &mut Model, found: &BTreeSet<i64>, commits: bool) {
    let mut session = database.session().unwrap();
    let there: BTreeSet<String> =
        session.prepared_transactions().iter().map(|prepared| prepared.gid.to_string()).collect();
    for prepared in std::mem::take(&mut model.prepared) {
        let PreparedModel { gid, transaction, acknowledged, rollback_begun } = prepared;
        let is_committed = found.contains(&transaction.number);
        if there.contains(&gid) {
            assert!(!is_committed, "{gid} is committed and prepared at once");
            model.prepared.push(PreparedModel {
                gid: gid.clone(),
                transaction,
                acknowledged: true,
                rollback_begun: false,
            });
            finish(&mut session, model, &gid, commits).unwrap();
        } else {
            assert!(is_committed || rollback_begun || !acknowledged, "{gid} was prepared and is gone");
        }
    }
    assert!(session.prepared_transactions().is_empty(), "the model knows all that is prepared");
}

/// Holds the makers' tables, and the files that there are, against the model.
///
/// invariants: rows 32, 34.
pub fn verify(database: &Database, session: &Session, made: &Made) {
    let catalog = session.catalog();
    let there: BTreeSet<Oid> = catalog.tables().filter(|def| def.name.starts_with("made")).map(|def| def.oid).collect();
    assert_eq!(there, made.keys().copied().collect::<BTreeSet<_>>(), "the tables that there are");
    for (oid, expected) in made {
        let table = session.open_table(*oid).unwrap();
        let id = |row: &[Datum]| if let Datum::I32(id) = row[0] { id } else { panic!("{row:?}") };
        let mut ids = all(session, &table, id);
        ids.sort_unstable();
        assert_eq!(ids, expected.ids.iter().copied().collect::<Vec<_>>(), "rows of {}", table.def.name);
        session.check_table(&table, &PlainKeys).unwrap();
    }
    let catalog_file = base::FileNumber(1);
    let known: BTreeSet<_> = catalog.objects().flat_map(|object| object.files()).chain([catalog_file]).collect();
    let files: BTreeSet<_> = database.pool().list_files().unwrap().into_iter().collect();
    assert_eq!(files, known, "the files that there are");
}
