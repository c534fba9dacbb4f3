//! Equality, order and hash of every type, as its default operator class has them.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use base::Oid;

use super::datetime::calendar::{DAY, SECOND};
use super::type_table::{Order, builtin_type};
use super::value::{ArrayValue, Interval, RecordValue, TimeTz, Value};
use super::{network, oids};

/// Compares two values of one type; neither is NULL.
pub type Comparator = fn(&Value, &Value) -> Ordering;

/// The comparison for a type: total, and consistent with its key encoding. Pass the base type of a domain.
/// `None`: the type has no order (`json`).
pub fn comparator(oid: Oid) -> Option<Comparator> {
    match builtin_type(oid).map(|def| def.order) {
        Some(Order::By(compare)) => Some(compare),
        Some(Order::EqualityOnly | Order::None) => None,
        None => Some(compare_values),
    }
}

/// The comparison of which only equality counts. `None`: the type has none.
pub fn equality(oid: Oid) -> Option<Comparator> {
    match builtin_type(oid).map(|def| def.order) {
        Some(Order::EqualityOnly) => Some(compare_values),
        _ => comparator(oid),
    }
}

pub(super) fn compare_int4(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int4(left), Value::Int4(right)) => left.cmp(right),
        _ => compare_values(left, right),
    }
}

pub(super) fn compare_int8(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int8(left), Value::Int8(right)) => left.cmp(right),
        _ => compare_values(left, right),
    }
}

pub(super) fn compare_text(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        _ => compare_values(left, right),
    }
}

/// `char(n)`: trailing blanks don't count.
pub fn compare_padded(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => without_padding(left).cmp(without_padding(right)),
        _ => compare_values(left, right),
    }
}

/// `inet` and `cidr`: by their addresses, not by their texts.
pub fn compare_networks(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => network::compare(left, right),
        _ => compare_values(left, right),
    }
}

/// A `char(n)` without its trailing blanks.
pub fn without_padding(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Floats in SQL's order: -0 equals 0, NaN equals itself and is above everything.
pub fn compare_f64(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The length intervals are compared by, in microseconds: a month counts 30 days, a day 24 hours.
pub fn interval_span(interval: &Interval) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * i128::from(DAY) + i128::from(interval.micros)
}

/// Times with zones are ordered by the moment first, then by the zone.
fn compare_timetz(left: TimeTz, right: TimeTz) -> Ordering {
    let moment = |time: TimeTz| time.micros + i64::from(time.zone) * SECOND;
    moment(left).cmp(&moment(right)).then(left.zone.cmp(&right.zone))
}

/// Compares values of one type by what they are stored as; NULLs, which only occur inside arrays and records, come
/// last. Everything but `char(n)`, see [`compare_padded`], and addresses, see [`compare_networks`].
pub fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int2(left), Value::Int2(right)) => left.cmp(right),
        (Value::Int4(left), Value::Int4(right)) => left.cmp(right),
        (Value::Int8(left), Value::Int8(right)) => left.cmp(right),
        (Value::Float4(left), Value::Float4(right)) => compare_f64(f64::from(*left), f64::from(*right)),
        (Value::Float8(left), Value::Float8(right)) => compare_f64(*left, *right),
        (Value::Numeric(left), Value::Numeric(right)) => left.compare(right),
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bytea(left), Value::Bytea(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::TimeTz(left), Value::TimeTz(right)) => compare_timetz(*left, *right),
        (Value::Timestamp(left), Value::Timestamp(right)) | (Value::TimestampTz(left), Value::TimestampTz(right)) => {
            left.cmp(right)
        }
        (Value::Interval(left), Value::Interval(right)) => interval_span(left).cmp(&interval_span(right)),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::Money(left), Value::Money(right)) => left.cmp(right),
        (Value::Bits(left), Value::Bits(right)) => left.compare(right),
        (Value::MacAddr(left), Value::MacAddr(right)) => left.cmp(right),
        (Value::MacAddr8(left), Value::MacAddr8(right)) => left.cmp(right),
        (Value::Oid(left), Value::Oid(right)) => left.cmp(right),
        (Value::Char(left), Value::Char(right)) => left.cmp(right),
        (Value::Tid(left), Value::Tid(right)) => left.cmp(right),
        (Value::Xid(left), Value::Xid(right)) | (Value::PgLsn(left), Value::PgLsn(right)) => left.cmp(right),
        (Value::Enum(left), Value::Enum(right)) => left.key.cmp(&right.key),
        (Value::Jsonb(left), Value::Jsonb(right)) => left.compare(right),
        (Value::Array(left), Value::Array(right)) => compare_arrays(left, right),
        (Value::Record(left), Value::Record(right)) => compare_records(left, right),
        // values of different kinds never meet here: the binder casts first
        _ => kind_rank(left).cmp(&kind_rank(right)),
    }
}

