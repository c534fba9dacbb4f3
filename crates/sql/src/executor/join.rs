//! Joins.

use base::Result;

use super::evaluate::{evaluate, is_true};
use super::row_set::{Row, RowEquality, RowMap};
use super::{BoxOperator, Operator, Run};
use crate::plan::{self, Expr, JoinKind};
use crate::types::Value;

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
    kept: Option<Vec<Row>>,
    kept_at: usize,
}

impl<'p> NestedLoopRows<'p> {
    pub fn new(node: &'p plan::NestedLoop, left: BoxOperator<'p>, right: BoxOperator<'p>) -> Self {
        let left_width = node.left.width as usize;
        NestedLoopRows {
            node,
            left,
            right,
            row: Vec::new(),
            left_width,
            has_left: false,
            matched: false,
            kept: None,
            kept_at: 0,
        }
    }

    fn next_left(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.left.next(run)? {
            return Ok(false);
        }
        self.row.clear();
        self.row.extend_from_slice(self.left.row());
        self.matched = false;
        self.has_left = true;
        self.kept_at = 0;
        for (index, expr) in &self.node.arguments {
            let value = evaluate(expr, self.left.row(), run)?;
            run.locals.outer[*index as usize] = value;
        }
        if self.node.keep_right {
            if self.kept.is_none() {
                let mut rows = Vec::new();
                while self.right.next(run)? {
                    run.step()?;
                    rows.push(Row::from(self.right.row()));
                }
                self.kept = Some(rows);
            }
        } else {
            self.right.rescan();
        }
        Ok(true)
    }

    /// Appends the next right row to the left one.
    fn next_right(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.row.truncate(self.left_width);
        if let Some(kept) = &self.kept {
            run.step()?;
            let Some(row) = kept.get(self.kept_at) else { return Ok(false) };
            self.kept_at += 1;
            self.row.extend_from_slice(row);
            return Ok(true);
        }
        if !self.right.next(run)? {
            return Ok(false);
        }
        self.row.extend_from_slice(self.right.row());
        Ok(true)
    }

    fn holds(&self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.node.condition.as_ref().map_or(Ok(true), |condition| is_true(condition, &self.row, run))
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

/// The right side in a hash table, probed by each left row.
pub struct HashJoinRows<'p> {
    node: &'p plan::HashJoin,
    left: BoxOperator<'p>,
    right: BoxOperator<'p>,
    table: Option<Table>,
    row: Vec<Value>,
    left_width: usize,
    /// Places in the table's rows that the current left row may match, and the next of them to try.
    candidates: Vec<usize>,
    candidate_at: usize,
    has_left: bool,
    matched: bool,
    /// For right and full joins: the next right row without a partner to look at.
    unmatched_at: usize,
}

struct Table {
    rows: Vec<Row>,
    matched: Vec<bool>,
    by_key: RowMap<Vec<usize>>,
    equality: RowEquality,
    has_null_key: bool,
}

impl<'p> HashJoinRows<'p> {
    pub fn new(node: &'p plan::HashJoin, left: BoxOperator<'p>, right: BoxOperator<'p>) -> Self {
        let left_width = node.left.width as usize;
        HashJoinRows {
            node,
            left,
            right,
            table: None,
            row: Vec::new(),
            left_width,
            candidates: Vec::new(),
            candidate_at: 0,
            has_left: false,
            matched: false,
            unmatched_at: 0,
        }
    }

    fn make_table(&mut self, run: &mut Run<'_, 'p>) -> Result<Table> {
        let equality = RowEquality::new(self.node.right_keys.iter().map(|key| key.sql_type), run)?;
        let mut table =
            Table { rows: Vec::new(), matched: Vec::new(), by_key: RowMap::default(), equality, has_null_key: false };
        while self.right.next(run)? {
            run.step()?;
            let row = self.right.row();
            match key_of(&self.node.right_keys, row, run)? {
                Some(key) => {
                    table.by_key.entry(&key, &table.equality, Vec::new).push(table.rows.len());
                }
                None => table.has_null_key = true,
            }
            table.rows.push(row.into());
        }
        table.matched = vec![false; table.rows.len()];
        Ok(table)
    }

    /// Takes the next left row and finds what it may match.
    fn next_left(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.left.next(run)? {
            return Ok(false);
        }
        run.step()?;
        self.row.clear();
        self.row.extend_from_slice(self.left.row());
        self.has_left = true;
        self.matched = false;
        self.candidate_at = 0;
        self.candidates.clear();
        let key = key_of(&self.node.left_keys, self.left.row(), run)?;
        let table = self.table.as_ref().expect("made before the first left row");
        match &key {
            Some(key) => self.candidates.extend(table.by_key.get(key, &table.equality).into_iter().flatten()),
            // `NULL NOT IN (...)` is unknown unless there is nothing to compare with.
            None if self.node.null_aware && !table.rows.is_empty() => self.matched = true,
            None => {}
        }
        if self.node.null_aware && table.has_null_key {
            self.matched = true;
        }
        Ok(true)
    }
}

/// The values of the keys; `None` if one is NULL, which matches nothing.
fn key_of<'p>(keys: &'p [Expr], row: &[Value], run: &mut Run<'_, 'p>) -> Result<Option<Row>> {
    let key: Row = keys.iter().map(|key| evaluate(key, row, run)).collect::<Result<_>>()?;
    Ok((!key.iter().any(Value::is_null)).then_some(key))
}

impl<'p> Operator<'p> for HashJoinRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.table.is_none() {
            self.table = Some(self.make_table(run)?);
        }
        let kind = self.node.kind;
        let right_width = self.node.right.width as usize;
        loop {
            if !self.has_left && !self.next_left(run)? {
                break;
            }
            while let Some(&place) = self.candidates.get(self.candidate_at) {
                self.candidate_at += 1;
                let table = self.table.as_mut().expect("made above");
                self.row.truncate(self.left_width);
                self.row.extend_from_slice(&table.rows[place]);
                if let Some(condition) = &self.node.condition
                    && !is_true(condition, &self.row, run)?
                {
                    continue;
                }
                self.matched = true;
                table.matched[place] = true;
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
            if !self.matched && matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti) {
                if kind != JoinKind::Anti {
                    self.row.resize(self.left_width + right_width, Value::Null);
                }
                return Ok(true);
            }
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let table = self.table.as_ref().expect("made above");
            while self.unmatched_at < table.rows.len() {
                let place = self.unmatched_at;
                self.unmatched_at += 1;
                if !table.matched[place] {
                    self.row.clear();
                    self.row.resize(self.left_width, Value::Null);
                    self.row.extend_from_slice(&table.rows[place]);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.table = None;
        self.has_left = false;
        self.unmatched_at = 0;
        self.left.rescan();
        self.right.rescan();
    }
}
