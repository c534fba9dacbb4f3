//! Which rows of a partition a window function sees.

use std::cmp::Ordering;

use base::{Error, Result, sqlstate};
use plan::{FrameExclusion, WindowCall, WindowFrameBound, WindowFrameMode};
use types::compare::compare_values;
use types::datetime::arithmetic;
use types::{EvalContext, Value};

use crate::Run;
use crate::evaluate::evaluate;
use crate::spill::StoreReader;
use crate::window::Partition;

/// A frame: rows from one place up to another, some of them left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub start: usize,
    pub end: usize,
    /// Left out: these rows, but for `kept`.
    excluded: (usize, usize),
    kept: Option<usize>,
}

impl Frame {
    /// Whether rows are left out.
    pub fn has_exclusion(&self) -> bool {
        self.excluded.0 < self.excluded.1
    }

    /// Whether it has the row at a place.
    pub fn contains(&self, at: usize) -> bool {
        let is_excluded = (self.excluded.0..self.excluded.1).contains(&at) && self.kept != Some(at);
        (self.start..self.end).contains(&at) && !is_excluded
    }

    /// The place of its row with this number, from 0.
    pub fn nth(&self, number: usize) -> Option<usize> {
        if !self.has_exclusion() {
            return self.start.checked_add(number).filter(|at| *at < self.end);
        }
        (self.start..self.end).filter(|at| self.contains(*at)).nth(number)
    }

    /// The place of its last row.
    pub fn last(&self) -> Option<usize> {
        (self.start..self.end).rev().find(|at| self.contains(*at))
    }
}

/// How far the bounds of a call's frames lie from the row, where its frame says so: the same for all rows.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    start: Option<Value>,
    end: Option<Value>,
}

/// The offsets of a window's calls, computed once for all of them that have the same frame.
///
/// # Errors
/// 22004 for NULL, 22013 for a negative number of rows or groups.
pub(super) fn offsets<'p>(window: &'p plan::Window, run: &mut Run<'_, 'p>) -> Result<Vec<Offsets>> {
    let mut found: Vec<Offsets> = Vec::with_capacity(window.calls.len());
    for (place, (call, first)) in window.calls.iter().zip(&window.offsets_of).enumerate() {
        let spec = &call.frame;
        found.push(match *first as usize {
            first if first < place => found[first].clone(),
            _ => Offsets {
                start: offset(&spec.start, "starting", spec.mode, run)?,
                end: offset(&spec.end, "ending", spec.mode, run)?,
            },
        });
    }
    Ok(found)
}

/// The frame of the row at `at`.
pub(super) fn frame<'p>(
    call: &'p WindowCall,
    offsets: &Offsets,
    at: usize,
    partition: &Partition<'p>,
    reader: &mut StoreReader,
    run: &mut Run<'_, 'p>,
) -> Result<Frame> {
    let spec = &call.frame;
    let mut place = |bound: &WindowFrameBound, offset: Option<&Value>, is_start: bool| -> Result<usize> {
        match (bound, spec.mode, offset) {
            (WindowFrameBound::UnboundedPreceding, ..) => Ok(0),
            (WindowFrameBound::UnboundedFollowing, ..) => Ok(partition.len()),
            (WindowFrameBound::CurrentRow, WindowFrameMode::Rows, _) => Ok(at + usize::from(!is_start)),
            (WindowFrameBound::Preceding(_), WindowFrameMode::Range, Some(offset)) => {
                in_range(partition, at, offset, true, is_start, reader, run)
            }
            (WindowFrameBound::Following(_), WindowFrameMode::Range, Some(offset)) => {
                in_range(partition, at, offset, false, is_start, reader, run)
            }
            (bound, mode, offset) => {
                let offset = offset.and_then(|offset| offset.as_i64()).unwrap_or(0) as usize;
                Ok(counted(partition, bound, mode, at, offset, is_start))
            }
        }
    };
    let start = place(&spec.start, offsets.start.as_ref(), true)?;
    let end = place(&spec.end, offsets.end.as_ref(), false)?.max(start);
    let peers = partition.peers(at);
    let (excluded, kept) = match spec.exclusion {
        FrameExclusion::NoOthers => ((0, 0), None),
        FrameExclusion::CurrentRow => ((at, at + 1), None),
        FrameExclusion::Group => (peers, None),
        FrameExclusion::Ties => (peers, Some(at)),
    };
    Ok(Frame { start, end, excluded, kept })
}

/// A bound that counts rows or groups of peers.
fn counted(
    partition: &Partition<'_>,
    bound: &WindowFrameBound,
    mode: WindowFrameMode,
    at: usize,
    offset: usize,
    is_start: bool,
) -> usize {
    let count = partition.len();
    match (bound, mode) {
        (WindowFrameBound::Preceding(_), WindowFrameMode::Rows) => (at + usize::from(!is_start)).saturating_sub(offset),
        (WindowFrameBound::Following(_), WindowFrameMode::Rows) => {
            at.saturating_add(offset).saturating_add(usize::from(!is_start)).min(count)
        }
        _ => {
            let mut group = partition.peers(at);
            for _ in 0..offset {
                match bound {
                    WindowFrameBound::Preceding(_) if group.0 == 0 => return 0,
                    WindowFrameBound::Preceding(_) => group = partition.peers(group.0 - 1),
                    _ if group.1 >= count => return count,
                    _ => group = partition.peers(group.1),
                }
            }
            if is_start { group.0 } else { group.1 }
        }
    }
}

