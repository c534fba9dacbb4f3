//! Functions of `numeric`, and arithmetic with `pg_lsn`.

use std::cmp::Ordering;

use base::{Error, Result, sqlstate};
use num_traits::ToPrimitive;

use super::floats::Float;
use super::{FunctionDef, mismatch};
use crate::context::EvalContext;
use crate::numeric::Numeric;
use crate::oids::*;
use crate::value::Value;

fn take(value: &Value) -> Result<&Numeric> {
    match value {
        Value::Numeric(value) => Ok(value),
        other => Err(mismatch(other)),
    }
}

fn unary(a: &[Value], function: fn(&Numeric) -> Result<Numeric>) -> Result<Value> {
    Ok(Value::Numeric(function(take(&a[0])?)?))
}

fn binary(a: &[Value], function: fn(&Numeric, &Numeric) -> Result<Numeric>) -> Result<Value> {
    Ok(Value::Numeric(function(take(&a[0])?, take(&a[1])?)?))
}

/// A scale to round to, cut down to what makes a difference.
fn scale_argument(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0).clamp(-131_072, 16_383)
}

fn factorial(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let n = a[0].as_i64().unwrap_or(0);
    if n < 0 {
        return Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "factorial of a negative number is undefined"));
    }
    Ok(Value::Numeric(Numeric::factorial(n)?))
}

fn to_float8(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let number = take(&a[0])?;
    let value = number.to_f64();
    if number.is_finite() && (value.is_infinite() || (value == 0.0 && !number.is_zero())) {
        // the text of the number is what the error names
        crate::number_text::parse_float8(&number.to_string())?;
    }
    Ok(Value::Float8(value))
}

fn to_float4(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let number = take(&a[0])?;
    if !number.is_finite() {
        return Ok(Value::Float4(number.to_f64() as f32));
    }
    // through text: a double in between would round twice
    crate::number_text::parse_float4(&number.to_string()).map(Value::Float4)
}

