//! Sums and averages that need more than a machine word.

use base::Result;

use super::Accumulator;
use crate::context::EvalContext;
use crate::datetime::arithmetic;
use crate::functions::amounts;
use crate::numeric::Numeric;
use crate::value::{Interval, Value};

/// The sum of integers in 128 bits.
#[derive(Debug)]
pub(super) struct WideSum {
    sum: i128,
    count: i64,
    average: bool,
}

impl WideSum {
    pub(super) fn new(average: bool) -> WideSum {
        WideSum { sum: 0, count: 0, average }
    }
}

impl Accumulator for WideSum {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if let Some(value) = arguments[0].as_i64() {
            // 2^64 rows of 64 bits fit
            self.sum += i128::from(value);
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        let sum = Numeric::from(self.sum);
        Ok(Value::Numeric(if self.average { sum.divide(&Numeric::from(self.count))? } else { sum }))
    }
}

/// The sum of numerics: in 128 bits at the largest scale so far while that holds it.
#[derive(Debug)]
pub(super) struct RunningSum {
    small: i128,
    scale: u16,
    /// The sum of the values that did not fit into `small`.
    rest: Numeric,
}

impl Default for RunningSum {
    fn default() -> RunningSum {
        RunningSum { small: 0, scale: 0, rest: Numeric::ZERO }
    }
}

impl RunningSum {
    pub(super) fn add(&mut self, value: &Numeric) -> Result<()> {
        if let Some((_, scale)) = value.as_small()
            && scale > self.scale
            && let Some(raised) =
                10_i128.checked_pow(u32::from(scale - self.scale)).and_then(|p| self.small.checked_mul(p))
        {
            self.small = raised;
            self.scale = scale;
        }
        if let Some(sum) = value.to_i128_at(self.scale).and_then(|value| self.small.checked_add(value)) {
            self.small = sum;
            return Ok(());
        }
        self.rest = self.rest.add(value)?;
        Ok(())
    }

    pub(super) fn total(&self) -> Result<Numeric> {
        let small = Numeric::with_scale(self.small, self.scale);
        if self.rest == Numeric::ZERO { Ok(small) } else { small.add(&self.rest) }
    }
}

/// `sum` and `avg` of `numeric`.
#[derive(Debug)]
pub(super) struct NumericSum {
    sum: RunningSum,
    count: i64,
    average: bool,
}

impl NumericSum {
    pub(super) fn new(average: bool) -> NumericSum {
        NumericSum { sum: RunningSum::default(), count: 0, average }
    }
}

impl Accumulator for NumericSum {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if let Value::Numeric(value) = &arguments[0] {
            self.sum.add(value)?;
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        let sum = self.sum.total()?;
        Ok(Value::Numeric(if self.average { sum.divide(&Numeric::from(self.count))? } else { sum }))
    }
}

/// `sum` of `money`.
#[derive(Debug, Default)]
pub(super) struct AmountSum(Value);

impl Accumulator for AmountSum {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        self.0 = match (&self.0, &arguments[0]) {
            (Value::Money(sum), Value::Money(cents)) => amounts::sum(*sum, *cents)?,
            (_, Value::Money(cents)) => Value::Money(*cents),
            _ => return Ok(()),
        };
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        Ok(self.0.clone())
    }
}

/// `sum` and `avg` of `interval`.
#[derive(Debug)]
pub(super) struct IntervalSum {
    sum: Interval,
    count: i64,
    average: bool,
}

impl IntervalSum {
    pub(super) fn new(average: bool) -> IntervalSum {
        IntervalSum { sum: Interval::default(), count: 0, average }
    }
}

impl Accumulator for IntervalSum {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        if let Value::Interval(value) = &arguments[0] {
            self.sum = arithmetic::add_intervals(&self.sum, value)?;
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        Ok(Value::Interval(if self.average {
            arithmetic::divide_interval(&self.sum, self.count as f64)?
        } else {
            self.sum
        }))
    }
}
