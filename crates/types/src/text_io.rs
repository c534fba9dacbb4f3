//! Text input and output of every type.

use std::sync::Arc;

use base::limits::VALUE_MAX_BYTES;
use base::{Error, Oid, Result, sqlstate};

use super::apart::{LARGE_BYTES, LARGE_RESULT_BYTES, call_apart};
use super::context::{CatalogLookup, EnumLabel, EvalContext, FormatSettings, UserTypeKind};
use super::datetime::format as date_format;
use super::number_text::{self, invalid_syntax, write_integer};
use super::type_table::{SqlType, TypeDef, TypeKind, base_type, builtin_type, type_shape};
use super::value::{EnumValue, Value};
use super::{array_text, mac_address, money, oids, record_text, reg_types, string_types};

/// Reads `text` as a value of type `ty`, its modifier applied as in an assignment
/// (`varchar(3)` raises 22001, `numeric(5,2)` rounds).
pub fn input(context: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    match ty.oid {
        oids::INT4 => Ok(Value::Int4(number_text::parse_int4(text)?)),
        oids::INT8 => Ok(Value::Int8(number_text::parse_int8(text)?)),
        oids::TEXT => Ok(Value::text(text)),
        oid => match builtin_type(oid) {
            Some(TypeDef { text_input: Some(read), .. }) => read(context, text, ty),
            _ => input_constructed(context, text, ty),
        },
    }
}

/// As [`input`] for a part of a text: an element or a field. A large one is read by another thread even if only the session knows the
/// type of the whole.
pub(super) fn input_part(context: &mut dyn EvalContext, part: String, ty: SqlType) -> Result<Value> {
    sync::yield_point()?;
    if part.len() > LARGE_BYTES && sync::in_coroutine() {
        let text = [Value::from(part)];
        let read = move |context: &mut dyn EvalContext, text: &[Value]| {
            input(context, text[0].as_str().unwrap_or_default(), ty)
        };
        return match call_apart(context, &text, read) {
            Some(value) => value,
            None => read(context, &text),
        };
    }
    input(context, &part, ty)
}

/// Reads NULL as a value of a type: 23502, 23514 of a domain that refuses it.
pub fn null_input(context: &mut dyn EvalContext, ty: SqlType) -> Result<Value> {
    if ty.oid >= Oid::FIRST_NORMAL && super::type_table::base_type(context.catalog(), ty).oid != ty.oid {
        context.check_domain(ty.oid, &Value::Null)?;
    }
    Ok(Value::Null)
}

/// Arrays, and the types that users make.
fn input_constructed(context: &mut dyn EvalContext, text: &str, ty: SqlType) -> Result<Value> {
    let catalog = context.catalog();
    match type_shape(catalog, ty.oid).map(|shape| shape.kind) {
        Some(TypeKind::Array(element)) => {
            let element = SqlType::with_typmod(element, ty.typmod);
            Ok(Value::Array(Arc::new(array_text::parse_array(context, text, element)?)))
        }
        Some(TypeKind::Domain(_)) => {
            // All constraints are those of the outermost domain, whose name errors have.
            let base = super::type_table::base_type(catalog, ty);
            let value = input(context, text, base)?;
            context.check_domain(ty.oid, &value)?;
            Ok(value)
        }
        Some(TypeKind::Pseudo) => {
            let name = super::type_name::format_type_name(catalog, ty.oid);
            Err(Error::unsupported(format!("cannot accept a value of type {name}")))
        }
        Some(_) => match catalog.user_type(ty.oid) {
            Some(user) => match &user.kind {
                UserTypeKind::Enum(labels) => {
                    let label = labels.iter().find(|label| label.label == text).ok_or_else(|| {
                        let name = super::type_name::format_type_name(catalog, ty.oid);
                        let message = format!("invalid input value for enum {name}: \"{text}\"");
                        Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
                    })?;
                    refuse_new_label(context, ty.oid, label)?;
                    Ok(Value::Enum(EnumValue { type_oid: ty.oid, key: label.key }))
                }
                UserTypeKind::Composite(shape) => {
                    let shape = shape.clone();
                    Ok(Value::Record(Arc::new(record_text::parse_record(context, text, &shape)?)))
                }
                _ => Err(invalid_syntax(&user.name, text)),
            },
            None => Err(no_such_type(ty.oid)),
        },
        None => Err(no_such_type(ty.oid)),
    }
}

