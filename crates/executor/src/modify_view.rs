//! INSERT, UPDATE and DELETE of a view: its INSTEAD OF triggers are told of each row, and do what they like.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::{Event, TableTriggers};
use types::Value;

use crate::evaluate::{evaluate, is_true};
use crate::modify::failing_row;
use crate::scan::evaluate_into;
use crate::trigger::{Captures, Firing};
use crate::{BoxOperator, Operator, Run};

/// A view's rows, handed to its triggers.
pub struct ViewRows<'p> {
    node: &'p plan::ViewChange,
    input: BoxOperator<'p>,
    row: Vec<Value>,
    is_begun: bool,
    is_over: bool,
}

impl<'p> ViewRows<'p> {
    pub fn new(node: &'p plan::ViewChange, input: BoxOperator<'p>) -> Self {
        ViewRows { node, input, row: Vec::new(), is_begun: false, is_over: false }
    }

    /// Hands the input's row over; whether the triggers did something about it.
    fn change(&mut self, triggers: Option<&Arc<TableTriggers>>, run: &mut Run<'_, 'p>) -> Result<bool> {
        let node = self.node;
        let input = self.input.row().to_vec();
        let old: Vec<Value> = node.old.iter().map(|slot| input[*slot as usize].clone()).collect();
        let mut new = if node.event == Event::Insert { input.clone() } else { old.clone() };
        for assignment in &node.assignments {
            new[assignment.column as usize] = evaluate(&assignment.value, &input, run)?;
        }
        // A view without enabled triggers takes the change and does nothing.
        if let Some(triggers) = triggers {
            let old = (node.event != Event::Insert).then_some(old.as_slice());
            let given = (node.event != Event::Delete).then_some(new.as_slice());
            match Firing(triggers).instead_of_row(node.event, old, given, run)? {
                Some(row) if node.event != Event::Delete => new = row,
                Some(_) => {}
                None => return Ok(false),
            }
        }
        for (view, condition) in &node.target.view_checks {
            if !is_true(condition, &new, run)? {
                let message = format!("new row violates check option for view \"{view}\"");
                let error = Error::new(sqlstate::WITH_CHECK_OPTION_VIOLATION, message);
                return Err(failing_row(&node.target, &new, run, error));
            }
        }
        if let Some(returning) = &node.returning {
            if node.event == Event::Insert {
                evaluate_into(returning, &new, &mut self.row, run)?;
            } else {
                let mut both = input;
                both.extend(new);
                evaluate_into(returning, &both, &mut self.row, run)?;
            }
        }
        Ok(true)
    }
}

impl<'p> Operator<'p> for ViewRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let node = self.node;
        let triggers = node.target.triggers.as_ref();
        if !std::mem::replace(&mut self.is_begun, true)
            && let Some(triggers) = triggers
        {
            Firing(triggers).before_statement(node.event, None, &Captures::default(), run)?;
        }
        while self.input.next(run)? {
            sync::yield_point()?;
            if self.change(triggers, run)? {
                run.locals.affected_rows += 1;
                if node.returning.is_some() {
                    return Ok(true);
                }
            }
        }
        if !std::mem::replace(&mut self.is_over, true)
            && let Some(triggers) = triggers
        {
            Firing(triggers).after_statement(node.event, None, &Captures::default(), run)?;
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
