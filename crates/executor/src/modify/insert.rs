//! INSERT, ON CONFLICT among it.

use std::sync::Arc;

use base::{Error, Result, Tid, sqlstate};
use bumpalo::Bump;
use engine::{ConflictOutcome, Isolation, Modify};
use plan::{Assignment, Event, OnConflict, TableTriggers};
use schema::catalog::TriggerTiming;
use schema::row::{ColumnSet, RowBytes};
use smallvec::SmallVec;
use types::Value;

use super::{OpenTarget, already_changed, assigned_columns, changed_columns, concurrent_change};
use crate::evaluate::{evaluate, is_true};
use crate::keys::TableKeys;
use crate::scan::evaluate_into;
use crate::{BoxOperator, Firing, Operator, Run};

/// INSERT.
pub struct InsertRows<'p> {
    node: &'p plan::Insert,
    input: BoxOperator<'p>,
    open: Option<OpenTarget<'p>>,
    values: Vec<Value>,
    row: Vec<Value>,
    arena: Bump,
    is_over: bool,
}

impl<'p> InsertRows<'p> {
    pub fn new(node: &'p plan::Insert, input: BoxOperator<'p>) -> Self {
        InsertRows { node, input, open: None, values: Vec::new(), row: Vec::new(), arena: Bump::new(), is_over: false }
    }

    /// The columns that ON CONFLICT DO UPDATE assigns.
    fn conflict_columns(&self) -> Option<ColumnSet> {
        let update = self.node.on_conflict.as_ref()?.update.as_ref()?;
        Some(assigned_columns(&update.assignments))
    }

    /// The statement's own triggers, before the first row and after the last one.
    fn fire_statement(&self, triggers: &Arc<TableTriggers>, is_before: bool, run: &mut Run<'_, 'p>) -> Result<()> {
        let updated = self.conflict_columns();
        let captures = &self.open.as_ref().expect("opened before the first row").captures;
        if is_before {
            Firing(triggers).before_statement(Event::Insert, None, captures, run)?;
            if updated.is_some() {
                Firing(triggers).before_statement(Event::Update, updated.as_ref(), captures, run)?;
            }
            return Ok(());
        }
        if updated.is_some() {
            Firing(triggers).after_statement(Event::Update, updated.as_ref(), captures, run)?;
        }
        Firing(triggers).after_statement(Event::Insert, None, captures, run)
    }

    /// Puts the system columns of the version behind `self.values`.
    fn push_version(&mut self, stored: &Stored) -> Result<()> {
        let open = self.open.as_ref().expect("opened before the first row");
        let columns = self.values.len();
        open.push_version(stored.tid, &mut self.values)?;
        if stored.is_update {
            // The maker of the version had locked the row: clients tell an update from an insert by `xmax`.
            self.values[columns + XMAX_PLACE] = self.values[columns + XMIN_PLACE].clone();
        }
        Ok(())
    }

    /// Stores `self.values`; the version that was inserted or made by an update.
    fn store(&mut self, run: &mut Run<'_, 'p>) -> Result<Option<Stored>> {
        let open = self.open.as_ref().expect("opened before the first row");
        match &self.node.on_conflict {
            None => {
                let tid = insert_row(open, &mut self.values, &mut self.arena, run)?;
                Ok(tid.map(|tid| Stored { tid, is_update: false }))
            }
            Some(_) if !is_to_be_inserted(open, &mut self.values, run)? => Ok(None),
            Some(on_conflict) => insert_or_resolve(open, on_conflict, &mut self.values, run),
        }
    }
}

impl<'p> InsertRows<'p> {
    /// Opens the table and calls the statement's BEFORE triggers.
    fn open(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        if self.node.on_conflict.as_ref().is_some_and(|on_conflict| on_conflict.lacks_arbiter) {
            return Err(plan::no_arbiter());
        }
        self.open = Some(OpenTarget::open(&self.node.target, run)?);
        match &self.node.target.triggers {
            Some(triggers) => self.fire_statement(triggers, true, run),
            None => Ok(()),
        }
    }
}

