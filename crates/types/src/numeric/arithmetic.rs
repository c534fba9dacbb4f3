//! `+ - * / %` and what goes with them, with PostgreSQL's scales.

use base::Result;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

use super::{
    MAX_DISPLAY_SCALE, MAX_SCALE, MIN_SIGNIFICANT_DIGITS, Numeric, POWERS, digit_count, division_by_zero, ten_to,
};

impl Numeric {
    /// `self + other`; the larger scale.
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        if let (
            Numeric::Small { unscaled: left, scale: left_scale },
            Numeric::Small { unscaled: right, scale: right_scale },
        ) = (self, other)
            && let Some((left, right)) = align(*left, *left_scale, *right, *right_scale)
        {
            return Ok(Numeric::from_i128(left + right, u32::from(*left_scale.max(right_scale))));
        }
        match (self.to_parts(), other.to_parts()) {
            (Some((left, left_scale)), Some((right, right_scale))) => {
                let scale = left_scale.max(right_scale);
                Numeric::from_parts(left * ten_to(scale - left_scale) + right * ten_to(scale - right_scale), scale)
            }
            _ => Ok(match (self, other) {
                (Numeric::NaN, _) | (_, Numeric::NaN) => Numeric::NaN,
                (Numeric::Infinity, Numeric::NegativeInfinity) | (Numeric::NegativeInfinity, Numeric::Infinity) => {
                    Numeric::NaN
                }
                (Numeric::Infinity | Numeric::NegativeInfinity, _) => self.clone(),
                _ => other.clone(),
            }),
        }
    }

    /// `self - other`; the larger scale.
    pub fn subtract(&self, other: &Numeric) -> Result<Numeric> {
        if let (
            Numeric::Small { unscaled: left, scale: left_scale },
            Numeric::Small { unscaled: right, scale: right_scale },
        ) = (self, other)
            && let Some((left, right)) = align(*left, *left_scale, *right, *right_scale)
        {
            return Ok(Numeric::from_i128(left - right, u32::from(*left_scale.max(right_scale))));
        }
        self.add(&other.negate())
    }

    /// `self * other`; the sum of the scales.
    pub fn multiply(&self, other: &Numeric) -> Result<Numeric> {
        if let (
            Numeric::Small { unscaled: left, scale: left_scale },
            Numeric::Small { unscaled: right, scale: right_scale },
        ) = (self, other)
        {
            let scale = u32::from(*left_scale) + u32::from(*right_scale);
            if scale <= MAX_SCALE {
                return Ok(Numeric::from_i128(i128::from(*left) * i128::from(*right), scale));
            }
        }
        match (self.to_parts(), other.to_parts()) {
            (Some((left, left_scale)), Some((right, right_scale))) => {
                let scale = left_scale + right_scale;
                let product = left * right;
                if scale > MAX_SCALE {
                    let rounded = super::divide_by_power(&product, scale - MAX_SCALE, true);
                    return Numeric::from_parts(rounded, MAX_SCALE);
                }
                Numeric::from_parts(product, scale)
            }
            _ => {
                if self.is_nan() || other.is_nan() {
                    return Ok(Numeric::NaN);
                }
                Ok(signed_infinity(if self.is_zero() || other.is_zero() { 0 } else { self.signum() * other.signum() }))
            }
        }
    }

    /// `self / other`, rounded half away from zero at a scale that gives at least 16 significant digits. 22012.
    pub fn divide(&self, other: &Numeric) -> Result<Numeric> {
        if let Some(result) = self.divide_special(other)? {
            return Ok(result);
        }
        let scale = self.division_scale(other);
        self.divide_to_scale(other, scale, true)
    }

    /// The whole part of `self / other`. 22012.
    pub fn divide_truncated(&self, other: &Numeric) -> Result<Numeric> {
        if let Some(result) = self.divide_special(other)? {
            return Ok(result);
        }
        self.divide_to_scale(other, 0, false)
    }

    /// The remainder of a division cut off at the point; its sign is that of `self`. 22012.
    pub fn remainder(&self, other: &Numeric) -> Result<Numeric> {
        if let (
            Numeric::Small { unscaled: left, scale: left_scale },
            Numeric::Small { unscaled: right, scale: right_scale },
        ) = (self, other)
            && *right != 0
            && let Some((left, right)) = align(*left, *left_scale, *right, *right_scale)
        {
            return Ok(Numeric::from_i128(left % right, u32::from(*left_scale.max(right_scale))));
        }
        match (self.to_parts(), other.to_parts()) {
            (Some((left, left_scale)), Some((right, right_scale))) => {
                if right.is_zero() {
                    return Err(division_by_zero());
                }
                let scale = left_scale.max(right_scale);
                let remainder = (left * ten_to(scale - left_scale)) % (right * ten_to(scale - right_scale));
                Numeric::from_parts(remainder, scale)
            }
            _ => {
                if self.is_nan() || other.is_nan() {
                    Ok(Numeric::NaN)
                } else if other.is_zero() {
                    Err(division_by_zero())
                } else if self.is_finite() {
                    Ok(self.clone())
                } else {
                    Ok(Numeric::NaN)
                }
            }
        }
    }

    /// The result of a division that involves NaN, an infinity or a zero divisor.
    fn divide_special(&self, other: &Numeric) -> Result<Option<Numeric>> {
        if self.is_nan() || other.is_nan() {
            return Ok(Some(Numeric::NaN));
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        Ok(match (self.is_finite(), other.is_finite()) {
            (true, true) => None,
            (true, false) => Some(Numeric::ZERO),
            (false, true) => Some(signed_infinity(self.signum() * other.signum())),
            (false, false) => Some(Numeric::NaN),
        })
    }

    /// The scale of a quotient: enough for 16 significant digits counted in groups of four, and not
    /// less than either operand's.
    fn division_scale(&self, other: &Numeric) -> i64 {
        let (left_weight, left_digit) = self.leading_group();
        let (right_weight, right_digit) = other.leading_group();
        let mut quotient_weight = left_weight - right_weight;
        if left_digit <= right_digit {
            quotient_weight -= 1;
        }
        let own = i64::from(self.scale().unwrap_or(0)).max(i64::from(other.scale().unwrap_or(0)));
        (MIN_SIGNIFICANT_DIGITS - quotient_weight * 4).max(own).clamp(0, MAX_DISPLAY_SCALE)
    }

    /// The weight and the value of the first non-zero digit in base 10000; (0, 0) for zero.
    pub(super) fn leading_group(&self) -> (i64, i64) {
        let Some(exponent) = self.leading_exponent() else { return (0, 0) };
        let weight = exponent.div_euclid(4);
        let wanted = exponent.rem_euclid(4) + 1;
        let leading = match self {
            Numeric::Small { unscaled, .. } => {
                let magnitude = unscaled.unsigned_abs();
                let digits = super::digit_count_u64(magnitude);
                if digits >= wanted {
                    (magnitude / POWERS[(digits - wanted) as usize] as u64) as i64
                } else {
                    magnitude as i64 * POWERS[(wanted - digits) as usize]
                }
            }
            Numeric::Big(big) => {
                let digits = digit_count(&big.unscaled);
                (big.unscaled.abs() / ten_to((digits - wanted) as u32)).to_i64().unwrap_or(0)
            }
            _ => 0,
        };
        (weight, leading)
    }

    /// `self / other` at `scale`; both finite, `other` not zero.
    pub(super) fn divide_to_scale(&self, other: &Numeric, scale: i64, round: bool) -> Result<Numeric> {
        let scale = scale as u32;
        if let (
            Numeric::Small { unscaled: left, scale: left_scale },
            Numeric::Small { unscaled: right, scale: right_scale },
        ) = (self, other)
        {
            let shift = i64::from(scale) + i64::from(*right_scale) - i64::from(*left_scale);
            if let Ok(shift) = usize::try_from(shift)
                && let Some(power) = POWERS.get(shift)
            {
                let dividend = i128::from(*left) * i128::from(*power);
                let divisor = i128::from(*right);
                let (mut quotient, remainder) = (dividend / divisor, dividend % divisor);
                if round && remainder.unsigned_abs() * 2 >= divisor.unsigned_abs() {
                    quotient += dividend.signum() * divisor.signum();
                }
                return Ok(Numeric::from_i128(quotient, scale));
            }
        }
        let ((left, left_scale), (right, right_scale)) = match (self.to_parts(), other.to_parts()) {
            (Some(left), Some(right)) => (left, right),
            _ => return Ok(Numeric::NaN),
        };
        let shift = i64::from(scale) + i64::from(right_scale) - i64::from(left_scale);
        let (dividend, divisor) =
            if shift >= 0 { (left * ten_to(shift as u32), right) } else { (left, right * ten_to(-shift as u32)) };
        Numeric::from_parts(divide_big(&dividend, &divisor, round), scale)
    }

    /// The greatest common divisor, at the larger scale.
    pub fn greatest_common_divisor(&self, other: &Numeric) -> Result<Numeric> {
        match (self.to_parts(), other.to_parts()) {
            (Some((left, left_scale)), Some((right, right_scale))) => {
                let scale = left_scale.max(right_scale);
                let (mut left, mut right) =
                    (left.abs() * ten_to(scale - left_scale), right.abs() * ten_to(scale - right_scale));
                while !right.is_zero() {
                    sync::yield_point()?;
                    let remainder = &left % &right;
                    left = std::mem::replace(&mut right, remainder);
                }
                Numeric::from_parts(left, scale)
            }
            _ => Ok(Numeric::NaN),
        }
    }

    /// The least common multiple, at the larger scale.
    pub fn least_common_multiple(&self, other: &Numeric) -> Result<Numeric> {
        let (Some(left_scale), Some(right_scale)) = (self.scale(), other.scale()) else { return Ok(Numeric::NaN) };
        let scale = i64::from(left_scale.max(right_scale));
        if self.is_zero() || other.is_zero() {
            return Numeric::ZERO.round(scale);
        }
        let divisor = self.greatest_common_divisor(other)?;
        self.divide_to_scale(&divisor, scale, false)?.multiply(other)?.abs().round(scale)
    }

    /// How many digits after the point are needed.
    pub fn min_scale(&self) -> Option<u32> {
        self.is_finite().then(|| self.trim_scale().scale().unwrap_or(0))
    }

    /// `n!` for `0 <= n`; 22003 when it gets too large.
    pub fn factorial(n: i64) -> Result<Numeric> {
        // 32177! is the largest with no more than the digits a number may have
        if n > 32177 {
            return Err(super::overflow());
        }
        let mut product = BigInt::from(1);
        for factor in 2..=n {
            sync::yield_point()?;
            product *= factor;
        }
        Numeric::from_parts(product, 0)
    }
}

fn signed_infinity(sign: i32) -> Numeric {
    match sign {
        0 => Numeric::NaN,
        1.. => Numeric::Infinity,
        _ => Numeric::NegativeInfinity,
    }
}

/// Both unscaled values at the larger scale, if they surely fit.
fn align(left: i64, left_scale: u16, right: i64, right_scale: u16) -> Option<(i128, i128)> {
    if left_scale == right_scale {
        return Some((i128::from(left), i128::from(right)));
    }
    let power = i128::from(*POWERS.get(usize::from(left_scale.abs_diff(right_scale)))?);
    Some(if left_scale < right_scale {
        (i128::from(left) * power, i128::from(right))
    } else {
        (i128::from(left), i128::from(right) * power)
    })
}

/// `dividend / divisor`, rounded half away from zero or cut off.
pub(super) fn divide_big(dividend: &BigInt, divisor: &BigInt, round: bool) -> BigInt {
    let quotient = dividend / divisor;
    if !round {
        return quotient;
    }
    let remainder: BigInt = dividend - &quotient * divisor;
    if remainder.abs() * 2 >= divisor.abs() { quotient + dividend.signum() * divisor.signum() } else { quotient }
}
