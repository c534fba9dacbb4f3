//! Functions that write and read values by a template.

use base::Result;

use super::{FunctionDef, mismatch};
use crate::context::EvalContext;
use crate::datetime::calendar::{check_date, check_timestamp};
use crate::datetime::{TimeZone, arithmetic};
use crate::formatting::date_input::{Reading, read};
use crate::formatting::date_output;
use crate::formatting::number::{self, Number};
use crate::oids::*;
use crate::value::Value;

fn or_null(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::text(&text))
}

fn timestamptz_text(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; TimestampTz timestamp, Text template);
    let zone: &TimeZone = &context.format().time_zone;
    let local = zone.to_local(*timestamp).unwrap_or(*timestamp);
    date_output::timestamp(local, Some(zone.offset_at(*timestamp)), template).map(or_null)
}

fn number_text(number: &Number<'_>, template: &str) -> Result<Value> {
    Ok(Value::from(number::written(number, template)?.unwrap_or_default()))
}

fn to_timestamp(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Text template);
    let Reading { civil, offset, precision } = read(text, template)?;
    let local = civil.to_micros().ok_or_else(crate::datetime::calendar::timestamp_out_of_range)?;
    let timestamp = match offset {
        Some(seconds) => local - i64::from(seconds) * 1_000_000,
        None => arithmetic::timestamp_to_timestamptz(local, &context.format().time_zone)?,
    };
    check_timestamp(timestamp)?;
    let precision = precision.map_or(-1, |digits| digits as i32);
    Ok(Value::TimestampTz(crate::datetime::round_timestamp(timestamp, precision)?))
}

fn to_date(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Text template);
    Ok(Value::Date(check_date(read(text, template)?.civil.days())?))
}

fn to_number(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text, Text template);
    Ok(number::read(text, template)?.map_or(Value::Null, Value::Numeric))
}

/// PostgreSQL's functions of `formatting.c`.
#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(1770, "to_char", &[TIMESTAMPTZ, TEXT], TEXT, timestamptz_text).stable(),
    FunctionDef::plain(2049, "to_char", &[TIMESTAMP, TEXT], TEXT, |_, a| { take!(a; Timestamp t, Text f); date_output::timestamp(*t, None, f).map(or_null) }).stable(),
    FunctionDef::plain(1768, "to_char", &[INTERVAL, TEXT], TEXT, |_, a| { take!(a; Interval i, Text f); date_output::interval(i, f).map(or_null) }).stable(),
    FunctionDef::plain(1772, "to_char", &[NUMERIC, TEXT], TEXT, |_, a| { take!(a; Numeric n, Text f); number_text(&Number::Numeric(n), f) }).stable(),
    FunctionDef::plain(1773, "to_char", &[INT4, TEXT], TEXT, |_, a| { take!(a; Int4 n, Text f); number_text(&Number::Integer(i64::from(*n)), f) }).stable(),
    FunctionDef::plain(1774, "to_char", &[INT8, TEXT], TEXT, |_, a| { take!(a; Int8 n, Text f); number_text(&Number::Integer(*n), f) }).stable(),
    FunctionDef::plain(1775, "to_char", &[FLOAT4, TEXT], TEXT, |_, a| { take!(a; Float4 n, Text f); number_text(&Number::Float(f64::from(*n), 6), f) }).stable(),
    FunctionDef::plain(1776, "to_char", &[FLOAT8, TEXT], TEXT, |_, a| { take!(a; Float8 n, Text f); number_text(&Number::Float(*n, 15), f) }).stable(),
    FunctionDef::plain(1777, "to_number", &[TEXT, TEXT], NUMERIC, to_number).stable(),
    FunctionDef::plain(1778, "to_timestamp", &[TEXT, TEXT], TIMESTAMPTZ, to_timestamp).stable(),
    FunctionDef::plain(1780, "to_date", &[TEXT, TEXT], DATE, to_date).stable(),
];
