//! Scans of tables, rows of expressions, and the nodes that pass rows on.

use std::ops::Bound;
use std::sync::Arc;

use base::{Result, Tid};
use engine::{Direction, IndexScan, KeyRange, SharedScan, Table, TableScan};
use plan::{Expr, ExprKind, KeyPart, ScanColumn, ScanId};
use schema::catalog::{IndexDef, Persistence, TableDef};
use schema::key::KeyBuffer;
use schema::row::RowBytes;
use types::{CatalogLookup, StorageKind, Value};

use crate::evaluate::{evaluate, is_true};
use crate::read_ahead::{self, Next, ReadAhead};
use crate::row_decoder::RowDecoder;
use crate::row_set::type_of;
use crate::{BoxOperator, Operator, Replacement, Run};

/// One row of expressions.
pub struct ResultRow<'p> {
    exprs: &'p [Expr],
    condition: Option<&'p Expr>,
    row: Vec<Value>,
    is_done: bool,
}

impl<'p> ResultRow<'p> {
    pub fn new(exprs: &'p [Expr], condition: Option<&'p Expr>) -> Self {
        ResultRow { exprs, condition, row: Vec::new(), is_done: false }
    }
}

impl<'p> Operator<'p> for ResultRow<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.is_done {
            return Ok(false);
        }
        self.is_done = true;
        if let Some(condition) = self.condition
            && !is_true(condition, &[], run)?
        {
            return Ok(false);
        }
        evaluate_into(self.exprs, &[], &mut self.row, run)?;
        Ok(true)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.is_done = false;
    }
}

/// Fills `row` with the values of `exprs` over `input`.
pub(super) fn evaluate_into<'p>(
    exprs: &'p [Expr],
    input: &[Value],
    row: &mut Vec<Value>,
    run: &mut Run<'_, 'p>,
) -> Result<()> {
    row.clear();
    row.reserve(exprs.len());
    for expr in exprs {
        let value = evaluate(expr, input, run)?;
        row.push(value);
    }
    Ok(())
}

/// VALUES.
pub struct ValuesRows<'p> {
    rows: &'p [Vec<Expr>],
    at: usize,
    row: Vec<Value>,
}

impl<'p> ValuesRows<'p> {
    pub fn new(rows: &'p [Vec<Expr>]) -> Self {
        ValuesRows { rows, at: 0, row: Vec::new() }
    }
}

impl<'p> Operator<'p> for ValuesRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let Some(exprs) = self.rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        evaluate_into(exprs, &[], &mut self.row, run)?;
        Ok(true)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.at = 0;
    }
}

/// State that all scans of a table have in common: the open table, the decoder and the row.
pub(super) struct ScanBase<'p> {
    scan: ScanId,
    def: &'p Arc<TableDef>,
    columns: &'p [ScanColumn],
    filter: Option<&'p Expr>,
    open: Option<(Arc<Table>, RowDecoder)>,
    /// Reads what the filter doesn't look at, once the filter is passed.
    late: Option<RowDecoder>,
    pub(super) row: Vec<Value>,
    /// The one row of a re-check has been given.
    pub(super) gave_replacement: bool,
    /// Many rows may fail the filter: what it doesn't look at is read only of those that pass.
    divides: bool,
}

/// The slots that a filter looks at, and the others.
fn divide_columns(filter: &Expr, columns: &[ScanColumn]) -> (Vec<(usize, ScanColumn)>, Vec<(usize, ScanColumn)>) {
    fn mark(expr: &Expr, looked_at: &mut [bool]) {
        if let ExprKind::Column(slot) = expr.kind
            && let Some(mark) = looked_at.get_mut(slot as usize)
        {
            *mark = true;
        }
        expr.for_each_child(&mut |child| mark(child, looked_at));
    }
    let mut looked_at = vec![false; columns.len()];
    mark(filter, &mut looked_at);
    columns.iter().copied().enumerate().partition(|(slot, _)| looked_at[*slot])
}

/// The decoder of the columns that `filter` looks at (of all columns without a filter), and the decoder of the others.
fn decoders(
    table: &TableDef,
    columns: &[ScanColumn],
    filter: Option<&Expr>,
    catalog: &dyn CatalogLookup,
) -> (RowDecoder, Option<RowDecoder>) {
    let Some(filter) = filter else { return (RowDecoder::of_scan(table, columns, catalog), None) };
    let (early, late) = divide_columns(filter, columns);
    let late = (!late.is_empty()).then(|| RowDecoder::new(table, &late, catalog));
    (RowDecoder::new(table, &early, catalog), late)
}

