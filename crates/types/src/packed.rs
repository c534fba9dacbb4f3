//! Values without a fixed width of their own as bytes: packed for rows, and ordered for keys.
//!
//! Arrays, records and JSON carry a tag with each value inside, so that they can be read without the catalog.

use std::sync::Arc;

use base::{Error, Oid, Result, Tid};
use schema::key::KeyBuffer;
use smallvec::SmallVec;

use super::bit_strings::BitString;
use super::compare::{interval_span, without_padding};
use super::datetime::calendar::SECOND;
use super::json::{Json, JsonbValue};
use super::numeric::Numeric;
use super::storage::StorageKind;
use super::type_table::SqlType;
use super::value::{ArrayValue, Dimension, EnumValue, Interval, RecordShape, RecordValue, SmolStr, TimeTz, Value};
use super::{network, oids};

/// Where packed bytes are gathered: on the stack as long as they are few.
pub type Packed = SmallVec<[u8; 64]>;

#[cold]
fn damaged() -> Error {
    Error::corrupted("invalid stored value")
}

const DAY_MICROS: i64 = 86_400_000_000;
/// No zone, not even one in POSIX's notation, is further from Greenwich.
const ZONE_MAX_SECONDS: u32 = 7 * 86_400;

/// Reads bytes of a column that has no fixed width.
pub(super) fn read(kind: StorageKind, bytes: &[u8]) -> Result<Value> {
    let mut reader = Reader { bytes };
    Ok(match kind {
        StorageKind::Bytea => Value::Bytea(bytes.into()),
        StorageKind::Uuid => Value::Uuid(bytes.try_into().map_err(|_| damaged())?),
        StorageKind::Bits => Value::Bits(Arc::new(reader.bits()?)),
        StorageKind::MacAddr => Value::MacAddr(bytes.try_into().map_err(|_| damaged())?),
        StorageKind::MacAddr8 => Value::MacAddr8(bytes.try_into().map_err(|_| damaged())?),
        StorageKind::Interval => Value::Interval(reader.interval()?),
        StorageKind::TimeTz => Value::TimeTz(reader.timetz()?),
        StorageKind::Jsonb => Value::Jsonb(Arc::new(JsonbValue(reader.json(0)?))),
        StorageKind::Array(_) => Value::Array(Arc::new(reader.array()?)),
        StorageKind::Record(_) => Value::Record(Arc::new(reader.record()?)),
        _ => return Err(damaged()),
    })
}

/// Appends a value of any type, so that [`read_any`] can read it without the catalog.
pub fn write_any(value: &Value, out: &mut Packed) {
    write_tagged(value, out);
}

/// Reads what [`write_any`] wrote at the beginning of `bytes`, which then begin behind it.
///
/// # Errors
/// XX001 for anything else.
pub fn read_any(bytes: &mut &[u8]) -> Result<Value> {
    let mut reader = Reader { bytes };
    let value = reader.tagged()?;
    *bytes = reader.bytes;
    Ok(value)
}

/// Writes what [`read`] reads.
pub(super) fn write(value: &Value, out: &mut Packed) {
    match value {
        Value::Numeric(numeric) => write_numeric(numeric, out),
        Value::Interval(interval) => write_interval(interval, out),
        Value::TimeTz(time) => write_timetz(*time, out),
        Value::Jsonb(json) => write_json(&json.0, out),
        Value::Array(array) => write_array(array, out),
        Value::Record(record) => write_record(record, out),
        Value::Bits(bits) => write_bits(bits, out),
        Value::Bytea(bytes) => out.extend_from_slice(bytes),
        Value::Uuid(uuid) => out.extend_from_slice(uuid),
        _ => {}
    }
}

fn write_numeric(numeric: &Numeric, out: &mut Packed) {
    let mut bytes = Vec::new();
    numeric.encode(&mut bytes);
    out.extend_from_slice(&bytes);
}

