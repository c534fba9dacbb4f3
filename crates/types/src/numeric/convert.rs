//! Conversions between `numeric` and the machine's numbers.

use base::{Error, Result, sqlstate};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::{Numeric, POWERS};

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        Numeric::Small { unscaled: value, scale: 0 }
    }
}

impl From<i32> for Numeric {
    fn from(value: i32) -> Numeric {
        Numeric::from(i64::from(value))
    }
}

impl From<i128> for Numeric {
    fn from(value: i128) -> Numeric {
        Numeric::from_i128(value, 0)
    }
}

impl Numeric {
    /// `unscaled / 10^scale` for a small scale.
    pub fn with_scale(unscaled: i128, scale: u16) -> Numeric {
        Numeric::from_i128(unscaled, u32::from(scale))
    }

    /// The nearest integer (half away from zero) if it fits. `target` is the SQL name for the error: 22003
    /// `bigint out of range`; 0A000 `cannot convert NaN to bigint`.
    pub fn to_integer(&self, target: &str, bounds: std::ops::RangeInclusive<i64>) -> Result<i64> {
        if !self.is_finite() {
            let what = if self.is_nan() { "NaN" } else { "infinity" };
            return Err(Error::unsupported(format!("cannot convert {what} to {target}")));
        }
        let rounded = self.round(0)?;
        match rounded {
            Numeric::Small { unscaled, .. } if bounds.contains(&unscaled) => Ok(unscaled),
            _ => Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{target} out of range"))),
        }
    }

    /// The nearest integer of any size; `None` unless finite.
    pub fn to_big_integer(&self) -> Option<BigInt> {
        self.round(0).ok()?.to_parts().map(|(unscaled, _)| unscaled)
    }

    /// The integer itself if the number is whole and fits.
    pub fn to_i64_exact(&self) -> Option<i64> {
        match self.trim_scale() {
            Numeric::Small { unscaled, scale: 0 } => Some(unscaled),
            _ => None,
        }
    }

    /// The nearest double; infinite when too large.
    pub fn to_f64(&self) -> f64 {
        match self {
            Numeric::Small { unscaled, scale }
                if unscaled.unsigned_abs() < 1 << 53 && usize::from(*scale) < POWERS.len().min(16) =>
            {
                // both operands are exact, so the quotient is correctly rounded
                *unscaled as f64 / POWERS[usize::from(*scale)] as f64
            }
            Numeric::NaN => f64::NAN,
            Numeric::Infinity => f64::INFINITY,
            Numeric::NegativeInfinity => f64::NEG_INFINITY,
            finite => finite.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// A double with its first 15 significant digits, as the cast gives it.
    pub fn from_f64(value: f64) -> Result<Numeric> {
        Numeric::from_float(value, 15)
    }

    /// A float with its first 6 significant digits, as the cast gives it.
    pub fn from_f32(value: f32) -> Result<Numeric> {
        Numeric::from_float(f64::from(value), 6)
    }

    fn from_float(value: f64, digits: usize) -> Result<Numeric> {
        if value.is_nan() {
            return Ok(Numeric::NaN);
        }
        if value.is_infinite() {
            return Ok(if value > 0.0 { Numeric::Infinity } else { Numeric::NegativeInfinity });
        }
        // trailing zeros don't count towards the scale, as in C's %g
        let text = format!("{value:.*e}", digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa =
            if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
        Numeric::parse(&format!("{mantissa}e{exponent}"))
    }

    /// As a 128-bit integer at `scale`, if the number is small enough: for sums.
    pub fn to_i128_at(&self, scale: u16) -> Option<i128> {
        match self {
            Numeric::Small { unscaled, scale: own } if *own <= scale => {
                let power = POWERS.get(usize::from(scale - own))?;
                Some(i128::from(*unscaled) * i128::from(*power))
            }
            Numeric::Big(big) if big.scale == scale => big.unscaled.to_i128(),
            _ => None,
        }
    }
}
