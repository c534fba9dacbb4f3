//! Square root, exponential, logarithm and power of `numeric`.
//!
//! Computed in fixed point: a number is an integer over a power of ten with a dozen guard digits beyond the
//! result's scale, which follows PostgreSQL's rules (16 significant digits, or the arguments' scales).
//! exp: halve the argument until small, Taylor series, square back. ln: take square roots until near 1, then
//! the series of atanh, doubled back.

use std::cmp::Ordering;

use base::{Error, Result, sqlstate};
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::arithmetic::divide_big;
use super::{MAX_DISPLAY_SCALE, MIN_SIGNIFICANT_DIGITS, Numeric, overflow, ten_to};

const GUARD_DIGITS: u32 = 12;

fn invalid_logarithm(message: &str) -> Error {
    Error::new(sqlstate::INVALID_ARGUMENT_FOR_LOGARITHM, message)
}

fn invalid_power(message: &str) -> Error {
    Error::new(sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

/// From this argument on PostgreSQL says that e's power is too large: three times the digits that a result may have behind its point.
const EXP_ARGUMENT_LIMIT: f64 = 6000.0;

impl Numeric {
    /// The square root. 2201F for negative numbers.
    pub fn sqrt(&self) -> Result<Numeric> {
        if self.is_nan() {
            return Ok(Numeric::NaN);
        }
        if self.signum() < 0 {
            return Err(invalid_power("cannot take square root of a negative number"));
        }
        let Some((unscaled, scale)) = self.to_parts() else { return Ok(self.clone()) };
        let (weight, _) = self.leading_group();
        let root_weight = (weight + 1) * 4 / 2 - 1;
        sqrt_at(&unscaled, scale, display_scale(MIN_SIGNIFICANT_DIGITS - root_weight, &[scale]))
    }

    /// The square root of a finite number that is not negative, rounded to `scale`.
    pub fn sqrt_to_scale(&self, scale: u32) -> Result<Numeric> {
        match self.to_parts() {
            Some((unscaled, own)) => sqrt_at(&unscaled, own, scale),
            None => Ok(self.clone()),
        }
    }

    /// e to this power. 22003 when the result is too large.
    pub fn exp(&self) -> Result<Numeric> {
        match self {
            Numeric::NaN | Numeric::Infinity => return Ok(self.clone()),
            Numeric::NegativeInfinity => return Ok(Numeric::ZERO),
            _ => {}
        }
        // As in PostgreSQL, which looks at the argument first: nothing from here on is computed.
        if self.to_f64() >= EXP_ARGUMENT_LIMIT {
            return Err(super::overflow());
        }
        let decimal_exponent = (self.to_f64() * std::f64::consts::LOG10_E).clamp(-2000.0, 2000.0);
        let scale = self.scale().unwrap_or(0);
        let result_scale = display_scale(MIN_SIGNIFICANT_DIGITS - decimal_exponent as i64, &[scale]);
        exp_at(self, result_scale)
    }

    /// The natural logarithm. 2201E unless positive.
    pub fn ln(&self) -> Result<Numeric> {
        if let Some(special) = logarithm_special(self)? {
            return Ok(special);
        }
        let scale = self.scale().unwrap_or(0);
        let result_scale = display_scale(MIN_SIGNIFICANT_DIGITS - self.estimate_ln_weight(), &[scale]);
        let fixed = ln_fixed(self, result_scale + GUARD_DIGITS)?;
        Numeric::from_parts(super::divide_by_power(&fixed, GUARD_DIGITS, true), result_scale)
    }

    /// The logarithm of `self` to base `base`. 2201E unless both are positive; 22012 for base 1.
    pub fn log(base: &Numeric, number: &Numeric) -> Result<Numeric> {
        if base.is_nan() || number.is_nan() {
            return Ok(Numeric::NaN);
        }
        for argument in [base, number] {
            check_logarithm_argument(argument)?;
        }
        match (base.is_finite(), number.is_finite()) {
            (false, false) => return Ok(Numeric::NaN),
            (false, true) => return Ok(Numeric::ZERO),
            (true, false) => return Ok(Numeric::Infinity),
            (true, true) => {}
        }
        let base_weight = base.estimate_ln_weight();
        let number_weight = number.estimate_ln_weight();
        let scales = [base.scale().unwrap_or(0), number.scale().unwrap_or(0)];
        let result_scale = display_scale(MIN_SIGNIFICANT_DIGITS - (number_weight - base_weight), &scales);
        // the divisor may be tiny: its weight tells how many more digits are needed
        let working = result_scale + GUARD_DIGITS + base_weight.unsigned_abs().min(2000) as u32;
        let divisor = ln_fixed(base, working)?;
        if divisor.is_zero() {
            return Err(super::division_by_zero());
        }
        let dividend = ln_fixed(number, working)? * ten_to(result_scale);
        Numeric::from_parts(divide_big(&dividend, &divisor, true), result_scale)
    }

    /// `self` to the power `exponent`. 2201F where it is undefined; 22003 when too large.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.power_special(exponent)? {
            return Ok(special);
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(invalid_power("zero raised to a negative power is undefined"));
        }
        let whole_exponent = exponent.to_i64_exact();
        if self.signum() < 0 && exponent.trim_scale().scale() != Some(0) {
            return Err(invalid_power("a negative number raised to a non-integer power yields a complex result"));
        }
        if let Some(whole) = whole_exponent.filter(|whole| i32::try_from(*whole).is_ok()) {
            return self.power_integer(whole);
        }
        if self.is_zero() {
            return Numeric::ZERO.round(MIN_SIGNIFICANT_DIGITS);
        }
        self.power_general(exponent)
    }

    /// NaN, infinities, and the bases and exponents that need no work.
    fn power_special(&self, exponent: &Numeric) -> Result<Option<Numeric>> {
        if self.is_finite() && exponent.is_finite() {
            return Ok(None);
        }
        let is_one = |value: &Numeric| value.compare(&Numeric::ONE) == Ordering::Equal;
        if self.is_nan() {
            return Ok(Some(if exponent.is_zero() { Numeric::ONE } else { Numeric::NaN }));
        }
        if exponent.is_nan() {
            return Ok(Some(if is_one(self) { Numeric::ONE } else { Numeric::NaN }));
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(invalid_power("zero raised to a negative power is undefined"));
        }
        if self.signum() < 0 && exponent.is_finite() && exponent.trim_scale().scale() != Some(0) {
            return Err(invalid_power("a negative number raised to a non-integer power yields a complex result"));
        }
        if is_one(self) || exponent.is_zero() {
            return Ok(Some(Numeric::ONE));
        }
        if self.is_zero() {
            return Ok(Some(Numeric::ZERO));
        }
        let result = if exponent.is_finite() {
            // the base is an infinity
            if exponent.signum() < 0 {
                Numeric::ZERO
            } else if *self == Numeric::NegativeInfinity && exponent.is_odd() {
                Numeric::NegativeInfinity
            } else {
                Numeric::Infinity
            }
        } else {
            match self.abs().compare(&Numeric::ONE) {
                Ordering::Equal => Numeric::ONE,
                order if (order == Ordering::Greater) == (exponent.signum() > 0) => Numeric::Infinity,
                _ => Numeric::ZERO,
            }
        };
        Ok(Some(result))
    }

    fn is_odd(&self) -> bool {
        self.to_big_integer().is_some_and(|value| value.bit(0))
    }

    fn power_integer(&self, exponent: i64) -> Result<Numeric> {
        let scale = self.scale().unwrap_or(0);
        let log10 = self.approximate_log10() * exponent as f64;
        if log10 > f64::from(super::MAX_INTEGER_DIGITS as u32 + 6) {
            return Err(overflow());
        }
        let result_scale = display_scale(MIN_SIGNIFICANT_DIGITS, &[scale]);
        if log10 + 1.0 < -f64::from(result_scale) && !self.is_zero() {
            return Numeric::from_parts(BigInt::zero(), result_scale);
        }
        match exponent {
            0 => return Numeric::ONE.round(i64::from(result_scale)),
            1 => return self.round(i64::from(result_scale)),
            -1 => return Numeric::ONE.divide_to_scale(self, i64::from(result_scale), true),
            2 => return self.multiply(self)?.round(i64::from(result_scale)),
            _ => {}
        }
        if self.is_zero() {
            return Numeric::ZERO.round(i64::from(result_scale));
        }
        // square and multiply, keeping as many significant digits as the result shows and some more
        let digits = (i64::from(result_scale) + log10 as i64).max(0) as u32 + 8 + 2 * GUARD_DIGITS;
        let (unscaled, scale) = self.to_parts().expect("special values were handled before");
        let mut square = Floating { mantissa: unscaled, exponent: -i64::from(scale) };
        let mut product = Floating { mantissa: BigInt::one(), exponent: 0 };
        let mut remaining = exponent.unsigned_abs();
        while remaining > 0 {
            sync::yield_point()?;
            if remaining & 1 == 1 {
                product = product.multiply(&square, digits);
            }
            remaining >>= 1;
            if remaining > 0 {
                square = square.multiply(&square, digits);
            }
        }
        if exponent > 0 {
            return product.to_numeric(result_scale);
        }
        product.reciprocal(digits).to_numeric(result_scale)
    }

    fn power_general(&self, exponent: &Numeric) -> Result<Numeric> {
        let negative = self.signum() < 0 && exponent.is_odd();
        let magnitude = self.abs();
        let scales = [self.scale().unwrap_or(0), exponent.scale().unwrap_or(0)];
        // a first, rough exponent tells the weight of the result, and so the scale
        let rough_scale = (8 - magnitude.estimate_ln_weight()).clamp(0, MAX_DISPLAY_SCALE) as u32;
        let rough_ln = Numeric::from_parts(ln_fixed(&magnitude, rough_scale)?, rough_scale)?;
        let rough = rough_ln.multiply(exponent)?.to_f64();
        let log10 = rough * std::f64::consts::LOG10_E;
        // As in PostgreSQL, which limits the argument of the exponential function: larger powers are not computed.
        if rough >= EXP_ARGUMENT_LIMIT {
            return Err(overflow());
        }
        if rough <= -EXP_ARGUMENT_LIMIT || log10 + 1.0 < -(MAX_DISPLAY_SCALE as f64) {
            return Numeric::from_parts(BigInt::zero(), MAX_DISPLAY_SCALE as u32);
        }
        let result_scale = display_scale(MIN_SIGNIFICANT_DIGITS - log10 as i64, &scales);
        let exponent_weight = exponent.leading_exponent().unwrap_or(0).max(0) as u32;
        let working = result_scale + log10.max(0.0) as u32 + exponent_weight + GUARD_DIGITS;
        let product = Numeric::from_parts(ln_fixed(&magnitude, working)?, working)?.multiply(exponent)?;
        let result = exp_at(&product, result_scale)?;
        Ok(if negative { result.negate() } else { result })
    }

    fn approximate_log10(&self) -> f64 {
        let Some(exponent) = self.leading_exponent() else { return 0.0 };
        let (unscaled, _) = self.to_parts().expect("a number with a leading digit is finite");
        let digits = super::digit_count(&unscaled);
        let kept = if digits > 17 { super::divide_by_power(&unscaled, (digits - 17) as u32, false) } else { unscaled };
        let mantissa = kept.abs().to_f64().unwrap_or(1.0) / 10_f64.powi(digits.min(17) as i32 - 1);
        mantissa.log10() + exponent as f64
    }

    /// The decimal weight of the natural logarithm: how many digits it has before the point, about.
    fn estimate_ln_weight(&self) -> i64 {
        if self.signum() <= 0 || !self.is_finite() {
            return 0;
        }
        let near_one = |bound: i64| self.compare(&Numeric::with_scale(i128::from(bound), 1));
        if near_one(9) != Ordering::Less && near_one(11) != Ordering::Greater {
            let Ok(difference) = self.subtract(&Numeric::ONE) else { return 0 };
            // the logarithm is about the difference; PostgreSQL counts its first group's digits
            let (weight, digit) = difference.leading_group();
            return if digit == 0 { 0 } else { weight * 4 + (digit as f64).log10() as i64 };
        }
        let ln = self.approximate_log10() * std::f64::consts::LN_10;
        ln.abs().log10() as i64
    }
}