impl<'p> ScanBase<'p> {
    pub(super) fn new(
        scan: ScanId,
        def: &'p Arc<TableDef>,
        columns: &'p [ScanColumn],
        filter: Option<&'p Expr>,
    ) -> Self {
        let row = vec![Value::Null; columns.len()];
        ScanBase { scan, def, columns, filter, open: None, late: None, row, gave_replacement: false, divides: false }
    }

    pub(super) fn open(&mut self, run: &Run<'_, 'p>) -> Result<Arc<Table>> {
        if let Some((table, _)) = &self.open {
            return Ok(Arc::clone(table));
        }
        let table = run.engine().open_table(self.def.oid)?;
        // An empty one has nothing to hide.
        if table.def.persistence == Persistence::Temporary && table.block_count()? > 0 {
            run.state.refuse_foreign_temporary(table.def.schema, "access")?;
        }
        let filter = self.filter.filter(|_| self.divides);
        let (decoder, late) = decoders(&table.def, self.columns, filter, &run.catalog);
        self.late = late;
        self.open = Some((Arc::clone(&table), decoder));
        Ok(table)
    }

    /// Decodes one stored row; whether it passes `also` and the filter.
    #[inline]
    pub(super) fn accept(&mut self, tid: Tid, bytes: &[u8], run: &mut Run<'_, 'p>) -> Result<bool> {
        let (table, decoder) = self.open.as_ref().expect("a scan is opened before it accepts rows");
        decoder.decode(table, bytes, tid, &mut self.row)?;
        if let Some(filter) = self.filter
            && !is_true(filter, &self.row, run)?
        {
            run.locals.removed_rows += 1;
            return Ok(false);
        }
        if let Some(late) = &self.late {
            late.decode(table, bytes, tid, &mut self.row)?;
        }
        if let Some(kept) = run.locals.kept_row(self.scan) {
            kept.tid = tid;
            kept.bytes.copy_from(bytes);
        }
        Ok(true)
    }

    /// During a re-check of this scan: its one row. `None` if there is no re-check of it. Of an index scan, `range`
    /// says which rows it may give.
    pub(super) fn replaced(
        &mut self,
        range: Option<(&IndexDef, &'p plan::IndexRange)>,
        run: &mut Run<'_, 'p>,
    ) -> Result<Option<bool>> {
        let Replacement::Only(only) = run.locals.replacement(self.scan) else { return Ok(None) };
        if self.gave_replacement {
            return Ok(Some(false));
        }
        self.gave_replacement = true;
        let Some((tid, bytes)) = only.clone() else { return Ok(Some(false)) };
        let table = self.open(run)?;
        if let Some((index, range)) = range {
            let ranges = key_ranges(index, &table.def, range, run)?;
            if !is_in_ranges(index, &table, &bytes, &ranges, run)? {
                return Ok(Some(false));
            }
        }
        self.accept(tid, &bytes, run).map(Some)
    }
}

/// Every visible row of a table.
pub struct SeqScanRows<'p> {
    base: ScanBase<'p>,
    cursor: Option<TableScan>,
    /// The part of the table after the cursor's blocks, to be read with helpers.
    rest: Option<(SharedScan, usize)>,
    ahead: Option<ReadAhead>,
    /// Whether helpers have applied the filter.
    is_filtered: bool,
    /// The last row is of those read ahead.
    gives_ahead: bool,
}

impl<'p> SeqScanRows<'p> {
    pub fn new(node: &'p plan::SeqScan) -> Self {
        let mut base = ScanBase::new(node.scan, &node.table, &node.columns, node.filter.as_ref());
        base.divides = true;
        SeqScanRows { base, cursor: None, rest: None, ahead: None, is_filtered: false, gives_ahead: false }
    }

    fn begin(&mut self, run: &mut Run<'_, 'p>) -> Result<()> {
        let table = self.base.open(run)?;
        let mut cursor = run.engine().scan(&table)?;
        // A statement that changes the rows needs their stored bytes, which helpers do not keep.
        if run.locals.kept_row(self.base.scan).is_none() {
            self.rest = read_ahead::divide(&mut cursor, run);
        }
        self.cursor = Some(cursor);
        Ok(())
    }

