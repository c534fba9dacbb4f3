//! Sessions that share a sequence, and a model of what its values may be.
//!
//! A value is *told* when the session that took it has waited for what it depends on. After a crash no told value may come again,
//! nor one before it: also one that needed no record of its own, because another session's call had logged it ahead.

use std::collections::BTreeSet;

use base::{FileNumber, Oid, Result};
use cohort_engine::{Database, LockMode, Session, TransactionOptions};
use rand::Rng;
use rand::rngs::StdRng;
use schema::catalog::{BOOTSTRAP_ROLE, PUBLIC_SCHEMA, SequenceDef};

use super::common::{run, statement};

/// The values that a sequence has given and told.
#[derive(Clone, Debug, Default)]
pub struct SequenceModel {
    oid: Option<Oid>,
    /// The highest value that was told.
    told: i64,
    /// The values that were given since the last start.
    given: BTreeSet<i64>,
}

impl SequenceModel {
    /// Makes the sequence, in the transaction in progress.
    pub fn create(&mut self, session: &Session) -> Result<()> {
        let def = SequenceDef {
            cache: 3,
            ..SequenceDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "counted", BOOTSTRAP_ROLE)
        };
        self.oid = Some(def.oid);
        session.create_object(def)
    }

    /// Holds the sequence of a recovered database against what was told before.
    ///
    /// invariants: row 11.
    pub fn verify(&mut self, database: &Database) {
        let Some(oid) = self.oid else { return };
        let mut session = database.session().unwrap();
        let value = run(&mut session, |session| session.nextval(oid)).unwrap();
        assert!(value > self.told, "the sequence gives {value} again, {} was told", self.told);
        self.told = value;
        self.given = BTreeSet::from([value]);
        // The other values that this session has taken are lost.
        session.forget_sequences();
    }
}

/// One of the sessions.
pub struct Counter {
    session: Session,
    /// The highest value that it was given and has not told yet.
    untold: Option<i64>,
}

impl Counter {
    pub fn new(database: &Database) -> Counter {
        Counter { session: database.session().unwrap(), untold: None }
    }

    pub fn into_session(self) -> Session {
        self.session
    }

    /// One random step. Errors of the disk are the caller's.
    pub fn step(&mut self, model: &mut SequenceModel, random: &mut StdRng) -> Result<()> {
        let Some(oid) = model.oid else { return Ok(()) };
        let outcome = match random.random_range(0..10) {
            0..6 => self.take(oid, model),
            6..9 => {
                self.tell(model);
                Ok(())
            }
            _ => self.place_anew(oid, model, random),
        };
        outcome.inspect_err(|_| self.session.rollback().unwrap())
    }

    fn take(&mut self, oid: Oid, model: &mut SequenceModel) -> Result<()> {
        self.session.begin(TransactionOptions::default())?;
        let value = statement(&self.session, |session| session.nextval(oid))?;
        assert!(model.given.insert(value), "{value} is given twice");
        self.untold = self.untold.max(Some(value));
        // The value may be told before anything else of the transaction is durable.
        self.session.commit().map(drop)
    }

    fn tell(&mut self, model: &mut SequenceModel) {
        self.session.wait_durable(self.session.gate());
        if let Some(value) = self.untold.take() {
            model.told = model.told.max(value);
        }
    }

    /// Gives the sequence new storage that begins further on, as ALTER SEQUENCE does, and takes values from it. If that is rolled
    /// back, they were never given.
    fn place_anew(&mut self, oid: Oid, model: &mut SequenceModel, random: &mut StdRng) -> Result<()> {
        self.session.begin(TransactionOptions::default())?;
        let taken = statement(&self.session, |session| {
            let (last, _) = session.sequence_state(oid, LockMode::ShareRowExclusive)?;
            let def = session.catalog().sequence(oid).expect("it is never dropped").clone();
            session.replace_object(SequenceDef { file: FileNumber(0), start: last + 10, ..(*def).clone() })?;
            let def = session.catalog().sequence(oid).expect("it is never dropped").clone();
            session.replace_object(SequenceDef { start: 1, ..(*def).clone() })?;
            session.place_sequence(oid, last + 10, true)?;
            (0..random.random_range(0..5)).map(|_| session.nextval(oid)).collect::<Result<Vec<i64>>>()
        })?;
        if random.random_bool(0.5) {
            return self.session.rollback();
        }
        let gate = self.session.commit()?;
        self.session.wait_durable(gate);
        for value in taken {
            assert!(model.given.insert(value), "{value} is given twice");
            self.untold = self.untold.max(Some(value));
        }
        Ok(())
    }
}