impl<'p> Operator<'p> for InsertRows<'p> {
    fn begin_rows(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        self.is_over = true;
        self.open(run)
    }

    fn end_rows(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        match &self.node.target.triggers {
            Some(triggers) => self.fire_statement(triggers, false, run),
            None => Ok(()),
        }
    }

    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            self.open(run)?;
        }
        while self.input.next(run)? {
            sync::yield_point()?;
            self.values.clear();
            self.values.extend_from_slice(self.input.row());
            let Some(stored) = self.store(run)? else { continue };
            run.locals.affected_rows += 1;
            if let Some(returning) = &self.node.returning {
                if self.node.target.returns_version {
                    self.push_version(&stored)?;
                }
                evaluate_into(returning, &self.values, &mut self.row, run)?;
                return Ok(true);
            }
        }
        if let Some(triggers) = self.node.target.triggers.as_ref().filter(|_| !self.is_over) {
            self.is_over = true;
            self.fire_statement(triggers, false, run)?;
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

/// Calls a new row's BEFORE triggers and completes the row. Returns false if a trigger leaves it out.
fn is_to_be_inserted<'p>(open: &OpenTarget<'p>, values: &mut Vec<Value>, run: &mut Run<'_, 'p>) -> Result<bool> {
    if let Some(triggers) = open.triggers(TriggerTiming::Before, true, Event::Insert) {
        match Firing(triggers).before_row(Event::Insert, None, None, Some(values), run)? {
            Some(changed) => *values = changed,
            None => return Ok(false),
        }
    }
    open.complete(values, run)?;
    Ok(true)
}

/// Inserts the full row `values`, which become the row as stored. Returns its place; none if a trigger leaves it out.
pub(super) fn insert_row<'p>(
    open: &OpenTarget<'p>,
    values: &mut Vec<Value>,
    arena: &mut Bump,
    run: &mut Run<'_, 'p>,
) -> Result<Option<Tid>> {
    if !is_to_be_inserted(open, values, run)? {
        return Ok(None);
    }
    arena.reset();
    let datums = open.datums(values, arena, run)?;
    let engine = run.engine();
    let keys = TableKeys::new(&open.kinds, open.expressions(), run);
    let tid = engine.insert(&open.table, &datums, &keys)?;
    drop(engine);
    open.queue_constraints(run, |keys| keys.after_insert(values, tid, run));
    if let Some(triggers) = &open.target.triggers {
        Firing(triggers).after_row(Event::Insert, None, (None, Some(values)), &open.captures, run)?;
    }
    open.check_views(values, run)?;
    Ok(Some(tid))
}

/// The result of an INSERT of one row.
struct Stored {
    tid: Tid,
    /// There was such a row already, which was updated.
    is_update: bool,
}

/// Where `xmin` and `xmax` stand in [`ScanColumn::SYSTEM`].
const XMIN_PLACE: usize = 1;
const XMAX_PLACE: usize = 3;

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

