//! UPDATE.

use std::borrow::Cow;
use std::sync::Arc;

use base::{Result, Tid};
use bumpalo::Bump;
use plan::{Assignment, Event};
use schema::catalog::TriggerTiming;
use schema::row::{ColumnSet, Datum, RowBytes};
use types::Value;

use super::{Attempt, Datums, Obstacle, OpenTarget, assigned_columns, changed_columns, ctid};
use crate::evaluate::evaluate;
use crate::keys::TableKeys;
use crate::recheck::{Recheck, Rechecked};
use crate::scan::evaluate_into;
use crate::{BoxOperator, Firing, Operator, Run};

/// UPDATE.
pub struct UpdateRows<'p> {
    node: &'p plan::Update,
    input: BoxOperator<'p>,
    open: Option<(OpenTarget<'p>, RowUpdate<'p>)>,
    /// The input row; the re-check puts a newer version's values into it.
    current: Vec<Value>,
    row: Vec<Value>,
    old: RowBytes,
    recheck: Recheck<'p>,
    is_over: bool,
}

impl<'p> UpdateRows<'p> {
    pub fn new(node: &'p plan::Update, input: BoxOperator<'p>) -> Self {
        UpdateRows {
            node,
            input,
            open: None,
            current: Vec::new(),
            row: Vec::new(),
            old: RowBytes::new(),
            recheck: Recheck::new(&node.recheck, &node.input),
            is_over: false,
        }
    }

    /// Updates the row that `self.current` names; whether it was updated.
    fn change(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let node = self.node;
        let mut tid = ctid(&self.current, node.ctid)?;
        if !run.locals.take_kept_row(node.scan, tid, &mut self.old) {
            let (open, _) = self.open.as_ref().expect("opened before the first row");
            if !run.engine().fetch(&open.table, tid, &mut self.old)? {
                return Ok(false);
            }
        }
        loop {
            let (open, update) = self.open.as_mut().expect("opened before the first row");
            let obstacle = match update.attempt(open, &mut tid, OldRow::stored(&self.old), &self.current, run)? {
                Attempt::Done { stored, row } => {
                    if let (Some(returning), Some(row)) = (&node.returning, row) {
                        self.current.extend(row);
                        if open.target.returns_version {
                            open.push_version(stored, &mut self.current)?;
                        }
                        evaluate_into(returning, &self.current, &mut self.row, run)?;
                    }
                    return Ok(true);
                }
                Attempt::LeftAlone => return Ok(false),
                Attempt::Failed(obstacle) => obstacle,
            };
            let Some(newest) = obstacle.next_version("updated", run)? else { return Ok(false) };
            let table = Arc::clone(&open.table);
            match self.recheck.try_again(node.scan, &table, newest, &mut self.current, &mut self.old, run)? {
                Rechecked::Qualifies(version) => tid = version,
                Rechecked::Fails => return Ok(false),
                Rechecked::SelfModified(command) => {
                    Obstacle::SelfModified { command, in_lock: false }.next_version("updated", run)?;
                    return Ok(false);
                }
            }
        }
    }
}

/// The version of a row that an UPDATE replaces.
#[derive(Clone, Copy)]
pub(super) struct OldRow<'r> {
    bytes: &'r RowBytes,
    /// Its values, if they have been read already.
    values: Option<&'r [Value]>,
}

impl<'r> OldRow<'r> {
    pub(super) fn stored(bytes: &'r RowBytes) -> OldRow<'r> {
        OldRow { bytes, values: None }
    }

    pub(super) fn with_values(bytes: &'r RowBytes, values: &'r [Value]) -> OldRow<'r> {
        OldRow { bytes, values: Some(values) }
    }

    fn values(self, open: &OpenTarget<'_>, tid: Tid) -> Result<Cow<'r, [Value]>> {
        match self.values {
            Some(values) => Ok(Cow::Borrowed(values)),
            None => open.values_of(self.bytes, tid).map(Cow::Owned),
        }
    }
}

/// An UPDATE of one row after the other.
pub(super) struct RowUpdate<'p> {
    assignments: &'p [Assignment],
    /// The columns that the statement names. UPDATE OF triggers fire by these.
    named: ColumnSet,
    /// The row as written is wanted.
    wants_row: bool,
    /// The columns that it may change.
    changed: ColumnSet,
    /// The new values of the columns assigned.
    assigned: Vec<Value>,
    arena: Bump,
}

