//! Sequences.
//!
//! A transaction that takes a value or sets one locks the sequence in ROW EXCLUSIVE mode until it ends, as in PostgreSQL. So it waits
//! for a transaction that changes or drops the sequence, even for a prepared one, and the sequence's file stays as long as it is used.

use base::{Error, Oid, Result, sqlstate};
use lockmgr::{LockMode, Scope, WaitPolicy};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::Session;
use crate::sequence::{self, Position};
use schema::catalog::SequenceDef;

/// The sequences that a session has used.
#[derive(Default)]
pub(super) struct SessionSequences {
    used: FxHashMap<Oid, Used>,
    /// The sequence used last.
    last: Option<Oid>,
}

/// The value a session got last from a sequence, and those it has taken beyond.
struct Used {
    file: base::FileNumber,
    current: i64,
    taken_to: i64,
    increment: i64,
}

impl Session {
    /// The sequence's next value.
    ///
    /// # Errors
    /// 42P01 if there is none; 2200H beyond its last value; 25006 in a read-only transaction, unless it is temporary; those of
    /// [`Session::lock_relation`].
    pub fn nextval(&self, sequence: Oid) -> Result<i64> {
        self.with_sequence(sequence, LockMode::RowExclusive, |def| self.next_of(def))
    }

    fn next_of(&self, def: &SequenceDef) -> Result<i64> {
        self.refuse_read_only("nextval()", def)?;
        let mut sequences = self.sequences.borrow_mut();
        if let Some(used) = sequences.used.get_mut(&def.oid)
            && used.file == def.file
            && used.increment == def.increment
            && used.current != used.taken_to
        {
            used.current += used.increment;
            let value = used.current;
            sequences.last = Some(def.oid);
            return Ok(value);
        }
        let shared = self.shared();
        let taken = shared.sequences.take(&shared.pool, &shared.wal, def, def.cache.max(1)).inspect_err(|_| {
            // "Reached maximum value" tells that others have taken values: it leaves after these are durable.
            if let Ok((_, logged)) = shared.sequences.position(&shared.pool, def.file) {
                self.observe(logged);
            }
        })?;
        self.observe(taken.logged);
        let used = Used { file: def.file, current: taken.first, taken_to: taken.last, increment: def.increment };
        sequences.used.insert(def.oid, used);
        sequences.last = Some(def.oid);
        Ok(taken.first)
    }

