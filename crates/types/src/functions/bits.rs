//! Functions of `bit` and `bit varying`.

use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::bit_strings::{BitString, LENGTH_MAX};
use crate::compare::compare_values;
use crate::oids::*;
use crate::value::Value;

fn value(bits: BitString) -> Value {
    Value::Bits(Arc::new(bits))
}

/// The bits and the number behind them.
fn with_number(a: &[Value]) -> Result<(&BitString, i32)> {
    match a {
        [Value::Bits(bits), Value::Int4(number), ..] => Ok((bits, *number)),
        _ => Err(mismatch(&a[0])),
    }
}

fn bits(value: &Value) -> Result<&BitString> {
    match value {
        Value::Bits(bits) => Ok(bits),
        other => Err(mismatch(other)),
    }
}

fn combined(a: &[Value], name: &str, combine: fn(u8, u8) -> u8) -> Result<Value> {
    Ok(value(bits(&a[0])?.combined(bits(&a[1])?, name, combine)?))
}

fn shifted(a: &[Value], direction: i64) -> Result<Value> {
    let (bits, places) = with_number(a)?;
    Ok(value(bits.shifted(direction * i64::from(places))))
}

fn substring(a: &[Value]) -> Result<Value> {
    let (bits, from) = with_number(a)?;
    let count = match a.get(2) {
        Some(Value::Int4(count)) => Some(*count),
        _ => None,
    };
    Ok(value(bits.substring(from, count)?))
}

fn overlay(a: &[Value]) -> Result<Value> {
    let [Value::Bits(bits), Value::Bits(other), Value::Int4(from), rest @ ..] = a else { return Err(mismatch(&a[0])) };
    let count = match rest {
        [Value::Int4(count)] => *count,
        _ => other.length() as i32,
    };
    Ok(value(bits.overlay(other, *from, count)?))
}

/// A number as so many of its last bits: one if their number is none.
fn from_integer(a: &[Value]) -> Result<Value> {
    let [number, Value::Int4(length)] = a else { return Err(mismatch(&a[0])) };
    let number = number.as_i64().ok_or_else(|| mismatch(number))?;
    let length = usize::try_from(*length).ok().filter(|length| (1..=LENGTH_MAX).contains(length)).unwrap_or(1);
    Ok(value(BitString::from_integer(number, length)))
}

#[cold]
fn out_of_range(type_name: &str) -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

fn to_int4(a: &[Value]) -> Result<Value> {
    let number = bits(&a[0])?.to_integer(32).ok_or_else(|| out_of_range("integer"))?;
    Ok(Value::Int4(number as u32 as i32))
}

fn to_int8(a: &[Value]) -> Result<Value> {
    let number = bits(&a[0])?.to_integer(64).ok_or_else(|| out_of_range("bigint"))?;
    Ok(Value::Int8(number as i64))
}

/// The third argument tells an explicit cast.
fn fitted(a: &[Value], fit: fn(&BitString, i32, bool) -> Result<BitString>) -> Result<Value> {
    let [Value::Bits(bits), Value::Int4(typmod), Value::Bool(explicit)] = a else { return Err(mismatch(&a[0])) };
    Ok(value(fit(bits, *typmod, *explicit)?))
}

fn set_bit(a: &[Value]) -> Result<Value> {
    let [Value::Bits(bits), Value::Int4(place), Value::Int4(bit)] = a else { return Err(mismatch(&a[0])) };
    Ok(value(bits.with(*place, *bit)?))
}

fn length(a: &[Value]) -> Result<Value> {
    Ok(Value::Int4(bits(&a[0])?.length() as i32))
}

fn order(a: &[Value]) -> Result<Value> {
    Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(1596, "bitcmp", &[BIT, BIT], INT4, |_, a| order(a)),
    FunctionDef::plain(1672, "varbitcmp", &[VARBIT, VARBIT], INT4, |_, a| order(a)),
    FunctionDef::plain(1673, "bitand", &[BIT, BIT], BIT, |_, a| combined(a, "AND", |left, right| left & right)),
    FunctionDef::plain(1674, "bitor", &[BIT, BIT], BIT, |_, a| combined(a, "OR", |left, right| left | right)),
    FunctionDef::plain(1675, "bitxor", &[BIT, BIT], BIT, |_, a| combined(a, "XOR", |left, right| left ^ right)),
    FunctionDef::plain(1676, "bitnot", &[BIT], BIT, |_, a| Ok(value(bits(&a[0])?.inverted()))),
    FunctionDef::plain(1677, "bitshiftleft", &[BIT, INT4], BIT, |_, a| shifted(a, -1)),
    FunctionDef::plain(1678, "bitshiftright", &[BIT, INT4], BIT, |_, a| shifted(a, 1)),
    FunctionDef::plain(1679, "bitcat", &[VARBIT, VARBIT], VARBIT, |_, a| Ok(value(bits(&a[0])?.concatenate(bits(&a[1])?)?))),
    FunctionDef::plain(1680, "substring", &[BIT, INT4, INT4], BIT, |_, a| substring(a)),
    FunctionDef::plain(1681, "length", &[BIT], INT4, |_, a| length(a)),
    FunctionDef::plain(1682, "octet_length", &[BIT], INT4, |_, a| Ok(Value::Int4(bits(&a[0])?.bytes().len() as i32))),
    FunctionDef::plain(1683, "bit", &[INT4, INT4], BIT, |_, a| from_integer(a)),
    FunctionDef::plain(1684, "int4", &[BIT], INT4, |_, a| to_int4(a)),
    FunctionDef::plain(1685, "bit", &[BIT, INT4, BOOL], BIT, |_, a| fitted(a, BitString::fit_fixed)),
    FunctionDef::plain(1687, "varbit", &[VARBIT, INT4, BOOL], VARBIT, |_, a| fitted(a, BitString::fit_varying)),
    FunctionDef::plain(1698, "position", &[BIT, BIT], INT4, |_, a| Ok(Value::Int4(bits(&a[0])?.position(bits(&a[1])?)?))),
    FunctionDef::plain(1699, "substring", &[BIT, INT4], BIT, |_, a| substring(a)),
    FunctionDef::plain(1812, "bit_length", &[BIT], INT4, |_, a| length(a)),
    FunctionDef::plain(2075, "bit", &[INT8, INT4], BIT, |_, a| from_integer(a)),
    FunctionDef::plain(2076, "int8", &[BIT], INT8, |_, a| to_int8(a)),
    FunctionDef::plain(3030, "overlay", &[BIT, BIT, INT4, INT4], BIT, |_, a| overlay(a)),
    FunctionDef::plain(3031, "overlay", &[BIT, BIT, INT4], BIT, |_, a| overlay(a)),
    FunctionDef::plain(3032, "get_bit", &[BIT, INT4], INT4, |_, a| { let (bits, place) = with_number(a)?; Ok(Value::Int4(bits.get(place)?)) }),
    FunctionDef::plain(3033, "set_bit", &[BIT, INT4, INT4], BIT, |_, a| set_bit(a)),
    FunctionDef::plain(6162, "bit_count", &[BIT], INT8, |_, a| Ok(Value::Int8(bits(&a[0])?.ones()))),
];
