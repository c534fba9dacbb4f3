//! DELETE.

use base::Result;
use base::lock_mode::RowLockMode;
use engine::{Isolation, Modify};
use plan::Event;
use schema::catalog::TriggerTiming;
use schema::row::RowBytes;
use types::Value;

use super::{OpenTarget, already_changed, concurrent_change, ctid};
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
        let triggers = open.target.triggers.as_ref();
        let before = open.triggers(TriggerTiming::Before, true, Event::Delete);
        let needs_old = self.node.returning.is_some() || !open.foreign_keys.is_empty() || triggers.is_some();
        if needs_old
            && !run.locals.take_kept_row(self.node.scan, tid, &mut self.old)
            && !run.engine().fetch(&open.table, tid, &mut self.old)?
        {
            return Ok(false);
        }
        loop {
            let gone =
                if before.is_some() { open.lock_for_triggers(&mut tid, RowLockMode::Update, run)? } else { None };
            let is_gone = gone.is_some();
            let outcome = match (gone, before) {
                (Some(gone), _) => gone,
                (None, before) => {
                    if let Some(triggers) = before {
                        let values = open.values_of(&self.old, tid)?;
                        if Firing(triggers).before_row(Event::Delete, None, Some(&values), None, run)?.is_none() {
                            return Ok(false);
                        }
                    }
                    run.engine().delete(&open.table, tid)?
                }
            };
            let isolation = run.engine().isolation();
            match outcome {
                Modify::Done { .. } => break,
                Modify::Skipped => return Ok(false),
                Modify::SelfModified { command } => {
                    // Triggers lock the row as one to be updated.
                    already_changed(if is_gone { "updated" } else { "deleted" }, command, run)?;
                    return Ok(false);
                }
                Modify::Deleted { .. } if isolation == Isolation::ReadCommitted => return Ok(false),
                Modify::Deleted { .. } => return Err(concurrent_change("delete")),
                Modify::Updated { .. } if isolation != Isolation::ReadCommitted => {
                    return Err(concurrent_change("update"));
                }
                Modify::Updated { newest, .. } => {
                    let (current, old) = (&mut self.current, &mut self.old);
                    match self.recheck.try_again(self.node.scan, &open.table, newest, current, old, run)? {
                        Rechecked::Qualifies(version) => tid = version,
                        Rechecked::Fails => return Ok(false),
                    }
                }
            }
        }
        if needs_old {
            let values = open.values_of(&self.old, tid)?;
            open.foreign_keys.after_delete(&values, run);
            if let Some(triggers) = triggers {
                Firing(triggers).after_row(Event::Delete, None, (Some(&values), None), &open.captures, run)?;
            }
            if let Some(returning) = &self.node.returning {
                let mut input = std::mem::take(&mut self.current);
                input.extend(values);
                if open.target.returns_version {
                    open.push_version(tid, &mut input)?;
                }
                let result = evaluate_into(returning, &input, &mut self.row, run);
                self.current = input;
                result?;
            }
        }
        Ok(true)
    }
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
