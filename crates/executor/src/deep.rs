//! Plans that nest deeper than a coroutine's stack bears run on a further stack.

use base::Result;
use plan::Effort;
use syntax::parser::no_stack;
use types::Value;

use crate::{BoxOperator, Operator, Run};

/// The rows of a deep plan.
pub struct DeepRows<'p> {
    /// Taken when it ends.
    root: Option<BoxOperator<'p>>,
    /// Calls that can't fail, and so wait for the next row: it fails if there is no further stack.
    is_to_rescan: bool,
    bound: Option<u64>,
}

impl<'p> DeepRows<'p> {
    /// Of operators that were made on a further stack.
    pub fn new(root: BoxOperator<'p>) -> DeepRows<'p> {
        DeepRows { root: Some(root), is_to_rescan: false, bound: None }
    }

    fn root(&self) -> &BoxOperator<'p> {
        self.root.as_ref().expect("it is taken when it ends")
    }
}

impl<'p> Operator<'p> for DeepRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let (is_to_rescan, bound) = (std::mem::take(&mut self.is_to_rescan), self.bound.take());
        let root = self.root.as_mut().expect("it is taken when it ends");
        let next = || {
            if is_to_rescan {
                root.rescan();
            }
            if let Some(rows) = bound {
                root.set_bound(rows);
            }
            root.next(run)
        };
        sync::on_further_stack(next).map_err(|_| no_stack())?
    }

    fn row(&self) -> &[Value] {
        self.root().row()
    }

    fn rescan(&mut self) {
        self.is_to_rescan = true;
    }

    fn set_bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn effort(&self) -> Option<Effort> {
        self.root().effort()
    }
}

impl Drop for DeepRows<'_> {
    fn drop(&mut self) {
        let mut root = self.root.take();
        if sync::on_further_stack(|| drop(root.take())).is_err() {
            // Better kept for ever than ended without a stack.
            std::mem::forget(root);
        }
    }
}