fn sqrt_at(unscaled: &BigInt, scale: u32, result_scale: u32) -> Result<Numeric> {
    // one digit more, so that rounding sees it; exact roots stay exact
    let working = 2 * (result_scale + 1);
    let shifted = if working >= scale {
        unscaled * ten_to(working - scale)
    } else {
        super::divide_by_power(unscaled, scale - working, false)
    };
    Numeric::from_parts(super::divide_by_power(&shifted.sqrt(), 1, true), result_scale)
}

/// A decimal with a limited number of digits: `mantissa * 10^exponent`.
struct Floating {
    mantissa: BigInt,
    exponent: i64,
}

impl Floating {
    fn multiply(&self, other: &Floating, digits: u32) -> Floating {
        Floating { mantissa: &self.mantissa * &other.mantissa, exponent: self.exponent + other.exponent }.limit(digits)
    }

    fn limit(self, digits: u32) -> Floating {
        let excess = super::digit_count(&self.mantissa) - i64::from(digits);
        if excess <= 0 {
            return self;
        }
        Floating {
            mantissa: super::divide_by_power(&self.mantissa, excess as u32, true),
            exponent: self.exponent + excess,
        }
    }

    fn reciprocal(&self, digits: u32) -> Floating {
        let shift = super::digit_count(&self.mantissa) as u32 + digits;
        Floating {
            mantissa: divide_big(&ten_to(shift), &self.mantissa, true),
            exponent: -self.exponent - i64::from(shift),
        }
    }