#[cold]
fn no_such_type(oid: Oid) -> Error {
    Error::new(sqlstate::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
}

/// Whether the type is `regclass` or one of its kin.
pub fn is_reg_type(oid: Oid) -> bool {
    use oids::*;
    matches!(
        oid,
        REGCLASS
            | REGTYPE
            | REGPROC
            | REGPROCEDURE
            | REGOPER
            | REGOPERATOR
            | REGNAMESPACE
            | REGROLE
            | REGCOLLATION
            | REGCONFIG
            | REGDICTIONARY
    )
}

/// Whether [`output`] lets others run while it writes the value: then nothing that they need may be borrowed.
pub fn output_lets_others_run(value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Record(_) | Value::Jsonb(_) => true,
        Value::Bytea(bytes) => bytes.len() > PIECE_BYTES,
        Value::Bits(bits) => bits.length() > PIECE_BYTES,
        _ => false,
    }
}

/// Appends the text form of `value`, which has type `oid` and is not NULL (nothing is appended for NULL and void).
pub fn output(
    value: &Value,
    oid: Oid,
    format: &FormatSettings,
    catalog: &dyn CatalogLookup,
    out: &mut Vec<u8>,
) -> Result<()> {
    match value {
        Value::Null | Value::Void => {}
        Value::Int4(value) => write_integer(*value, out),
        Value::Int8(value) => write_integer(*value, out),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Value::Int2(value) => write_integer(*value, out),
        Value::Float4(value) => number_text::write_float4(*value, format.extra_float_digits, out),
        Value::Float8(value) => number_text::write_float8(*value, format.extra_float_digits, out),
        Value::Numeric(value) => value.write(out),
        Value::Bytea(bytes) => string_types::write_bytea(bytes, format.bytea_output, out)?,
        Value::Char(byte) => string_types::write_char(*byte, out),
        Value::Date(days) => date_format::write_date(*days, format, out),
        Value::Time(micros) => date_format::write_time(*micros, out),
        Value::TimeTz(time) => date_format::write_timetz(*time, out),
        Value::Timestamp(timestamp) => date_format::write_timestamp(*timestamp, format, out),
        Value::TimestampTz(timestamp) => date_format::write_timestamptz(*timestamp, format, out),
        Value::Interval(interval) => date_format::write_interval(interval, format.interval_style, out),
        Value::Uuid(uuid) => number_text::write_uuid(uuid, out),
        Value::Money(cents) => money::write(*cents, out),
        Value::Bits(bits) => bits.write(out)?,
        Value::MacAddr(address) => mac_address::write(address, out),
        Value::MacAddr8(address) => mac_address::write(address, out),
        Value::Oid(value) if oid == oids::OID => write_integer(*value, out),
        Value::Oid(value) => match below_domain(catalog, oid) {
            base if is_reg_type(base) => reg_types::write_reg(*value, base, catalog, out),
            _ => write_integer(*value, out),
        },
        Value::Xid(value) => write_integer(*value, out),
        Value::Tid(tid) => out.extend_from_slice(tid.to_string().as_bytes()),
        Value::PgLsn(lsn) => out.extend_from_slice(format!("{:X}/{:X}", lsn >> 32, lsn & 0xFFFF_FFFF).as_bytes()),
        Value::Jsonb(json) => json.0.write(out),
        Value::Enum(value) => write_enum(*value, catalog, out),
        Value::Array(array) if matches!(below_domain(catalog, oid), oids::INT2VECTOR | oids::OIDVECTOR) => {
            array_text::write_vector(array, format, catalog, out)?;
        }
        Value::Array(array) => array_text::write_array(array, format, catalog, out)?,
        Value::Record(record) => record_text::write_record(record, format, catalog, out)?,
    }
    Ok(())
}

/// The type itself, or the type below it if it is a domain.
fn below_domain(catalog: &dyn CatalogLookup, oid: Oid) -> Oid {
    if oid < Oid::FIRST_NORMAL { oid } else { base_type(catalog, SqlType::new(oid)).oid }
}

