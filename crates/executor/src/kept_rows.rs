//! The rows of an entry of FROM that is no table, and the one row that it had while a re-check runs.

use base::Result;
use plan::ScanId;
use types::Value;

use crate::{BoxOperator, Operator, Replacement, Run};

/// [`plan::Node::KeptRows`].
pub struct KeptRows<'p> {
    scan: ScanId,
    input: BoxOperator<'p>,
    /// The row that the re-check keeps, once it has been given.
    kept: Option<Vec<Value>>,
    has_given: bool,
}

impl<'p> KeptRows<'p> {
    pub fn new(scan: ScanId, input: BoxOperator<'p>) -> Self {
        KeptRows { scan, input, kept: None, has_given: false }
    }
}

impl<'p> Operator<'p> for KeptRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let Replacement::Row(row) = run.locals.replacement(self.scan) else { return self.input.next(run) };
        if self.has_given {
            return Ok(false);
        }
        self.has_given = true;
        self.kept.clone_from(row);
        Ok(self.kept.is_some())
    }

    fn row(&self) -> &[Value] {
        self.kept.as_deref().unwrap_or_else(|| self.input.row())
    }

    fn rescan(&mut self) {
        self.has_given = false;
        self.input.rescan();
    }
}