    fn to_numeric(&self, scale: u32) -> Result<Numeric> {
        let shift = self.exponent + i64::from(scale);
        if shift >= 0 {
            if shift > super::MAX_INTEGER_DIGITS + i64::from(super::MAX_SCALE) {
                return Err(overflow());
            }
            return Numeric::from_parts(&self.mantissa * ten_to(shift as u32), scale);
        }
        if -shift > super::digit_count(&self.mantissa) + 1 {
            return Numeric::from_parts(BigInt::zero(), scale);
        }
        Numeric::from_parts(super::divide_by_power(&self.mantissa, -shift as u32, true), scale)
    }
}

fn display_scale(wanted: i64, at_least: &[u32]) -> u32 {
    let least = at_least.iter().copied().max().map_or(0, i64::from);
    wanted.max(least).clamp(0, MAX_DISPLAY_SCALE) as u32
}

fn check_logarithm_argument(value: &Numeric) -> Result<()> {
    if value.is_zero() {
        return Err(invalid_logarithm("cannot take logarithm of zero"));
    }
    if value.signum() < 0 {
        return Err(invalid_logarithm("cannot take logarithm of a negative number"));
    }
    Ok(())
}

fn logarithm_special(value: &Numeric) -> Result<Option<Numeric>> {
    if value.is_nan() {
        return Ok(Some(Numeric::NaN));
    }
    check_logarithm_argument(value)?;
    Ok((!value.is_finite()).then(|| value.clone()))
}

