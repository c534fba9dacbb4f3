//! Common table expressions.

use std::sync::Arc;

use base::Result;
use plan::{Cte, CteId, Expr};
use sync::Mutex;
use types::Value;

use crate::evaluate::is_true;
use crate::row_set::RowEquality;
use crate::set_operation::equality_of;
use crate::spill::{RowStore, SeenRows, StoreReader, StoreScan, sort_memory_bytes};
use crate::{BoxOperator, Operator, Run};

/// A common table expression of a running statement. Its rows are made when they are first asked for, and kept.
#[derive(Default)]
pub struct CteState<'p> {
    operator: Option<BoxOperator<'p>>,
    /// A leaf, used by one session only: others may run while it is held.
    rows: Arc<Mutex<RowStore>>,
    /// All its rows are there.
    is_complete: bool,
    /// It changes rows: once it is read at all, it is read to its end.
    modifies: bool,
    /// Of a recursive one: the rows of the last round.
    work_table: Arc<RowStore>,
}

impl<'p> CteState<'p> {
    /// Sets the operator that makes the rows. Rows made before are kept: a re-check reads the rows that the statement read.
    pub fn define(&mut self, operator: BoxOperator<'p>, modifies: bool) {
        self.operator = Some(operator);
        self.modifies = modifies;
    }
}

impl CteState<'_> {
    /// The same rows for an execution beside this one.
    pub fn kept_rows<'q>(&self) -> CteState<'q> {
        CteState {
            operator: None,
            rows: Arc::clone(&self.rows),
            is_complete: self.is_complete,
            modifies: self.modifies,
            work_table: Arc::clone(&self.work_table),
        }
    }
}

/// Makes one more row, or all the others of one that changes rows; false if there is none.
fn make_row<'p>(cte: CteId, to_the_end: bool, run: &mut Run<'_, 'p>) -> Result<bool> {
    let limit_bytes = sort_memory_bytes(run);
    let state = &mut run.locals.ctes[cte.0 as usize];
    if state.is_complete {
        return Ok(false);
    }
    let to_the_end = to_the_end || state.modifies;
    let rows = Arc::clone(&state.rows);
    let Some(mut operator) = state.operator.take() else {
        return Err(base::Error::internal("a common table expression is read before it is defined"));
    };
    let mut made = false;
    // Changes made by the common table expression do not count as the statement's own affected rows.
    let affected_rows = run.locals.affected_rows;
    let result = loop {
        match operator.next(run) {
            Ok(true) => {
                made = true;
                if let Err(error) = rows.lock().push(operator.row(), limit_bytes, run) {
                    break Err(error);
                }
                if !to_the_end {
                    break Ok(false);
                }
            }
            Ok(false) => break Ok(true),
            Err(error) => break Err(error),
        }
        if let Err(error) = sync::yield_point() {
            break Err(error);
        }
    };
    let state = &mut run.locals.ctes[cte.0 as usize];
    state.operator = Some(operator);
    run.locals.affected_rows = affected_rows;
    let state = &mut run.locals.ctes[cte.0 as usize];
    state.is_complete = result?;
    Ok(made)
}

/// Runs to their end the common table expressions that change rows, as nobody reads on. The last is run first, as it may read the
/// earlier ones.
///
/// # Errors
/// Errors of running them.
pub fn run_changes_of_ctes(run: &mut Run<'_, '_>) -> Result<()> {
    for number in (0..run.locals.ctes.len()).rev() {
        if run.locals.ctes[number].modifies {
            make_row(CteId(number as u32), true, run)?;
        }
    }
    Ok(())
}

/// The rows of a common table expression.
pub struct CteRows<'p> {
    cte: CteId,
    filter: Option<&'p Expr>,
    at: usize,
    reader: StoreReader,
    row: Vec<Value>,
}

impl<'p> CteRows<'p> {
    pub fn new(cte: CteId, filter: Option<&'p Expr>) -> Self {
        CteRows { cte, filter, at: 0, reader: StoreReader::default(), row: Vec::new() }
    }
}

impl<'p> Operator<'p> for CteRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        loop {
            sync::yield_point()?;
            let cte = self.cte.0 as usize;
            let count = run.locals.ctes[cte].rows.lock().len();
            if self.at >= count && !make_row(self.cte, false, run)? {
                return Ok(false);
            }
            let mut rows = run.locals.ctes[cte].rows.lock();
            rows.flush()?;
            self.row.clear();
            self.row.extend_from_slice(self.reader.read(&rows, self.at)?);
            drop(rows);
            self.at += 1;
            match self.filter {
                Some(filter) if !is_true(filter, &self.row, run)? => run.locals.removed_rows += 1,
                _ => return Ok(true),
            }
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.at = 0;
        self.reader = StoreReader::default();
    }
}

