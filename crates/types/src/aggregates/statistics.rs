//! Averages, variances, and linear regression.
//!
//! Floats are gathered by the method of Youngs and Cramer (1971): the sum, and the sum of squared differences
//! from the mean so far, which doesn't lose digits as plain sums of squares do.

use base::{Error, Result, sqlstate};

use super::Accumulator;
use super::sums::RunningSum;
use crate::context::EvalContext;
use crate::numeric::Numeric;
use crate::value::Value;

/// The statistic to compute of one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    Average,
    VarianceSample,
    VariancePopulation,
    StddevSample,
    StddevPopulation,
}

#[cold]
fn overflow() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// Moments of floats.
#[derive(Debug)]
pub(super) struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
    wanted: Moment,
}

impl Moments {
    pub(super) fn new(wanted: Moment) -> Moments {
        Moments { count: 0.0, sum: 0.0, squares: 0.0, wanted }
    }
}

impl Accumulator for Moments {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let value = match arguments[0] {
            Value::Float8(value) => value,
            Value::Float4(value) => f64::from(value),
            _ => return Ok(()),
        };
        let (old_sum, old_squares) = (self.sum, self.squares);
        self.count += 1.0;
        self.sum += value;
        if self.count > 1.0 {
            let difference = value * self.count - self.sum;
            self.squares += difference * difference / (self.count * (self.count - 1.0));
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !old_sum.is_infinite() && !value.is_infinite() && !old_squares.is_infinite() {
                    return Err(overflow());
                }
                self.squares = f64::NAN;
            }
        } else if !value.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        let least = match self.wanted {
            Moment::VarianceSample | Moment::StddevSample => 2.0,
            _ => 1.0,
        };
        if self.count < least {
            return Ok(Value::Null);
        }
        Ok(Value::Float8(match self.wanted {
            Moment::Average => self.sum / self.count,
            Moment::VarianceSample => self.squares / (self.count - 1.0),
            Moment::VariancePopulation => self.squares / self.count,
            Moment::StddevSample => (self.squares / (self.count - 1.0)).sqrt(),
            Moment::StddevPopulation => (self.squares / self.count).sqrt(),
        }))
    }
}

/// Moments of exact numbers.
#[derive(Debug)]
pub(super) struct NumericMoments {
    count: i64,
    sum: RunningSum,
    squares: RunningSum,
    wanted: Moment,
}

impl NumericMoments {
    pub(super) fn new(wanted: Moment) -> NumericMoments {
        NumericMoments { count: 0, sum: RunningSum::default(), squares: RunningSum::default(), wanted }
    }
}

impl Accumulator for NumericMoments {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let converted;
        let value = match &arguments[0] {
            Value::Numeric(value) => value,
            other => match other.as_i64() {
                Some(value) => {
                    converted = Numeric::from(value);
                    &converted
                }
                None => return Ok(()),
            },
        };
        self.count += 1;
        self.sum.add(value)?;
        self.squares.add(&value.multiply(value)?)
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        let is_sample = matches!(self.wanted, Moment::VarianceSample | Moment::StddevSample);
        if self.count < if is_sample { 2 } else { 1 } {
            return Ok(Value::Null);
        }
        let count = Numeric::from(self.count);
        let sum = self.sum.total()?;
        let squares = self.squares.total()?;
        if !sum.is_finite() || !squares.is_finite() {
            return Ok(Value::Numeric(Numeric::NaN));
        }
        // (n * sum of squares - square of sum) / (n * (n - 1)), or over n * n
        let numerator = count.multiply(&squares)?.subtract(&sum.multiply(&sum)?)?;
        if numerator.signum() <= 0 {
            return Ok(Value::Numeric(Numeric::ZERO));
        }
        let denominator = if is_sample { Numeric::from(self.count - 1) } else { count.clone() }.multiply(&count)?;
        let variance = numerator.divide(&denominator)?;
        Ok(Value::Numeric(match self.wanted {
            Moment::StddevSample | Moment::StddevPopulation => {
                let scale = variance.scale().unwrap_or(0);
                variance.sqrt_to_scale(scale)?
            }
            _ => variance,
        }))
    }
}