fn width_bucket(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let invalid = |message: &str| Error::new(base::SqlState::new("2201G"), message);
    let (operand, low, high) = (take(&a[0])?, take(&a[1])?, take(&a[2])?);
    let count = a[3].as_i64().unwrap_or(0);
    if count <= 0 {
        return Err(invalid("count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(invalid("operand, lower bound, and upper bound cannot be NaN"));
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(invalid("lower and upper bounds must be finite"));
    }
    let direction = low.compare(high);
    if direction == Ordering::Equal {
        return Err(invalid("lower bound cannot equal upper bound"));
    }
    let ascending = direction == Ordering::Less;
    let before = operand.compare(low) == if ascending { Ordering::Less } else { Ordering::Greater };
    let after = operand.compare(high) != if ascending { Ordering::Less } else { Ordering::Greater };
    let bucket = if before {
        0
    } else if after {
        count + 1
    } else {
        let share = operand.subtract(low)?.multiply(&Numeric::from(count))?;
        // As in PostgreSQL the quotient is rounded to its display scale, then truncated.
        share.divide(&high.subtract(low)?)?.truncate(0)?.to_i64_exact().unwrap_or(0) + 1
    };
    i32::try_from(bucket).map(Value::Int4).map_err(|_| super::integers::out_of_range::<i32>())
}

/// `log` of one number is a function in SQL in PostgreSQL, and its errors say so.
fn of_sql_function(error: Error) -> Error {
    error.context("SQL function \"log\" statement 1")
}

fn lsn(value: &Value) -> Result<u64> {
    match value {
        Value::PgLsn(value) => Ok(*value),
        other => Err(mismatch(other)),
    }
}

fn lsn_from(number: &Numeric) -> Result<Value> {
    if number.is_nan() {
        return Err(Error::unsupported("cannot convert NaN to pg_lsn"));
    }
    if !number.is_finite() {
        return Err(Error::unsupported("cannot convert infinity to pg_lsn"));
    }
    number
        .to_big_integer()
        .and_then(|value| value.to_u64())
        .map(Value::PgLsn)
        .ok_or_else(|| Error::new(sqlstate::INVALID_PARAMETER_VALUE, "pg_lsn out of range"))
}

fn lsn_add(position: &Value, bytes: &Numeric) -> Result<Value> {
    if bytes.is_nan() {
        return Err(Error::unsupported("cannot add NaN to pg_lsn"));
    }
    lsn_from(&Numeric::from(i128::from(lsn(position)?)).add(bytes)?)
}

fn lsn_subtract(position: &Value, bytes: &Numeric) -> Result<Value> {
    if bytes.is_nan() {
        return Err(Error::unsupported("cannot subtract NaN from pg_lsn"));
    }
    lsn_add(position, &bytes.negate())
}

fn lsn_difference(a: &[Value]) -> Result<Value> {
    Ok(Value::Numeric(Numeric::from(i128::from(lsn(&a[0])?) - i128::from(lsn(&a[1])?))))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(1724, "numeric_add", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::add)),
    FunctionDef::plain(1725, "numeric_sub", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::subtract)),
    FunctionDef::plain(1726, "numeric_mul", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::multiply)),
    FunctionDef::plain(1727, "numeric_div", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::divide)),
    FunctionDef::plain(1729, "numeric_mod", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::remainder)),
    FunctionDef::plain(1728, "mod", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::remainder)),
    FunctionDef::plain(1739, "numeric_power", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::power)),
    FunctionDef::plain(2169, "power", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::power)),
    FunctionDef::plain(1738, "pow", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::power)),
    FunctionDef::plain(1973, "div", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::divide_truncated)),
    FunctionDef::plain(1980, "numeric_div_trunc", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::divide_truncated)),
    FunctionDef::plain(5048, "gcd", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::greatest_common_divisor)),
    FunctionDef::plain(5049, "lcm", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::least_common_multiple)),
    FunctionDef::plain(1736, "log", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::log)),
    FunctionDef::plain(1737, "numeric_log", &[NUMERIC, NUMERIC], NUMERIC, |_, a| binary(a, Numeric::log)),
    FunctionDef::plain(1741, "log", &[NUMERIC], NUMERIC, |_, a| Numeric::log(&Numeric::from(10), take(&a[0])?).map(Value::Numeric).map_err(of_sql_function)),
    FunctionDef::plain(1481, "log10", &[NUMERIC], NUMERIC, |_, a| Ok(Value::Numeric(Numeric::log(&Numeric::from(10), take(&a[0])?)?))),
    FunctionDef::plain(1730, "sqrt", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::sqrt)),
    FunctionDef::plain(1731, "numeric_sqrt", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::sqrt)),
    FunctionDef::plain(1732, "exp", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::exp)),
    FunctionDef::plain(1733, "numeric_exp", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::exp)),
    FunctionDef::plain(1734, "ln", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::ln)),
    FunctionDef::plain(1735, "numeric_ln", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::ln)),
    FunctionDef::plain(1711, "ceil", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::ceil)),
    FunctionDef::plain(2167, "ceiling", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::ceil)),
    FunctionDef::plain(1712, "floor", &[NUMERIC], NUMERIC, |_, a| unary(a, Numeric::floor)),
    FunctionDef::plain(1705, "abs", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| Ok(x.abs()))),
    FunctionDef::plain(1704, "numeric_abs", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| Ok(x.abs()))),
    FunctionDef::plain(1771, "numeric_uminus", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| Ok(x.negate()))),
    FunctionDef::plain(1915, "numeric_uplus", &[NUMERIC], NUMERIC, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(1706, "sign", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| Ok(if x.is_nan() { Numeric::NaN } else { Numeric::from(x.signum()) }))),
    FunctionDef::plain(1708, "round", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| x.round(0))),
    FunctionDef::plain(1710, "trunc", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| x.truncate(0))),
    FunctionDef::plain(1707, "round", &[NUMERIC, INT4], NUMERIC, |_, a| Ok(Value::Numeric(take(&a[0])?.round(scale_argument(&a[1]))?))),
    FunctionDef::plain(1709, "trunc", &[NUMERIC, INT4], NUMERIC, |_, a| Ok(Value::Numeric(take(&a[0])?.truncate(scale_argument(&a[1]))?))),
    FunctionDef::plain(3281, "scale", &[NUMERIC], INT4, |_, a| Ok(Value::from(take(&a[0])?.scale().map(|scale| scale as i32)))),
    FunctionDef::plain(5042, "min_scale", &[NUMERIC], INT4, |_, a| Ok(Value::from(take(&a[0])?.min_scale().map(|scale| scale as i32)))),
    FunctionDef::plain(5043, "trim_scale", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| Ok(x.trim_scale()))),
    FunctionDef::plain(1376, "factorial", &[INT8], NUMERIC, factorial),
    FunctionDef::plain(1764, "numeric_inc", &[NUMERIC], NUMERIC, |_, a| unary(a, |x| x.add(&Numeric::ONE))),
    FunctionDef::plain(1767, "numeric_larger", &[NUMERIC, NUMERIC], NUMERIC, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(1766, "numeric_smaller", &[NUMERIC, NUMERIC], NUMERIC, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(1703, "numeric", &[NUMERIC, INT4], NUMERIC, |_, a| Ok(Value::Numeric(take(&a[0])?.clone().apply_typmod(a[1].as_i64().unwrap_or(-1) as i32)?))),
    FunctionDef::plain(1782, "numeric", &[INT2], NUMERIC, |_, a| Ok(Value::Numeric(Numeric::from(a[0].as_i64().unwrap_or(0))))),
    FunctionDef::plain(1740, "numeric", &[INT4], NUMERIC, |_, a| Ok(Value::Numeric(Numeric::from(a[0].as_i64().unwrap_or(0))))),
    FunctionDef::plain(1781, "numeric", &[INT8], NUMERIC, |_, a| Ok(Value::Numeric(Numeric::from(a[0].as_i64().unwrap_or(0))))),
    FunctionDef::plain(1742, "numeric", &[FLOAT4], NUMERIC, |_, a| Ok(Value::Numeric(Numeric::from_f32(f32::take(&a[0])?)?))),
    FunctionDef::plain(1743, "numeric", &[FLOAT8], NUMERIC, |_, a| Ok(Value::Numeric(Numeric::from_f64(f64::take(&a[0])?)?))),
    FunctionDef::plain(1783, "int2", &[NUMERIC], INT2, |_, a| Ok(Value::Int2(take(&a[0])?.to_integer("smallint", i64::from(i16::MIN)..=i64::from(i16::MAX))? as i16))),
    FunctionDef::plain(1744, "int4", &[NUMERIC], INT4, |_, a| Ok(Value::Int4(take(&a[0])?.to_integer("integer", i64::from(i32::MIN)..=i64::from(i32::MAX))? as i32))),
    FunctionDef::plain(1779, "int8", &[NUMERIC], INT8, |_, a| Ok(Value::Int8(take(&a[0])?.to_integer("bigint", i64::MIN..=i64::MAX)?))),
    FunctionDef::plain(1746, "float8", &[NUMERIC], FLOAT8, to_float8),
    FunctionDef::plain(1745, "float4", &[NUMERIC], FLOAT4, to_float4),
    FunctionDef::plain(2170, "width_bucket", &[NUMERIC, NUMERIC, NUMERIC, INT4], INT4, width_bucket),
    FunctionDef::plain(5022, "pg_lsn_pli", &[PG_LSN, NUMERIC], PG_LSN, |_, a| lsn_add(&a[0], take(&a[1])?)),
    FunctionDef::plain(5023, "numeric_pl_pg_lsn", &[NUMERIC, PG_LSN], PG_LSN, |_, a| lsn_add(&a[1], take(&a[0])?)),
    FunctionDef::plain(5024, "pg_lsn_mii", &[PG_LSN, NUMERIC], PG_LSN, |_, a| lsn_subtract(&a[0], take(&a[1])?)),
    FunctionDef::plain(3237, "pg_lsn_mi", &[PG_LSN, PG_LSN], NUMERIC, |_, a| lsn_difference(a)),
    FunctionDef::plain(3165, "pg_wal_lsn_diff", &[PG_LSN, PG_LSN], NUMERIC, |_, a| lsn_difference(a)),
    FunctionDef::plain(6103, "pg_lsn", &[NUMERIC], PG_LSN, |_, a| lsn_from(take(&a[0])?)),
];