    /// The value that this session got last from the sequence.
    ///
    /// # Errors
    /// 42P01 if there is none; 55000 if the session got no value; those of [`Session::lock_relation`].
    pub fn currval(&self, sequence: Oid) -> Result<i64> {
        self.with_sequence(sequence, LockMode::RowExclusive, |def| match self.sequences.borrow().used.get(&sequence) {
            Some(used) => Ok(used.current),
            None => Err(Error::new(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{}\" is not yet defined in this session", def.name),
            )),
        })
    }

    /// The sequence that this session got a value from last; none if it is gone, or there was none.
    pub fn last_sequence(&self) -> Option<Oid> {
        let last = self.sequences.borrow().last?;
        self.catalog().sequence(last).map(|sequence| sequence.oid)
    }

    /// The value that this session got last from any sequence.
    ///
    /// # Errors
    /// 55000 if it got none, or that sequence is gone; those of [`Session::lock_relation`].
    pub fn lastval(&self) -> Result<i64> {
        let undefined =
            || Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session");
        let last = self.sequences.borrow().last.ok_or_else(undefined)?;
        if self.catalog().sequence(last).is_none() {
            self.observe_horizon();
            return Err(undefined());
        }
        self.with_sequence(last, LockMode::RowExclusive, |_| {
            self.sequences.borrow().used.get(&last).map(|used| used.current).ok_or_else(undefined)
        })
    }

    /// Sets the sequence: the next value is `value` itself, or with `is_called` the one after it.
    ///
    /// # Errors
    /// 42P01 if there is none; 22003 if it is out of the sequence's bounds; 25006 in a read-only transaction, unless it is
    /// temporary; those of [`Session::lock_relation`].
    pub fn setval(&self, sequence: Oid, value: i64, is_called: bool) -> Result<()> {
        self.with_sequence(sequence, LockMode::RowExclusive, |def| self.set(def, value, is_called))
    }

    fn set(&self, def: &SequenceDef, value: i64, is_called: bool) -> Result<()> {
        self.refuse_read_only("setval()", def)?;
        sequence::check_bounds(def, value)?;
        let shared = self.shared();
        let logged = shared.sequences.set(&shared.pool, &shared.wal, def.file, Position { last: value, is_called })?;
        self.observe(logged);
        let mut sequences = self.sequences.borrow_mut();
        if is_called {
            let used = Used { file: def.file, current: value, taken_to: value, increment: def.increment };
            sequences.used.insert(def.oid, used);
            sequences.last = Some(def.oid);
        } else if let Some(used) = sequences.used.get_mut(&def.oid) {
            // The values that were taken beyond the current one are void. The current value itself stays.
            used.taken_to = used.current;
        }
        Ok(())
    }

    /// Has a sequence in new storage stand where it stood: `last` is its last value, `is_called` whether that was given out. The
    /// session's current value stays.
    ///
    /// # Errors
    /// 42P01 if there is none; 22003 if it is out of the sequence's bounds; those of [`Session::lock_relation`].
    pub fn place_sequence(&self, sequence: Oid, last: i64, is_called: bool) -> Result<()> {
        self.with_sequence(sequence, LockMode::RowExclusive, |def| {
            sequence::check_bounds(def, last)?;
            let shared = self.shared();
            let logged = shared.sequences.set(&shared.pool, &shared.wal, def.file, Position { last, is_called })?;
            self.observe(logged);
            Ok(())
        })
    }

    /// Last value and whether it was given out. `mode` is how the sequence is locked: ACCESS SHARE for `SELECT * FROM
    /// sequence`, ROW EXCLUSIVE for PostgreSQL's functions.
    ///
    /// # Errors
    /// 42P01 if there is none; those of [`Session::lock_relation`].
    pub fn sequence_state(&self, sequence: Oid, mode: LockMode) -> Result<(i64, bool)> {
        self.with_sequence(sequence, mode, |def| {
            self.observe_horizon();
            let (position, logged) = self.shared().sequences.position(&self.shared().pool, def.file)?;
            self.observe(logged);
            Ok((position.last, position.is_called))
        })
    }

    /// Forgets what the session has of sequences: `DISCARD SEQUENCES`.
    pub fn forget_sequences(&self) {
        *self.sequences.borrow_mut() = SessionSequences::default();
    }

    /// Runs `f` with the sequence locked until the transaction ends. Without a transaction the lock ends with `f`.
    fn with_sequence<R>(&self, sequence: Oid, mode: LockMode, f: impl FnOnce(&SequenceDef) -> Result<R>) -> Result<R> {
        let locked = self.lock_relation(sequence, mode, WaitPolicy::Block);
        let result = locked.and_then(|_| self.sequence_def(sequence)).and_then(|def| f(&def));
        if !self.in_transaction() {
            self.shared().locks.unlock_all(self.owner(), Scope::Transaction);
        }
        result
    }

    fn sequence_def(&self, sequence: Oid) -> Result<Arc<SequenceDef>> {
        self.catalog().sequence(sequence).cloned().ok_or_else(|| {
            self.observe_horizon();
            Error::new(sqlstate::UNDEFINED_TABLE, format!("could not open relation with OID {sequence}"))
        })
    }

    fn refuse_read_only(&self, what: &str, def: &SequenceDef) -> Result<()> {
        if self.in_transaction() && self.transaction_options().read_only && !self.catalog().is_temporary(def.schema) {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(Error::new(sqlstate::READ_ONLY_SQL_TRANSACTION, message));
        }
        Ok(())
    }
}