fn kind_rank(value: &Value) -> u8 {
    match value {
        Value::Null => u8::MAX,
        Value::Void => 0,
        Value::Bool(_) => 1,
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Oid(_) => 2,
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => 3,
        Value::Text(_) => 4,
        _ => 5,
    }
}

/// The comparison for elements and fields of this type.
fn element_comparator(oid: Oid) -> Comparator {
    match oid {
        oids::BPCHAR => compare_padded,
        oids::INET | oids::CIDR => compare_networks,
        _ => compare_values,
    }
}

fn compare_elements(compare: Comparator, left: &Value, right: &Value) -> Ordering {
    if left.is_null() || right.is_null() { compare_values(left, right) } else { compare(left, right) }
}

fn compare_arrays(left: &ArrayValue, right: &ArrayValue) -> Ordering {
    let compare = element_comparator(left.element);
    for (left, right) in left.values.iter().zip(&right.values) {
        sync::let_others_run();
        let order = compare_elements(compare, left, right);
        if order != Ordering::Equal {
            return order;
        }
    }
    left.values
        .len()
        .cmp(&right.values.len())
        .then_with(|| left.dimensions.len().cmp(&right.dimensions.len()))
        .then_with(|| {
            for (left, right) in left.dimensions.iter().zip(&right.dimensions) {
                let order = left.length.cmp(&right.length).then(left.lower_bound.cmp(&right.lower_bound));
                if order != Ordering::Equal {
                    return order;
                }
            }
            Ordering::Equal
        })
}

fn compare_records(left: &RecordValue, right: &RecordValue) -> Ordering {
    for (index, (left_field, right_field)) in left.fields.iter().zip(&right.fields).enumerate() {
        let oid = left.shape.fields.get(index).map_or(Oid::INVALID, |(_, ty)| ty.oid);
        let order = compare_elements(element_comparator(oid), left_field, right_field);
        if order != Ordering::Equal {
            return order;
        }
    }
    left.fields.len().cmp(&right.fields.len())
}

/// Whether values of the type can be compared for equality and hashed.
pub fn is_hashable(oid: Oid) -> bool {
    equality(oid).is_some() && builtin_type(oid).is_none_or(|ty| !ty.is_pseudo() || oid == oids::RECORD)
}

/// Feeds `value` (not NULL) of type `oid` to `hasher`: equal values feed the same. Integers of all widths feed
/// alike, and so do the two float types, so that joins across widths meet.
pub fn hash_value<H: Hasher>(value: &Value, oid: Oid, hasher: &mut H) {
    match value {
        Value::Text(text) if oid == oids::BPCHAR => without_padding(text).hash(hasher),
        other => hash_plain(other, hasher),
    }
}

fn hash_f64<H: Hasher>(value: f64, hasher: &mut H) {
    let canonical = if value.is_nan() {
        f64::NAN
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    canonical.to_bits().hash(hasher);
}

fn hash_plain<H: Hasher>(value: &Value, hasher: &mut H) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Void => 1_u8.hash(hasher),
        Value::Bool(value) => value.hash(hasher),
        Value::Int2(value) => i64::from(*value).hash(hasher),
        Value::Int4(value) => i64::from(*value).hash(hasher),
        Value::Int8(value) => value.hash(hasher),
        Value::Oid(value) => i64::from(*value).hash(hasher),
        Value::Float4(value) => hash_f64(f64::from(*value), hasher),
        Value::Float8(value) => hash_f64(*value, hasher),
        Value::Numeric(value) => value.hash_value(hasher),
        Value::Text(value) => value.as_str().hash(hasher),
        Value::Bytea(value) => value.hash(hasher),
        Value::Date(value) => value.hash(hasher),
        Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) | Value::Money(value) => {
            value.hash(hasher)
        }
        Value::TimeTz(value) => (value.micros, value.zone).hash(hasher),
        Value::Interval(value) => interval_span(value).hash(hasher),
        Value::Uuid(value) => value.hash(hasher),
        Value::Bits(value) => value.hash(hasher),
        Value::MacAddr(value) => value.hash(hasher),
        Value::MacAddr8(value) => value.hash(hasher),
        Value::Char(value) => value.hash(hasher),
        Value::Tid(value) => value.hash(hasher),
        Value::Xid(value) | Value::PgLsn(value) => value.hash(hasher),
        Value::Enum(value) => value.key.hash(hasher),
        Value::Jsonb(value) => value.hash_value(hasher),
        Value::Array(array) => {
            array.values.len().hash(hasher);
            for value in &array.values {
                sync::let_others_run();
                hash_value(value, array.element, hasher);
            }
        }
        Value::Record(record) => {
            for (index, value) in record.fields.iter().enumerate() {
                let oid = record.shape.fields.get(index).map_or(Oid::INVALID, |(_, ty)| ty.oid);
                hash_value(value, oid, hasher);
            }
        }
    }
}
