//! INSERT ... ON CONFLICT: a row goes in, or the row that it conflicts with is updated or left alone.

use base::lock_mode::{RowLockMode, WaitPolicy};
use base::{Error, Result, Tid, sqlstate};
use bumpalo::Bump;
use engine::ConflictOutcome;
use plan::{ConflictUpdate, OnConflict};
use schema::row::{ColumnSet, RowBytes};
use smallvec::SmallVec;
use types::Value;

use super::insert::{Stored, after_insert, is_to_be_inserted};
use super::update::{OldRow, RowUpdate};
use super::{Attempt, Obstacle, OpenTarget, assigned_columns};
use crate::Run;
use crate::evaluate::is_true;
use crate::keys::TableKeys;

/// An ON CONFLICT clause at work.
pub(super) struct ConflictResolver<'p> {
    clause: &'p OnConflict,
    /// Positions of the arbiter indexes. If empty, every unique index is one.
    arbiters: SmallVec<[usize; 4]>,
    update: Option<ExistingRow<'p>>,
    arena: Bump,
}

impl<'p> ConflictResolver<'p> {
    /// `wants_row`: the row is wanted as it was written.
    pub(super) fn new(clause: &'p OnConflict, wants_row: bool, open: &OpenTarget<'p>) -> ConflictResolver<'p> {
        let mut arbiters: SmallVec<[usize; 4]> = clause.arbiters.iter().map(|position| *position as usize).collect();
        if let Some(deferrable) = clause.deferrable_arbiter {
            // Arbiters are asked in their order: only a row that conflicts with none of those before it gets to the deferrable one.
            let deferrable = deferrable as usize;
            if arbiters.is_empty() {
                arbiters.extend((0..deferrable).filter(|position| open.table.indexes[*position].def.unique));
            } else {
                arbiters.retain(|position| *position < deferrable);
            }
        }
        let update = clause.update.as_ref().map(|update| ExistingRow::new(update, wants_row, open));
        ConflictResolver { clause, arbiters, update, arena: Bump::new() }
    }

    /// The columns that DO UPDATE assigns.
    pub(super) fn updated_columns(&self) -> Option<&ColumnSet> {
        self.update.as_ref().map(|update| &update.assigned)
    }

    /// Inserts the row, or does what the clause says. Returns the version inserted or made by an update; `values` become the row as stored.
    pub(super) fn store(
        &mut self,
        open: &OpenTarget<'p>,
        values: &mut Vec<Value>,
        run: &mut Run<'_, 'p>,
    ) -> Result<Option<Stored>> {
        if !is_to_be_inserted(open, values, run)? {
            return Ok(None);
        }
        loop {
            let tid = match self.insert(open, values, run)? {
                ConflictOutcome::Conflict { tid, .. } => tid,
                ConflictOutcome::Inserted(tid) => {
                    after_insert(open, values, tid, run)?;
                    return Ok(Some(Stored { tid, is_update: false }));
                }
            };
            let Some(update) = &mut self.update else { return Ok(None) };
            match update.change(open, tid, values, run)? {
                Change::Updated(tid) => return Ok(Some(Stored { tid, is_update: true })),
                Change::LeftAlone => return Ok(None),
                Change::Gone => {}
            }
        }
    }

    /// Inserts the row if it conflicts with none.
    fn insert(&mut self, open: &OpenTarget<'p>, values: &[Value], run: &mut Run<'_, 'p>) -> Result<ConflictOutcome> {
        let deferrable = self.clause.deferrable_arbiter.map(|position| position as usize);
        if let Some(position) = deferrable.filter(|_| self.arbiters.is_empty()) {
            return Err(deferrable_arbiter(open, position, run));
        }
        let arbiters = (!self.arbiters.is_empty()).then_some(self.arbiters.as_slice());
        self.arena.reset();
        let outcome = {
            let datums = open.datums(values, &self.arena, run)?;
            let engine = run.engine();
            let keys = TableKeys::new(&open.kinds, open.expressions(), run);
            engine.insert_on_conflict(&open.table, &datums, &keys, arbiters)
        };
        let Some(position) = deferrable else { return outcome };
        match outcome {
            // The row goes with the statement, and so does what was noted of its keys.
            Ok(ConflictOutcome::Inserted(_)) => {
                run.engine().take_possible_duplicates(&open.table);
                Err(deferrable_arbiter(open, position, run))
            }
            Err(error) if error.sqlstate() == sqlstate::UNIQUE_VIOLATION => {
                Err(deferrable_arbiter(open, position, run))
            }
            outcome => outcome,
        }
    }
}