impl<'p> RowUpdate<'p> {
    pub(super) fn new(
        assignments: &'p [Assignment],
        named: ColumnSet,
        wants_row: bool,
        open: &OpenTarget<'p>,
    ) -> RowUpdate<'p> {
        let changed = changed_columns(assignments, open);
        RowUpdate { assignments, named, wants_row, changed, assigned: Vec::new(), arena: Bump::new() }
    }

    /// Updates the version `old` at `tid`, as `input` says.
    pub(super) fn attempt(
        &mut self,
        open: &OpenTarget<'p>,
        tid: &mut Tid,
        old: OldRow<'_>,
        input: &[Value],
        run: &mut Run<'_, 'p>,
    ) -> Result<Attempt> {
        let before = open.triggers(TriggerTiming::Before, true, Event::Update);
        self.assigned.clear();
        for assignment in self.assignments {
            self.assigned.push(evaluate(&assignment.value, input, run)?);
        }
        if before.is_some()
            && let Some(obstacle) = open.lock_for_triggers(tid, open.row_lock_of_update(&self.named), run)?
        {
            return Ok(Attempt::Failed(obstacle));
        }
        if open.needs_values() || self.wants_row {
            return self.store_values(open, *tid, old, run);
        }
        self.check_not_null(open, old, run)?;
        self.arena.reset();
        let mut datums: Datums<'_> = open.table.row(old.bytes).iter().collect();
        datums.resize(open.kinds.len(), Datum::Null);
        for (assignment, value) in self.assignments.iter().zip(&self.assigned) {
            let column = assignment.column as usize;
            open.row_columns.check_one(column, value, &run.catalog)?;
            datums[column] = open.kinds[column].write(value, &self.arena);
        }
        let engine = run.engine();
        let keys = TableKeys::new(&open.kinds, None, run);
        let outcome = engine.update(&open.table, *tid, &datums, &self.changed, &keys)?;
        drop(engine);
        let stored = match Obstacle::check(outcome, false) {
            Ok(tid) => tid,
            Err(obstacle) => return Ok(Attempt::Failed(obstacle)),
        };
        open.queue_constraints(run, |_| ());
        Ok(Attempt::Done { stored, row: None })
    }

    /// Stores the new version where triggers, constraints or the caller want its values.
    fn store_values(
        &mut self,
        open: &OpenTarget<'p>,
        tid: Tid,
        old: OldRow<'_>,
        run: &mut Run<'_, 'p>,
    ) -> Result<Attempt> {
        let existing = old.values(open, tid)?;
        let mut updated = self.new_values(existing.to_vec());
        let mut changed = &self.changed;
        let all;
        if let Some(triggers) = open.triggers(TriggerTiming::Before, true, Event::Update) {
            let (old, new) = (Some(&*existing), Some(updated.as_slice()));
            match Firing(triggers).before_row(Event::Update, Some(&self.named), old, new, run)? {
                Some(values) => updated = values,
                None => return Ok(Attempt::LeftAlone),
            }
            all = open.all_columns();
            changed = &all;
        }
        open.complete(&mut updated, run)?;
        self.arena.reset();
        let outcome = {
            let datums = open.datums(&updated, &self.arena, run)?;
            let engine = run.engine();
            let keys = TableKeys::new(&open.kinds, open.expressions(), run);
            engine.update(&open.table, tid, &datums, changed, &keys)?
        };
        let stored = match Obstacle::check(outcome, false) {
            Ok(tid) => tid,
            Err(obstacle) => return Ok(Attempt::Failed(obstacle)),
        };
        let is_own = open.has_made(tid, run)?;
        open.queue_constraints(run, |keys| keys.after_update(&existing, &updated, (stored, is_own), run));
        if let Some(triggers) = &open.target.triggers {
            let rows = (Some(&*existing), Some(updated.as_slice()));
            Firing(triggers).after_row(Event::Update, Some(&self.named), rows, &open.captures, run)?;
        }
        open.check_views(&updated, run)?;
        Ok(Attempt::Done { stored, row: Some(updated) })
    }

    /// 23502 for a NULL that is assigned to a NOT NULL column.
    fn check_not_null(&self, open: &OpenTarget<'p>, old: OldRow<'_>, run: &Run<'_, 'p>) -> Result<()> {
        let columns = &open.table.def.columns;
        let nulls = self.assignments.iter().zip(&self.assigned).filter(|(_, value)| value.is_null());
        let missing = nulls.map(|(assignment, _)| assignment.column as usize).filter(|place| columns[*place].not_null);
        // The first in the order of the table is told, however they were assigned.
        let Some(place) = missing.min() else { return Ok(()) };
        let values = self.new_values(old.values(open, Tid::INVALID)?.into_owned());
        Err(open.not_null_violation(&columns[place].name, &values, run))
    }

    /// The full row `values` with the columns assigned.
    fn new_values(&self, mut values: Vec<Value>) -> Vec<Value> {
        for (assignment, value) in self.assignments.iter().zip(&self.assigned) {
            values[assignment.column as usize] = value.clone();
        }
        values
    }
}

impl<'p> Operator<'p> for UpdateRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            let open = OpenTarget::open(&self.node.target, run)?;
            let assignments = &self.node.assignments;
            let named = assigned_columns(assignments);
            let update = RowUpdate::new(assignments, named, self.node.returning.is_some(), &open);
            if let Some(triggers) = &self.node.target.triggers {
                Firing(triggers).before_statement(Event::Update, Some(&update.named), &open.captures, run)?;
            }
            self.open = Some((open, update));
        }
        while self.input.next(run)? {
            sync::yield_point()?;
            self.current.clear();
            self.current.extend_from_slice(self.input.row());
            if self.change(run)? {
                run.locals.affected_rows += 1;
                if self.node.returning.is_some() {
                    return Ok(true);
                }
            }
        }
        if let Some(triggers) = self.node.target.triggers.as_ref().filter(|_| !self.is_over) {
            self.is_over = true;
            let (open, update) = self.open.as_ref().expect("opened before the first row");
            Firing(triggers).after_statement(Event::Update, Some(&update.named), &open.captures, run)?;
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }
}
