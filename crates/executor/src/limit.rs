//! LIMIT, OFFSET and FETCH.

use base::{Error, Result, sqlstate};
use plan::Expr;
use types::Value;

use crate::evaluate::evaluate;
use crate::row_set::{Row, RowEquality};
use crate::{BoxOperator, Operator, Run};

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
        if let (Some(limit), None) = (limit, self.ties) {
            self.input.set_bound(limit.saturating_add(offset.unwrap_or(0)));
        }
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