/// The statistic to compute of a pair of variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    Count,
    AverageX,
    AverageY,
    SumXx,
    SumYy,
    SumXy,
    Slope,
    Intercept,
    RSquared,
    Correlation,
    CovariancePopulation,
    CovarianceSample,
}

/// Moments of pairs; the arguments are Y, X.
#[derive(Debug)]
pub(super) struct Regression {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
    wanted: Relation,
}

impl Regression {
    pub(super) fn new(wanted: Relation) -> Regression {
        Regression { count: 0.0, x: 0.0, y: 0.0, xx: 0.0, yy: 0.0, xy: 0.0, wanted }
    }
}

impl Accumulator for Regression {
    fn update(&mut self, _context: &mut dyn EvalContext, arguments: &[Value]) -> Result<()> {
        let (&Value::Float8(y), &Value::Float8(x)) = (&arguments[0], &arguments[1]) else { return Ok(()) };
        self.count += 1.0;
        if self.wanted == Relation::Count {
            // Nothing is summed, so nothing overflows.
            return Ok(());
        }
        let old = (self.x, self.y);
        self.x += x;
        self.y += y;
        if self.count > 1.0 {
            let dx = x * self.count - self.x;
            let dy = y * self.count - self.y;
            let scale = 1.0 / (self.count * (self.count - 1.0));
            self.xx += dx * dx * scale;
            self.yy += dy * dy * scale;
            self.xy += dx * dy * scale;
            let became_infinite = [self.x, self.y, self.xx, self.yy, self.xy].iter().any(|sum| sum.is_infinite());
            if became_infinite {
                // Infinite values make infinite sums, finite ones overflow.
                let x_may = old.0.is_infinite() || x.is_infinite();
                let y_may = old.1.is_infinite() || y.is_infinite();
                let has_overflown = !x_may && (self.x.is_infinite() || self.xx.is_infinite())
                    || !y_may && (self.y.is_infinite() || self.yy.is_infinite())
                    || !x_may && !y_may && self.xy.is_infinite();
                if has_overflown {
                    return Err(overflow());
                }
                for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
                    if sum.is_infinite() {
                        *sum = f64::NAN;
                    }
                }
            }
        } else {
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    fn finish(&self, _context: &mut dyn EvalContext) -> Result<Value> {
        if self.wanted == Relation::Count {
            return Ok(Value::Int8(self.count as i64));
        }
        let least = if self.wanted == Relation::CovarianceSample { 2.0 } else { 1.0 };
        if self.count < least {
            return Ok(Value::Null);
        }
        let value = match self.wanted {
            Relation::AverageX => self.x / self.count,
            Relation::AverageY => self.y / self.count,
            Relation::SumXx => self.xx,
            Relation::SumYy => self.yy,
            Relation::SumXy => self.xy,
            Relation::CovariancePopulation => self.xy / self.count,
            Relation::CovarianceSample => self.xy / (self.count - 1.0),
            Relation::Correlation => {
                // a vertical or horizontal line has none
                if self.xx == 0.0 || self.yy == 0.0 {
                    return Ok(Value::Null);
                }
                self.xy / (self.xx * self.yy).sqrt()
            }
            Relation::RSquared => {
                if self.xx == 0.0 {
                    return Ok(Value::Null);
                }
                if self.yy == 0.0 {
                    return Ok(Value::Float8(1.0));
                }
                (self.xy * self.xy) / (self.xx * self.yy)
            }
            Relation::Slope => {
                if self.xx == 0.0 {
                    return Ok(Value::Null);
                }
                self.xy / self.xx
            }
            Relation::Intercept => {
                if self.xx == 0.0 {
                    return Ok(Value::Null);
                }
                (self.y - self.x * self.xy / self.xx) / self.count
            }
            Relation::Count => self.count,
        };
        Ok(Value::Float8(value))
    }
}
