//! Ordered-set aggregates: the rows come in the order of WITHIN GROUP, the direct arguments before them. How many there
//! will be is known before, so that only those that matter are kept.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};

use super::Accumulator;
use crate::compare::compare_values;
use crate::context::EvalContext;
use crate::datetime::arithmetic;
use crate::function_def::CallTypes;
use crate::number_text::float8_text;
use crate::value::{ArrayValue, Value};

/// Which one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OrderedKind {
    /// The most frequent value, the first of those
    Mode,
    /// Between the two nearest values
    Continuous,
    /// The first value at or above the share
    Discrete,
}

/// The state of an ordered-set aggregate. It keeps only the values that matter for the result.
#[derive(Debug)]
pub(super) struct Ordered {
    kind: OrderedKind,
    /// The type of one value.
    element: Oid,
    /// The share asked for, or an array of shares.
    share: Value,
    /// How many values come, and how many came.
    expected: u64,
    came: u64,
    /// The places of the values that matter in their order, and those values, which come in this order.
    wanted: Vec<u64>,
    picked: Vec<(u64, Value)>,
    /// The value that came last and how often, and the most frequent one before it.
    last: (Value, u64),
    best: (Value, u64),
}

impl Ordered {
    pub(super) fn new(kind: OrderedKind, types: &CallTypes) -> Ordered {
        Ordered {
            kind,
            element: types.arguments.last().map_or(Oid::INVALID, |sql_type| sql_type.oid),
            share: Value::Null,
            expected: 0,
            came: 0,
            wanted: Vec::new(),
            picked: Vec::new(),
            last: (Value::Null, 0),
            best: (Value::Null, 0),
        }
    }

    /// The shares asked for.
    fn shares(&self) -> Vec<f64> {
        let shares = match &self.share {
            Value::Array(array) => array.values.as_slice(),
            share => std::slice::from_ref(share),
        };
        let number = |share: &Value| match share {
            Value::Float8(share) => Some(*share),
            _ => None,
        };
        shares.iter().filter_map(number).collect()
    }

    /// The places of the values around a share, and where between them it lies.
    fn places(&self, share: f64) -> (u64, u64, f64) {
        let last = self.expected.saturating_sub(1);
        if self.kind == OrderedKind::Discrete {
            let place = ((share * self.expected as f64).ceil() as u64).max(1) - 1;
            return (place.min(last), place.min(last), 0.0);
        }
        let position = share * last as f64;
        (position.floor() as u64, position.ceil() as u64, position - position.floor())
    }

    fn at(&self, place: u64) -> Value {
        let found = self.picked.binary_search_by_key(&place, |(picked, _)| *picked);
        found.map_or(Value::Null, |found| self.picked[found].1.clone())
    }

    /// The value at one share.
    fn value_at(&self, share: &Value) -> Result<Value> {
        let Value::Float8(share) = *share else { return Ok(Value::Null) };
        if self.expected == 0 {
            return Ok(Value::Null);
        }
        let (low, high, proportion) = self.places(share);
        Ok(match (self.at(low), self.at(high)) {
            (low, _) if proportion == 0.0 => low,
            (Value::Float8(low), Value::Float8(high)) => Value::Float8(low + proportion * (high - low)),
            (Value::Interval(low), Value::Interval(high)) => {
                let difference = arithmetic::subtract_intervals(&high, &low)?;
                let part = arithmetic::multiply_interval(&difference, proportion)?;
                Value::Interval(arithmetic::add_intervals(&low, &part)?)
            }
            _ => Value::Null,
        })
    }
}

/// 22003 for a share outside of 0 to 1.
pub fn check_share(share: f64) -> Result<()> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    let message = format!("percentile value {} is not between 0 and 1", float8_text(share));
    Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
}

impl Accumulator for Ordered {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if let [share, _] = arguments
            && self.share.is_null()
        {
            self.share = share.clone();
            for share in self.shares() {
                sync::yield_point()?;
                check_share(share)?;
                let (low, high, _) = self.places(share);
                self.wanted.extend([low, high]);
            }
            sync::sort_unstable_by(&mut self.wanted, u64::cmp)?;
            self.wanted.dedup();
        }
        let Some(value) = arguments.last().filter(|value| !value.is_null()) else { return Ok(()) };
        if self.kind == OrderedKind::Mode {
            if self.last.1 > 0 && compare_values(&self.last.0, value).is_eq() {
                self.last.1 += 1;
            } else {
                let ended = std::mem::replace(&mut self.last, (value.clone(), 1));
                if ended.1 > self.best.1 {
                    self.best = ended;
                }
            }
        } else if self.wanted.get(self.picked.len()) == Some(&self.came) {
            self.picked.push((self.came, value.clone()));
        }
        self.came += 1;
        Ok(())
    }

    fn expect(&mut self, rows: u64) {
        self.expected = rows;
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.kind == OrderedKind::Mode {
            return Ok(if self.last.1 > self.best.1 { self.last.0.clone() } else { self.best.0.clone() });
        }
        match &self.share {
            Value::Array(_) if self.expected == 0 => Ok(Value::Null),
            Value::Array(shares) => {
                let value_at = |share| {
                    sync::yield_point()?;
                    self.value_at(share)
                };
                let values = shares.values.iter().map(value_at).collect::<Result<_>>()?;
                let dimensions = shares.dimensions.clone();
                Ok(Value::Array(Arc::new(ArrayValue { element: self.element, dimensions, values })))
            }
            share => self.value_at(share),
        }
    }

    fn heap_bytes(&self) -> usize {
        let picked = self.picked.iter().map(|(_, value)| 40 + value.heap_bytes()).sum::<usize>();
        picked + self.last.0.heap_bytes() + self.best.0.heap_bytes() + 160
    }
}