/// The rows that the last round of a recursion added.
pub struct WorkTableRows {
    cte: CteId,
    kept: StoreScan,
}

impl WorkTableRows {
    pub fn new(cte: CteId) -> Self {
        WorkTableRows { cte, kept: StoreScan::default() }
    }
}

impl<'p> Operator<'p> for WorkTableRows {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        sync::yield_point()?;
        if !self.kept.is_open() {
            self.kept = StoreScan::new(Arc::clone(&run.locals.ctes[self.cte.0 as usize].work_table));
        }
        self.kept.next()
    }

    fn row(&self) -> &[Value] {
        self.kept.row()
    }

    fn rescan(&mut self) {
        self.kept = StoreScan::default();
    }
}

/// WITH: common table expressions around a query.
pub struct With<'p> {
    ctes: &'p [Cte],
    input: BoxOperator<'p>,
    has_run_changes: bool,
    /// Common table expressions that read outer values must be computed anew.
    was_rescanned: bool,
}

impl<'p> With<'p> {
    pub fn new(ctes: &'p [Cte], input: BoxOperator<'p>) -> Self {
        With { ctes, input, has_run_changes: false, was_rescanned: false }
    }
}

impl<'p> Operator<'p> for With<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if std::mem::take(&mut self.was_rescanned) {
            for cte in self.ctes.iter().filter(|cte| cte.correlated) {
                let state = &mut run.locals.ctes[cte.id.0 as usize];
                state.rows = Arc::default();
                state.is_complete = false;
                if let Some(operator) = &mut state.operator {
                    operator.rescan();
                }
            }
        }
        if self.input.next(run)? {
            return Ok(true);
        }
        // A common table expression that changes rows runs to its end even if nobody reads it.
        if !self.has_run_changes {
            self.has_run_changes = true;
            // The last comes first, as it may read those before it.
            for cte in self.ctes.iter().rev().filter(|cte| cte.modifies) {
                make_row(cte.id, true, run)?;
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        self.input.row()
    }

    fn rescan(&mut self) {
        self.was_rescanned = true;
        self.input.rescan();
    }
}

/// WITH RECURSIVE.
pub struct RecursiveUnionRows<'p> {
    node: &'p plan::RecursiveUnion,
    anchor: BoxOperator<'p>,
    recursive: BoxOperator<'p>,
    seen: SeenRows,
    equality: Option<RowEquality>,
    /// The rows of the round being made.
    round: RowStore,
    is_in_anchor: bool,
    row: Vec<Value>,
}

impl<'p> RecursiveUnionRows<'p> {
    pub fn new(node: &'p plan::RecursiveUnion, anchor: BoxOperator<'p>, recursive: BoxOperator<'p>) -> Self {
        RecursiveUnionRows {
            node,
            anchor,
            recursive,
            seen: SeenRows::default(),
            equality: None,
            round: RowStore::default(),
            is_in_anchor: true,
            row: Vec::new(),
        }
    }
}

impl<'p> Operator<'p> for RecursiveUnionRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let limit_bytes = sort_memory_bytes(run);
        if self.equality.is_none() {
            self.equality = Some(equality_of(&self.node.types, run)?);
        }
        let equality = self.equality.as_ref().expect("made above");
        loop {
            sync::yield_point()?;
            let source = if self.is_in_anchor { &mut self.anchor } else { &mut self.recursive };
            if source.next(run)? {
                let row = source.row();
                if self.node.all || self.seen.insert(row, equality, 2 * limit_bytes, run)? {
                    self.row.clear();
                    self.row.extend_from_slice(row);
                    self.round.push(row, limit_bytes, run)?;
                    return Ok(true);
                }
                continue;
            }
            if self.round.is_empty() {
                return Ok(false);
            }
            self.is_in_anchor = false;
            let mut round = std::mem::take(&mut self.round);
            round.flush()?;
            run.locals.ctes[self.node.cte.0 as usize].work_table = Arc::new(round);
            self.recursive.rescan();
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.seen = SeenRows::default();
        self.round = RowStore::default();
        self.is_in_anchor = true;
        self.anchor.rescan();
        self.recursive.rescan();
    }
}