fn write_interval(interval: &Interval, out: &mut Packed) {
    out.extend_from_slice(&interval.months.to_le_bytes());
    out.extend_from_slice(&interval.days.to_le_bytes());
    out.extend_from_slice(&interval.micros.to_le_bytes());
}

fn write_timetz(time: TimeTz, out: &mut Packed) {
    out.extend_from_slice(&time.micros.to_le_bytes());
    out.extend_from_slice(&time.zone.to_le_bytes());
}

/// The length in bits, and as many bytes as they take.
fn write_bits(bits: &BitString, out: &mut Packed) {
    out.extend_from_slice(&(bits.length() as u32).to_le_bytes());
    out.extend_from_slice(bits.bytes());
}

fn write_bytes(bytes: &[u8], out: &mut Packed) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn write_array(array: &ArrayValue, out: &mut Packed) {
    out.extend_from_slice(&array.element.0.to_le_bytes());
    out.push(array.dimensions.len() as u8);
    for dimension in &array.dimensions {
        out.extend_from_slice(&dimension.length.to_le_bytes());
        out.extend_from_slice(&dimension.lower_bound.to_le_bytes());
    }
    for values in array.values.chunks(THINGS_AT_ONCE) {
        values.iter().for_each(|value| write_tagged(value, out));
        if values.len() == THINGS_AT_ONCE {
            sync::let_others_run();
        }
    }
}

fn write_record(record: &RecordValue, out: &mut Packed) {
    out.extend_from_slice(&record.shape.type_oid.0.to_le_bytes());
    out.extend_from_slice(&(record.fields.len() as u32).to_le_bytes());
    for (index, field) in record.fields.iter().enumerate() {
        let ty = record.shape.fields.get(index).map_or(SqlType::UNKNOWN, |(_, ty)| *ty);
        out.extend_from_slice(&ty.oid.0.to_le_bytes());
        out.extend_from_slice(&ty.typmod.to_le_bytes());
        write_tagged(field, out);
    }
}

fn write_json(json: &Json, out: &mut Packed) {
    match json {
        Json::Null => out.push(0),
        Json::Bool(value) => out.push(1 + u8::from(*value)),
        Json::Number(number) => {
            out.push(3);
            let mut bytes = Vec::new();
            number.encode(&mut bytes);
            write_bytes(&bytes, out);
        }
        Json::String(text) => {
            out.push(4);
            write_bytes(text.as_bytes(), out);
        }
        Json::Array(values) => {
            out.push(5);
            out.extend_from_slice(&(values.len() as u32).to_le_bytes());
            for values in values.chunks(THINGS_AT_ONCE) {
                values.iter().for_each(|value| write_json(value, out));
                if values.len() == THINGS_AT_ONCE {
                    sync::let_others_run();
                }
            }
        }
        Json::Object(pairs) => {
            out.push(6);
            out.extend_from_slice(&(pairs.len() as u32).to_le_bytes());
            for pairs in pairs.chunks(THINGS_AT_ONCE) {
                for (key, value) in pairs {
                    write_bytes(key.as_bytes(), out);
                    write_json(value, out);
                }
                if pairs.len() == THINGS_AT_ONCE {
                    sync::let_others_run();
                }
            }
        }
    }
}

/// Tags of values inside arrays and records.
mod tag {
    pub const NULL: u8 = 0;
    pub const BOOL: u8 = 1;
    pub const INT2: u8 = 2;
    pub const INT4: u8 = 3;
    pub const INT8: u8 = 4;
    pub const FLOAT4: u8 = 5;
    pub const FLOAT8: u8 = 6;
    pub const NUMERIC: u8 = 7;
    pub const TEXT: u8 = 8;
    pub const BYTEA: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const TIMETZ: u8 = 12;
    pub const TIMESTAMP: u8 = 13;
    pub const TIMESTAMPTZ: u8 = 14;
    pub const INTERVAL: u8 = 15;
    pub const UUID: u8 = 16;
    pub const OID: u8 = 17;
    pub const CHAR: u8 = 18;
    pub const TID: u8 = 19;
    pub const XID: u8 = 20;
    pub const PG_LSN: u8 = 21;
    pub const JSONB: u8 = 22;
    pub const ENUM: u8 = 23;
    pub const ARRAY: u8 = 24;
    pub const RECORD: u8 = 25;
    pub const MACADDR: u8 = 26;
    pub const MACADDR8: u8 = 27;
    pub const MONEY: u8 = 28;
    pub const BITS: u8 = 29;
}

