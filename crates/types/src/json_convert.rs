//! SQL values as JSON.

use base::{Error, Oid, Result, sqlstate};

use super::context::{DateStyle, EvalContext, FormatSettings, composite_shape};
use super::functions::text::check_length;
use super::json::{self, Json};
use super::numeric::Numeric;
use super::type_table::base_type;
use super::value::{ArrayValue, RecordShape, RecordValue, SmolStr, Value};
use super::{oids, text_io};

/// How dates are written in JSON: ISO 8601, whatever DateStyle says.
fn iso_text(value: &Value, oid: Oid, context: &dyn EvalContext) -> Result<String> {
    let format = FormatSettings { date_style: DateStyle::Iso, ..context.format().clone() };
    let text = text_io::output_string(value, oid, &format, context.catalog())?;
    if matches!(value, Value::Date(_)) {
        return Ok(text);
    }
    let text = text.replacen(' ', "T", 1);
    let (stamp, era) = text.strip_suffix(" BC").map_or((text.as_str(), ""), |stamp| (stamp, " BC"));
    let offset = stamp.len().checked_sub(3).map(|place| &stamp[place..]);
    // An offset of whole hours is written with minutes.
    if matches!(value, Value::TimestampTz(_)) && offset.is_some_and(|offset| offset.starts_with(['+', '-'])) {
        return Ok(format!("{stamp}:00{era}"));
    }
    Ok(text)
}

/// Appends a value of type `oid` as JSON text.
pub fn write_json(value: &Value, oid: Oid, context: &dyn EvalContext, out: &mut Vec<u8>) -> Result<()> {
    let oid = base_type(context.catalog(), oid.into()).oid;
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => {
            text_io::output(value, oid, context.format(), context.catalog(), out)?;
        }
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = text_io::output_string(value, oid, context.format(), context.catalog())?;
            // NaN and infinities are no JSON numbers
            if text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e')) {
                out.extend_from_slice(text.as_bytes());
            } else {
                json::write_string(&text, out);
            }
        }
        Value::Text(text) if oid == oids::JSON => out.extend_from_slice(text.as_bytes()),
        Value::Text(text) => json::write_string(text, out),
        Value::Jsonb(json) => json.0.write(out),
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => {
            json::write_string(&iso_text(value, oid, context)?, out);
        }
        Value::Array(array) => write_level(array, 0, &mut array.values.iter(), context, out)?,
        Value::Record(record) => {
            out.push(b'{');
            let shape = shape_of(record, oid, context);
            for (index, (field, (name, ty))) in record.fields.iter().zip(&shape.fields).enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json::write_string(name, out);
                out.push(b':');
                write_json(field, ty.oid, context, out)?;
            }
            out.push(b'}');
        }
        other => {
            let text = text_io::output_string(other, oid, context.format(), context.catalog())?;
            json::write_string(&text, out);
        }
    }
    check_length(out.len())
}

/// The names of a row's fields: those of its type, if it has one. A query's other names for a table's columns don't count.
fn shape_of(record: &RecordValue, oid: Oid, context: &dyn EvalContext) -> std::sync::Arc<RecordShape> {
    let catalog = context.catalog();
    let named = composite_shape(catalog, oid).or_else(|| composite_shape(catalog, record.shape.type_oid));
    named.filter(|shape| shape.fields.len() == record.fields.len()).unwrap_or_else(|| record.shape.clone())
}

fn write_level(
    array: &ArrayValue,
    depth: usize,
    values: &mut std::slice::Iter<'_, Value>,
    context: &dyn EvalContext,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.push(b'[');
    let length = array.dimensions.get(depth).map_or(0, |dimension| dimension.length);
    for index in 0..length {
        if index > 0 {
            out.push(b',');
        }
        if depth + 1 < array.dimensions.len() {
            write_level(array, depth + 1, values, context, out)?;
        } else if let Some(value) = values.next() {
            write_json(value, array.element, context, out)?;
        }
    }
    out.push(b']');
    Ok(())
}

/// A value of type `oid` as a JSON tree.
pub fn to_json(value: &Value, oid: Oid, context: &dyn EvalContext) -> Result<Json> {
    let oid = base_type(context.catalog(), oid.into()).oid;
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => {
            Json::Number(Numeric::from(value.as_i64().unwrap_or_default()))
        }
        Value::Numeric(number) if number.is_finite() => Json::Number(number.clone()),
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = text_io::output_string(value, oid, context.format(), context.catalog())?;
            match Numeric::parse(&text) {
                Ok(number) if number.is_finite() => Json::Number(number),
                _ => Json::String(SmolStr::from(text)),
            }
        }
        Value::Text(text) if oid == oids::JSON => Json::parse(text)?,
        Value::Text(text) => Json::String(text.clone()),
        Value::Jsonb(json) => json.0.clone(),
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => {
            Json::String(SmolStr::from(iso_text(value, oid, context)?))
        }
        Value::Array(array) => tree_level(array, 0, &mut array.values.iter(), context)?,
        Value::Record(record) => Json::object(
            record
                .fields
                .iter()
                .zip(&shape_of(record, oid, context).fields)
                .map(|(field, (name, ty))| Ok((SmolStr::new(name), to_json(field, ty.oid, context)?)))
                .collect::<Result<_>>()?,
        ),
        other => Json::String(SmolStr::from(text_io::output_string(other, oid, context.format(), context.catalog())?)),
    })
}

fn tree_level(
    array: &ArrayValue,
    depth: usize,
    values: &mut std::slice::Iter<'_, Value>,
    context: &dyn EvalContext,
) -> Result<Json> {
    let length = array.dimensions.get(depth).map_or(0, |dimension| dimension.length);
    let mut elements = Vec::with_capacity(length as usize);
    for _ in 0..length {
        if depth + 1 < array.dimensions.len() {
            elements.push(tree_level(array, depth + 1, values, context)?);
        } else if let Some(value) = values.next() {
            elements.push(to_json(value, array.element, context)?);
        }
    }
    Ok(Json::Array(elements))
}

/// A value as the key of an object: text of a scalar. 22023 for arrays, rows and JSON.
pub fn key_text(value: &Value, oid: Oid, context: &dyn EvalContext) -> Result<SmolStr> {
    let is_constructed = matches!(value, Value::Array(_) | Value::Record(_) | Value::Jsonb(_)) || oid == oids::JSON;
    if is_constructed {
        return Err(Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            "key value must be scalar, not array, composite, or json",
        ));
    }
    Ok(match value {
        Value::Text(text) => text.clone(),
        Value::Bool(value) => SmolStr::new_static(if *value { "true" } else { "false" }),
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => SmolStr::from(iso_text(value, oid, context)?),
        other => SmolStr::from(text_io::output_string(other, oid, context.format(), context.catalog())?),
    })
}