    /// Goes on after the cursor's blocks; false at the end.
    fn go_on(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if let Some(rest) = self.rest.take() {
            let base = &self.base;
            let filter = base.filter.filter(|filter| read_ahead::is_self_contained(filter, run.parameters));
            self.is_filtered = filter.is_some() || base.filter.is_none();
            let decoders = decoders(&rest.0.table().def, base.columns, filter, &run.catalog);
            self.ahead = Some(ReadAhead::new(rest, decoders, filter, base.columns.len(), run));
        }
        let Some(ahead) = &mut self.ahead else { return Ok(false) };
        self.gives_ahead = match ahead.go_on(run)? {
            Next::Rows => {
                run.locals.removed_rows += ahead.removed_rows();
                true
            }
            Next::Alone(blocks) => {
                self.cursor.as_mut().expect("opened at the beginning").continue_with(blocks);
                false
            }
            Next::End => return Ok(false),
        };
        Ok(true)
    }
}

impl<'p> Operator<'p> for SeqScanRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if self.cursor.is_none() {
            // A re-check has operators of its own, from the first row on.
            if let Some(answer) = self.base.replaced(None, run)? {
                return Ok(answer);
            }
            self.begin(run)?;
        }
        loop {
            sync::yield_point()?;
            if self.gives_ahead
                && let Some(ahead) = &mut self.ahead
            {
                if !ahead.advance() {
                    if !self.go_on(run)? {
                        return Ok(false);
                    }
                    continue;
                }
                match self.base.filter {
                    Some(filter) if !self.is_filtered && !is_true(filter, ahead.row(), run)? => {
                        run.locals.removed_rows += 1;
                        continue;
                    }
                    _ => return Ok(true),
                }
            }
            let cursor = self.cursor.as_mut().expect("opened above");
            let engine = run.engine();
            match cursor.next(&engine)? {
                Some((tid, bytes)) => {
                    drop(engine);
                    if self.base.accept(tid, bytes, run)? {
                        return Ok(true);
                    }
                }
                None => {
                    drop(engine);
                    if !self.go_on(run)? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn row(&self) -> &[Value] {
        match &self.ahead {
            Some(ahead) if self.gives_ahead => ahead.row(),
            _ => &self.base.row,
        }
    }

    fn rescan(&mut self) {
        (self.cursor, self.rest, self.ahead, self.gives_ahead) = (None, None, None, false);
        self.base.gave_replacement = false;
    }
}

/// The rows of a table within a range of an index.
pub struct IndexScanRows<'p> {
    node: &'p plan::IndexScan,
    base: ScanBase<'p>,
    /// Ranges not yet begun, the next one last; `None` before the first row.
    ranges: Option<Vec<KeyRange>>,
    cursor: Option<IndexScan>,
}

impl<'p> IndexScanRows<'p> {
    pub fn new(node: &'p plan::IndexScan) -> Self {
        let base = ScanBase::new(node.scan, &node.table, &node.columns, node.filter.as_ref());
        IndexScanRows { node, base, ranges: None, cursor: None }
    }

    fn direction(&self) -> Direction {
        if self.node.backward { Direction::Backward } else { Direction::Forward }
    }
}

impl<'p> Operator<'p> for IndexScanRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if let Some(answer) = self.base.replaced(Some((&self.node.index, &self.node.range)), run)? {
            return Ok(answer);
        }
        loop {
            if let Some(cursor) = &mut self.cursor {
                loop {
                    sync::yield_point()?;
                    let engine = run.engine();
                    let Some((tid, bytes)) = cursor.next(&engine)? else { break };
                    drop(engine);
                    if self.base.accept(tid, bytes, run)? {
                        return Ok(true);
                    }
                }
                self.cursor = None;
            }
            if self.ranges.is_none() {
                let mut ranges = key_ranges(&self.node.index, &self.node.table, &self.node.range, run)?;
                if !self.node.backward {
                    ranges.reverse();
                }
                self.ranges = Some(ranges);
            }
            let Some(range) = self.ranges.as_mut().and_then(Vec::pop) else { return Ok(false) };
            let table = self.base.open(run)?;
            let position = self.node.index_position as usize;
            self.cursor = Some(run.engine().index_scan(&table, position, range, self.direction())?);
        }
    }

    fn row(&self) -> &[Value] {
        &self.base.row
    }

    fn rescan(&mut self) {
        self.ranges = None;
        self.cursor = None;
        self.base.gave_replacement = false;
    }
}

