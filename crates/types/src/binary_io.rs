//! Binary input and output of every type, for the protocol and COPY.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use smallvec::SmallVec;

use super::array_text::{MAX_DIMENSIONS, MAX_ELEMENTS, array_too_large, too_many_dimensions};
use super::context::{CatalogLookup, EvalContext, UserTypeKind};
use super::text_io;
use super::type_table::{SqlType, TypeDef, TypeKind, builtin_type, type_shape};
use super::value::{ArrayValue, Dimension, RecordShape, RecordValue, Value};
use super::{network, oids};

#[cold]
fn insufficient_data() -> Error {
    Error::new(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message")
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(sqlstate::INVALID_BINARY_REPRESENTATION, message)
}

/// The rest of the bytes of a value.
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.bytes.len() {
            return Err(insufficient_data());
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take returns what was asked for"))
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }

    pub(super) fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.fixed()?))
    }

    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn rest_text(&mut self) -> Result<&'a str> {
        utf8(self.rest())
    }
}

/// Checks text from a client: 22021 for bytes that are not UTF-8, or zero.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let bad = |at: usize, length: usize| {
        let shown: Vec<String> =
            bytes[at..(at + length).min(bytes.len())].iter().map(|byte| format!("0x{byte:02x}")).collect();
        Error::new(
            sqlstate::CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
        )
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => match memchr_zero(bytes) {
            None => Ok(text),
            Some(at) => Err(bad(at, 1)),
        },
        Err(error) => {
            let at = error.valid_up_to();
            let announced = match bytes[at] {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 => 4,
                _ => 1,
            };
            Err(bad(at, announced))
        }
    }
}

fn memchr_zero(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0)
}

/// Reads the binary form of a value of type `ty`, its modifier applied as in an assignment.
pub fn binary_input(context: &mut dyn EvalContext, bytes: &[u8], ty: SqlType) -> Result<Value> {
    binary_input_with_rest(context, bytes, ty)?.ok_or_else(|| invalid("incorrect binary data format"))
}

/// The same for the parameter of this index of a statement.
pub fn binary_parameter(context: &mut dyn EvalContext, bytes: &[u8], ty: SqlType, index: usize) -> Result<Value> {
    let left_over = || invalid(format!("incorrect binary data format in bind parameter {}", index + 1));
    binary_input_with_rest(context, bytes, ty)?.ok_or_else(left_over)
}

/// The same; `None` if bytes are left behind the value.
fn binary_input_with_rest(context: &mut dyn EvalContext, bytes: &[u8], ty: SqlType) -> Result<Option<Value>> {
    let mut reader = Reader { bytes };
    let value = read(context, &mut reader, ty)?;
    Ok(reader.bytes.is_empty().then_some(value))
}

fn read(context: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    match ty.oid {
        oids::INT4 => Ok(Value::Int4(reader.i32()?)),
        oids::INT8 => Ok(Value::Int8(reader.i64()?)),
        oids::TEXT => Ok(Value::text(reader.rest_text()?)),
        oid => match builtin_type(oid) {
            Some(TypeDef { binary_input: Some(read), .. }) => read(context, reader, ty),
            _ => read_constructed(context, reader, ty),
        },
    }
}

fn read_constructed(context: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let catalog = context.catalog();
    match type_shape(catalog, ty.oid).map(|shape| shape.kind) {
        Some(TypeKind::Array(element)) => {
            let element = SqlType::with_typmod(element, ty.typmod);
            Ok(Value::Array(Arc::new(read_array(context, reader, element)?)))
        }
        Some(TypeKind::Domain(_)) => {
            let base = super::type_table::base_type(catalog, ty);
            let value = read(context, reader, base)?;
            context.check_domain(ty.oid, &value)?;
            Ok(value)
        }
        Some(TypeKind::Enum) => text_io::input(context, reader.rest_text()?, ty),
        Some(TypeKind::Composite) => match catalog.user_type(ty.oid).map(|user| user.kind.clone()) {
            Some(UserTypeKind::Composite(shape)) => Ok(Value::Record(Arc::new(read_record(context, reader, &shape)?))),
            _ => Err(Error::unsupported("input of anonymous composite types is not implemented")),
        },
        _ => {
            let name = super::type_name::format_type_name(catalog, ty.oid);
            Err(Error::new(sqlstate::UNDEFINED_FUNCTION, format!("no binary input function available for type {name}")))
        }
    }
}

/// A value with its length before it; -1 is NULL.
fn read_item(context: &mut dyn EvalContext, reader: &mut Reader<'_>, ty: SqlType) -> Result<Value> {
    let length = reader.i32()?;
    if length == -1 {
        return text_io::null_input(context, ty);
    }
    let length = usize::try_from(length).map_err(|_| insufficient_data())?;
    binary_input(context, reader.take(length)?, ty)
}

