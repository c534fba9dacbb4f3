//! The model: effects that must be there, must not be there, or may be there.
//!
//! A transaction that writes enters its number into the table `ledger` and keeps a [`Draft`] of what it does. The
//! draft's effects become part of the model when the commit is acknowledged. Where the answer to a commit was lost,
//! the draft waits until its number in `ledger` tells what became of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use crate::steps::locks::Holders;

/// Tables that each session has for itself.
pub const OWN_TABLES: usize = 3;

/// Rows of `counters`.
pub const COUNTERS: usize = 4;

/// The outcome of a transaction, as far as the clients know.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Acknowledged, and the client waited for the disk.
    Firm,
    /// Acknowledged without waiting for the disk: a crash may take it.
    Asynchronous,
    /// The answer to its commit, or to its prepare, was lost.
    Unknown,
    /// Prepared under its name.
    Prepared,
    /// Rolled back, or never committed.
    Absent,
}

/// A table of a session's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnTable {
    /// Rows that it has.
    pub rows: i64,
    /// Sum of the column `value`.
    pub total: i64,
    /// The next value of the column `id`.
    pub next_id: i64,
    /// Whether it has an index over `value`.
    pub is_indexed: bool,
    /// Names of the columns that were added.
    pub added: Vec<String>,
}

/// An effect of a transaction beside its row in the ledger.
#[derive(Clone, Debug)]
pub enum Effect {
    /// It has put a row into a witness table.
    Witness,
    /// It leaves its session's table in this state; there is no such table if none.
    Table {
        /// Which of them.
        place: usize,
        /// How it is afterwards.
        after: Option<OwnTable>,
    },
    /// It has raised a counter to this.
    Counter {
        /// Which of them.
        place: usize,
        /// Its value afterwards.
        value: i64,
    },
    /// It has raised the count of notifications to this.
    Notified(i64),
}

/// A transaction in progress, or one that waits to be known.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The session that began it.
    pub session: usize,
    /// Its number within the session.
    pub number: i64,
    /// Whether its commit waits for the disk.
    pub is_synchronous: bool,
    /// In order; a rolled back savepoint takes the last ones away.
    pub effects: Vec<Effect>,
}

impl Draft {
    /// Rows that it has put into witness tables.
    pub fn parts(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::Witness)).count()
    }

    /// How the session's table is for this transaction, if it has changed it.
    pub fn own_table(&self, wanted: usize) -> Option<&Option<OwnTable>> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Table { place, after } if *place == wanted => Some(after),
            _ => None,
        })
    }
}

impl Draft {
    fn apply(&self, tables: &mut [Option<OwnTable>; OWN_TABLES]) {
        for effect in &self.effects {
            if let Effect::Table { place, after } = effect {
                tables[*place] = after.clone();
            }
        }
    }
}

/// The known state of one session.
#[derive(Default)]
pub struct SessionModel {
    /// Its transactions since the ledger was emptied.
    pub fates: BTreeMap<i64, Fate>,
    /// The last number it has used.
    pub last_number: i64,
    /// Its own tables.
    pub tables: [Option<OwnTable>; OWN_TABLES],
    /// Its own tables as commits left them that waited for the disk.
    pub firm_tables: [Option<OwnTable>; OWN_TABLES],
    /// Commits since then that did not wait.
    pub soft: Vec<Draft>,
    /// Tables that a prepared transaction has changed, or one whose outcome is unknown, with that one's number.
    pub in_doubt: [Option<i64>; OWN_TABLES],
    /// Transactions whose outcome is unknown.
    pub unknown: Vec<Draft>,
}

/// A transaction that is prepared, or may be.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its effects when it is committed.
    pub draft: Draft,
    /// The row of `vault` that it holds.
    pub vault: i64,
    /// Its known state.
    pub state: PreparedState,
    /// The session that has prepared it, or tries to finish it.
    pub by: usize,
}

/// How far a prepared transaction has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PreparedState {
    /// Acknowledged.
    Ready,
    /// A session is about to finish it.
    Taken,
    /// The answer to its finish was lost.
    Unknown,
}

/// Values that a sequence has given.
#[derive(Default)]
pub struct Given {
    /// Value to the life of the server in which it was given; none if it must never be given again.
    values: HashMap<i64, Option<u64>>,
}

impl Given {
    /// Notes a value; an error tells that it was given before.
    ///
    /// # Errors
    /// If it was given in this life, or in an earlier one to a client that waited for the disk.
    pub fn note(&mut self, value: i64, life: u64, is_firm: bool) -> Result<(), String> {
        match self.values.insert(value, (!is_firm).then_some(life)) {
            Some(None) => Err(format!("a sequence gave {value} a second time")),
            Some(Some(before)) if before == life => Err(format!("a sequence gave {value} twice in one life")),
            _ => Ok(()),
        }
    }
}