/// The one row of a table with a given unique key.
pub struct IndexPointRow<'p> {
    node: &'p plan::IndexPoint,
    base: ScanBase<'p>,
    bytes: RowBytes,
    key: KeyBuffer,
    is_done: bool,
}

impl<'p> IndexPointRow<'p> {
    pub fn new(node: &'p plan::IndexPoint) -> Self {
        let base = ScanBase::new(node.scan, &node.table, &node.columns, node.filter.as_ref());
        IndexPointRow { node, base, bytes: RowBytes::new(), key: KeyBuffer::new(), is_done: false }
    }

    /// Makes the key; false if no row can have it.
    fn make_key(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        self.key.clear();
        for (number, expr) in self.node.key.iter().enumerate() {
            let value = evaluate(expr, &[], run)?;
            if !push_equal(&self.node.index, &self.node.table, number, &value, &run.catalog, &mut self.key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As [`ScanBase::replaced`]: the one row, if it still has the key.
    fn replaced(&mut self, run: &mut Run<'_, 'p>) -> Result<Option<bool>> {
        let Replacement::Only(only) = run.locals.replacement(self.base.scan) else { return Ok(None) };
        let only = only.clone();
        if let Some((_, bytes)) = only {
            if !self.make_key(run)? {
                return Ok(Some(false));
            }
            let (lower, upper) = self.key.prefix_range();
            let table = self.base.open(run)?;
            if !is_in_ranges(&self.node.index, &table, &bytes, &[KeyRange { lower, upper }], run)? {
                return Ok(Some(false));
            }
        }
        self.base.replaced(None, run)
    }
}

impl<'p> Operator<'p> for IndexPointRow<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if let Some(answer) = self.replaced(run)? {
            return Ok(answer);
        }
        if self.is_done {
            return Ok(false);
        }
        self.is_done = true;
        if !self.make_key(run)? {
            return Ok(false);
        }
        let table = self.base.open(run)?;
        let position = self.node.index_position as usize;
        let (engine, key) = (run.engine(), self.key.as_slice());
        let found = if self.node.is_changed {
            engine.index_point_to_change(&table, position, key, &mut self.bytes)?
        } else {
            engine.index_point(&table, position, key, &mut self.bytes)?
        };
        drop(engine);
        match found {
            Some(tid) => self.base.accept(tid, &self.bytes, run),
            None => Ok(false),
        }
    }

    fn row(&self) -> &[Value] {
        &self.base.row
    }

    fn rescan(&mut self) {
        self.is_done = false;
        self.base.gave_replacement = false;
    }
}

/// An integer beside the type of an index column.
enum Fitted {
    Value(Value),
    BelowAll,
    AboveAll,
}

/// Makes an integer of another width one of the column's.
fn fit(value: &Value, kind: StorageKind) -> Fitted {
    let Some(number) = value.as_i64() else { return Fitted::Value(value.clone()) };
    let (low, high) = match kind {
        StorageKind::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        StorageKind::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    if number < low {
        return Fitted::BelowAll;
    }
    if number > high {
        return Fitted::AboveAll;
    }
    Fitted::Value(match kind {
        StorageKind::Int2 => Value::Int2(number as i16),
        StorageKind::Int4 => Value::Int4(number as i32),
        StorageKind::Int8 => Value::Int8(number),
        _ => value.clone(),
    })
}

/// How the values of an index's key column are stored; `None` for an expression, whose kind its value tells.
pub(super) fn key_kind(
    index: &IndexDef,
    table: &TableDef,
    number: usize,
    value: &Value,
    catalog: &dyn CatalogLookup,
) -> StorageKind {
    match index.keys[number].column {
        Some(column) => StorageKind::of(catalog, table.columns[column].type_oid),
        None => StorageKind::of(catalog, type_of(value)),
    }
}

/// Appends `column = value` to a key; false if no row can match.
fn push_equal(
    index: &IndexDef,
    table: &TableDef,
    number: usize,
    value: &Value,
    catalog: &dyn CatalogLookup,
    key: &mut KeyBuffer,
) -> Result<bool> {
    if value.is_null() {
        return Ok(false);
    }
    let kind = key_kind(index, table, number, value, catalog);
    match fit(value, kind) {
        Fitted::Value(value) => {
            let part = &index.keys[number];
            kind.push_value_key(&value, part.descending, part.nulls_first, key)?;
            Ok(true)
        }
        Fitted::BelowAll | Fitted::AboveAll => Ok(false),
    }
}

/// The ranges of keys that a condition names, in the index's order.
fn key_ranges<'p>(
    index: &IndexDef,
    table: &TableDef,
    range: &'p plan::IndexRange,
    run: &mut Run<'_, 'p>,
) -> Result<Vec<KeyRange>> {
    let mut prefixes = vec![KeyBuffer::new()];
    for (number, part) in range.equal.iter().enumerate() {
        match part {
            KeyPart::IsNull => {
                let nulls_first = index.keys[number].nulls_first;
                prefixes.iter_mut().for_each(|prefix| prefix.push_null(nulls_first));
            }
            KeyPart::Equal(expr) => {
                let value = evaluate(expr, &[], run)?;
                for prefix in &mut prefixes {
                    if !push_equal(index, table, number, &value, &run.catalog, prefix)? {
                        return Ok(Vec::new());
                    }
                }
            }
            KeyPart::AnyOf(expr) => {
                let Value::Array(array) = evaluate(expr, &[], run)? else { return Ok(Vec::new()) };
                let mut all = Vec::with_capacity(array.values.len() * prefixes.len());
                for prefix in &prefixes {
                    for value in &array.values {
                        let mut key = prefix.clone();
                        if push_equal(index, table, number, value, &run.catalog, &mut key)? {
                            all.push(key);
                        }
                    }
                }
                all.sort();
                all.dedup();
                prefixes = all;
            }
        }
    }
    let next = range.equal.len();
    let lower = bound_value(range.lower.as_ref(), run)?;
    let upper = bound_value(range.upper.as_ref(), run)?;
    if matches!(&lower, Some((Value::Null, _))) || matches!(&upper, Some((Value::Null, _))) {
        return Ok(Vec::new());
    }
    let mut ranges = Vec::with_capacity(prefixes.len());
    for prefix in prefixes {
        if lower.is_none() && upper.is_none() && !range.skip_nulls {
            let (lower, upper) =
                if prefix.as_slice().is_empty() { (Bound::Unbounded, Bound::Unbounded) } else { prefix.prefix_range() };
            ranges.push(KeyRange { lower, upper });
            continue;
        }
        if let Some(range) = bounded_range(index, table, next, &prefix, lower.as_ref(), upper.as_ref(), run)? {
            ranges.push(range);
        }
    }
    Ok(ranges)
}

fn bound_value<'p>(bound: Option<&'p (Expr, bool)>, run: &mut Run<'_, 'p>) -> Result<Option<(Value, bool)>> {
    bound.map(|(expr, is_inclusive)| Ok((evaluate(expr, &[], run)?, *is_inclusive))).transpose()
}

