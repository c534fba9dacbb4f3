//! Common table expressions.

use std::rc::Rc;

use base::Result;

use super::evaluate::is_true;
use super::row_set::{Row, RowEquality, RowSet};
use super::{BoxOperator, Operator, Run};
use crate::plan::{self, Cte, CteId, Expr};
use crate::types::Value;

/// A common table expression of a running statement.
#[derive(Default)]
pub struct CteState<'p> {
    operator: Option<BoxOperator<'p>>,
    rows: Option<Rc<Vec<Row>>>,
    /// Of a recursive one: the rows of the last round.
    work_table: Rc<Vec<Row>>,
}

impl<'p> CteState<'p> {
    /// What makes its rows; rows that are there already stay (a re-check reads what the statement read).
    pub fn define(&mut self, operator: BoxOperator<'p>) {
        self.operator = Some(operator);
    }
}

impl CteState<'_> {
    /// The same rows for an execution beside this one.
    pub fn kept_rows<'q>(&self) -> CteState<'q> {
        CteState { operator: None, rows: self.rows.clone(), work_table: Rc::clone(&self.work_table) }
    }
}

/// Its rows; run when first asked for.
fn rows_of<'p>(cte: CteId, run: &mut Run<'_, 'p>) -> Result<Rc<Vec<Row>>> {
    let state = &mut run.locals.ctes[cte.0 as usize];
    if let Some(rows) = &state.rows {
        return Ok(Rc::clone(rows));
    }
    let Some(mut operator) = state.operator.take() else {
        return Err(base::Error::internal("a common table expression is read before it is defined"));
    };
    let mut rows = Vec::new();
    // The statement's tag counts the rows of the statement itself.
    let affected_rows = run.locals.affected_rows;
    let result = loop {
        match operator.next(run) {
            Ok(true) => rows.push(Row::from(operator.row())),
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        run.step()?;
    };
    run.locals.affected_rows = affected_rows;
    let rows = Rc::new(rows);
    let state = &mut run.locals.ctes[cte.0 as usize];
    state.operator = Some(operator);
    result?;
    state.rows = Some(Rc::clone(&rows));
    Ok(rows)
}

/// A scan of kept rows.
#[derive(Default)]
struct KeptRows {
    rows: Option<Rc<Vec<Row>>>,
    at: usize,
}

impl KeptRows {
    fn next(&mut self) -> bool {
        self.at += 1;
        self.rows.as_ref().is_some_and(|rows| self.at <= rows.len())
    }

    fn row(&self) -> &[Value] {
        &self.rows.as_ref().expect("read after a row was found")[self.at - 1]
    }
}

/// The rows of a common table expression.
pub struct CteRows<'p> {
    cte: CteId,
    filter: Option<&'p Expr>,
    kept: KeptRows,
}

impl<'p> CteRows<'p> {
    pub fn new(cte: CteId, filter: Option<&'p Expr>) -> Self {
        CteRows { cte, filter, kept: KeptRows::default() }
    }
}

impl<'p> Operator<'p> for CteRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.kept.rows.is_none() {
            self.kept = KeptRows { rows: Some(rows_of(self.cte, run)?), at: 0 };
        }
        while self.kept.next() {
            run.step()?;
            match self.filter {
                Some(filter) if !is_true(filter, self.kept.row(), run)? => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        self.kept.row()
    }

    fn rescan(&mut self) {
        self.kept = KeptRows::default();
    }
}

/// The rows that the last round of a recursion added.
pub struct WorkTableRows {
    cte: CteId,
    kept: KeptRows,
}

impl WorkTableRows {
    pub fn new(cte: CteId) -> Self {
        WorkTableRows { cte, kept: KeptRows::default() }
    }
}

impl<'p> Operator<'p> for WorkTableRows {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        run.step()?;
        if self.kept.rows.is_none() {
            let rows = Rc::clone(&run.locals.ctes[self.cte.0 as usize].work_table);
            self.kept = KeptRows { rows: Some(rows), at: 0 };
        }
        Ok(self.kept.next())
    }

    fn row(&self) -> &[Value] {
        self.kept.row()
    }

    fn rescan(&mut self) {
        self.kept = KeptRows::default();
    }
}

/// WITH: common table expressions around a query.
pub struct With<'p> {
    ctes: &'p [Cte],
    input: BoxOperator<'p>,
    has_run_changes: bool,
}

impl<'p> With<'p> {
    pub fn new(ctes: &'p [Cte], input: BoxOperator<'p>) -> Self {
        With { ctes, input, has_run_changes: false }
    }
}

impl<'p> Operator<'p> for With<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.input.next(run)? {
            return Ok(true);
        }
        // What changes rows runs to its end even if nobody reads it.
        if !self.has_run_changes {
            self.has_run_changes = true;
            for cte in self.ctes.iter().filter(|cte| cte.modifies) {
                rows_of(cte.id, run)?;
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        self.input.row()
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }
}

/// WITH RECURSIVE.
pub struct RecursiveUnionRows<'p> {
    node: &'p plan::RecursiveUnion,
    anchor: BoxOperator<'p>,
    recursive: BoxOperator<'p>,
    seen: RowSet,
    /// The rows of the round being made.
    round: Vec<Row>,
    is_in_anchor: bool,
    row: Row,
}

impl<'p> RecursiveUnionRows<'p> {
    pub fn new(node: &'p plan::RecursiveUnion, anchor: BoxOperator<'p>, recursive: BoxOperator<'p>) -> Self {
        RecursiveUnionRows {
            node,
            anchor,
            recursive,
            seen: RowSet::default(),
            round: Vec::new(),
            is_in_anchor: true,
            row: Row::default(),
        }
    }
}

impl<'p> Operator<'p> for RecursiveUnionRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        loop {
            run.step()?;
            let source = if self.is_in_anchor { &mut self.anchor } else { &mut self.recursive };
            if source.next(run)? {
                let row = source.row();
                if self.node.all || self.seen.insert(row, &RowEquality::OfValues) {
                    self.row = row.into();
                    self.round.push(row.into());
                    return Ok(true);
                }
                continue;
            }
            if self.round.is_empty() {
                return Ok(false);
            }
            self.is_in_anchor = false;
            run.locals.ctes[self.node.cte.0 as usize].work_table = Rc::new(std::mem::take(&mut self.round));
            self.recursive.rescan();
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.seen = RowSet::default();
        self.round.clear();
        self.is_in_anchor = true;
        self.anchor.rescan();
        self.recursive.rescan();
    }
}