/// The most that clients know of a row that only grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growing {
    /// A session that waits for the disk was told this value.
    pub firm: i64,
    /// A commit with this value was acknowledged in this life of the server.
    pub acknowledged: i64,
}

/// All that the clients know.
#[derive(Default)]
pub struct Model {
    sessions: Vec<Mutex<SessionModel>>,
    prepared: Mutex<BTreeMap<String, Prepared>>,
    /// By sequence.
    pub given: Mutex<HashMap<&'static str, Given>>,
    counters: [Mutex<Growing>; COUNTERS],
    /// The count of notifications.
    notices: Mutex<Growing>,
    /// The holders of each lock.
    pub holders: Holders,
}

impl Model {
    /// For so many sessions.
    pub fn new(sessions: usize) -> Model {
        Model { sessions: (0..sessions).map(|_| Mutex::default()).collect(), ..Model::default() }
    }

    /// The known state of a session.
    pub fn session(&self, number: usize) -> MutexGuard<'_, SessionModel> {
        self.sessions[number].lock().expect("nobody panics with the model")
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Transactions that are prepared, by name.
    pub fn prepared(&self) -> MutexGuard<'_, BTreeMap<String, Prepared>> {
        self.prepared.lock().expect("nobody panics with the model")
    }

    /// One counter.
    pub fn counter(&self, place: usize) -> MutexGuard<'_, Growing> {
        self.counters[place].lock().expect("nobody panics with the model")
    }

    /// The count of notifications.
    pub fn notices(&self) -> MutexGuard<'_, Growing> {
        self.notices.lock().expect("nobody panics with the model")
    }

    /// The commit of a transaction was acknowledged to a client that did or did not wait for the disk.
    pub fn committed(&self, draft: &Draft, is_synchronous: bool) {
        for effect in &draft.effects {
            let (mut growing, value) = match effect {
                Effect::Counter { place, value } => (self.counter(*place), *value),
                Effect::Notified(value) => (self.notices(), *value),
                Effect::Witness | Effect::Table { .. } => continue,
            };
            growing.acknowledged = growing.acknowledged.max(value);
            if is_synchronous {
                growing.firm = growing.firm.max(value);
            }
        }
        let mut session = self.session(draft.session);
        session.leave_doubt(draft.number);
        draft.apply(&mut session.tables);
        if is_synchronous {
            draft.apply(&mut session.firm_tables);
            session.fates.insert(draft.number, Fate::Firm);
        } else {
            session.soft.push(draft.clone());
            session.fates.insert(draft.number, Fate::Asynchronous);
        }
    }

    /// A transaction has come to nothing.
    pub fn rolled_back(&self, draft: &Draft) {
        let mut session = self.session(draft.session);
        session.leave_doubt(draft.number);
        session.fates.insert(draft.number, Fate::Absent);
    }

    /// The answer to a transaction's commit or prepare was lost, or it is prepared.
    pub fn in_doubt(&self, draft: &Draft, fate: Fate) {
        let mut session = self.session(draft.session);
        for effect in &draft.effects {
            if let Effect::Table { place, .. } = effect {
                session.in_doubt[*place] = Some(draft.number);
            }
        }
        session.fates.insert(draft.number, fate);
    }

    /// A server has started: what was acknowledged in the last life without waiting for the disk may be gone.
    pub fn begin_life(&self) {
        for place in 0..COUNTERS {
            self.counter(place).acknowledged = 0;
        }
        self.notices().acknowledged = 0;
    }
}

impl SessionModel {
    /// A number for a transaction.
    pub fn take_number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    /// The server has crashed, and the ledger tells which of the commits that did not wait for the disk are there.
    pub fn recover_tables(&mut self, is_there: impl Fn(i64) -> bool) {
        self.tables = self.firm_tables.clone();
        for draft in std::mem::take(&mut self.soft) {
            if is_there(draft.number) {
                draft.apply(&mut self.tables);
            }
        }
        self.firm_tables = self.tables.clone();
    }

    fn leave_doubt(&mut self, number: i64) {
        for doubt in &mut self.in_doubt {
            if *doubt == Some(number) {
                *doubt = None;
            }
        }
    }

    /// A commit that waited for the disk was acknowledged: this session's commits before it have become durable with it.
    pub fn make_firm(&mut self) {
        for fate in self.fates.values_mut() {
            if *fate == Fate::Asynchronous {
                *fate = Fate::Firm;
            }
        }
        self.firm_tables = self.tables.clone();
        self.soft.clear();
    }
}
