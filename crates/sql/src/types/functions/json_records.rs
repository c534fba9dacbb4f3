//! Functions that make rows of JSON: `jsonb_to_record`, `json_populate_recordset` and their kin.
//!
//! What `..._to_record` is to make is said by the column definition list; the binder hands its names and types over as
//! an argument of its own, a row of NULLs.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

use super::{FunctionDef, mismatch};
use crate::types::context::{EvalContext, UserTypeKind};
use crate::types::function_def::{CallTypes, ReadyRows, ValueStream};
use crate::types::json::{Json, JsonbValue};
use crate::types::oids::*;
use crate::types::text_io;
use crate::types::type_table::{SqlType, base_type, element_type};
use crate::types::value::{ArrayValue, Dimension, RecordShape, RecordValue, Value};

/// Functions whose result is described by the column definition list.
pub fn takes_definitions(function: &FunctionDef) -> bool {
    matches!(function.name, "json_to_record" | "json_to_recordset" | "jsonb_to_record" | "jsonb_to_recordset")
}

fn invalid(message: String) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn tree(value: &Value) -> Result<Json> {
    match value {
        Value::Jsonb(json) => Ok(json.0.clone()),
        Value::Text(text) => Json::parse(text),
        other => Err(mismatch(other)),
    }
}

/// A JSON value as a value of an SQL type.
fn convert(json: &Json, ty: SqlType, context: &mut dyn EvalContext) -> Result<Value> {
    let base = base_type(context.catalog(), ty);
    match (json, base.oid) {
        (Json::Null, _) if base.oid == ty.oid => return Ok(Value::Null),
        (_, JSONB) => return Ok(Value::Jsonb(Arc::new(JsonbValue(json.clone())))),
        (_, JSON) => return Ok(Value::from(json.to_string())),
        (Json::Null, _) => {
            context.check_domain(ty.oid, &Value::Null)?;
            return Ok(Value::Null);
        }
        (Json::String(text), _) => return text_io::input(context, text, ty),
        _ => {}
    }
    let shape = match context.catalog().user_type(base.oid).map(|user| user.kind.clone()) {
        Some(UserTypeKind::Composite(shape)) => Some(shape),
        _ => None,
    };
    let value = match shape {
        Some(shape) => row(json, &shape, None, context)?,
        None => match element_type(context.catalog(), base.oid) {
            Some(element) => {
                let mut dimensions = SmallVec::new();
                let mut values = Vec::new();
                collect(json, SqlType::with_typmod(element, base.typmod), 0, &mut dimensions, &mut values, context)?;
                Value::Array(Arc::new(ArrayValue { element, dimensions, values }))
            }
            None => return text_io::input(context, &json.to_string(), ty),
        },
    };
    if base.oid != ty.oid {
        context.check_domain(ty.oid, &value)?;
    }
    Ok(value)
}

/// The elements of nested JSON arrays, all of one shape.
fn collect(
    json: &Json,
    element: SqlType,
    depth: usize,
    dimensions: &mut SmallVec<[Dimension; 1]>,
    values: &mut Vec<Value>,
    context: &mut dyn EvalContext,
) -> Result<()> {
    let expected = || Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, "expected JSON array");
    let Json::Array(items) = json else { return Err(expected()) };
    if items.is_empty() && depth == 0 {
        return Ok(());
    }
    let length = items.len() as u32;
    match dimensions.get(depth) {
        None => dimensions.push(Dimension { length, lower_bound: 1 }),
        Some(known) if known.length == length => {}
        Some(_) => {
            return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, "malformed JSON array")
                .detail("Multidimensional arrays must have sub-arrays with matching dimensions."));
        }
    }
    let is_composite = context.catalog().user_type(element.oid).is_some();
    for item in items {
        let nests = matches!(item, Json::Array(_)) && !is_composite && !matches!(element.oid, JSON | JSONB);
        if nests {
            collect(item, element, depth + 1, dimensions, values, context)?;
        } else if dimensions.len() > depth + 1 {
            return Err(expected());
        } else {
            values.push(convert(item, element, context)?);
        }
    }
    Ok(())
}

/// A JSON object as a row; members that are missing stay as `defaults` has them.
fn row(
    json: &Json,
    shape: &Arc<RecordShape>,
    defaults: Option<&RecordValue>,
    context: &mut dyn EvalContext,
) -> Result<Value> {
    let kind = match json {
        Json::Object(_) => None,
        Json::Array(_) => Some("an array"),
        _ => Some("a scalar"),
    };
    if let Some(kind) = kind {
        return Err(invalid(format!("cannot call populate_composite on {kind}")));
    }
    let mut fields = Vec::with_capacity(shape.fields.len());
    for (place, (name, ty)) in shape.fields.iter().enumerate() {
        fields.push(match (json.member(name), defaults) {
            (Some(member), _) => convert(member, *ty, context)?,
            (None, Some(defaults)) => defaults.fields.get(place).cloned().unwrap_or_default(),
            (None, None) => convert(&Json::Null, *ty, context)?,
        });
    }
    Ok(Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields })))
}

