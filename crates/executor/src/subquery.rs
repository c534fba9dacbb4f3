//! Subqueries within expressions.

use std::cell::RefCell;

use base::{Error, Result, sqlstate};
use hashbrown::HashTable;
use plan::{Expr, Quantifier, Subquery, SubqueryBody, SubqueryKind};
use types::{SqlType, Value};

use crate::evaluate::evaluate as evaluate_expr;
use crate::row_set::{Row, RowEquality, RowSet};
use crate::spill::{RowStore, StoreReader, hash_memory_bytes, sort_memory_bytes};
use crate::{BoxOperator, Run, build_to_run};

/// A subquery of a running statement.
pub struct SubqueryState<'p> {
    operator: BoxOperator<'p>,
    has_started: bool,
    /// The result, or the rows, of one that is the same for the whole statement.
    kept: Option<Kept>,
}

enum Kept {
    Value(Value),
    Rows(RowStore),
    /// The only row there may be.
    Only(Option<Row>),
    /// The rows, those that hold a NULL apart.
    Hashed {
        rows: HashedRows,
        with_nulls: RowStore,
    },
}

/// Rows that are looked up by their values. In memory each is there once; when they outgrow it, only their hashes
/// and places stay there.
#[derive(Default)]
struct HashedRows {
    memory: RowSet,
    spilled: Option<(HashTable<(u64, u32)>, RowStore)>,
    reader: RefCell<StoreReader>,
}

impl HashedRows {
    fn insert(&mut self, row: &[Value], limit_bytes: usize, run: &Run<'_, '_>) -> Result<()> {
        let equality = RowEquality::OfValues;
        if self.spilled.is_none() {
            self.memory.insert(row, &equality);
            if self.memory.bytes() <= limit_bytes {
                return Ok(());
            }
            let mut spilled = (HashTable::new(), RowStore::default());
            let memory = std::mem::take(&mut self.memory);
            for row in memory.rows() {
                add_spilled(&mut spilled, row, run)?;
            }
            self.spilled = Some(spilled);
            self.reader = RefCell::new(StoreReader::random());
            return Ok(());
        }
        add_spilled(self.spilled.as_mut().expect("looked at above"), row, run)
    }

    /// All rows are there.
    fn finish(&mut self) -> Result<()> {
        self.spilled.as_mut().map_or(Ok(()), |(_, store)| store.flush())
    }

