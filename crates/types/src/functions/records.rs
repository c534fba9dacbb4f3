//! Comparisons of rows: whether two can be compared, and the order of their bytes.

use std::cmp::Ordering;

use base::{Error, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::compare::compare_values;
use crate::context::EvalContext;
use crate::numeric::Numeric;
use crate::oids::*;
use crate::type_name::format_type_name;
use crate::value::{RecordValue, Value};

/// Looks column by column, up to the first one whose values differ, whether both rows have the same type there.
///
/// # Errors
/// 42804 if not, or if one row has more columns.
pub(super) fn check_comparable(
    context: &mut dyn EvalContext,
    left: &RecordValue,
    right: &RecordValue,
    compare: fn(&Value, &Value) -> Ordering,
) -> Result<()> {
    let types = left.shape.fields.iter().zip(&right.shape.fields);
    for (index, ((_, left_type), (_, right_type))) in types.enumerate() {
        sync::yield_point()?;
        if left_type.oid != right_type.oid {
            let name = |oid| format_type_name(context.catalog(), oid);
            return Err(Error::new(
                sqlstate::DATATYPE_MISMATCH,
                format!(
                    "cannot compare dissimilar column types {} and {} at record column {}",
                    name(left_type.oid),
                    name(right_type.oid),
                    index + 1
                ),
            ));
        }
        let (Some(left), Some(right)) = (left.fields.get(index), right.fields.get(index)) else { break };
        if compare(left, right).is_ne() {
            return Ok(());
        }
    }
    if left.shape.fields.len() == right.shape.fields.len() {
        return Ok(());
    }
    Err(Error::new(sqlstate::DATATYPE_MISMATCH, "cannot compare record types with different numbers of columns"))
}

/// The bytes by which PostgreSQL tells values apart: a number for what it passes by value, else what lies in memory.
enum Image {
    Number(u64),
    Bytes(Vec<u8>),
}

fn image(value: &Value) -> Option<Image> {
    // Numbers of fewer bytes are extended with their sign.
    let signed = |number: i64| Some(Image::Number(number as u64));
    match value {
        Value::Bool(value) => signed(i64::from(*value)),
        Value::Char(value) => signed(i64::from(*value as i8)),
        Value::Int2(value) => signed(i64::from(*value)),
        Value::Int4(value) | Value::Date(value) => signed(i64::from(*value)),
        Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => signed(*value),
        Value::Money(value) => signed(*value),
        Value::Oid(value) => Some(Image::Number(u64::from(*value))),
        Value::Xid(value) | Value::PgLsn(value) => Some(Image::Number(*value)),
        Value::Float4(value) => signed(i64::from(value.to_bits() as i32)),
        Value::Float8(value) => Some(Image::Number(value.to_bits())),
        Value::Text(text) => Some(Image::Bytes(text.as_bytes().to_vec())),
        Value::Bytea(bytes) => Some(Image::Bytes(bytes.to_vec())),
        Value::Uuid(bytes) => Some(Image::Bytes(bytes.to_vec())),
        Value::Bits(bits) => {
            // The length in bits comes before them in memory.
            Some(Image::Bytes([&(bits.length() as i32).to_le_bytes()[..], bits.bytes()].concat()))
        }
        Value::MacAddr(bytes) => Some(Image::Bytes(bytes.to_vec())),
        Value::MacAddr8(bytes) => Some(Image::Bytes(bytes.to_vec())),
        Value::Numeric(number) => Some(Image::Bytes(numeric_image(number))),
        Value::Interval(interval) => {
            let mut bytes = interval.micros.to_le_bytes().to_vec();
            bytes.extend_from_slice(&interval.days.to_le_bytes());
            bytes.extend_from_slice(&interval.months.to_le_bytes());
            Some(Image::Bytes(bytes))
        }
        Value::TimeTz(time) => {
            let mut bytes = time.micros.to_le_bytes().to_vec();
            bytes.extend_from_slice(&time.zone.to_le_bytes());
            Some(Image::Bytes(bytes))
        }
        Value::Null
        | Value::Void
        | Value::Tid(_)
        | Value::Jsonb(_)
        | Value::Enum(_)
        | Value::Array(_)
        | Value::Record(_) => None,
    }
}

/// A numeric as PostgreSQL keeps it in memory on a little-endian machine: a header of one word where sign, scale and weight are small,
/// of two words else, and digits to the base of 10,000. Source: PostgreSQL's description of the format, `utils/adt/numeric.c`.
fn numeric_image(number: &Numeric) -> Vec<u8> {
    const SPECIAL: [(u16, u16); 3] = [(0xC000, 0xC000), (0xD000, 0xD000), (0xF000, 0xF000)];
    let mut sent = Vec::new();
    number.write_binary(&mut sent);
    let word =
        |place: usize| sent.get(place * 2..place * 2 + 2).map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]));
    let (count, weight, sign, scale) = (word(0), word(1) as i16, word(2), word(3));
    let mut words = match SPECIAL.iter().find(|(sent, _)| *sent == sign) {
        Some((_, header)) => vec![*header],
        None if (-64..64).contains(&weight) && scale < 64 => {
            let sign = if sign == 0x4000 { 0x2000 } else { 0 };
            vec![0x8000 | sign | scale << 7 | (weight as u16 & 0x7F)]
        }
        None => vec![sign | scale, weight as u16],
    };
    words.extend((0..usize::from(count)).map(|digit| word(4 + digit)));
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// The order of two values' bytes. Values that have no image here are compared as they are otherwise.
fn compare_images(left: &Value, right: &Value) -> Ordering {
    match (image(left), image(right)) {
        (Some(Image::Number(left)), Some(Image::Number(right))) => left.cmp(&right),
        (Some(Image::Bytes(left)), Some(Image::Bytes(right))) => left.cmp(&right),
        _ => compare_values(left, right),
    }
}

fn by_image(context: &mut dyn EvalContext, a: &[Value]) -> Result<Ordering> {
    let (Value::Record(left), Value::Record(right)) = (&a[0], &a[1]) else { return Err(mismatch(&a[0])) };
    check_comparable(context, left, right, compare_images)?;
    let orders = left.fields.iter().zip(&right.fields).map(|(left, right)| compare_images(left, right));
    Ok(orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}

fn by_value(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (Value::Record(left), Value::Record(right)) = (&a[0], &a[1]) else { return Err(mismatch(&a[0])) };
    check_comparable(context, left, right, compare_values)?;
    Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(2987, "btrecordcmp", &[RECORD, RECORD], INT4, by_value),
    FunctionDef::plain(3181, "record_image_eq", &[RECORD, RECORD], BOOL, |context, a| Ok(Value::Bool(by_image(context, a)?.is_eq()))),
    FunctionDef::plain(3182, "record_image_ne", &[RECORD, RECORD], BOOL, |context, a| Ok(Value::Bool(by_image(context, a)?.is_ne()))),
    FunctionDef::plain(3183, "record_image_lt", &[RECORD, RECORD], BOOL, |context, a| Ok(Value::Bool(by_image(context, a)?.is_lt()))),
    FunctionDef::plain(3185, "record_image_le", &[RECORD, RECORD], BOOL, |context, a| Ok(Value::Bool(by_image(context, a)?.is_le()))),
    FunctionDef::plain(3184, "record_image_gt", &[RECORD, RECORD], BOOL, |context, a| Ok(Value::Bool(by_image(context, a)?.is_gt()))),
    FunctionDef::plain(3186, "record_image_ge", &[RECORD, RECORD], BOOL, |context, a| Ok(Value::Bool(by_image(context, a)?.is_ge()))),
];