fn write_tagged(value: &Value, out: &mut Packed) {
    let mut fixed = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Null | Value::Void => fixed(tag::NULL, &[]),
        Value::Bool(value) => fixed(tag::BOOL, &[u8::from(*value)]),
        Value::Int2(value) => fixed(tag::INT2, &value.to_le_bytes()),
        Value::Int4(value) => fixed(tag::INT4, &value.to_le_bytes()),
        Value::Int8(value) => fixed(tag::INT8, &value.to_le_bytes()),
        Value::Float4(value) => fixed(tag::FLOAT4, &value.to_le_bytes()),
        Value::Float8(value) => fixed(tag::FLOAT8, &value.to_le_bytes()),
        Value::Date(value) => fixed(tag::DATE, &value.to_le_bytes()),
        Value::Time(value) => fixed(tag::TIME, &value.to_le_bytes()),
        Value::Timestamp(value) => fixed(tag::TIMESTAMP, &value.to_le_bytes()),
        Value::TimestampTz(value) => fixed(tag::TIMESTAMPTZ, &value.to_le_bytes()),
        Value::Uuid(value) => fixed(tag::UUID, value),
        Value::Money(value) => fixed(tag::MONEY, &value.to_le_bytes()),
        Value::MacAddr(value) => fixed(tag::MACADDR, value),
        Value::MacAddr8(value) => fixed(tag::MACADDR8, value),
        Value::Oid(value) => fixed(tag::OID, &value.to_le_bytes()),
        Value::Char(value) => fixed(tag::CHAR, &[*value]),
        Value::Tid(value) => fixed(tag::TID, &value.to_bytes()),
        Value::Xid(value) => fixed(tag::XID, &value.to_le_bytes()),
        Value::PgLsn(value) => fixed(tag::PG_LSN, &value.to_le_bytes()),
        Value::Enum(value) => {
            fixed(tag::ENUM, &value.type_oid.0.to_le_bytes());
            out.extend_from_slice(&value.key.to_le_bytes());
        }
        Value::Numeric(value) => {
            out.push(tag::NUMERIC);
            let mut bytes = Vec::new();
            value.encode(&mut bytes);
            write_bytes(&bytes, out);
        }
        Value::Text(value) => {
            out.push(tag::TEXT);
            write_bytes(value.as_bytes(), out);
        }
        Value::Bytea(value) => {
            out.push(tag::BYTEA);
            write_bytes(value, out);
        }
        Value::Bits(value) => {
            out.push(tag::BITS);
            write_bits(value, out);
        }
        Value::TimeTz(value) => {
            out.push(tag::TIMETZ);
            write_timetz(*value, out);
        }
        Value::Interval(value) => {
            out.push(tag::INTERVAL);
            write_interval(value, out);
        }
        Value::Jsonb(value) => {
            out.push(tag::JSONB);
            write_json(&value.0, out);
        }
        Value::Array(value) => {
            out.push(tag::ARRAY);
            write_array(value, out);
        }
        Value::Record(value) => {
            out.push(tag::RECORD);
            write_record(value, out);
        }
    }
}

