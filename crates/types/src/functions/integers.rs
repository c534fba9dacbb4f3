//! Integer arithmetic, and what integers convert to.

use base::{Error, Oid, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::context::EvalContext;
use crate::oids::*;
use crate::value::Value;

/// An integer type of SQL.
pub(super) trait Integer: Copy + PartialEq + Into<i64> + TryFrom<i64> {
    /// As in error messages.
    const NAME: &'static str;
    fn take(value: &Value) -> Result<Self>;
    fn wrap(self) -> Value;
}

macro_rules! integer {
    ($type:ty, $variant:ident, $name:literal) => {
        impl Integer for $type {
            const NAME: &'static str = $name;
            #[inline]
            fn take(value: &Value) -> Result<$type> {
                match value {
                    Value::$variant(value) => Ok(*value),
                    other => Err(mismatch(other)),
                }
            }
            #[inline]
            fn wrap(self) -> Value {
                Value::$variant(self)
            }
        }
    };
}

integer!(i16, Int2, "smallint");
integer!(i32, Int4, "integer");
integer!(i64, Int8, "bigint");

/// The type that an operation on two integer types has: the wider one.
trait Wider<R> {
    type Wide: Integer;
}

macro_rules! wider {
    ($($left:ty, $right:ty => $wide:ty;)*) => { $(impl Wider<$right> for $left { type Wide = $wide; })* };
}

wider! {
    i16, i16 => i16;
    i32, i32 => i32;
    i64, i64 => i64;
    i16, i32 => i32;
    i32, i16 => i32;
    i16, i64 => i64;
    i64, i16 => i64;
    i32, i64 => i64;
    i64, i32 => i64;
}

#[cold]
pub(super) fn out_of_range<T: Integer>() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range", T::NAME))
}

#[cold]
pub(super) fn division_by_zero() -> Error {
    Error::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

#[inline]
fn operands<L: Integer, R: Integer>(a: &[Value]) -> Result<(i64, i64)> {
    Ok((L::take(&a[0])?.into(), R::take(&a[1])?.into()))
}

/// 64 bits hold every result but those of 64-bit operands, whose overflow `value` reports as `None`.
#[inline]
fn finish<T: Integer>(value: Option<i64>) -> Result<Value> {
    match value.map(T::try_from) {
        Some(Ok(value)) => Ok(value.wrap()),
        _ => Err(out_of_range::<T>()),
    }
}

fn add<L: Integer + Wider<R>, R: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<L, R>(a)?;
    finish::<L::Wide>(left.checked_add(right))
}

fn subtract<L: Integer + Wider<R>, R: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<L, R>(a)?;
    finish::<L::Wide>(left.checked_sub(right))
}

fn multiply<L: Integer + Wider<R>, R: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<L, R>(a)?;
    finish::<L::Wide>(left.checked_mul(right))
}

fn divide<L: Integer + Wider<R>, R: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<L, R>(a)?;
    if right == 0 {
        return Err(division_by_zero());
    }
    finish::<L::Wide>(left.checked_div(right))
}

fn remainder<L: Integer + Wider<R>, R: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<L, R>(a)?;
    if right == 0 {
        return Err(division_by_zero());
    }
    finish::<L::Wide>(Some(left.checked_rem(right).unwrap_or(0)))
}

fn negate<T: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    finish::<T>(T::take(&a[0])?.into().checked_neg())
}

fn absolute<T: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    finish::<T>(T::take(&a[0])?.into().checked_abs())
}

fn gcd(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

fn greatest_common_divisor<T: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<T, T>(a)?;
    finish::<T>(i64::try_from(gcd(left.unsigned_abs(), right.unsigned_abs())).ok())
}

fn least_common_multiple<T: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = operands::<T, T>(a)?;
    if left == 0 || right == 0 {
        return finish::<T>(Some(0));
    }
    let divisor = gcd(left.unsigned_abs(), right.unsigned_abs());
    let multiple = (left.unsigned_abs() / divisor).checked_mul(right.unsigned_abs());
    finish::<T>(multiple.and_then(|multiple| i64::try_from(multiple).ok()))
}

/// Converts between integer types. 22003.
fn narrow<T: Integer>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    finish::<T>(a[0].as_i64())
}

fn same_xid(xid: &Value, number: &Value) -> bool {
    match (xid, number) {
        (Value::Xid(xid), Value::Int4(number)) => *xid as u32 == *number as u32,
        _ => false,
    }
}

