//! UPDATE.

use std::sync::Arc;

use base::{Result, Tid};
use bumpalo::Bump;
use engine::{Isolation, Modify};
use plan::Event;
use schema::catalog::TriggerTiming;
use schema::row::{ColumnSet, Datum, RowBytes};
use types::Value;

use super::{Datums, OpenTarget, already_changed, changed_columns, concurrent_change, ctid};
use crate::evaluate::evaluate;
use crate::keys::TableKeys;
use crate::recheck::{Recheck, Rechecked};
use crate::scan::evaluate_into;
use crate::{BoxOperator, Firing, Operator, Run};

/// UPDATE.
pub struct UpdateRows<'p> {
    node: &'p plan::Update,
    input: BoxOperator<'p>,
    open: Option<(OpenTarget<'p>, ColumnSet)>,
    /// The input row; the re-check puts a newer version's values into it.
    current: Vec<Value>,
    row: Vec<Value>,
    old: RowBytes,
    assigned: Vec<Value>,
    arena: Bump,
    recheck: Recheck<'p>,
    /// The columns that SET names.
    named: ColumnSet,
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
            assigned: Vec::new(),
            arena: Bump::new(),
            recheck: Recheck::new(&node.recheck, &node.input),
            named: ColumnSet::default(),
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
            let (open, changed) = self.open.as_ref().expect("opened before the first row");
            let before = open.triggers(TriggerTiming::Before, true, Event::Update);
            self.assigned.clear();
            for assignment in &node.assignments {
                self.assigned.push(evaluate(&assignment.value, &self.current, run)?);
            }
            let columns = &open.table.def.columns;
            let nulls = node.assignments.iter().zip(&self.assigned).filter(|(_, value)| value.is_null());
            let missing =
                nulls.map(|(assignment, _)| assignment.column as usize).filter(|place| columns[*place].not_null);
            // The first in the order of the table is told, however they were assigned.
            if before.is_none()
                && let Some(place) = missing.min()
            {
                let values = self.new_values(open)?;
                return Err(open.not_null_violation(&columns[place].name, &values, run));
            }
            let gone = match before {
                Some(_) => open.lock_for_triggers(&mut tid, open.row_lock_of_update(&node.assignments), run)?,
                None => None,
            };
            let outcome = if let Some(gone) = gone {
                gone
            } else if open.needs_values() || node.returning.is_some() {
                let existing = open.values_of(&self.old, tid)?;
                let mut updated = existing.clone();
                for (assignment, value) in node.assignments.iter().zip(&self.assigned) {
                    updated[assignment.column as usize] = value.clone();
                }
                let mut changed = changed;
                let all;
                if let Some(triggers) = before {
                    let (old, new) = (Some(existing.as_slice()), Some(updated.as_slice()));
                    match Firing(triggers).before_row(Event::Update, Some(&self.named), old, new, run)? {
                        Some(values) => updated = values,
                        None => return Ok(false),
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
                if let Modify::Done { tid: stored } = outcome {
                    let is_own = open.has_made(tid, run)?;
                    open.queue_constraints(run, |keys| {
                        keys.after_update(&existing, &updated, (stored, is_own), run);
                    });
                    if let Some(triggers) = &open.target.triggers {
                        let (old, new) = (Some(existing.as_slice()), Some(updated.as_slice()));
                        Firing(triggers).after_row(
                            Event::Update,
                            Some(&self.named),
                            (old, new),
                            &open.captures,
                            run,
                        )?;
                    }
                    open.check_views(&updated, run)?;
                    if let Some(returning) = &node.returning {
                        let mut input = std::mem::take(&mut self.current);
                        input.extend(updated);
                        if open.target.returns_version {
                            open.push_version(stored, &mut input)?;
                        }
                        let result = evaluate_into(returning, &input, &mut self.row, run);
                        self.current = input;
                        result?;
                    }
                }
                outcome
            } else {
                self.arena.reset();
                let mut datums: Datums<'_> = open.table.row(&self.old).iter().collect();
                datums.resize(open.kinds.len(), Datum::Null);
                for (assignment, value) in node.assignments.iter().zip(&self.assigned) {
                    let column = assignment.column as usize;
                    open.row_columns.check_one(column, value, &run.catalog)?;
                    datums[column] = open.kinds[column].write(value, &self.arena);
                }
                let engine = run.engine();
                let keys = TableKeys::new(&open.kinds, None, run);
                let outcome = engine.update(&open.table, tid, &datums, changed, &keys)?;
                drop(engine);
                if let Modify::Done { .. } = outcome {
                    open.queue_constraints(run, |_| ());
                }
                outcome
            };
            let newest = match outcome {
                Modify::Done { .. } => return Ok(true),
                Modify::Skipped => return Ok(false),
                Modify::SelfModified { command } => {
                    already_changed("updated", command, run)?;
                    return Ok(false);
                }
                Modify::Deleted { .. } => return self.deleted(run),
                Modify::Updated { newest, .. } => newest,
            };
            if run.engine().isolation() != Isolation::ReadCommitted {
                return Err(concurrent_change("update"));
            }
            let table = Arc::clone(&self.open.as_ref().expect("opened before the first row").0.table);
            match self.recheck.try_again(node.scan, &table, newest, &mut self.current, &mut self.old, run)? {
                Rechecked::Qualifies(version) => tid = version,
                Rechecked::Fails => return Ok(false),
            }
        }
    }

    fn new_values(&self, open: &OpenTarget<'p>) -> Result<Vec<Value>> {
        let mut values = open.values_of(&self.old, Tid::INVALID)?;
        for (assignment, value) in self.node.assignments.iter().zip(&self.assigned) {
            values[assignment.column as usize] = value.clone();
        }
        Ok(values)
    }

    fn deleted(&self, run: &Run<'_, 'p>) -> Result<bool> {
        if run.engine().isolation() == Isolation::ReadCommitted { Ok(false) } else { Err(concurrent_change("delete")) }
    }
}

impl<'p> Operator<'p> for UpdateRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            let open = OpenTarget::open(&self.node.target, run)?;
            let changed = changed_columns(&self.node.assignments, &open);
            if let Some(triggers) = &self.node.target.triggers {
                self.named = self.node.assignments.iter().map(|assignment| assignment.column as usize).collect();
                Firing(triggers).before_statement(Event::Update, Some(&self.named), &open.captures, run)?;
            }
            self.open = Some((open, changed));
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
            let (open, _) = self.open.as_ref().expect("opened before the first row");
            Firing(triggers).after_statement(Event::Update, Some(&self.named), &open.captures, run)?;
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