/// Elements that are read or written between two yield points: more than fit a page.
const THINGS_AT_ONCE: usize = 1 << 14;

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.bytes.len() {
            return Err(damaged());
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take returns what was asked for"))
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.fixed::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.fixed()?))
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_le_bytes(self.fixed()?))
    }

    fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.fixed()?))
    }

    fn counted(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    /// A count of things that take at least a byte each.
    fn count(&mut self) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.bytes.len() { Err(damaged()) } else { Ok(count) }
    }

    fn text(&mut self) -> Result<SmolStr> {
        Ok(SmolStr::new(std::str::from_utf8(self.counted()?).map_err(|_| damaged())?))
    }

    fn interval(&mut self) -> Result<Interval> {
        Ok(Interval { months: self.i32()?, days: self.i32()?, micros: self.i64()? })
    }

    fn bits(&mut self) -> Result<BitString> {
        let length = self.u32()? as usize;
        BitString::from_bytes(length, self.take(length.div_ceil(8))?).ok_or_else(damaged)
    }

    fn timetz(&mut self) -> Result<TimeTz> {
        let time = TimeTz { micros: self.i64()?, zone: self.i32()? };
        let is_possible = (0..=DAY_MICROS).contains(&time.micros) && time.zone.unsigned_abs() <= ZONE_MAX_SECONDS;
        if is_possible { Ok(time) } else { Err(damaged()) }
    }

    fn json(&mut self, depth: usize) -> Result<Json> {
        if depth > super::json::MAX_DEPTH {
            return Err(damaged());
        }
        Ok(match self.byte()? {
            0 => Json::Null,
            tag @ (1 | 2) => Json::Bool(tag == 2),
            3 => Json::Number(Numeric::decode(self.counted()?)?),
            4 => Json::String(self.text()?),
            5 => {
                let count = self.count()?;
                Json::Array(self.many(count, |reader| reader.json(depth + 1))?)
            }
            6 => {
                let count = self.count()?;
                Json::Object(self.many(count, |reader| Ok((reader.text()?, reader.json(depth + 1)?)))?)
            }
            _ => return Err(damaged()),
        })
    }

    /// Reads `count` elements. Rows of a page are too short for the yield points.
    fn many<T>(&mut self, count: usize, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut things = Vec::with_capacity(count.min(THINGS_AT_ONCE));
        while things.len() < count {
            things.push(read(self)?);
            if things.len() % THINGS_AT_ONCE == 0 {
                sync::yield_point()?;
            }
        }
        Ok(things)
    }

    fn array(&mut self) -> Result<ArrayValue> {
        let element = Oid(self.u32()?);
        let mut dimensions = SmallVec::new();
        let mut count = 1_usize;
        let dimension_count = self.byte()?;
        for _ in 0..dimension_count {
            let dimension = Dimension { length: self.u32()?, lower_bound: self.i32()? };
            // An empty array has no dimensions; one of none times very many would keep its writer busy.
            if dimension.length == 0 {
                return Err(damaged());
            }
            count = count.saturating_mul(dimension.length as usize);
            dimensions.push(dimension);
        }
        if dimension_count == 0 {
            count = 0;
        }
        if count > self.bytes.len() {
            return Err(damaged());
        }
        let values = self.many(count, Reader::tagged)?;
        Ok(ArrayValue { element, dimensions, values })
    }

    fn record(&mut self) -> Result<RecordValue> {
        let type_oid = Oid(self.u32()?);
        let count = self.count()?;
        let mut shape = RecordShape { type_oid, fields: Vec::with_capacity(count), attributes: Vec::new() };
        let mut fields = Vec::with_capacity(count);
        for index in 0..count {
            let ty = SqlType { oid: Oid(self.u32()?), typmod: self.i32()? };
            shape.fields.push((format!("f{}", index + 1), ty));
            fields.push(self.tagged()?);
        }
        Ok(RecordValue { shape: Arc::new(shape), fields })
    }

    fn tagged(&mut self) -> Result<Value> {
        Ok(match self.byte()? {
            tag::NULL => Value::Null,
            tag::BOOL => Value::Bool(self.byte()? != 0),
            tag::INT2 => Value::Int2(i16::from_le_bytes(self.fixed()?)),
            tag::INT4 => Value::Int4(self.i32()?),
            tag::INT8 => Value::Int8(self.i64()?),
            tag::FLOAT4 => Value::Float4(f32::from_le_bytes(self.fixed()?)),
            tag::FLOAT8 => Value::Float8(f64::from_le_bytes(self.fixed()?)),
            tag::NUMERIC => Value::Numeric(Numeric::decode(self.counted()?)?),
            tag::TEXT => Value::Text(self.text()?),
            tag::BYTEA => Value::Bytea(self.counted()?.into()),
            tag::DATE => Value::Date(self.i32()?),
            tag::TIME => Value::Time(self.i64()?),
            tag::TIMETZ => Value::TimeTz(self.timetz()?),
            tag::TIMESTAMP => Value::Timestamp(self.i64()?),
            tag::TIMESTAMPTZ => Value::TimestampTz(self.i64()?),
            tag::INTERVAL => Value::Interval(self.interval()?),
            tag::UUID => Value::Uuid(self.fixed()?),
            tag::MONEY => Value::Money(self.i64()?),
            tag::BITS => Value::Bits(Arc::new(self.bits()?)),
            tag::MACADDR => Value::MacAddr(self.fixed()?),
            tag::MACADDR8 => Value::MacAddr8(self.fixed()?),
            tag::OID => Value::Oid(self.u32()?),
            tag::CHAR => Value::Char(self.byte()?),
            tag::TID => Value::Tid(Tid::from_bytes(self.fixed()?)),
            tag::XID => Value::Xid(self.i64()? as u64),
            tag::PG_LSN => Value::PgLsn(self.i64()? as u64),
            tag::JSONB => Value::Jsonb(Arc::new(JsonbValue(self.json(0)?))),
            tag::ENUM => Value::Enum(EnumValue { type_oid: Oid(self.u32()?), key: self.i64()? }),
            tag::ARRAY => Value::Array(Arc::new(self.array()?)),
            tag::RECORD => Value::Record(Arc::new(self.record()?)),
            _ => return Err(damaged()),
        })
    }
}

