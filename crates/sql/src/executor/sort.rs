//! ORDER BY and LIMIT.

use std::cmp::Ordering;

use base::{Error, Result, sqlstate};

use super::evaluate::{comparator_of, evaluate};
use super::row_set::{Row, RowEquality};
use super::{BoxOperator, Operator, Run};
use crate::plan::{Expr, SortKey};
use crate::types::{Comparator, SqlType, Value};

/// How rows of keys compare.
pub(super) struct RowOrder(Vec<KeyOrder>);

struct KeyOrder {
    compare: Comparator,
    descending: bool,
    nulls_first: bool,
}

impl RowOrder {
    /// The order of `keys`.
    ///
    /// # Errors
    /// 42883 for a type that has no order.
    pub fn new(keys: &[SortKey], run: &Run<'_, '_>) -> Result<RowOrder> {
        keys.iter()
            .map(|key| {
                Ok(KeyOrder {
                    compare: comparator_of(key.expr.sql_type, run)?,
                    descending: key.descending,
                    nulls_first: key.nulls_first,
                })
            })
            .collect::<Result<_>>()
            .map(RowOrder)
    }

    /// The order of values of these types, each ascending, NULLs last.
    ///
    /// # Errors
    /// 42883 for a type that has no order.
    pub fn ascending(types: impl Iterator<Item = SqlType>, run: &Run<'_, '_>) -> Result<RowOrder> {
        types
            .map(|sql_type| {
                Ok(KeyOrder { compare: comparator_of(sql_type, run)?, descending: false, nulls_first: false })
            })
            .collect::<Result<_>>()
            .map(RowOrder)
    }

    /// Compares the keys of two rows.
    pub fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        for ((left, right), key) in left.iter().zip(right).zip(&self.0) {
            let null_side = |first: bool| if first { Ordering::Less } else { Ordering::Greater };
            let ordering = match (left.is_null(), right.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) => null_side(key.nulls_first),
                (false, true) => null_side(!key.nulls_first),
                (false, false) => {
                    let ordering = (key.compare)(left, right);
                    if key.descending { ordering.reverse() } else { ordering }
                }
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }
}

/// The values of `keys` for `row`.
pub(super) fn sort_keys_of<'p>(keys: &'p [SortKey], row: &[Value], run: &mut Run<'_, 'p>) -> Result<Row> {
    keys.iter().map(|key| evaluate(&key.expr, row, run)).collect()
}

/// All rows, ordered.
pub struct Sort<'p> {
    input: BoxOperator<'p>,
    keys: &'p [SortKey],
    sorted: Option<std::vec::IntoIter<(Row, Row)>>,
    row: Row,
}

impl<'p> Sort<'p> {
    pub fn new(input: BoxOperator<'p>, keys: &'p [SortKey]) -> Self {
        Sort { input, keys, sorted: None, row: Row::default() }
    }
}

impl<'p> Operator<'p> for Sort<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.sorted.is_none() {
            let order = RowOrder::new(self.keys, run)?;
            let mut rows = Vec::new();
            while self.input.next(run)? {
                run.step()?;
                let row = self.input.row();
                rows.push((sort_keys_of(self.keys, row, run)?, Row::from(row)));
            }
            rows.sort_by(|(left, _), (right, _)| order.compare(left, right));
            self.sorted = Some(rows.into_iter());
        }
        match self.sorted.as_mut().and_then(Iterator::next) {
            Some((_, row)) => {
                self.row = row;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.sorted = None;
        self.input.rescan();
    }
}

/// The first rows after an offset.
pub struct Limit<'p> {
    input: BoxOperator<'p>,
    limit: Option<&'p Expr>,
    offset: Option<&'p Expr>,
    ties: Option<&'p [Expr]>,
    /// Rows still to give; `None` before the first call.
    left: Option<Option<u64>>,
    /// The last row's values of `ties`.
    last: Option<(Row, RowEquality)>,
}

impl<'p> Limit<'p> {
    pub fn new(
        input: BoxOperator<'p>,
        limit: Option<&'p Expr>,
        offset: Option<&'p Expr>,
        ties: Option<&'p [Expr]>,
    ) -> Self {
        Limit { input, limit, offset, ties, left: None, last: None }
    }

    fn begin(&mut self, run: &mut Run<'_, 'p>) -> Result<Option<u64>> {
        let mut count = |expr: Option<&'p Expr>, what: &str, code| -> Result<Option<u64>> {
            let Some(expr) = expr else { return Ok(None) };
            let Some(value) = evaluate(expr, &[], run)?.as_i64() else { return Ok(None) };
            u64::try_from(value).map(Some).map_err(|_| Error::new(code, format!("{what} must not be negative")))
        };
        let offset = count(self.offset, "OFFSET", sqlstate::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE)?;
        let limit = count(self.limit, "LIMIT", sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE)?;
        if limit != Some(0) {
            for _ in 0..offset.unwrap_or(0) {
                if !self.input.next(run)? {
                    return Ok(Some(0));
                }
            }
        }
        Ok(limit)
    }
}

impl<'p> Operator<'p> for Limit<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let left = match self.left {
            Some(left) => left,
            None => self.begin(run)?,
        };
        if left == Some(0) {
            self.left = Some(left);
            let Some((last, equality)) = &self.last else { return Ok(false) };
            let ties = self.ties.unwrap_or_default();
            if !self.input.next(run)? {
                return Ok(false);
            }
            let row: Row = ties.iter().map(|tie| evaluate(tie, self.input.row(), run)).collect::<Result<_>>()?;
            return Ok(equality.equal(last, &row));
        }
        self.left = Some(left.map(|left| left - 1));
        if !self.input.next(run)? {
            self.left = Some(Some(0));
            self.last = None;
            return Ok(false);
        }
        if let (Some(ties), Some(1)) = (self.ties, left) {
            let row: Row = ties.iter().map(|tie| evaluate(tie, self.input.row(), run)).collect::<Result<_>>()?;
            self.last = Some((row, RowEquality::new(ties.iter().map(|tie| tie.sql_type), run)?));
        }
        Ok(true)
    }

    fn row(&self) -> &[Value] {
        self.input.row()
    }

    fn rescan(&mut self) {
        self.left = None;
        self.last = None;
        self.input.rescan();
    }
}
