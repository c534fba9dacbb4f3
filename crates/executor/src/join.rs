//! Nested loops.

use std::sync::Arc;

use base::Result;
use plan::JoinKind;
use types::Value;

use crate::evaluate::{evaluate, is_true};
use crate::spill::{RowStore, StoreScan, sort_memory_bytes};
use crate::{BoxOperator, Operator, Run};

/// For each left row, the right side is run again.
pub struct NestedLoopRows<'p> {
    node: &'p plan::NestedLoop,
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    /// The left row's slots, then the right row's.
    row: Vec<Value>,
    left_width: usize,
    has_left: bool,
    matched: bool,
    /// The right side's rows, when they are the same for every left row.
    kept: Option<StoreScan>,
}

impl<'p> NestedLoopRows<'p> {
    pub fn new(node: &'p plan::NestedLoop, left: BoxOperator<'p>, right: BoxOperator<'p>) -> Self {
        let left_width = node.left.width as usize;
        NestedLoopRows { node, left, right, row: Vec::new(), left_width, has_left: false, matched: false, kept: None }
    }

    fn next_left(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.left.next(run)? {
            return Ok(false);
        }
        self.row.clear();
        self.row.extend_from_slice(self.left.row());
        self.matched = false;
        self.has_left = true;
        for (index, expr) in &self.node.arguments {
            let value = evaluate(expr, self.left.row(), run)?;
            run.locals.outer[*index as usize] = value;
        }
        if self.node.keep_right {
            match &mut self.kept {
                Some(kept) => kept.rewind(),
                None => {
                    let limit_bytes = sort_memory_bytes(run);
                    let mut rows = RowStore::default();
                    while self.right.next(run)? {
                        sync::yield_point()?;
                        rows.push(self.right.row(), limit_bytes, run)?;
                    }
                    rows.flush()?;
                    self.kept = Some(StoreScan::new(Arc::new(rows)));
                }
            }
        } else {
            self.right.rescan();
        }
        Ok(true)
    }

    /// Appends the next right row to the left one.
    fn next_right(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.row.truncate(self.left_width);
        if let Some(kept) = &mut self.kept {
            sync::yield_point()?;
            let found = kept.next()?;
            if found {
                self.row.extend_from_slice(kept.row());
            }
            return Ok(found);
        }
        if !self.right.next(run)? {
            return Ok(false);
        }
        self.row.extend_from_slice(self.right.row());
        Ok(true)
    }

    fn holds(&self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let Some(condition) = &self.node.condition else { return Ok(true) };
        let holds = is_true(condition, &self.row, run)?;
        run.locals.removed_rows += u64::from(!holds);
        Ok(holds)
    }
}

impl<'p> Operator<'p> for NestedLoopRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let kind = self.node.kind;
        loop {
            if !self.has_left && !self.next_left(run)? {
                return Ok(false);
            }
            while self.next_right(run)? {
                if !self.holds(run)? {
                    continue;
                }
                self.matched = true;
                match kind {
                    JoinKind::Anti => break,
                    JoinKind::Semi => {
                        self.row.truncate(self.left_width);
                        self.has_left = false;
                        return Ok(true);
                    }
                    _ => return Ok(true),
                }
            }
            self.has_left = false;
            self.row.truncate(self.left_width);
            if !self.matched && matches!(kind, JoinKind::Left | JoinKind::Anti) {
                if kind == JoinKind::Left {
                    self.row.resize(self.left_width + self.node.right.width as usize, Value::Null);
                }
                return Ok(true);
            }
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.has_left = false;
        self.kept = None;
        self.left.rescan();
        self.right.rescan();
    }
}