fn offset<'p>(
    bound: &'p WindowFrameBound,
    what: &str,
    mode: WindowFrameMode,
    run: &mut Run<'_, 'p>,
) -> Result<Option<Value>> {
    let Some(expr) = bound.offset() else { return Ok(None) };
    let value = evaluate(expr, &[], run)?;
    if value.is_null() {
        let message = format!("frame {what} offset must not be null");
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
    }
    if mode != WindowFrameMode::Range && is_negative(&value) {
        let message = format!("frame {what} offset must not be negative");
        return Err(Error::new(sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message));
    }
    Ok(Some(value))
}

fn is_negative(offset: &Value) -> bool {
    match offset {
        Value::Int8(value) => *value < 0,
        Value::Float8(value) => value.is_nan() || *value < 0.0,
        Value::Numeric(value) => value.is_nan() || value.signum() < 0,
        Value::Interval(interval) => types::compare::interval_span(interval) < 0,
        _ => false,
    }
}

/// A bound of a frame of values: as far before or after the current row's as the offset says. Rows without a value
/// are with each other only.
fn in_range<'p>(
    partition: &Partition<'p>,
    at: usize,
    offset: &Value,
    is_preceding: bool,
    is_start: bool,
    reader: &mut StoreReader,
    run: &mut Run<'_, 'p>,
) -> Result<usize> {
    let [key] = partition.node.order.as_slice() else {
        return Err(Error::internal("a frame of values needs one key"));
    };
    if is_negative(offset) {
        return Err(Error::new(
            sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            "invalid preceding or following size in window function",
        ));
    }
    let own = partition.key(key, at, reader, run)?;
    let peers = partition.peers(at);
    if own.is_null() {
        return Ok(if is_start { peers.0 } else { peers.1 });
    }
    let takes_less = is_start == key.descending;
    let bound = shift(&own, offset, is_preceding != key.descending, takes_less, run)?;
    let (mut low, mut high) = (0, partition.len());
    // The first row that is in (for a start) or behind (for an end).
    while low < high {
        let middle = low + (high - low) / 2;
        let value = partition.key(key, middle, reader, run)?;
        let is_before = if value.is_null() {
            key.nulls_first
        } else {
            let ordering = match &bound {
                Ok(bound) => compare_values(&comparable(&value), bound),
                // Beyond all there is.
                Err(beyond) => beyond.reverse(),
            };
            let ordering = if key.descending { ordering.reverse() } else { ordering };
            if is_start { ordering == Ordering::Less } else { ordering != Ordering::Greater }
        };
        if is_before {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Values of different widths, and dates beside timestamps, on one line.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Int2(_) | Value::Int4(_) => Value::Int8(value.as_i64().unwrap_or(0)),
        Value::Float4(value) => Value::Float8(f64::from(*value)),
        Value::Date(days) => Value::Timestamp(arithmetic::date_to_timestamp(*days).unwrap_or(i64::MAX)),
        other => other.clone(),
    }
}

/// A value less or plus an offset; where that is beyond the numbers, on which side (beyond the timestamps it's 22008). `takes_less`: the rows wanted are those up to
/// there, otherwise those from there on.
fn shift(
    value: &Value,
    offset: &Value,
    subtract: bool,
    takes_less: bool,
    run: &mut Run<'_, '_>,
) -> Result<std::result::Result<Value, Ordering>> {
    let beyond = if subtract { Ordering::Less } else { Ordering::Greater };
    // Infinity less infinity takes in every number there is; NaN, which sorts behind all of them, is none.
    let everything = |infinity: Value| if takes_less { Ok(infinity) } else { Err(Ordering::Less) };
    let signed = |interval: &types::Interval| {
        if subtract { arithmetic::negate(interval) } else { Ok(*interval) }
    };
    Ok(match (comparable(value), offset) {
        (Value::Int8(value), Value::Int8(offset)) => {
            let moved = if subtract { value.checked_sub(*offset) } else { value.checked_add(*offset) };
            moved.map(Value::Int8).ok_or(beyond)
        }
        (Value::Float8(value), Value::Float8(offset)) => {
            let moved = if subtract { value - offset } else { value + offset };
            let is_undefined = moved.is_nan() && !value.is_nan();
            if is_undefined { everything(Value::Float8(f64::INFINITY)) } else { Ok(Value::Float8(moved)) }
        }
        (Value::Numeric(value), Value::Numeric(offset)) => {
            let moved = if subtract { value.subtract(offset) } else { value.add(offset) };
            match moved {
                // The offset is the infinity: there is no negative one.
                Ok(moved) if moved.is_nan() && !value.is_nan() => everything(Value::Numeric(offset.clone())),
                moved => moved.map(Value::Numeric).map_err(|_| beyond),
            }
        }
        (Value::Timestamp(value), Value::Interval(interval)) => {
            Ok(Value::Timestamp(arithmetic::add_interval(value, &signed(interval)?)?))
        }
        (Value::TimestampTz(value), Value::Interval(interval)) => {
            let zone = &run.format().time_zone;
            Ok(Value::TimestampTz(arithmetic::add_interval_in_zone(value, &signed(interval)?, zone)?))
        }
        (Value::Time(value), Value::Interval(interval)) => {
            let moved = if subtract { value.checked_sub(interval.micros) } else { value.checked_add(interval.micros) };
            moved.map(Value::Time).ok_or(beyond)
        }
        (Value::Interval(value), Value::Interval(interval)) => {
            arithmetic::add_intervals(&value, &signed(interval)?).map(Value::Interval).map_err(|_| beyond)
        }
        (other, _) => Ok(other),
    })
}
