//! Window functions.

use base::{Error, Result, sqlstate};

use super::aggregate::Accumulator;
use super::evaluate::{evaluate, evaluate_arguments};
use super::row_set::{Row, RowEquality};
use super::sort::{RowOrder, sort_keys_of};
use super::{BoxOperator, Operator, Run};
use crate::plan::{self, WindowCall, WindowFrameBound, WindowFrameMode, WindowTarget};
use crate::types::{AggregateDef, Value, WindowFunction};

/// Window functions over partitions of a sorted input.
pub struct WindowRows<'p> {
    node: &'p plan::Window,
    input: BoxOperator<'p>,
    /// The first row of the next partition.
    pending: Option<(Row, Row)>,
    is_at_end: bool,
    /// Finished rows of the current partition, the next one last.
    finished: Vec<Row>,
    row: Row,
}

/// One partition: its rows, and where each row's peers begin and end.
struct Partition {
    rows: Vec<Row>,
    peers: Vec<(usize, usize)>,
}

impl<'p> WindowRows<'p> {
    pub fn new(node: &'p plan::Window, input: BoxOperator<'p>) -> Self {
        WindowRows { node, input, pending: None, is_at_end: false, finished: Vec::new(), row: Row::default() }
    }

    fn next_input(&mut self, run: &mut Run<'_, 'p>) -> Result<Option<(Row, Row)>> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        if self.is_at_end || !self.input.next(run)? {
            self.is_at_end = true;
            return Ok(None);
        }
        run.step()?;
        let row = Row::from(self.input.row());
        let key: Row = self.node.partition.iter().map(|expr| evaluate(expr, &row, run)).collect::<Result<_>>()?;
        Ok(Some((key, row)))
    }

    fn next_partition(&mut self, run: &mut Run<'_, 'p>) -> Result<Option<Partition>> {
        let Some((key, first)) = self.next_input(run)? else { return Ok(None) };
        let equality = RowEquality::new(self.node.partition.iter().map(|expr| expr.sql_type), run)?;
        let mut rows = vec![first];
        while let Some((next_key, row)) = self.next_input(run)? {
            if !equality.equal(&key, &next_key) {
                self.pending = Some((next_key, row));
                break;
            }
            rows.push(row);
        }
        let order = RowOrder::new(&self.node.order, run)?;
        let mut peers = Vec::with_capacity(rows.len());
        let mut start = 0;
        let keys: Vec<Row> = rows.iter().map(|row| sort_keys_of(&self.node.order, row, run)).collect::<Result<_>>()?;
        while start < rows.len() {
            let mut end = start + 1;
            while end < rows.len() && order.compare(&keys[start], &keys[end]).is_eq() {
                end += 1;
            }
            peers.extend(std::iter::repeat_n((start, end), end - start));
            start = end;
        }
        Ok(Some(Partition { rows, peers }))
    }

    fn finish(&mut self, partition: Partition, run: &mut Run<'_, 'p>) -> Result<()> {
        let mut columns = Vec::with_capacity(self.node.calls.len());
        for call in &self.node.calls {
            columns.push(match &call.function {
                WindowTarget::Aggregate(aggregate) => aggregate_column(call, aggregate, &partition, run)?,
                WindowTarget::Window(function) => {
                    let crate::types::Implementation::Window(kind) = function.implementation else {
                        return Err(Error::internal(format!("{} is no window function", function.name)));
                    };
                    window_column(kind, call, &partition, run)?
                }
            });
        }
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for row in partition.rows {
            let mut values = row.into_vec();
            for column in &mut columns {
                values.push(column.next().unwrap_or_default());
            }
            self.finished.push(values.into_boxed_slice());
        }
        self.finished.reverse();
        Ok(())
    }
}

impl<'p> Operator<'p> for WindowRows<'p> {
    fn next(&mut self, run: &mut Run<'_, 'p>) -> Result<bool> {
        loop {
            if let Some(row) = self.finished.pop() {
                self.row = row;
                return Ok(true);
            }
            let Some(partition) = self.next_partition(run)? else { return Ok(false) };
            self.finish(partition, run)?;
        }
    }

    fn row(&self) -> &[Value] {
        &self.row
    }

    fn rescan(&mut self) {
        self.pending = None;
        self.is_at_end = false;
        self.finished.clear();
        self.input.rescan();
    }
}