/// The keys below `prefix` whose next value lies between two bounds and is not NULL; `None` if there is none.
fn bounded_range(
    index: &IndexDef,
    table: &TableDef,
    number: usize,
    prefix: &KeyBuffer,
    lower: Option<&(Value, bool)>,
    upper: Option<&(Value, bool)>,
    run: &Run<'_, '_>,
) -> Result<Option<KeyRange>> {
    let part = &index.keys[number];
    // In a descending column the greatest value comes first.
    let (first, last) = if part.descending { (upper, lower) } else { (lower, upper) };
    let encode = |value: &Value| -> Result<std::result::Result<KeyBuffer, Fitted>> {
        let kind = key_kind(index, table, number, value, &run.catalog);
        match fit(value, kind) {
            Fitted::Value(value) => {
                let mut key = prefix.clone();
                kind.push_value_key(&value, part.descending, part.nulls_first, &mut key)?;
                Ok(Ok(key))
            }
            outside => Ok(Err(outside)),
        }
    };
    // Where the values begin and end, without the NULLs on their side.
    let values_begin = || {
        let mut key = prefix.clone();
        if part.nulls_first {
            key.push_null(true);
            key.after_prefix().map_or(Bound::Unbounded, Bound::Included)
        } else {
            Bound::Included(prefix.as_slice().to_vec())
        }
    };
    let values_end = || {
        if part.nulls_first {
            prefix.after_prefix().map_or(Bound::Unbounded, Bound::Excluded)
        } else {
            let mut key = prefix.clone();
            key.push_null(false);
            Bound::Excluded(key.as_slice().to_vec())
        }
    };
    let is_before_all = |outside: &Fitted| matches!(outside, Fitted::BelowAll) != part.descending;
    let from = match first {
        None => values_begin(),
        Some((value, is_inclusive)) => match encode(value)? {
            Ok(key) if *is_inclusive => Bound::Included(key.as_slice().to_vec()),
            Ok(key) => match key.after_prefix() {
                Some(after) => Bound::Included(after),
                None => return Ok(None),
            },
            Err(outside) if is_before_all(&outside) => values_begin(),
            Err(_) => return Ok(None),
        },
    };
    let to = match last {
        None => values_end(),
        Some((value, is_inclusive)) => match encode(value)? {
            Ok(key) if *is_inclusive => key.after_prefix().map_or(Bound::Unbounded, Bound::Excluded),
            Ok(key) => Bound::Excluded(key.as_slice().to_vec()),
            Err(outside) if is_before_all(&outside) => return Ok(None),
            Err(_) => values_end(),
        },
    };
    Ok(Some(KeyRange { lower: from, upper: to }))
}