/// Appends an element or a field in quotes. Before each quote or backslash in it, the byte that `escape` gives is
/// written. So quotes and backslashes double with each level of nesting. 54000 if the text becomes too long.
pub(super) fn write_quoted(item: &[u8], escape: fn(u8) -> u8, out: &mut Vec<u8>) -> Result<()> {
    let is_special = |byte: u8| matches!(byte, b'"' | b'\\');
    let mut needed = item.len() + 2;
    for piece in item.chunks(PIECE_BYTES) {
        sync::yield_point()?;
        needed += piece.iter().filter(|byte| is_special(**byte)).count();
    }
    if out.len() + needed > VALUE_MAX_BYTES {
        return Err(Error::buffer_too_long(out.len(), needed));
    }
    out.reserve(needed);
    out.push(b'"');
    for piece in item.chunks(PIECE_BYTES) {
        sync::yield_point()?;
        for byte in piece {
            if is_special(*byte) {
                out.push(escape(*byte));
            }
            out.push(*byte);
        }
    }
    out.push(b'"');
    Ok(())
}

/// Bytes of a value that are looked at or written between two yield points.
pub(super) const PIECE_BYTES: usize = 1 << 16;

/// Whether an element or a field holds a byte for which it must be quoted.
pub(super) fn has_any(item: &[u8], is_special: impl Fn(u8) -> bool) -> Result<bool> {
    for piece in item.chunks(PIECE_BYTES) {
        sync::yield_point()?;
        if piece.iter().any(|byte| is_special(*byte)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Bytes copied between two yield points: more than are looked at one by one, since copying takes less time.
const APPENDED_BYTES: usize = 1 << 20;

/// Appends a text that may be very long.
#[inline]
pub(super) fn append(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if text.len() <= APPENDED_BYTES {
        out.extend_from_slice(text);
        return Ok(());
    }
    out.reserve(text.len());
    for piece in text.chunks(APPENDED_BYTES) {
        sync::yield_point()?;
        out.extend_from_slice(piece);
    }
    Ok(())
}

/// 55P04 for a label that the transaction in progress has added: were it undone, nothing would say what it is in an index.
pub(crate) fn refuse_new_label(context: &dyn EvalContext, enum_type: Oid, label: &EnumLabel) -> Result<()> {
    if !context.is_new_label(label.key) {
        return Ok(());
    }
    let name = super::type_name::format_type_name(context.catalog(), enum_type);
    let message = format!("unsafe use of new value \"{}\" of enum type {name}", label.label);
    Err(Error::new(sqlstate::UNSAFE_NEW_ENUM_VALUE_USAGE, message)
        .hint("New enum values must be committed before they can be used."))
}

fn write_enum(value: EnumValue, catalog: &dyn CatalogLookup, out: &mut Vec<u8>) {
    let user = catalog.user_type(value.type_oid);
    if let Some(UserTypeKind::Enum(labels)) = user.as_ref().map(|user| &user.kind)
        && let Some(label) = labels.iter().find(|label| label.key == value.key)
    {
        return out.extend_from_slice(label.label.as_bytes());
    }
    write_integer(value.label_oid().0, out);
}

/// The text form of `value` as a string.
///
/// # Errors
/// 54000 if it becomes too long.
pub fn output_string(value: &Value, oid: Oid, format: &FormatSettings, catalog: &dyn CatalogLookup) -> Result<String> {
    let mut out = Vec::new();
    output(value, oid, format, catalog, &mut out)?;
    Ok(String::from_utf8(out).expect("text output is UTF-8"))
}

/// The bytes that [`output`] has written, as a text value. A large one is copied by another thread.
///
/// # Errors
/// 57014 and its kin when the session is interrupted meanwhile.
pub(super) fn text_of_output(out: Vec<u8>) -> Result<Value> {
    let text = |out| Value::from(String::from_utf8(out).expect("text output is UTF-8"));
    if out.len() <= LARGE_RESULT_BYTES {
        return Ok(text(out));
    }
    sync::on_other_thread(sync::Work::Long, move || text(out))
}

/// The same for a message, where one that is too long is left out.
pub fn shown_string(value: &Value, oid: Oid, format: &FormatSettings, catalog: &dyn CatalogLookup) -> String {
    output_string(value, oid, format, catalog).unwrap_or_else(|_| "...".to_owned())
}