/// Where the frame of row `at` begins and ends.
fn frame<'p>(call: &'p WindowCall, at: usize, partition: &Partition, run: &mut Run<'_, 'p>) -> Result<(usize, usize)> {
    let count = partition.rows.len();
    let mut offset = |bound: &'p WindowFrameBound, what: &str| -> Result<usize> {
        let (WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr)) = bound else { return Ok(0) };
        let value = evaluate(expr, &partition.rows[at], run)?;
        if value.is_null() {
            let message = format!("frame {what} offset must not be null");
            return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        }
        value.as_i64().and_then(|value| usize::try_from(value).ok()).ok_or_else(|| {
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("frame {what} offset must not be negative"))
        })
    };
    let (start_offset, end_offset) = (offset(&call.frame.start, "starting")?, offset(&call.frame.end, "ending")?);
    let has_offset =
        |bound: &WindowFrameBound| matches!(bound, WindowFrameBound::Preceding(_) | WindowFrameBound::Following(_));
    if call.frame.mode == WindowFrameMode::Range && (has_offset(&call.frame.start) || has_offset(&call.frame.end)) {
        return Err(Error::unsupported("RANGE with offset PRECEDING/FOLLOWING is not supported"));
    }
    let place = |bound: &WindowFrameBound, offset: usize, is_start: bool| -> usize {
        let edge = |place: usize| if is_start { place } else { place + 1 };
        match (bound, call.frame.mode) {
            (WindowFrameBound::UnboundedPreceding, _) => 0,
            (WindowFrameBound::UnboundedFollowing, _) => count,
            (WindowFrameBound::CurrentRow, WindowFrameMode::Rows) => edge(at),
            (WindowFrameBound::CurrentRow, _) => {
                let (start, end) = partition.peers[at];
                if is_start { start } else { end }
            }
            (WindowFrameBound::Preceding(_), WindowFrameMode::Rows) => {
                (at + usize::from(!is_start)).saturating_sub(offset)
            }
            (WindowFrameBound::Following(_), WindowFrameMode::Rows) => edge(at.saturating_add(offset)).min(count),
            (WindowFrameBound::Preceding(_), _) => {
                let mut group = partition.peers[at];
                for _ in 0..offset {
                    if group.0 == 0 {
                        return 0;
                    }
                    group = partition.peers[group.0 - 1];
                }
                if is_start { group.0 } else { group.1 }
            }
            (WindowFrameBound::Following(_), _) => {
                let mut group = partition.peers[at];
                for _ in 0..offset {
                    if group.1 >= count {
                        return count;
                    }
                    group = partition.peers[group.1];
                }
                if is_start { group.0 } else { group.1 }
            }
        }
    };
    let start = place(&call.frame.start, start_offset, true);
    let end = place(&call.frame.end, end_offset, false);
    Ok((start, end.max(start)))
}

/// An aggregate over each row's frame.
fn aggregate_column<'p>(
    call: &'p WindowCall,
    aggregate: &AggregateDef,
    partition: &Partition,
    run: &mut Run<'_, 'p>,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(partition.rows.len());
    let mut accumulator = Accumulator::of_window(call, aggregate);
    let (mut from, mut to) = (0, 0);
    for at in 0..partition.rows.len() {
        run.step()?;
        let (start, end) = frame(call, at, partition, run)?;
        // A frame that only grows at its end goes on from the last one.
        if start != from || end < to {
            accumulator = Accumulator::of_window(call, aggregate);
            (from, to) = (start, start);
        }
        for row in &partition.rows[to.max(start)..end] {
            accumulator.take(row, run)?;
        }
        to = end.max(to);
        values.push(accumulator.value(run)?);
    }
    Ok(values)
}

/// A true window function for each row.
fn window_column<'p>(
    kind: WindowFunction,
    call: &'p WindowCall,
    partition: &Partition,
    run: &mut Run<'_, 'p>,
) -> Result<Vec<Value>> {
    let count = partition.rows.len();
    let mut dense_rank = 0i64;
    let mut values = Vec::with_capacity(count);
    for at in 0..count {
        run.step()?;
        let (peers_start, peers_end) = partition.peers[at];
        if peers_start == at {
            dense_rank += 1;
        }
        let row = &partition.rows[at];
        let arguments = evaluate_arguments(&call.arguments, row, run)?;
        let argument_of = |place: Option<usize>, run: &mut Run<'_, 'p>| -> Result<Option<Value>> {
            place.map(|place| evaluate(&call.arguments[0], &partition.rows[place], run)).transpose()
        };
        values.push(match kind {
            WindowFunction::RowNumber => Value::Int8(at as i64 + 1),
            WindowFunction::Rank => Value::Int8(peers_start as i64 + 1),
            WindowFunction::DenseRank => Value::Int8(dense_rank),
            WindowFunction::PercentRank => {
                Value::Float8(if count > 1 { peers_start as f64 / (count - 1) as f64 } else { 0.0 })
            }
            WindowFunction::CumeDist => Value::Float8(peers_end as f64 / count as f64),
            WindowFunction::Ntile => match arguments[0].as_i64() {
                None => Value::Null,
                Some(buckets) if buckets <= 0 => {
                    return Err(Error::new(
                        sqlstate::INVALID_PARAMETER_VALUE,
                        "argument of ntile must be greater than zero",
                    ));
                }
                Some(buckets) => Value::Int4(bucket(at, count, buckets as usize) as i32),
            },
            WindowFunction::Lag | WindowFunction::Lead => {
                let offset = match arguments.get(1) {
                    None => Some(1),
                    Some(value) => value.as_i64(),
                };
                let place = offset.and_then(|offset| {
                    let offset = if kind == WindowFunction::Lag { -offset } else { offset };
                    usize::try_from(at as i64 + offset).ok().filter(|place| *place < count)
                });
                match (offset, argument_of(place, run)?) {
                    (None, _) => Value::Null,
                    (_, Some(value)) => value,
                    (_, None) => arguments.get(2).cloned().unwrap_or_default(),
                }
            }
            WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
                let (start, end) = frame(call, at, partition, run)?;
                let place = match kind {
                    WindowFunction::FirstValue => Some(start),
                    WindowFunction::LastValue => end.checked_sub(1),
                    _ => match arguments[1].as_i64() {
                        Some(number) if number <= 0 => {
                            return Err(Error::new(
                                sqlstate::INVALID_PARAMETER_VALUE,
                                "argument of nth_value must be greater than zero",
                            ));
                        }
                        number => number.map(|number| start + number as usize - 1),
                    },
                };
                argument_of(place.filter(|place| (start..end).contains(place)), run)?.unwrap_or_default()
            }
        });
    }
    Ok(values)
}

/// The bucket from 1 that row `at` of `count` falls in, the first buckets being one larger if need be.
fn bucket(at: usize, count: usize, buckets: usize) -> usize {
    let (size, larger) = (count / buckets, count % buckets);
    let in_larger = larger * (size + 1);
    if at < in_larger { at / (size + 1) + 1 } else { larger + (at - in_larger) / size.max(1) + 1 }
}