/// The error for a row that a deferrable key would have to judge: 55000.
fn deferrable_arbiter(open: &OpenTarget<'_>, position: usize, run: &Run<'_, '_>) -> Error {
    let def = &open.table.def;
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
    let error = Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    match run.catalog.catalog().indexes_of(def.oid).get(position) {
        Some(index) => error.constraint(&run.catalog.schema_name(def.schema), &def.name, index.constraint_or_name()),
        None => error,
    }
}

/// DO UPDATE: changes rows that new ones conflict with.
struct ExistingRow<'p> {
    clause: &'p ConflictUpdate,
    update: RowUpdate<'p>,
    assigned: ColumnSet,
    lock_mode: RowLockMode,
    bytes: RowBytes,
}

/// The result of DO UPDATE for one row.
enum Change {
    /// The version that was made.
    Updated(Tid),
    /// By WHERE, or by a trigger.
    LeftAlone,
    /// The row is not there any more: the new one may go in.
    Gone,
}

impl<'p> ExistingRow<'p> {
    fn new(clause: &'p ConflictUpdate, wants_row: bool, open: &OpenTarget<'p>) -> ExistingRow<'p> {
        let assigned = assigned_columns(&clause.assignments);
        let update = RowUpdate::new(&clause.assignments, assigned.clone(), wants_row, open);
        let lock_mode = open.row_lock_of_update(&assigned);
        ExistingRow { clause, update, assigned, lock_mode, bytes: RowBytes::new() }
    }

    /// Updates the row at `tid`, with which the row `values` conflicts. `values` become the row as stored, if it is wanted.
    fn change(
        &mut self,
        open: &OpenTarget<'p>,
        tid: Tid,
        values: &mut Vec<Value>,
        run: &mut Run<'_, 'p>,
    ) -> Result<Change> {
        // The row is locked first: its newest version is what gets updated.
        let Some(locked) = self.lock(open, tid, run)? else { return Ok(Change::Gone) };
        let newest = run.engine().newest_version(&open.table, locked, &mut self.bytes)?;
        let Some(mut tid) = newest else { return Ok(Change::Gone) };
        let mut both = open.values_of(&self.bytes, tid)?;
        let existing_columns = both.len();
        both.extend(values.iter().cloned());
        if self.clause.reads_version {
            open.push_version(tid, &mut both)?;
        }
        if let Some(condition) = &self.clause.condition
            && !is_true(condition, &both, run)?
        {
            return Ok(Change::LeftAlone);
        }
        let old = OldRow::with_values(&self.bytes, &both[..existing_columns]);
        match self.update.attempt(open, &mut tid, old, &both, run)? {
            Attempt::Done { stored, row } => {
                if let Some(row) = row {
                    *values = row;
                }
                Ok(Change::Updated(stored))
            }
            Attempt::LeftAlone => Ok(Change::LeftAlone),
            Attempt::Failed(obstacle @ Obstacle::SelfModified { .. }) => {
                obstacle.next_version("updated", run)?;
                Ok(Change::LeftAlone)
            }
            Attempt::Failed(_) => Ok(Change::Gone),
        }
    }

    /// Locks the row, or its newest version. Returns `None` if it is gone.
    ///
    /// # Errors
    /// 21000 if the statement itself has stored the row; above read committed 40001 for other transactions' changes.
    fn lock(&self, open: &OpenTarget<'p>, tid: Tid, run: &Run<'_, 'p>) -> Result<Option<Tid>> {
        let lock = |tid| run.engine().lock_row(&open.table, tid, self.lock_mode, WaitPolicy::Block);
        let obstacle = match Obstacle::check(lock(tid)?, false) {
            Ok(tid) => return Ok(Some(tid)),
            Err(Obstacle::SelfModified { .. }) => {
                let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
                return Err(Error::new(sqlstate::CARDINALITY_VIOLATION, message).hint(
                    "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
                ));
            }
            Err(obstacle) => obstacle,
        };
        let Some(newest) = obstacle.next_version("updated", run)? else { return Ok(None) };
        Ok(Obstacle::check(lock(newest)?, false).ok())
    }
}