/// INSERT ... ON CONFLICT of one row. The version inserted or made by an update; `values` become the row as stored.
fn insert_or_resolve<'p>(
    open: &OpenTarget<'p>,
    on_conflict: &'p OnConflict,
    values: &mut Vec<Value>,
    run: &mut Run<'_, 'p>,
) -> Result<Option<Stored>> {
    let mut arbiters: SmallVec<[usize; 4]> = on_conflict.arbiters.iter().map(|position| *position as usize).collect();
    if let Some(deferrable) = on_conflict.deferrable_arbiter {
        // Arbiters are asked in their order: only a row that conflicts with none of those before it gets to the deferrable one.
        let deferrable = deferrable as usize;
        if arbiters.is_empty() {
            arbiters.extend((0..deferrable).filter(|position| open.table.indexes[*position].def.unique));
        } else {
            arbiters.retain(|position| *position < deferrable);
        }
        if arbiters.is_empty() {
            return Err(deferrable_arbiter(open, deferrable, run));
        }
    }
    let arbiters = (!arbiters.is_empty()).then_some(arbiters.as_slice());
    loop {
        let outcome = {
            let arena = Bump::new();
            let datums = open.datums(values, &arena, run)?;
            let engine = run.engine();
            let keys = TableKeys::new(&open.kinds, open.expressions(), run);
            engine.insert_on_conflict(&open.table, &datums, &keys, arbiters)
        };
        let outcome = match (on_conflict.deferrable_arbiter, outcome) {
            // The row goes with the statement, and so does what was noted of its keys.
            (Some(deferrable), Ok(ConflictOutcome::Inserted(_))) => {
                run.engine().take_possible_duplicates(&open.table);
                return Err(deferrable_arbiter(open, deferrable as usize, run));
            }
            (Some(deferrable), Err(error)) if error.sqlstate() == sqlstate::UNIQUE_VIOLATION => {
                return Err(deferrable_arbiter(open, deferrable as usize, run));
            }
            (_, outcome) => outcome?,
        };
        let tid = match outcome {
            ConflictOutcome::Conflict { tid, .. } => tid,
            ConflictOutcome::Inserted(tid) => {
                open.queue_constraints(run, |keys| keys.after_insert(values, tid, run));
                if let Some(triggers) = &open.target.triggers {
                    Firing(triggers).after_row(Event::Insert, None, (None, Some(values)), &open.captures, run)?;
                }
                open.check_views(values, run)?;
                return Ok(Some(Stored { tid, is_update: false }));
            }
        };
        let Some(update) = &on_conflict.update else { return Ok(None) };
        // Lock the row first: its newest version is what gets updated.
        let engine = run.engine();
        let assigned = assigned_columns(&update.assignments);
        let mode = open.row_lock_of_update(&assigned);
        let tid = match engine.lock_row(&open.table, tid, mode, base::lock_mode::WaitPolicy::Block)? {
            Modify::Done { tid } => tid,
            Modify::SelfModified { .. } => {
                return Err(Error::new(
                    sqlstate::CARDINALITY_VIOLATION,
                    "ON CONFLICT DO UPDATE command cannot affect row a second time",
                )
                .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values."));
            }
            Modify::Updated { newest, .. } => {
                if engine.isolation() != Isolation::ReadCommitted {
                    return Err(concurrent_change("update"));
                }
                match engine.lock_row(&open.table, newest, mode, base::lock_mode::WaitPolicy::Block)? {
                    Modify::Done { tid } => tid,
                    _ => continue,
                }
            }
            Modify::Deleted { .. } if engine.isolation() != Isolation::ReadCommitted => {
                return Err(concurrent_change("delete"));
            }
            Modify::Deleted { .. } | Modify::Skipped => continue,
        };
        let mut bytes = RowBytes::new();
        let Some(tid) = engine.newest_version(&open.table, tid, &mut bytes)? else { continue };
        drop(engine);
        let existing = open.values_of(&bytes, tid)?;
        let mut both = existing.clone();
        both.extend(values.iter().cloned());
        if update.reads_version {
            open.push_version(tid, &mut both)?;
        }
        if let Some(condition) = &update.condition
            && !is_true(condition, &both, run)?
        {
            return Ok(None);
        }
        let mut updated = existing.clone();
        assign(&update.assignments, &both, &mut updated, run)?;
        let mut changed: ColumnSet = changed_columns(&update.assignments, open);
        if let Some(triggers) = open.triggers(TriggerTiming::Before, true, Event::Update) {
            match Firing(triggers).before_row(Event::Update, Some(&assigned), Some(&existing), Some(&updated), run)? {
                Some(values) => updated = values,
                None => return Ok(None),
            }
            changed = open.all_columns();
        }
        open.complete(&mut updated, run)?;
        let outcome = {
            let arena = Bump::new();
            let datums = open.datums(&updated, &arena, run)?;
            let engine = run.engine();
            let keys = TableKeys::new(&open.kinds, open.expressions(), run);
            engine.update(&open.table, tid, &datums, &changed, &keys)?
        };
        match outcome {
            Modify::Done { tid: stored } => {
                let is_own = open.has_made(tid, run)?;
                let tid = stored;
                open.queue_constraints(run, |keys| keys.after_update(&existing, &updated, (tid, is_own), run));
                if let Some(triggers) = &open.target.triggers {
                    let rows = (Some(existing.as_slice()), Some(updated.as_slice()));
                    Firing(triggers).after_row(Event::Update, Some(&assigned), rows, &open.captures, run)?;
                }
                open.check_views(&updated, run)?;
                *values = updated;
                return Ok(Some(Stored { tid, is_update: true }));
            }
            Modify::SelfModified { command } => {
                already_changed("updated", command, run)?;
                return Ok(None);
            }
            _ => continue,
        }
    }
}

fn assign<'p>(
    assignments: &'p [Assignment],
    input: &[Value],
    values: &mut [Value],
    run: &mut Run<'_, 'p>,
) -> Result<()> {
    for assignment in assignments {
        values[assignment.column as usize] = evaluate(&assignment.value, input, run)?;
    }
    Ok(())
}