/// The bucket of a histogram with equal widths that a number falls into.
fn width_bucket(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let invalid = |message: &str| Error::new(base::SqlState::new("2201G"), message);
    let [Value::Float8(operand), Value::Float8(low), Value::Float8(high), Value::Int4(count)] = a else {
        return Err(mismatch(&a[0]));
    };
    if *count <= 0 {
        return Err(invalid("count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(invalid("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(invalid("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(invalid("lower bound cannot equal upper bound"));
    }
    // a descending histogram is the ascending one mirrored
    let (operand, low, high) = if low < high { (*operand, *low, *high) } else { (-operand, -low, -high) };
    let bucket = if operand < low {
        0
    } else if operand >= high {
        count.checked_add(1).ok_or_else(out_of_range::<i32>)?
    } else {
        let share = (operand / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        ((f64::from(*count) * share) as i32 + 1).min(*count)
    };
    Ok(Value::Int4(bucket))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(176, "int2pl", &[INT2, INT2], INT2, add::<i16, i16>),
    FunctionDef::plain(180, "int2mi", &[INT2, INT2], INT2, subtract::<i16, i16>),
    FunctionDef::plain(152, "int2mul", &[INT2, INT2], INT2, multiply::<i16, i16>),
    FunctionDef::plain(153, "int2div", &[INT2, INT2], INT2, divide::<i16, i16>),
    FunctionDef::plain(155, "int2mod", &[INT2, INT2], INT2, remainder::<i16, i16>),
    FunctionDef::plain(177, "int4pl", &[INT4, INT4], INT4, add::<i32, i32>),
    FunctionDef::plain(181, "int4mi", &[INT4, INT4], INT4, subtract::<i32, i32>),
    FunctionDef::plain(141, "int4mul", &[INT4, INT4], INT4, multiply::<i32, i32>),
    FunctionDef::plain(154, "int4div", &[INT4, INT4], INT4, divide::<i32, i32>),
    FunctionDef::plain(156, "int4mod", &[INT4, INT4], INT4, remainder::<i32, i32>),
    FunctionDef::plain(463, "int8pl", &[INT8, INT8], INT8, add::<i64, i64>),
    FunctionDef::plain(464, "int8mi", &[INT8, INT8], INT8, subtract::<i64, i64>),
    FunctionDef::plain(465, "int8mul", &[INT8, INT8], INT8, multiply::<i64, i64>),
    FunctionDef::plain(466, "int8div", &[INT8, INT8], INT8, divide::<i64, i64>),
    FunctionDef::plain(945, "int8mod", &[INT8, INT8], INT8, remainder::<i64, i64>),
    FunctionDef::plain(178, "int24pl", &[INT2, INT4], INT4, add::<i16, i32>),
    FunctionDef::plain(182, "int24mi", &[INT2, INT4], INT4, subtract::<i16, i32>),
    FunctionDef::plain(170, "int24mul", &[INT2, INT4], INT4, multiply::<i16, i32>),
    FunctionDef::plain(172, "int24div", &[INT2, INT4], INT4, divide::<i16, i32>),
    FunctionDef::plain(179, "int42pl", &[INT4, INT2], INT4, add::<i32, i16>),
    FunctionDef::plain(183, "int42mi", &[INT4, INT2], INT4, subtract::<i32, i16>),
    FunctionDef::plain(171, "int42mul", &[INT4, INT2], INT4, multiply::<i32, i16>),
    FunctionDef::plain(173, "int42div", &[INT4, INT2], INT4, divide::<i32, i16>),
    FunctionDef::plain(841, "int28pl", &[INT2, INT8], INT8, add::<i16, i64>),
    FunctionDef::plain(942, "int28mi", &[INT2, INT8], INT8, subtract::<i16, i64>),
    FunctionDef::plain(943, "int28mul", &[INT2, INT8], INT8, multiply::<i16, i64>),
    FunctionDef::plain(948, "int28div", &[INT2, INT8], INT8, divide::<i16, i64>),
    FunctionDef::plain(837, "int82pl", &[INT8, INT2], INT8, add::<i64, i16>),
    FunctionDef::plain(838, "int82mi", &[INT8, INT2], INT8, subtract::<i64, i16>),
    FunctionDef::plain(839, "int82mul", &[INT8, INT2], INT8, multiply::<i64, i16>),
    FunctionDef::plain(840, "int82div", &[INT8, INT2], INT8, divide::<i64, i16>),
    FunctionDef::plain(1278, "int48pl", &[INT4, INT8], INT8, add::<i32, i64>),
    FunctionDef::plain(1279, "int48mi", &[INT4, INT8], INT8, subtract::<i32, i64>),
    FunctionDef::plain(1280, "int48mul", &[INT4, INT8], INT8, multiply::<i32, i64>),
    FunctionDef::plain(1281, "int48div", &[INT4, INT8], INT8, divide::<i32, i64>),
    FunctionDef::plain(1274, "int84pl", &[INT8, INT4], INT8, add::<i64, i32>),
    FunctionDef::plain(1275, "int84mi", &[INT8, INT4], INT8, subtract::<i64, i32>),
    FunctionDef::plain(1276, "int84mul", &[INT8, INT4], INT8, multiply::<i64, i32>),
    FunctionDef::plain(1277, "int84div", &[INT8, INT4], INT8, divide::<i64, i32>),
    FunctionDef::plain(213, "int2um", &[INT2], INT2, negate::<i16>),
    FunctionDef::plain(1911, "int2up", &[INT2], INT2, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(1253, "int2abs", &[INT2], INT2, absolute::<i16>),
    FunctionDef::plain(1398, "abs", &[INT2], INT2, absolute::<i16>),
    FunctionDef::plain(940, "mod", &[INT2, INT2], INT2, remainder::<i16, i16>),
    FunctionDef::plain(1895, "int2not", &[INT2], INT2, |_, a| Ok(i16::wrap(!i16::take(&a[0])?))),
    FunctionDef::plain(1892, "int2and", &[INT2, INT2], INT2, |_, a| Ok(i16::wrap(i16::take(&a[0])? & i16::take(&a[1])?))),
    FunctionDef::plain(1893, "int2or", &[INT2, INT2], INT2, |_, a| Ok(i16::wrap(i16::take(&a[0])? | i16::take(&a[1])?))),
    FunctionDef::plain(1894, "int2xor", &[INT2, INT2], INT2, |_, a| Ok(i16::wrap(i16::take(&a[0])? ^ i16::take(&a[1])?))),
    FunctionDef::plain(1896, "int2shl", &[INT2, INT4], INT2, |_, a| Ok(i16::wrap((i16::take(&a[0])? as i32).wrapping_shl(i32::take(&a[1])? as u32) as i16))),
    FunctionDef::plain(1897, "int2shr", &[INT2, INT4], INT2, |_, a| Ok(i16::wrap((i16::take(&a[0])? as i32).wrapping_shr(i32::take(&a[1])? as u32) as i16))),
    FunctionDef::plain(770, "int2larger", &[INT2, INT2], INT2, |_, a| Ok(i16::wrap(i16::take(&a[0])?.max(i16::take(&a[1])?)))),
    FunctionDef::plain(771, "int2smaller", &[INT2, INT2], INT2, |_, a| Ok(i16::wrap(i16::take(&a[0])?.min(i16::take(&a[1])?)))),
    FunctionDef::plain(212, "int4um", &[INT4], INT4, negate::<i32>),
    FunctionDef::plain(1912, "int4up", &[INT4], INT4, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(1251, "int4abs", &[INT4], INT4, absolute::<i32>),
    FunctionDef::plain(1397, "abs", &[INT4], INT4, absolute::<i32>),
    FunctionDef::plain(941, "mod", &[INT4, INT4], INT4, remainder::<i32, i32>),
    FunctionDef::plain(1901, "int4not", &[INT4], INT4, |_, a| Ok(i32::wrap(!i32::take(&a[0])?))),
    FunctionDef::plain(1898, "int4and", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])? & i32::take(&a[1])?))),
    FunctionDef::plain(1899, "int4or", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])? | i32::take(&a[1])?))),
    FunctionDef::plain(1900, "int4xor", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])? ^ i32::take(&a[1])?))),
    FunctionDef::plain(1902, "int4shl", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])?.wrapping_shl(i32::take(&a[1])? as u32)))),
    FunctionDef::plain(1903, "int4shr", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])?.wrapping_shr(i32::take(&a[1])? as u32)))),
    FunctionDef::plain(768, "int4larger", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])?.max(i32::take(&a[1])?)))),
    FunctionDef::plain(769, "int4smaller", &[INT4, INT4], INT4, |_, a| Ok(i32::wrap(i32::take(&a[0])?.min(i32::take(&a[1])?)))),
    FunctionDef::plain(462, "int8um", &[INT8], INT8, negate::<i64>),
    FunctionDef::plain(1910, "int8up", &[INT8], INT8, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(1230, "int8abs", &[INT8], INT8, absolute::<i64>),
    FunctionDef::plain(1396, "abs", &[INT8], INT8, absolute::<i64>),
    FunctionDef::plain(947, "mod", &[INT8, INT8], INT8, remainder::<i64, i64>),
    FunctionDef::plain(1907, "int8not", &[INT8], INT8, |_, a| Ok(i64::wrap(!i64::take(&a[0])?))),
    FunctionDef::plain(1904, "int8and", &[INT8, INT8], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])? & i64::take(&a[1])?))),
    FunctionDef::plain(1905, "int8or", &[INT8, INT8], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])? | i64::take(&a[1])?))),
    FunctionDef::plain(1906, "int8xor", &[INT8, INT8], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])? ^ i64::take(&a[1])?))),
    FunctionDef::plain(1908, "int8shl", &[INT8, INT4], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])?.wrapping_shl(i32::take(&a[1])? as u32)))),
    FunctionDef::plain(1909, "int8shr", &[INT8, INT4], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])?.wrapping_shr(i32::take(&a[1])? as u32)))),
    FunctionDef::plain(1236, "int8larger", &[INT8, INT8], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])?.max(i64::take(&a[1])?)))),
    FunctionDef::plain(1237, "int8smaller", &[INT8, INT8], INT8, |_, a| Ok(i64::wrap(i64::take(&a[0])?.min(i64::take(&a[1])?)))),
    FunctionDef::plain(5044, "gcd", &[INT4, INT4], INT4, greatest_common_divisor::<i32>),
    FunctionDef::plain(5046, "lcm", &[INT4, INT4], INT4, least_common_multiple::<i32>),
    FunctionDef::plain(2089, "to_hex", &[INT4], TEXT, |_, a| Ok(Value::from(format!("{:x}", i32::take(&a[0])?)))),
    FunctionDef::plain(5045, "gcd", &[INT8, INT8], INT8, greatest_common_divisor::<i64>),
    FunctionDef::plain(5047, "lcm", &[INT8, INT8], INT8, least_common_multiple::<i64>),
    FunctionDef::plain(2090, "to_hex", &[INT8], TEXT, |_, a| Ok(Value::from(format!("{:x}", i64::take(&a[0])?)))),
    FunctionDef::plain(1219, "int8inc", &[INT8], INT8, |_, a| i64::take(&a[0])?.checked_add(1).map(Value::Int8).ok_or_else(out_of_range::<i64>)),
    FunctionDef::plain(3546, "int8dec", &[INT8], INT8, |_, a| i64::take(&a[0])?.checked_sub(1).map(Value::Int8).ok_or_else(out_of_range::<i64>)),
    FunctionDef::plain(314, "int2", &[INT4], INT2, narrow::<i16>),
    FunctionDef::plain(714, "int2", &[INT8], INT2, narrow::<i16>),
    FunctionDef::plain(480, "int4", &[INT8], INT4, narrow::<i32>),
    FunctionDef::plain(313, "int4", &[INT2], INT4, narrow::<i32>),
    FunctionDef::plain(754, "int8", &[INT2], INT8, narrow::<i64>),
    FunctionDef::plain(481, "int8", &[INT4], INT8, narrow::<i64>),
    FunctionDef::plain(1287, "oid", &[INT8], OID, |_, a| {
        let value = i64::take(&a[0])?;
        u32::try_from(value)
            .map(Value::Oid)
            .map_err(|_| Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range"))
    }),
    FunctionDef::plain(1288, "int8", &[OID], INT8, narrow::<i64>),
    FunctionDef::plain(2557, "bool", &[INT4], BOOL, |_, a| Ok(Value::Bool(i32::take(&a[0])? != 0))),
    FunctionDef::plain(2558, "int4", &[BOOL], INT4, |_, a| Ok(Value::Int4(i32::from(a[0].is_true())))),
    FunctionDef::plain(1319, "xideqint4", &[XID, INT4], BOOL, |_, a| Ok(Value::Bool(same_xid(&a[0], &a[1])))),
    FunctionDef::plain(3309, "xidneqint4", &[XID, INT4], BOOL, |_, a| Ok(Value::Bool(!same_xid(&a[0], &a[1])))),
    FunctionDef::plain(68, "xideq", &[XID, XID], BOOL, |_, a| Ok(Value::Bool(a[0] == a[1]))),
    FunctionDef::plain(3308, "xidneq", &[XID, XID], BOOL, |_, a| Ok(Value::Bool(a[0] != a[1]))),
    FunctionDef::plain(69, "cideq", &[CID, CID], BOOL, |_, a| Ok(Value::Bool(a[0] == a[1]))),
    FunctionDef::plain(5071, "xid", &[XID8], XID, |_, a| Ok(match &a[0] { Value::Xid(id) => Value::Xid(id & 0xFFFF_FFFF), other => other.clone() })),
    FunctionDef::plain(1965, "oidlarger", &[OID, OID], OID, |_, a| Ok(Value::from(a[0].as_i64().max(a[1].as_i64()).map(|oid| Oid(oid as u32))))),
    FunctionDef::plain(1966, "oidsmaller", &[OID, OID], OID, |_, a| Ok(Value::from(a[0].as_i64().min(a[1].as_i64()).map(|oid| Oid(oid as u32))))),
    FunctionDef::plain(320, "width_bucket", &[FLOAT8, FLOAT8, FLOAT8, INT4], INT4, width_bucket),
];
