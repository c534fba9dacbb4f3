//! `numeric`: decimal numbers with PostgreSQL's rules for the scale of every result.
//!
//! A finite number is an integer (the *unscaled* value) and a *scale*, the count of digits after the
//! point that are shown: 1.50 is (150, 2). Equal numbers may differ in scale. Numbers whose unscaled
//! value fits 64 bits, which is nearly all, live in the value itself; larger ones behind an `Arc`.
//! PostgreSQL computes in base 10000 and derives result scales from the weight of such digits; where
//! a rule depends on that, it is derived here from decimal digits (see `arithmetic`).

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

mod arithmetic;
mod convert;
mod encode;
mod text;
mod transcendental;

/// The largest scale a number can have.
pub const MAX_SCALE: u32 = 16383;
/// The most digits before the point.
pub const MAX_INTEGER_DIGITS: i64 = 131_072;
/// Division and transcendental functions give at least this many significant digits.
const MIN_SIGNIFICANT_DIGITS: i64 = 16;
/// ... but no more than this many digits after the point.
const MAX_DISPLAY_SCALE: i64 = 1000;

/// A decimal number, or one of NaN and the infinities.
///
/// `PartialEq` tells 1.0 from 1.00; [`Numeric::compare`] doesn't.
#[derive(Clone, Debug, PartialEq)]
pub enum Numeric {
    /// `unscaled / 10^scale`.
    Small {
        /// All digits.
        unscaled: i64,
        /// How many of them are after the point.
        scale: u16,
    },
    /// A number whose digits don't fit [`Numeric::Small`].
    Big(Arc<BigNumeric>),
    /// Not a number: equal to itself and above everything.
    NaN,
    /// Above every finite number.
    Infinity,
    /// Below every finite number.
    NegativeInfinity,
}

/// A number with many digits.
#[derive(Clone, Debug, PartialEq)]
pub struct BigNumeric {
    /// All digits.
    pub unscaled: BigInt,
    /// How many of them are after the point.
    pub scale: u16,
}