/// Whether a stored row's key lies in one of the ranges. The keys of expressions are not made again: the conditions that the ranges
/// were made of are in the filter then.
fn is_in_ranges(index: &IndexDef, table: &Table, bytes: &[u8], ranges: &[KeyRange], run: &Run<'_, '_>) -> Result<bool> {
    let mut key = KeyBuffer::new();
    let view = table.row(bytes);
    for part in &index.keys {
        let Some(column) = part.column else { return Ok(true) };
        let kind = StorageKind::of(&run.catalog, table.def.columns[column].type_oid);
        kind.push_datum_key(view.get(column), part.descending, part.nulls_first, &mut key)?;
    }
    let key = key.as_slice();
    Ok(ranges.iter().any(|range| {
        let after_lower = match &range.lower {
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
            Bound::Unbounded => true,
        };
        let before_upper = match &range.upper {
            Bound::Included(upper) => key <= upper.as_slice(),
            Bound::Excluded(upper) => key < upper.as_slice(),
            Bound::Unbounded => true,
        };
        after_lower && before_upper
    }))
}

/// Rows for which the condition is true.
pub struct Filter<'p> {
    input: BoxOperator<'p>,
    condition: &'p Expr,
}

impl<'p> Filter<'p> {
    pub fn new(input: BoxOperator<'p>, condition: &'p Expr) -> Self {
        Filter { input, condition }
    }
}

impl<'p> Operator<'p> for Filter<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        while self.input.next(run)? {
            if is_true(self.condition, self.input.row(), run)? {
                return Ok(true);
            }
            run.locals.removed_rows += 1;
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

/// Returns all input rows if the condition is true, and none otherwise. The condition reads no row and is computed once.
pub struct OneTimeFilter<'p> {
    input: BoxOperator<'p>,
    condition: &'p Expr,
    is_open: Option<bool>,
}

impl<'p> OneTimeFilter<'p> {
    pub fn new(input: BoxOperator<'p>, condition: &'p Expr) -> Self {
        OneTimeFilter { input, condition, is_open: None }
    }
}

impl<'p> Operator<'p> for OneTimeFilter<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        let is_open = match self.is_open {
            Some(is_open) => is_open,
            None => *self.is_open.insert(is_true(self.condition, &[], run)?),
        };
        if is_open { self.input.next(run) } else { Ok(false) }
    }

    fn row(&self) -> &[Value] {
        self.input.row()
    }

    fn rescan(&mut self) {
        self.is_open = None;
        self.input.rescan();
    }

    fn set_bound(&mut self, rows: u64) {
        self.input.set_bound(rows);
    }
}

/// Expressions over each row.
pub struct Project<'p> {
    input: BoxOperator<'p>,
    exprs: &'p [Expr],
    row: Vec<Value>,
}

impl<'p> Project<'p> {
    pub fn new(input: BoxOperator<'p>, exprs: &'p [Expr]) -> Self {
        Project { input, exprs, row: Vec::new() }
    }
}

impl<'p> Operator<'p> for Project<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        if !self.input.next(run)? {
            return Ok(false);
        }
        evaluate_into(self.exprs, self.input.row(), &mut self.row, run)?;
        Ok(true)
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.input.rescan();
    }

    fn set_bound(&mut self, rows: u64) {
        self.input.set_bound(rows);
    }
}