/// Appends bytes whose `memcmp` order is the order of the values, for types whose stored form doesn't have it.
/// Equal values give equal bytes.
pub(super) fn write_ordered(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Numeric(numeric) => numeric.encode_key(out),
        Value::Interval(interval) => {
            let span = interval_span(interval) as u128 ^ (1 << 127);
            out.extend_from_slice(&span.to_be_bytes());
        }
        Value::TimeTz(time) => {
            let moment = time.micros + i64::from(time.zone) * SECOND;
            out.extend_from_slice(&(moment as u64 ^ (1 << 63)).to_be_bytes());
            out.extend_from_slice(&(time.zone as u32 ^ (1 << 31)).to_be_bytes());
        }
        Value::Bits(bits) => {
            let mut key = KeyBuffer::new();
            key.push_bytes(bits.bytes());
            out.extend_from_slice(key.as_slice());
            out.extend_from_slice(&(bits.length() as u32).to_be_bytes());
        }
        Value::Jsonb(json) => {
            out.push(u8::from(!json.is_empty_array()));
            write_ordered_json(&json.0, out);
        }
        Value::Array(array) => {
            for value in &array.values {
                // before every element, so that a shorter array sorts first
                out.push(1);
                write_ordered_element(value, array.element, out);
            }
            out.push(0);
            out.push(array.dimensions.len() as u8);
            for dimension in &array.dimensions {
                out.extend_from_slice(&dimension.length.to_be_bytes());
                out.extend_from_slice(&(dimension.lower_bound as u32 ^ (1 << 31)).to_be_bytes());
            }
        }
        Value::Record(record) => {
            for (index, value) in record.fields.iter().enumerate() {
                let oid = record.shape.fields.get(index).map_or(Oid::INVALID, |(_, ty)| ty.oid);
                write_ordered_element(value, oid, out);
            }
        }
        _ => {}
    }
}

