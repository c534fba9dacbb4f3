//! Ordered-set aggregates: the rows come in the order of WITHIN GROUP, the direct arguments before them.

use base::{Error, Result, sqlstate};

use super::Accumulator;
use crate::types::compare::compare_values;
use crate::types::context::EvalContext;
use crate::types::datetime::arithmetic;
use crate::types::number_text::float8_text;
use crate::types::value::Value;

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

/// The values in order.
#[derive(Debug)]
pub(super) struct Ordered {
    kind: OrderedKind,
    share: Value,
    values: Vec<Value>,
}

impl Ordered {
    pub(super) fn new(kind: OrderedKind) -> Ordered {
        Ordered { kind, share: Value::Null, values: Vec::new() }
    }

    /// The share asked for. 22003 outside 0 to 1; `None` if it is NULL.
    fn share(&self) -> Result<Option<f64>> {
        match self.share {
            Value::Float8(share) if (0.0..=1.0).contains(&share) => Ok(Some(share)),
            Value::Float8(share) => Err(Error::new(
                sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("percentile value {} is not between 0 and 1", float8_text(share)),
            )),
            _ => Ok(None),
        }
    }

    fn mode(&self) -> Value {
        let mut best = (0, 0);
        let mut start = 0;
        for index in 1..=self.values.len() {
            let run_ends =
                index == self.values.len() || compare_values(&self.values[index], &self.values[start]).is_ne();
            if run_ends {
                if index - start > best.1 {
                    best = (start, index - start);
                }
                start = index;
            }
        }
        self.values.get(best.0).cloned().unwrap_or(Value::Null)
    }
}

impl Accumulator for Ordered {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if let [share, _] = arguments {
            self.share = share.clone();
        }
        if let Some(value) = arguments.last().filter(|value| !value.is_null()) {
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.kind == OrderedKind::Mode {
            return Ok(self.mode());
        }
        let Some(share) = self.share()? else { return Ok(Value::Null) };
        let count = self.values.len();
        if count == 0 {
            return Ok(Value::Null);
        }
        if self.kind == OrderedKind::Discrete {
            let index = ((share * count as f64).ceil() as usize).max(1) - 1;
            return Ok(self.values[index.min(count - 1)].clone());
        }
        let position = share * (count - 1) as f64;
        let (low, high) = (position.floor() as usize, position.ceil() as usize);
        let proportion = position - low as f64;
        Ok(match (&self.values[low], &self.values[high]) {
            (low, _) if proportion == 0.0 => low.clone(),
            (Value::Float8(low), Value::Float8(high)) => Value::Float8(low + proportion * (high - low)),
            (Value::Interval(low), Value::Interval(high)) => {
                let difference = arithmetic::subtract_intervals(high, low)?;
                let part = arithmetic::multiply_interval(&difference, proportion)?;
                Value::Interval(arithmetic::add_intervals(low, &part)?)
            }
            _ => Value::Null,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.values.iter().map(|value| 24 + value.heap_bytes()).sum::<usize>() + 64
    }
}