/// Powers of ten that fit 64 bits.
const POWERS: [i64; 19] = {
    let mut powers = [1_i64; 19];
    let mut index = 1;
    while index < 19 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

fn ten_to(exponent: u32) -> BigInt {
    match POWERS.get(exponent as usize) {
        Some(power) => BigInt::from(*power),
        None => BigInt::from(10).pow(exponent),
    }
}

/// How many decimal digits `value` has; 0 for zero.
fn digit_count(value: &BigInt) -> i64 {
    if value.is_zero() {
        return 0;
    }
    // log10(2) gives the count up to one; a comparison decides
    let estimate = ((value.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
    let count = i64::from(estimate) + 1;
    if value.magnitude() >= ten_to(estimate + 1).magnitude() { count + 1 } else { count }
}

fn digit_count_u64(value: u64) -> i64 {
    value.checked_ilog10().map_or(0, |log| i64::from(log) + 1)
}

#[cold]
fn overflow() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

#[cold]
fn division_by_zero() -> Error {
    Error::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

impl Numeric {
    /// 0
    pub const ZERO: Numeric = Numeric::Small { unscaled: 0, scale: 0 };
    /// 1
    pub const ONE: Numeric = Numeric::Small { unscaled: 1, scale: 0 };

    /// `unscaled / 10^scale`; 22003 if it has more digits than a number may have.
    pub fn from_parts(unscaled: BigInt, scale: u32) -> Result<Numeric> {
        if let Some(unscaled) = unscaled.to_i64() {
            if scale <= MAX_SCALE {
                return Ok(Numeric::Small { unscaled, scale: scale as u16 });
            }
            return Err(overflow());
        }
        if scale > MAX_SCALE || digit_count(&unscaled) - i64::from(scale) > MAX_INTEGER_DIGITS {
            return Err(overflow());
        }
        Ok(Numeric::Big(Arc::new(BigNumeric { unscaled, scale: scale as u16 })))
    }

    fn from_i128(unscaled: i128, scale: u32) -> Numeric {
        debug_assert!(scale <= MAX_SCALE);
        match i64::try_from(unscaled) {
            Ok(unscaled) => Numeric::Small { unscaled, scale: scale as u16 },
            Err(_) => Numeric::Big(Arc::new(BigNumeric { unscaled: BigInt::from(unscaled), scale: scale as u16 })),
        }
    }

    /// Digits and scale of a finite number.
    pub fn to_parts(&self) -> Option<(BigInt, u32)> {
        match self {
            Numeric::Small { unscaled, scale } => Some((BigInt::from(*unscaled), u32::from(*scale))),
            Numeric::Big(big) => Some((big.unscaled.clone(), u32::from(big.scale))),
            _ => None,
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Numeric::NaN)
    }

    /// Whether it is neither NaN nor an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Small { .. } | Numeric::Big(_))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self, Numeric::Small { unscaled: 0, .. })
    }

    /// -1, 0 or 1; NaN counts as positive.
    pub fn signum(&self) -> i32 {
        match self {
            Numeric::Small { unscaled, .. } => unscaled.signum() as i32,
            Numeric::Big(big) if big.unscaled.sign() == Sign::Minus => -1,
            Numeric::NegativeInfinity => -1,
            _ => 1,
        }
    }

    /// Digits after the point; `None` unless finite.
    pub fn scale(&self) -> Option<u32> {
        match self {
            Numeric::Small { scale, .. } => Some(u32::from(*scale)),
            Numeric::Big(big) => Some(u32::from(big.scale)),
            _ => None,
        }
    }

    /// Bytes held outside the value.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Numeric::Big(big) => 64 + big.unscaled.bits() as usize / 8,
            _ => 0,
        }
    }

    /// The decimal exponent of the first digit: `10^e <= |x| < 10^(e+1)`; `None` for zero and non-finite.
    fn leading_exponent(&self) -> Option<i64> {
        let (digits, scale) = match self {
            Numeric::Small { unscaled: 0, .. } => return None,
            Numeric::Small { unscaled, scale } => (digit_count_u64(unscaled.unsigned_abs()), *scale),
            Numeric::Big(big) => (digit_count(&big.unscaled), big.scale),
            _ => return None,
        };
        Some(digits - 1 - i64::from(scale))
    }

    /// The order of SQL: -Infinity, finite numbers by value, Infinity, NaN.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        if let (
            Numeric::Small { unscaled: left, scale: left_scale },
            Numeric::Small { unscaled: right, scale: right_scale },
        ) = (self, other)
        {
            if left_scale == right_scale {
                return left.cmp(right);
            }
            let difference = usize::from(left_scale.abs_diff(*right_scale));
            if let Some(power) = POWERS.get(difference) {
                let power = i128::from(*power);
                return if left_scale < right_scale {
                    (i128::from(*left) * power).cmp(&i128::from(*right))
                } else {
                    i128::from(*left).cmp(&(i128::from(*right) * power))
                };
            }
        }
        self.compare_slowly(other)
    }

    fn compare_slowly(&self, other: &Numeric) -> Ordering {
        fn class(value: &Numeric) -> i32 {
            match value {
                Numeric::NegativeInfinity => -2,
                Numeric::Infinity => 2,
                Numeric::NaN => 3,
                finite => finite.signum(),
            }
        }
        let (left_class, right_class) = (class(self), class(other));
        if left_class != right_class || matches!(left_class, -2 | 0 | 2 | 3) {
            return left_class.cmp(&right_class);
        }
        let by_exponent = self.leading_exponent().cmp(&other.leading_exponent());
        if by_exponent != Ordering::Equal {
            return if left_class < 0 { by_exponent.reverse() } else { by_exponent };
        }
        match (self.to_parts(), other.to_parts()) {
            (Some((left, left_scale)), Some((right, right_scale))) => {
                let scale = left_scale.max(right_scale);
                (left * ten_to(scale - left_scale)).cmp(&(right * ten_to(scale - right_scale)))
            }
            _ => Ordering::Equal,
        }
    }

    /// The same number with the smallest scale that shows all its digits.
    pub fn trim_scale(&self) -> Numeric {
        match self {
            Numeric::Small { unscaled: 0, .. } => Numeric::ZERO,
            Numeric::Small { unscaled, scale } => {
                let (mut unscaled, mut scale) = (*unscaled, *scale);
                while scale > 0 && unscaled % 10 == 0 {
                    unscaled /= 10;
                    scale -= 1;
                }
                Numeric::Small { unscaled, scale }
            }
            Numeric::Big(big) => {
                let digits = big.unscaled.magnitude().to_string();
                let zeros = digits.len() - digits.trim_end_matches('0').len();
                let drop = zeros.min(usize::from(big.scale)) as u32;
                let unscaled = &big.unscaled / ten_to(drop);
                Numeric::from_parts(unscaled, u32::from(big.scale) - drop).expect("fewer digits than before")
            }
            other => other.clone(),
        }
    }

    /// Feeds the number to a hasher: equal numbers feed the same whatever their scales.
    pub fn hash_value<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Numeric::NaN => 0_u8.hash(hasher),
            Numeric::Infinity => 1_u8.hash(hasher),
            Numeric::NegativeInfinity => 2_u8.hash(hasher),
            finite => match finite.trim_scale() {
                Numeric::Small { unscaled, scale } => (unscaled, scale).hash(hasher),
                Numeric::Big(big) => (&big.unscaled, big.scale).hash(hasher),
                _ => {}
            },
        }
    }

    /// Rounded half away from zero to `scale` digits after the point; negative: to tens, hundreds, ...
    /// The result's scale is `max(scale, 0)`.
    pub fn round(&self, scale: i64) -> Result<Numeric> {
        self.rescale(scale, true)
    }

    /// Cut off at `scale` digits after the point.
    pub fn truncate(&self, scale: i64) -> Result<Numeric> {
        self.rescale(scale, false)
    }

    fn rescale(&self, scale: i64, round: bool) -> Result<Numeric> {
        let Some(current) = self.scale() else { return Ok(self.clone()) };
        let current = i64::from(current);
        let shown = scale.max(0) as u32;
        if let Numeric::Small { unscaled, .. } = self {
            if scale >= current {
                if scale == current {
                    return Ok(self.clone());
                }
                if let Some(power) = POWERS.get((scale - current) as usize) {
                    return Ok(Numeric::from_i128(i128::from(*unscaled) * i128::from(*power), shown));
                }
            } else if scale >= 0 {
                let power = match (current - scale) as usize {
                    drop @ ..=18 => POWERS[drop].unsigned_abs(),
                    // 64 bits can have more than half of it.
                    19 => 10_u64.pow(19),
                    _ => return Ok(Numeric::Small { unscaled: 0, scale: shown as u16 }),
                };
                let magnitude = unscaled.unsigned_abs();
                let (mut quotient, remainder) = ((magnitude / power) as i64, magnitude % power);
                if round && remainder >= power / 2 {
                    quotient += 1;
                }
                return Ok(Numeric::Small { unscaled: quotient * unscaled.signum(), scale: shown as u16 });
            }
        }
        let (unscaled, _) = self.to_parts().expect("a finite number has parts");
        if scale >= current {
            return Numeric::from_parts(unscaled * ten_to((scale - current) as u32), shown);
        }
        let drop = current - scale;
        if drop > digit_count(&unscaled) + 1 {
            return Numeric::from_parts(BigInt::zero(), shown);
        }
        let quotient = divide_by_power(&unscaled, drop as u32, round);
        let restored = if scale < 0 { quotient * ten_to(-scale as u32) } else { quotient };
        Numeric::from_parts(restored, shown)
    }

    /// The largest whole number not above it.
    pub fn floor(&self) -> Result<Numeric> {
        let cut = self.truncate(0)?;
        if self.signum() < 0 && cut.compare(self) != Ordering::Equal {
            return cut.subtract(&Numeric::ONE);
        }
        Ok(cut)
    }

    /// The smallest whole number not below it.
    pub fn ceil(&self) -> Result<Numeric> {
        let cut = self.truncate(0)?;
        if self.signum() > 0 && cut.compare(self) != Ordering::Equal {
            return cut.add(&Numeric::ONE);
        }
        Ok(cut)
    }

    /// The same with the other sign.
    pub fn negate(&self) -> Numeric {
        match self {
            Numeric::Small { unscaled, scale } => Numeric::from_i128(-i128::from(*unscaled), u32::from(*scale)),
            Numeric::Big(big) => {
                Numeric::from_parts(-big.unscaled.clone(), u32::from(big.scale)).expect("as many digits as before")
            }
            Numeric::NaN => Numeric::NaN,
            Numeric::Infinity => Numeric::NegativeInfinity,
            Numeric::NegativeInfinity => Numeric::Infinity,
        }
    }

    /// Its distance from zero.
    pub fn abs(&self) -> Numeric {
        if self.signum() < 0 { self.negate() } else { self.clone() }
    }

    /// Applies a column's modifier: rounds to its scale. 22003 `numeric field overflow`.
    pub fn apply_typmod(self, typmod: i32) -> Result<Numeric> {
        let Some((precision, scale)) = decode_typmod(typmod) else { return Ok(self) };
        let field_overflow =
            |detail: String| Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail);
        if self.is_nan() {
            return Ok(self);
        }
        if !self.is_finite() {
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            )));
        }
        let rounded = self.round(i64::from(scale))?;
        let room = i64::from(precision - scale);
        if rounded.leading_exponent().is_some_and(|exponent| exponent >= room) {
            let bound = if room == 0 { "1".to_owned() } else { format!("10^{room}") };
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
            )));
        }
        Ok(rounded)
    }
}

/// Precision and scale of a `numeric(p, s)` modifier.
pub fn decode_typmod(typmod: i32) -> Option<(i32, i32)> {
    if typmod < 4 {
        return None;
    }
    let bits = typmod - 4;
    // the scale is a signed 11-bit field
    let scale = ((bits & 0x7FF) ^ 1024) - 1024;
    Some(((bits >> 16) & 0xFFFF, scale))
}

/// The modifier of `numeric(precision, scale)`.
pub fn encode_typmod(precision: i32, scale: i32) -> i32 {
    ((precision << 16) | (scale & 0x7FF)) + 4
}

/// `value / 10^exponent`, rounded half away from zero or cut off.
fn divide_by_power(value: &BigInt, exponent: u32, round: bool) -> BigInt {
    let power = ten_to(exponent);
    let quotient = value / &power;
    if !round {
        return quotient;
    }
    let remainder: BigInt = value - &quotient * &power;
    if remainder.abs() * 2 >= power { quotient + value.signum() } else { quotient }
}