    fn contains(&self, row: &[Value]) -> Result<bool> {
        let equality = RowEquality::OfValues;
        let Some((table, store)) = &self.spilled else { return Ok(self.memory.contains(row, &equality)) };
        let hash = equality.hash(row);
        let mut reader = self.reader.borrow_mut();
        for (_, index) in table.iter_hash(hash).filter(|(found, _)| *found == hash) {
            if equality.equal(reader.read(store, *index as usize)?, row) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `test` is true for one of the rows.
    fn any(&self, mut test: impl FnMut(&[Value]) -> Result<bool>) -> Result<bool> {
        match &self.spilled {
            Some((_, store)) => any_of(store, test),
            None => {
                for row in self.memory.rows() {
                    if test(row)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

fn add_spilled(spilled: &mut (HashTable<(u64, u32)>, RowStore), row: &[Value], run: &Run<'_, '_>) -> Result<()> {
    let (table, store) = spilled;
    let hash = RowEquality::OfValues.hash(row);
    let too_many = || Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a subquery gave too many rows");
    let index = u32::try_from(store.len()).map_err(|_| too_many())?;
    table.insert_unique(hash, (hash, index), |found| found.0);
    store.push(row, 0, run)
}

/// Whether `test` is true for one of the rows.
fn any_of(store: &RowStore, mut test: impl FnMut(&[Value]) -> Result<bool>) -> Result<bool> {
    let mut reader = StoreReader::default();
    for index in 0..store.len() {
        if test(reader.read(store, index)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The value of a subquery for `row`; of an ARRAY subquery, of type `sql_type`.
///
/// # Errors
/// 21000 when a scalar one gives several rows, and what its plan raises.
pub fn evaluate<'p>(query: &'p Subquery, sql_type: SqlType, row: &[Value], run: &mut Run<'_, 'p>) -> Result<Value> {
    run.check_depth()?;
    for (index, argument) in &query.arguments {
        let value = evaluate_expr(argument, row, run)?;
        run.locals.outer[*index as usize] = value;
    }
    let id = query.id as usize;
    let mut state = match run.locals.subqueries[id].take() {
        Some(state) => state,
        None => {
            let SubqueryBody::Planned(plan) = &query.body else {
                return Err(Error::internal("an unplanned subquery reached the executor"));
            };
            Box::new(SubqueryState { operator: build_to_run(plan, run.locals)?, has_started: false, kept: None })
        }
    };
    let result = evaluate_with(query, sql_type, &mut state, row, run);
    run.locals.subqueries[id] = Some(state);
    result
}

fn evaluate_with<'p>(
    query: &'p Subquery,
    sql_type: SqlType,
    state: &mut SubqueryState<'p>,
    row: &[Value],
    run: &mut Run<'_, 'p>,
) -> Result<Value> {
    if let SubqueryKind::Quantified { quantifier, left, comparisons, any_column, hashable } = &query.kind {
        let left: Row = left.iter().map(|expr| evaluate_expr(expr, row, run)).collect::<Result<_>>()?;
        if *hashable && !query.correlated && *quantifier == Quantifier::Any {
            return probe(state, &left, run);
        }
        if *quantifier == Quantifier::Only {
            return compare_only(query, state, &left, comparisons, *any_column, run);
        }
        return compare_all(query, state, *quantifier, &left, comparisons, *any_column, run);
    }
    if let Some(Kept::Value(value)) = &state.kept {
        return Ok(value.clone());
    }
    start(state);
    let value = match &query.kind {
        SubqueryKind::Exists => Value::Bool(state.operator.next(run)?),
        SubqueryKind::Scalar => {
            if state.operator.next(run)? {
                let value = state.operator.row()[0].clone();
                if state.operator.next(run)? {
                    return Err(more_than_one_row());
                }
                value
            } else {
                Value::Null
            }
        }
        SubqueryKind::Array { of_arrays } => {
            let element = types::element_type(&run.catalog, sql_type.oid)
                .ok_or_else(|| Error::internal("an ARRAY subquery of a type that is no array"))?;
            let mut values = Vec::new();
            while state.operator.next(run)? {
                sync::yield_point()?;
                values.push(state.operator.row()[0].clone());
            }
            if *of_arrays { types::stacked_array(element, &values)? } else { Value::array(element, values) }
        }
        SubqueryKind::Quantified { .. } => unreachable!("handled above"),
    };
    if !query.correlated {
        state.kept = Some(Kept::Value(value.clone()));
    }
    Ok(value)
}

fn start(state: &mut SubqueryState<'_>) {
    if state.has_started {
        state.operator.rescan();
    }
    state.has_started = true;
}

/// `left IN (subquery)` by a hash table of its rows.
fn probe<'p>(state: &mut SubqueryState<'p>, left: &[Value], run: &mut Run<'_, 'p>) -> Result<Value> {
    if state.kept.is_none() {
        start(state);
        let (mut rows, mut with_nulls) = (HashedRows::default(), RowStore::default());
        let limit_bytes = hash_memory_bytes(run);
        while state.operator.next(run)? {
            sync::yield_point()?;
            let row = state.operator.row();
            if row.iter().any(Value::is_null) {
                with_nulls.push(row, limit_bytes, run)?;
            } else {
                rows.insert(row, limit_bytes, run)?;
            }
        }
        rows.finish()?;
        with_nulls.flush()?;
        state.kept = Some(Kept::Hashed { rows, with_nulls });
    }
    let Some(Kept::Hashed { rows, with_nulls }) = &state.kept else {
        return Err(Error::internal("a subquery changed its kind"));
    };
    let left_has_null = left.iter().any(Value::is_null);
    if !left_has_null && rows.contains(left)? {
        return Ok(Value::Bool(true));
    }
    // Unknown is what could be equal if its NULLs were something else.
    let mut may_be_equal = |row: &[Value]| -> Result<bool> {
        sync::yield_point()?;
        Ok(left.iter().zip(row).all(|(left, right)| {
            let equal =
                |left, right| RowEquality::OfValues.equal(std::slice::from_ref(left), std::slice::from_ref(right));
            left.is_null() || right.is_null() || equal(left, right)
        }))
    };
    if any_of(with_nulls, &mut may_be_equal)? || (left_has_null && rows.any(may_be_equal)?) {
        return Ok(Value::Null);
    }
    Ok(Value::Bool(false))
}

#[cold]
fn more_than_one_row() -> Error {
    let message = "more than one row returned by a subquery used as an expression";
    Error::new(sqlstate::CARDINALITY_VIOLATION, message)
}

/// `left operator (subquery)`, which gives one row at most.
fn compare_only<'p>(
    query: &'p Subquery,
    state: &mut SubqueryState<'p>,
    left: &[Value],
    comparisons: &'p [Expr],
    any_column: bool,
    run: &mut Run<'_, 'p>,
) -> Result<Value> {
    let mut row = match state.kept.take() {
        Some(Kept::Only(row)) => row,
        _ => {
            start(state);
            let mut only = None;
            if state.operator.next(run)? {
                only = Some(Row::from(state.operator.row()));
                if state.operator.next(run)? {
                    return Err(more_than_one_row());
                }
            }
            only
        }
    };
    let result = match &mut row {
        None => None,
        Some(row) => {
            let mut pair = left.to_vec();
            pair.extend_from_slice(row);
            compare_row(comparisons, any_column, &pair, run)?
        }
    };
    if !query.correlated {
        state.kept = Some(Kept::Only(row));
    }
    Ok(result.map_or(Value::Null, Value::Bool))
}

/// `left operator ANY|ALL (subquery)`, row by row.
fn compare_all<'p>(
    query: &'p Subquery,
    state: &mut SubqueryState<'p>,
    quantifier: Quantifier,
    left: &[Value],
    comparisons: &'p [Expr],
    any_column: bool,
    run: &mut Run<'_, 'p>,
) -> Result<Value> {
    let mut kept = match state.kept.take() {
        Some(Kept::Rows(rows)) => Some(rows),
        _ => {
            start(state);
            None
        }
    };
    if kept.is_none() && !query.correlated {
        let mut rows = RowStore::default();
        let limit_bytes = sort_memory_bytes(run);
        while state.operator.next(run)? {
            sync::yield_point()?;
            rows.push(state.operator.row(), limit_bytes, run)?;
        }
        rows.flush()?;
        kept = Some(rows);
    }
    let decisive = quantifier == Quantifier::Any;
    let (mut is_unknown, mut is_decided) = (false, false);
    let mut pair = left.to_vec();
    let mut at = 0;
    let mut reader = StoreReader::default();
    loop {
        pair.truncate(left.len());
        match &kept {
            Some(rows) => {
                if at == rows.len() {
                    break;
                }
                pair.extend_from_slice(reader.read(rows, at)?);
                at += 1;
            }
            None => {
                if !state.operator.next(run)? {
                    break;
                }
                pair.extend_from_slice(state.operator.row());
            }
        }
        sync::yield_point()?;
        match compare_row(comparisons, any_column, &pair, run)? {
            Some(value) if value == decisive => {
                is_decided = true;
                break;
            }
            Some(_) => {}
            None => is_unknown = true,
        }
    }
    state.kept = kept.map(Kept::Rows);
    Ok(match (is_decided, is_unknown) {
        (true, _) => Value::Bool(decisive),
        (false, true) => Value::Null,
        (false, false) => Value::Bool(!decisive),
    })
}

fn compare_row<'p>(
    comparisons: &'p [Expr],
    any_column: bool,
    pair: &[Value],
    run: &mut Run<'_, 'p>,
) -> Result<Option<bool>> {
    if let [comparison] = comparisons {
        return Ok(match evaluate_expr(comparison, pair, run)? {
            Value::Bool(value) => Some(value),
            _ => None,
        });
    }
    let mut is_unknown = false;
    for comparison in comparisons {
        match evaluate_expr(comparison, pair, run)? {
            Value::Bool(value) if value == any_column => return Ok(Some(any_column)),
            Value::Bool(_) => {}
            _ => is_unknown = true,
        }
    }
    Ok(if is_unknown { None } else { Some(!any_column) })
}
