//! `generate_series`.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use base::{Error, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::compare::interval_span;
use crate::context::EvalContext;
use crate::datetime::arithmetic;
use crate::function_def::{CallTypes, ValueStream};
use crate::numeric::Numeric;
use crate::oids::*;
use crate::value::{Interval, Value};

#[cold]
fn zero_step() -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// Integers of either width; `None` when the next one can't be counted.
struct Integers {
    next: Option<i64>,
    end: i64,
    step: i64,
    wrap: fn(i64) -> Value,
    bounds: RangeInclusive<i64>,
}

impl ValueStream for Integers {
    #[inline]
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        let Some(current) = self.next else { return Ok(None) };
        let over = if self.step > 0 { current > self.end } else { current < self.end };
        if over {
            return Ok(None);
        }
        self.next = current.checked_add(self.step).filter(|next| self.bounds.contains(next));
        Ok(Some((self.wrap)(current)))
    }
}

fn integers(a: &[Value], wrap: fn(i64) -> Value, bounds: RangeInclusive<i64>) -> Result<Box<dyn ValueStream>> {
    let number = |index: usize| a.get(index).map_or(Ok(1), |value| value.as_i64().ok_or_else(|| mismatch(value)));
    let (start, end, step) = (number(0)?, number(1)?, number(2)?);
    if step == 0 {
        return Err(zero_step());
    }
    Ok(Box::new(Integers { next: Some(start), end, step, wrap, bounds }))
}

struct Numerics {
    next: Numeric,
    end: Numeric,
    step: Numeric,
}

impl ValueStream for Numerics {
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        let beyond = if self.step.signum() > 0 { Ordering::Greater } else { Ordering::Less };
        if self.next.compare(&self.end) == beyond {
            return Ok(None);
        }
        let after = self.next.add(&self.step)?;
        Ok(Some(Value::Numeric(std::mem::replace(&mut self.next, after))))
    }
}

fn numerics(a: &[Value]) -> Result<Box<dyn ValueStream>> {
    let number = |index: usize, what: &str| match a.get(index) {
        None => Ok(Numeric::ONE),
        Some(Value::Numeric(number)) if number.is_nan() => {
            Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("{what} cannot be NaN")))
        }
        Some(Value::Numeric(number)) if !number.is_finite() => {
            Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("{what} cannot be infinity")))
        }
        Some(Value::Numeric(number)) => Ok(number.clone()),
        Some(other) => Err(mismatch(other)),
    };
    let (next, end, step) = (number(0, "start value")?, number(1, "stop value")?, number(2, "step size")?);
    if step.is_zero() {
        return Err(zero_step());
    }
    // every row is shown at the scale the sums have
    Ok(Box::new(Numerics { next, end, step }))
}

struct Timestamps {
    next: i64,
    end: i64,
    step: Interval,
    forward: bool,
    in_zone: bool,
}

impl ValueStream for Timestamps {
    fn next(&mut self, context: &mut dyn EvalContext) -> Result<Option<Value>> {
        let over = if self.forward { self.next > self.end } else { self.next < self.end };
        if over {
            return Ok(None);
        }
        let current = self.next;
        if self.in_zone {
            self.next = arithmetic::add_interval_in_zone(current, &self.step, &context.format().time_zone)?;
            return Ok(Some(Value::TimestampTz(current)));
        }
        self.next = arithmetic::add_interval(current, &self.step)?;
        Ok(Some(Value::Timestamp(current)))
    }
}

fn timestamps(_: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    let (next, end, step, in_zone) = match a {
        [Value::Timestamp(next), Value::Timestamp(end), Value::Interval(step)] => (*next, *end, *step, false),
        [Value::TimestampTz(next), Value::TimestampTz(end), Value::Interval(step)] => (*next, *end, *step, true),
        _ => return Err(mismatch(&a[0])),
    };
    let span = interval_span(&step);
    if span == 0 {
        return Err(zero_step());
    }
    Ok(Box::new(Timestamps { next, end, step, forward: span > 0, in_zone }))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::set(1067, "generate_series", &[INT4, INT4], INT4, |_, _, a| integers(a, |n| Value::Int4(n as i32), i64::from(i32::MIN)..=i64::from(i32::MAX))),
    FunctionDef::set(1066, "generate_series", &[INT4, INT4, INT4], INT4, |_, _, a| integers(a, |n| Value::Int4(n as i32), i64::from(i32::MIN)..=i64::from(i32::MAX))),
    FunctionDef::set(1069, "generate_series", &[INT8, INT8], INT8, |_, _, a| integers(a, Value::Int8, i64::MIN..=i64::MAX)),
    FunctionDef::set(1068, "generate_series", &[INT8, INT8, INT8], INT8, |_, _, a| integers(a, Value::Int8, i64::MIN..=i64::MAX)),
    FunctionDef::set(3260, "generate_series", &[NUMERIC, NUMERIC], NUMERIC, |_, _, a| numerics(a)),
    FunctionDef::set(3259, "generate_series", &[NUMERIC, NUMERIC, NUMERIC], NUMERIC, |_, _, a| numerics(a)),
    FunctionDef::set(938, "generate_series", &[TIMESTAMP, TIMESTAMP, INTERVAL], TIMESTAMP, timestamps),
    FunctionDef::set(939, "generate_series", &[TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, timestamps).stable(),
];
