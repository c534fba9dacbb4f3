//! Functions of `money`.

use base::{Error, Result, sqlstate};

use super::{FunctionDef, larger, mismatch, smaller};
use crate::compare::compare_values;
use crate::money::{CENTS, in_words};
use crate::numeric::Numeric;
use crate::oids::*;
use crate::value::Value;

#[cold]
fn division_by_zero() -> Error {
    Error::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

#[cold]
fn out_of_range() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "money out of range")
}

/// An amount that was computed as an integer. 22003 if it is too large for one.
fn checked(cents: Option<i64>) -> Result<Value> {
    cents.map(Value::Money).ok_or_else(out_of_range)
}

/// The amount nearest to the result of a calculation with `operand`. 22003 if there is none.
fn rounded(number: f64, operand: f64) -> Result<Value> {
    if number.is_infinite() && operand.is_finite() {
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow"));
    }
    let number = number.round_ties_even();
    let is_in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    if is_in_range { Ok(Value::Money(number as i64)) } else { Err(out_of_range()) }
}

/// The sum of two amounts. 22003
pub(crate) fn sum(left: i64, right: i64) -> Result<Value> {
    checked(left.checked_add(right))
}

fn float(value: &Value) -> Result<f64> {
    match value {
        Value::Float4(value) => Ok(f64::from(*value)),
        Value::Float8(value) => Ok(*value),
        other => Err(mismatch(other)),
    }
}

fn amount(value: &Value) -> Result<i64> {
    match value {
        Value::Money(cents) => Ok(*cents),
        other => Err(mismatch(other)),
    }
}

fn integer(value: &Value) -> Result<i64> {
    value.as_i64().ok_or_else(|| mismatch(value))
}

fn multiply(money: &Value, factor: &Value) -> Result<Value> {
    match factor {
        Value::Float4(_) | Value::Float8(_) => {
            let factor = float(factor)?;
            rounded(amount(money)? as f64 * factor, factor)
        }
        _ => checked(amount(money)?.checked_mul(integer(factor)?)),
    }
}

/// 22012, 22003; 22P01 for the one quotient of integers that is no amount.
fn divide(a: &[Value]) -> Result<Value> {
    let cents = amount(&a[0])?;
    if let Value::Float4(_) | Value::Float8(_) = a[1] {
        let divisor = float(&a[1])?;
        return if divisor == 0.0 { Err(division_by_zero()) } else { rounded(cents as f64 / divisor, divisor) };
    }
    match integer(&a[1])? {
        0 => Err(division_by_zero()),
        divisor => cents.checked_div(divisor).map(Value::Money).ok_or_else(|| {
            Error::new(sqlstate::FLOATING_POINT_EXCEPTION, "floating-point exception").detail(
                "An invalid floating-point operation was signaled. This probably means an out-of-range result or an \
                 invalid operation, such as division by zero.",
            )
        }),
    }
}

/// How often one amount is in the other.
fn ratio(a: &[Value]) -> Result<Value> {
    let (dividend, divisor) = (amount(&a[0])?, amount(&a[1])?);
    if divisor == 0 { Err(division_by_zero()) } else { Ok(Value::Float8(dividend as f64 / divisor as f64)) }
}

#[cold]
fn bigint_out_of_range() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
}

fn from_integer(a: &[Value]) -> Result<Value> {
    integer(&a[0])?.checked_mul(CENTS).map(Value::Money).ok_or_else(bigint_out_of_range)
}

/// 22003, and 0A000 for what is no number.
fn from_numeric(a: &[Value]) -> Result<Value> {
    take!(a; Numeric number);
    Ok(Value::Money(number.multiply(&Numeric::from(CENTS))?.to_integer("bigint", i64::MIN..=i64::MAX)?))
}

fn to_numeric(a: &[Value]) -> Result<Value> {
    Ok(Value::Numeric(Numeric::from_parts(amount(&a[0])?.into(), 2)?))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(377, "cash_cmp", &[MONEY, MONEY], INT4, |_, a| Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))),
    FunctionDef::plain(846, "cash_mul_flt4", &[MONEY, FLOAT4], MONEY, |_, a| multiply(&a[0], &a[1])),
    FunctionDef::plain(847, "cash_div_flt4", &[MONEY, FLOAT4], MONEY, |_, a| divide(a)),
    FunctionDef::plain(848, "flt4_mul_cash", &[FLOAT4, MONEY], MONEY, |_, a| multiply(&a[1], &a[0])),
    FunctionDef::plain(862, "int4_mul_cash", &[INT4, MONEY], MONEY, |_, a| multiply(&a[1], &a[0])),
    FunctionDef::plain(863, "int2_mul_cash", &[INT2, MONEY], MONEY, |_, a| multiply(&a[1], &a[0])),
    FunctionDef::plain(864, "cash_mul_int4", &[MONEY, INT4], MONEY, |_, a| multiply(&a[0], &a[1])),
    FunctionDef::plain(865, "cash_div_int4", &[MONEY, INT4], MONEY, |_, a| divide(a)),
    FunctionDef::plain(866, "cash_mul_int2", &[MONEY, INT2], MONEY, |_, a| multiply(&a[0], &a[1])),
    FunctionDef::plain(867, "cash_div_int2", &[MONEY, INT2], MONEY, |_, a| divide(a)),
    FunctionDef::plain(894, "cash_pl", &[MONEY, MONEY], MONEY, |_, a| sum(amount(&a[0])?, amount(&a[1])?)),
    FunctionDef::plain(895, "cash_mi", &[MONEY, MONEY], MONEY, |_, a| checked(amount(&a[0])?.checked_sub(amount(&a[1])?))),
    FunctionDef::plain(896, "cash_mul_flt8", &[MONEY, FLOAT8], MONEY, |_, a| multiply(&a[0], &a[1])),
    FunctionDef::plain(897, "cash_div_flt8", &[MONEY, FLOAT8], MONEY, |_, a| divide(a)),
    FunctionDef::plain(898, "cashlarger", &[MONEY, MONEY], MONEY, |_, a| Ok(larger(a))),
    FunctionDef::plain(899, "cashsmaller", &[MONEY, MONEY], MONEY, |_, a| Ok(smaller(a))),
    FunctionDef::plain(919, "flt8_mul_cash", &[FLOAT8, MONEY], MONEY, |_, a| multiply(&a[1], &a[0])),
    FunctionDef::plain(935, "cash_words", &[MONEY], TEXT, |_, a| Ok(Value::from(in_words(amount(&a[0])?)))),
    FunctionDef::plain(3344, "cash_mul_int8", &[MONEY, INT8], MONEY, |_, a| multiply(&a[0], &a[1])),
    FunctionDef::plain(3345, "cash_div_int8", &[MONEY, INT8], MONEY, |_, a| divide(a)),
    FunctionDef::plain(3399, "int8_mul_cash", &[INT8, MONEY], MONEY, |_, a| multiply(&a[1], &a[0])),
    FunctionDef::plain(3811, "money", &[INT4], MONEY, |_, a| from_integer(a)).stable(),
    FunctionDef::plain(3812, "money", &[INT8], MONEY, |_, a| from_integer(a)).stable(),
    FunctionDef::plain(3822, "cash_div_cash", &[MONEY, MONEY], FLOAT8, |_, a| ratio(a)),
    FunctionDef::plain(3823, "numeric", &[MONEY], NUMERIC, |_, a| to_numeric(a)).stable(),
    FunctionDef::plain(3824, "money", &[NUMERIC], MONEY, |_, a| from_numeric(a)).stable(),
];
