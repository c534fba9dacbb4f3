//! INSERT.

use std::sync::Arc;

use base::{Result, Tid};
use bumpalo::Bump;
use plan::{Event, TableTriggers};
use schema::catalog::TriggerTiming;
use types::Value;

use super::OpenTarget;
use super::on_conflict::ConflictResolver;
use crate::keys::TableKeys;
use crate::scan::evaluate_into;
use crate::{BoxOperator, Firing, Operator, Run};

/// INSERT.
pub struct InsertRows<'p> {
    node: &'p plan::Insert,
    input: BoxOperator<'p>,
    open: Option<OpenTarget<'p>>,
    /// Its ON CONFLICT clause.
    resolver: Option<ConflictResolver<'p>>,
    values: Vec<Value>,
    row: Vec<Value>,
    arena: Bump,
    is_over: bool,
}

impl<'p> InsertRows<'p> {
    pub fn new(node: &'p plan::Insert, input: BoxOperator<'p>) -> Self {
        InsertRows {
            node,
            input,
            open: None,
            resolver: None,
            values: Vec::new(),
            row: Vec::new(),
            arena: Bump::new(),
            is_over: false,
        }
    }

    /// The statement's own triggers, before the first row and after the last one.
    fn fire_statement(&self, triggers: &Arc<TableTriggers>, is_before: bool, run: &mut Run<'_, 'p>) -> Result<()> {
        let updated = self.resolver.as_ref().and_then(ConflictResolver::updated_columns);
        let captures = &self.open.as_ref().expect("opened before the first row").captures;
        if is_before {
            Firing(triggers).before_statement(Event::Insert, None, captures, run)?;
            if updated.is_some() {
                Firing(triggers).before_statement(Event::Update, updated, captures, run)?;
            }
            return Ok(());
        }
        if updated.is_some() {
            Firing(triggers).after_statement(Event::Update, updated, captures, run)?;
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
        match &mut self.resolver {
            None => {
                let tid = insert_row(open, &mut self.values, &mut self.arena, run)?;
                Ok(tid.map(|tid| Stored { tid, is_update: false }))
            }
            Some(resolver) => resolver.store(open, &mut self.values, run),
        }
    }
}

impl<'p> InsertRows<'p> {
    /// Opens the table and calls the statement's BEFORE triggers.
    fn open(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        if self.node.on_conflict.as_ref().is_some_and(|on_conflict| on_conflict.lacks_arbiter) {
            return Err(plan::no_arbiter());
        }
        let open = self.open.insert(OpenTarget::open(&self.node.target, run)?);
        if let Some(on_conflict) = &self.node.on_conflict {
            self.resolver = Some(ConflictResolver::new(on_conflict, self.node.returning.is_some(), open));
        }
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
pub(super) fn is_to_be_inserted<'p>(
    open: &OpenTarget<'p>,
    values: &mut Vec<Value>,
    run: &mut Run<'_, 'p>,
) -> Result<bool> {
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
    after_insert(open, values, tid, run)?;
    Ok(Some(tid))
}

/// Does what follows when the row `values` has been inserted at `tid`: checks of constraints, AFTER triggers, WITH CHECK OPTION.
pub(super) fn after_insert<'p>(open: &OpenTarget<'p>, values: &[Value], tid: Tid, run: &mut Run<'_, 'p>) -> Result<()> {
    open.queue_constraints(run, |keys| keys.after_insert(values, tid, run));
    if let Some(triggers) = &open.target.triggers {
        Firing(triggers).after_row(Event::Insert, None, (None, Some(values)), &open.captures, run)?;
    }
    open.check_views(values, run)
}

/// The result of an INSERT of one row.
pub(super) struct Stored {
    /// The version that was inserted, or made by an update.
    pub tid: Tid,
    /// There was such a row already, which was updated.
    pub is_update: bool,
}

/// Where `xmin` and `xmax` stand in [`ScanColumn::SYSTEM`].
const XMIN_PLACE: usize = 1;
const XMAX_PLACE: usize = 3;