pub(super) fn read_array(
    context: &mut dyn EvalContext,
    reader: &mut Reader<'_>,
    element: SqlType,
) -> Result<ArrayValue> {
    let dimension_count = reader.i32()?;
    let _has_nulls = reader.i32()?;
    let sent = Oid(reader.u32()?);
    let dimension_count = usize::try_from(dimension_count)
        .map_err(|_| invalid(format!("invalid number of dimensions: {dimension_count}")))?;
    if dimension_count > MAX_DIMENSIONS {
        return Err(too_many_dimensions(dimension_count));
    }
    if is_other_type(sent, element.oid) {
        let (sent_name, wanted) = (
            super::type_name::format_type_name(context.catalog(), sent),
            super::type_name::format_type_name(context.catalog(), element.oid),
        );
        return Err(Error::new(
            sqlstate::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {} ({sent_name}) instead of expected {} ({wanted})",
                sent.0, element.oid.0
            ),
        ));
    }
    let mut dimensions: SmallVec<[Dimension; 1]> = SmallVec::new();
    let mut count = 1_usize;
    for _ in 0..dimension_count {
        let length = u32::try_from(reader.i32()?).map_err(|_| array_too_large())?;
        let lower_bound = reader.i32()?;
        count = count.saturating_mul(length as usize);
        dimensions.push(Dimension { length, lower_bound });
    }
    if dimension_count == 0 || count == 0 {
        return Ok(ArrayValue::empty(element.oid));
    }
    super::array_text::check_bounds(&dimensions)?;
    if count > MAX_ELEMENTS {
        return Err(array_too_large());
    }
    // each element takes four bytes at least
    if count > reader.bytes.len() / 4 {
        return Err(insufficient_data());
    }
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(read_item(context, reader, element)?);
    }
    Ok(ArrayValue { element: element.oid, dimensions, values })
}

/// Whether data of one type can't be meant for another: numbers of types that are not built in differ from server to server.
fn is_other_type(sent: Oid, wanted: Oid) -> bool {
    const FIRST_UNSTABLE: Oid = Oid(10_000);
    sent != wanted && sent < FIRST_UNSTABLE && wanted < FIRST_UNSTABLE
}

fn read_record(
    context: &mut dyn EvalContext,
    reader: &mut Reader<'_>,
    shape: &Arc<RecordShape>,
) -> Result<RecordValue> {
    let count = reader.i32()?;
    if count != shape.fields.len() as i32 {
        return Err(Error::new(
            sqlstate::DATATYPE_MISMATCH,
            format!("wrong number of columns: {count}, expected {}", shape.fields.len()),
        ));
    }
    let mut fields = Vec::with_capacity(shape.fields.len());
    for (index, (_, ty)) in shape.fields.iter().enumerate() {
        let sent = Oid(reader.u32()?);
        if is_other_type(sent, ty.oid) {
            return Err(Error::new(
                sqlstate::DATATYPE_MISMATCH,
                format!(
                    "binary data has type {} instead of expected {} in record column {}",
                    sent.0,
                    ty.oid.0,
                    index + 1
                ),
            ));
        }
        fields.push(read_item(context, reader, *ty)?);
    }
    Ok(RecordValue { shape: shape.clone(), fields })
}

/// Appends the binary form of `value`, which has type `oid` and is not NULL, without its length.
pub fn binary_output(value: &Value, oid: Oid, catalog: &dyn CatalogLookup, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null | Value::Void => {}
        Value::Int4(value) | Value::Date(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Int8(value)
        | Value::Money(value)
        | Value::Time(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value) => {
            out.extend_from_slice(&value.to_be_bytes());
        }
        Value::Text(text) if matches!(oid, oids::INET | oids::CIDR) => network::write_binary(text, oid, out)?,
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Int2(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Float4(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Float8(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Numeric(value) => value.write_binary(out),
        Value::Bytea(bytes) => out.extend_from_slice(bytes),
        Value::Char(byte) => out.push(*byte),
        Value::TimeTz(time) => {
            out.extend_from_slice(&time.micros.to_be_bytes());
            out.extend_from_slice(&time.zone.to_be_bytes());
        }
        Value::Interval(interval) => {
            out.extend_from_slice(&interval.micros.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
        Value::Uuid(uuid) => out.extend_from_slice(uuid),
        Value::Bits(bits) => {
            out.extend_from_slice(&(bits.length() as i32).to_be_bytes());
            out.extend_from_slice(bits.bytes());
        }
        Value::MacAddr(address) => out.extend_from_slice(address),
        Value::MacAddr8(address) => out.extend_from_slice(address),
        Value::Oid(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Xid(value) if oid == oids::XID8 => out.extend_from_slice(&value.to_be_bytes()),
        Value::Xid(value) => out.extend_from_slice(&(*value as u32).to_be_bytes()),
        Value::PgLsn(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Tid(tid) => out.extend_from_slice(&tid.to_bytes()),
        Value::Jsonb(json) => {
            out.push(1);
            json.0.write(out);
        }
        Value::Enum(_) => {
            text_io::output(value, oid, &super::context::FormatSettings::default(), catalog, out)?;
        }
        Value::Array(array) => write_array(array, catalog, out)?,
        Value::Record(record) => write_record(record, catalog, out)?,
    }
    Ok(())
}

/// Appends a value with its length before it.
fn write_item(value: &Value, oid: Oid, catalog: &dyn CatalogLookup, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        return Ok(());
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    binary_output(value, oid, catalog, out)?;
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn write_array(array: &ArrayValue, catalog: &dyn CatalogLookup, out: &mut Vec<u8>) -> Result<()> {
    let has_nulls = array.values.iter().any(Value::is_null);
    out.extend_from_slice(&(array.dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(has_nulls).to_be_bytes());
    out.extend_from_slice(&array.element.0.to_be_bytes());
    for dimension in &array.dimensions {
        out.extend_from_slice(&dimension.length.to_be_bytes());
        out.extend_from_slice(&dimension.lower_bound.to_be_bytes());
    }
    for value in &array.values {
        write_item(value, array.element, catalog, out)?;
    }
    Ok(())
}

fn write_record(record: &RecordValue, catalog: &dyn CatalogLookup, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&(record.fields.len() as i32).to_be_bytes());
    for (index, value) in record.fields.iter().enumerate() {
        let oid = record.shape.fields.get(index).map_or(oids::TEXT, |(_, ty)| ty.oid);
        out.extend_from_slice(&oid.0.to_be_bytes());
        write_item(value, oid, catalog, out)?;
    }
    Ok(())
}