fn write_ordered_element(value: &Value, oid: Oid, out: &mut Vec<u8>) {
    let mut key = KeyBuffer::new();
    match value {
        Value::Null | Value::Void => key.push_null(false),
        Value::Bool(value) => key.push_bool(*value),
        Value::Int2(value) => key.push_i16(*value),
        Value::Int4(value) | Value::Date(value) => key.push_i32(*value),
        Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            key.push_i64(*value);
        }
        Value::Money(value) => key.push_i64(*value),
        Value::Float4(value) => key.push_f32(*value),
        Value::Float8(value) => key.push_f64(*value),
        Value::Oid(value) => key.push_i64(i64::from(*value)),
        Value::Char(value) => key.push_i16(i16::from(*value)),
        Value::Xid(value) | Value::PgLsn(value) => key.push_i64(*value as i64),
        Value::Enum(value) => key.push_i64(value.key),
        Value::Tid(value) => key.push_bytes(&value.to_bytes()),
        Value::Text(text) if oid == oids::BPCHAR => key.push_bytes(without_padding(text).as_bytes()),
        Value::Text(text) if matches!(oid, oids::INET | oids::CIDR) => {
            let mut ordered = Vec::new();
            network::write_key(text, &mut ordered);
            key.push_ordered(&ordered);
        }
        Value::Text(text) => key.push_bytes(text.as_bytes()),
        Value::Bytea(bytes) => key.push_bytes(bytes),
        Value::Uuid(uuid) => key.push_bytes(uuid),
        Value::MacAddr(address) => key.push_bytes(address),
        Value::MacAddr8(address) => key.push_bytes(address),
        nested => {
            let mut ordered = Vec::new();
            write_ordered(nested, &mut ordered);
            key.push_ordered(&ordered);
        }
    }
    out.extend_from_slice(key.as_slice());
}

/// As `jsonb`'s order has it: null, strings, numbers, booleans, arrays, objects; longer arrays and objects after
/// shorter ones.
fn write_ordered_json(json: &Json, out: &mut Vec<u8>) {
    let escaped = |bytes: &[u8], out: &mut Vec<u8>| {
        let mut key = KeyBuffer::new();
        key.push_bytes(bytes);
        out.extend_from_slice(key.as_slice());
    };
    out.push(json.rank());
    match json {
        Json::Null => {}
        Json::String(text) => escaped(text.as_bytes(), out),
        Json::Number(number) => {
            let mut ordered = Vec::new();
            number.encode_key(&mut ordered);
            escaped(&ordered, out);
        }
        Json::Bool(value) => out.push(u8::from(*value)),
        Json::Array(values) => {
            out.extend_from_slice(&(values.len() as u32).to_be_bytes());
            for value in values {
                write_ordered_json(value, out);
            }
        }
        Json::Object(pairs) => {
            out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
            for (key, value) in pairs {
                escaped(key.as_bytes(), out);
                write_ordered_json(value, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // invariants: row 26
    #[test]
    fn a_time_zone_further_than_any_is_damage() {
        let time = |micros: i64, zone: i32| [&micros.to_le_bytes()[..], &zone.to_le_bytes()].concat();
        assert!(read(StorageKind::TimeTz, &time(1, -3600)).is_ok());
        assert!(read(StorageKind::TimeTz, &time(1, i32::MIN)).is_err());
        assert!(read(StorageKind::TimeTz, &time(-1, 0)).is_err());
    }

    // invariants: row 26
    #[test]
    fn an_array_of_none_times_very_many_is_damage() {
        let mut bytes = 23u32.to_le_bytes().to_vec();
        bytes.push(2);
        for length in [u32::MAX, 0] {
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(&1i32.to_le_bytes());
        }
        assert!(read(StorageKind::Array(Oid(23)), &bytes).is_err());
    }
}