fn rows(
    json: &Json,
    shape: &Arc<RecordShape>,
    defaults: Option<&RecordValue>,
    function: &str,
    context: &mut dyn EvalContext,
) -> Result<Box<dyn ValueStream>> {
    let items = match json {
        Json::Array(items) => items,
        Json::Object(_) => return Err(invalid(format!("cannot call {function} on an object"))),
        _ => return Err(invalid(format!("cannot call {function} on a scalar"))),
    };
    let mut made = Vec::with_capacity(items.len());
    for item in items {
        context.check_interrupt()?;
        if !matches!(item, Json::Object(_)) {
            return Err(invalid(format!("argument of {function} must be an array of objects")));
        }
        made.push(row(item, shape, defaults, context)?);
    }
    Ok(ReadyRows::boxed(made))
}

/// The shape that the column definition list gave.
fn defined(a: &[Value]) -> Result<&Arc<RecordShape>> {
    match a.get(1) {
        Some(Value::Record(record)) => Ok(&record.shape),
        _ => Err(Error::unsupported("function returning record called in context that cannot accept type record")),
    }
}

fn to_record(context: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    let shape = defined(a)?;
    let made = match &a[0] {
        Value::Null => row(&Json::Object(Vec::new()), shape, None, context)?,
        json => row(&tree(json)?, shape, None, context)?,
    };
    Ok(ReadyRows::boxed(vec![made]))
}

fn to_recordset(function: &str, context: &mut dyn EvalContext, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    if a[0].is_null() {
        return Ok(ReadyRows::boxed(Vec::new()));
    }
    rows(&tree(&a[0])?, defined(a)?, None, function, context)
}

/// The row type to be filled: that of the first argument. 42804
fn wanted(function: &str, context: &dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Arc<RecordShape>> {
    let base = base_type(context.catalog(), types.arguments[0]);
    match (context.catalog().user_type(base.oid).map(|user| user.kind.clone()), &a[0]) {
        (Some(UserTypeKind::Composite(shape)), _) => Ok(shape),
        (_, Value::Record(record)) => Ok(Arc::clone(&record.shape)),
        _ => Err(Error::new(sqlstate::DATATYPE_MISMATCH, format!("first argument of {function} must be a row type"))),
    }
}

fn populate_record(function: &str, context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let shape = wanted(function, context, types, a)?;
    let defaults = match &a[0] {
        Value::Record(record) => Some(&**record),
        _ => None,
    };
    match &a[1] {
        Value::Null => Ok(a[0].clone()),
        json => row(&tree(json)?, &shape, defaults, context),
    }
}

fn populate_recordset(
    function: &str,
    context: &mut dyn EvalContext,
    types: &CallTypes,
    a: &[Value],
) -> Result<Box<dyn ValueStream>> {
    let shape = wanted(function, context, types, a)?;
    let defaults = match &a[0] {
        Value::Record(record) => Some(&**record),
        _ => None,
    };
    match &a[1] {
        Value::Null => Ok(ReadyRows::boxed(Vec::new())),
        json => rows(&tree(json)?, &shape, defaults, function, context),
    }
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::set(3204, "json_to_record", &[JSON], RECORD, to_record).stable().not_strict(),
    FunctionDef::set(3490, "jsonb_to_record", &[JSONB], RECORD, to_record).stable().not_strict(),
    FunctionDef::set(3205, "json_to_recordset", &[JSON], RECORD, |context, _, a| to_recordset("json_to_recordset", context, a)).stable().not_strict(),
    FunctionDef::set(3491, "jsonb_to_recordset", &[JSONB], RECORD, |context, _, a| to_recordset("jsonb_to_recordset", context, a)).stable().not_strict(),
    FunctionDef::typed(3960, "json_populate_record", &[ANYELEMENT, JSON, BOOL], ANYELEMENT, |context, types, a| populate_record("json_populate_record", context, types, a)).stable().not_strict().named(&["base", "from_json", "use_json_as_text"]).defaults(&["false"]),
    FunctionDef::typed(3209, "jsonb_populate_record", &[ANYELEMENT, JSONB], ANYELEMENT, |context, types, a| populate_record("jsonb_populate_record", context, types, a)).stable().not_strict(),
    FunctionDef::set(3961, "json_populate_recordset", &[ANYELEMENT, JSON, BOOL], ANYELEMENT, |context, types, a| populate_recordset("json_populate_recordset", context, types, a)).stable().not_strict().named(&["base", "from_json", "use_json_as_text"]).defaults(&["false"]),
    FunctionDef::set(3475, "jsonb_populate_recordset", &[ANYELEMENT, JSONB], ANYELEMENT, |context, types, a| populate_recordset("jsonb_populate_recordset", context, types, a)).stable().not_strict(),
];
