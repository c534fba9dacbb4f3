//! DELETE.

use base::lock_mode::RowLockMode;
use base::{Result, Tid};
use plan::Event;
use schema::catalog::TriggerTiming;
use schema::row::RowBytes;
use types::Value;

use super::{Attempt, Obstacle, OpenTarget, ctid};
use crate::recheck::{Recheck, Rechecked};
use crate::scan::evaluate_into;
use crate::{BoxOperator, Firing, Operator, Run};

/// DELETE.
pub struct DeleteRows<'p> {
    node: &'p plan::Delete,
    input: BoxOperator<'p>,
    open: Option<OpenTarget<'p>>,
    current: Vec<Value>,
    row: Vec<Value>,
    old: RowBytes,
    recheck: Recheck<'p>,
    is_over: bool,
}

impl<'p> DeleteRows<'p> {
    pub fn new(node: &'p plan::Delete, input: BoxOperator<'p>) -> Self {
        DeleteRows {
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

    /// Deletes the row that `self.current` names; whether it was deleted.
    fn change(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let open = self.open.as_ref().expect("opened before the first row");
        let mut tid = ctid(&self.current, self.node.ctid)?;
        let needs_old = self.node.returning.is_some() || needs_row(open);
        if needs_old
            && !run.locals.take_kept_row(self.node.scan, tid, &mut self.old)
            && !run.engine().fetch(&open.table, tid, &mut self.old)?
        {
            return Ok(false);
        }
        let row = loop {
            let obstacle = match delete_row(open, &mut tid, &self.old, needs_old, run)? {
                Attempt::Done { row, .. } => break row,
                Attempt::LeftAlone => return Ok(false),
                Attempt::Failed(obstacle) => obstacle,
            };
            let Some(newest) = obstacle.next_version("deleted", run)? else { return Ok(false) };
            let (current, old) = (&mut self.current, &mut self.old);
            match self.recheck.try_again(self.node.scan, &open.table, newest, current, old, run)? {
                Rechecked::Qualifies(version) => tid = version,
                Rechecked::Fails => return Ok(false),
                Rechecked::SelfModified(command) => {
                    Obstacle::SelfModified { command, in_lock: false }.next_version("deleted", run)?;
                    return Ok(false);
                }
            }
        };
        if let (Some(returning), Some(row)) = (&self.node.returning, row) {
            self.current.extend(row);
            if open.target.returns_version {
                open.push_version(tid, &mut self.current)?;
            }
            evaluate_into(returning, &self.current, &mut self.row, run)?;
        }
        Ok(true)
    }
}

/// Whether a row must be read before it is deleted.
pub(super) fn needs_row(open: &OpenTarget<'_>) -> bool {
    !open.foreign_keys.is_empty() || open.target.triggers.is_some()
}

/// Deletes the version at `tid`, which is `old` if it has been read.
pub(super) fn delete_row<'p>(
    open: &OpenTarget<'p>,
    tid: &mut Tid,
    old: &RowBytes,
    is_read: bool,
    run: &mut Run<'_, 'p>,
) -> Result<Attempt> {
    if let Some(triggers) = open.triggers(TriggerTiming::Before, true, Event::Delete) {
        if let Some(obstacle) = open.lock_for_triggers(tid, RowLockMode::Update, run)? {
            return Ok(Attempt::Failed(obstacle));
        }
        let values = open.values_of(old, *tid)?;
        if Firing(triggers).before_row(Event::Delete, None, Some(&values), None, run)?.is_none() {
            return Ok(Attempt::LeftAlone);
        }
    }
    let outcome = run.engine().delete(&open.table, *tid)?;
    let stored = match Obstacle::check(outcome, false) {
        Ok(tid) => tid,
        Err(obstacle) => return Ok(Attempt::Failed(obstacle)),
    };
    let row = if is_read { Some(open.values_of(old, *tid)?) } else { None };
    if let Some(values) = &row {
        open.foreign_keys.after_delete(values, run);
        if let Some(triggers) = &open.target.triggers {
            Firing(triggers).after_row(Event::Delete, None, (Some(values), None), &open.captures, run)?;
        }
    }
    Ok(Attempt::Done { stored, row })
}

impl<'p> Operator<'p> for DeleteRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.open.is_none() {
            let open = self.open.insert(OpenTarget::open(&self.node.target, run)?);
            if let Some(triggers) = &self.node.target.triggers {
                Firing(triggers).before_statement(Event::Delete, None, &open.captures, run)?;
            }
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
            let captures = &self.open.as_ref().expect("opened before the first row").captures;
            Firing(triggers).after_statement(Event::Delete, None, captures, run)?;
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