/// `value` over `10^digits`, cut off.
fn to_fixed(value: &Numeric, digits: u32) -> BigInt {
    let (unscaled, scale) = value.to_parts().expect("callers handle special values");
    if scale <= digits { unscaled * ten_to(digits - scale) } else { unscaled / ten_to(scale - digits) }
}

/// exp(value), rounded to `scale`.
fn exp_at(value: &Numeric, scale: u32) -> Result<Numeric> {
    let approximate = value.to_f64();
    if approximate > super::MAX_INTEGER_DIGITS as f64 * std::f64::consts::LN_10 {
        return Err(overflow());
    }
    if approximate < -(f64::from(scale) + 2.0) * std::f64::consts::LN_10 {
        return Numeric::from_parts(BigInt::zero(), scale);
    }
    // digits before the point of the result cost relative precision of the argument
    let whole_digits = (approximate * std::f64::consts::LOG10_E).max(0.0) as u32 + 1;
    let halvings = (approximate.abs().max(1.0).log2() as u32) + 8;
    let working = scale + whole_digits + halvings / 3 + GUARD_DIGITS;
    let one = ten_to(working);
    let argument: BigInt = to_fixed(value, working) >> halvings;
    let mut sum = one.clone();
    let mut term = one.clone();
    let mut index = 1_u32;
    while !term.is_zero() {
        sync::yield_point()?;
        term = &term * &argument / &one / index;
        sum += &term;
        index += 1;
        // the shift rounds towards minus infinity: a negative argument never reaches zero by it
        if term == BigInt::from(-1) {
            break;
        }
    }
    for _ in 0..halvings {
        sync::yield_point()?;
        sum = &sum * &sum / &one;
    }
    Numeric::from_parts(super::divide_by_power(&sum, working - scale, true), scale)
}

/// ln(value) over `10^digits`; `value` is finite and positive.
fn ln_fixed(value: &Numeric, digits: u32) -> Result<BigInt> {
    let working = digits + GUARD_DIGITS;
    // bring it near 1 by a power of ten first, so that fixed point holds large and small numbers alike
    let exponent = value.leading_exponent().unwrap_or(0);
    let (unscaled, scale) = value.to_parts().expect("callers handle special values");
    let near_one_exponent = if exponent.abs() <= 1 { 0 } else { exponent };
    let shift = i64::from(working) - i64::from(scale) - near_one_exponent;
    let fixed = if shift >= 0 { unscaled * ten_to(shift as u32) } else { unscaled / ten_to(-shift as u32) };
    let mut result = ln_near_one(fixed, working)?;
    if near_one_exponent != 0 {
        result += ln_near_one(BigInt::from(10) * ten_to(working), working)? * near_one_exponent;
    }
    Ok(super::divide_by_power(&result, GUARD_DIGITS, true))
}

/// ln of a fixed-point number not far from 1.
fn ln_near_one(value: BigInt, digits: u32) -> Result<BigInt> {
    let extra = 8;
    let one = ten_to(digits + extra);
    let mut argument = value * ten_to(extra);
    let mut doublings = 1_u32;
    let limit = &one / 100_u32;
    while (&argument - &one).abs() > limit {
        sync::yield_point()?;
        argument = (&argument * &one).sqrt();
        doublings += 1;
    }
    // ln x = 2 atanh((x - 1) / (x + 1))
    let ratio = (&argument - &one) * &one / (&argument + &one);
    let square = &ratio * &ratio / &one;
    let mut sum = ratio.clone();
    let mut power = ratio;
    let mut divisor = 3_u32;
    loop {
        sync::yield_point()?;
        power = &power * &square / &one;
        if power.is_zero() {
            break;
        }
        sum += &power / divisor;
        divisor += 2;
    }
    Ok(super::divide_by_power(&(sum << doublings), extra, true))
}
