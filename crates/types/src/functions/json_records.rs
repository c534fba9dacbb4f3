//! Functions that make rows of JSON: `jsonb_to_record`, `json_populate_recordset` and their kin.
//!
//! The column definition list says which row `..._to_record` makes. The binder passes the list's names and types in an
//! additional argument, a row of NULLs.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

use super::{FunctionDef, mismatch};
use crate::array_text::{MAX_DIMENSIONS, too_many_dimensions};
use crate::context::{EvalContext, UserTypeKind};
use crate::function_def::{CallTypes, ReadyRows, ValueStream};
use crate::json::{self, Json, JsonbValue};
use crate::json_text::{self, JsonKind};
use crate::oids::*;
use crate::text_io;
use crate::type_table::{SqlType, base_type, element_type};
use crate::value::{ArrayValue, Dimension, RecordShape, RecordValue, Value};

/// Functions whose result is described by the column definition list.
pub fn takes_definitions(function: &FunctionDef) -> bool {
    matches!(function.name, "json_to_record" | "json_to_recordset" | "jsonb_to_record" | "jsonb_to_recordset")
}

fn invalid(message: String) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// A piece of a document: `jsonb` is a tree, `json` keeps the text of its parts as it was written.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Tree(&'a Json),
    Text(&'a str),
}

/// The members of an object in a [`Piece`], for looking them up by name.
enum Members<'a> {
    Tree(&'a Json),
    Text(Vec<(String, &'a str)>),
}

impl<'a> Piece<'a> {
    fn of(value: &'a Value) -> Result<Piece<'a>> {
        match value {
            Value::Jsonb(json) => Ok(Piece::Tree(&json.0)),
            Value::Text(text) => {
                json::check_escapes(text)?;
                Ok(Piece::Text(text))
            }
            other => Err(mismatch(other)),
        }
    }

    fn kind(self) -> JsonKind {
        match self {
            Piece::Tree(Json::Object(_)) => JsonKind::Object,
            Piece::Tree(Json::Array(_)) => JsonKind::Array,
            Piece::Tree(Json::String(_)) => JsonKind::String,
            Piece::Tree(Json::Number(_)) => JsonKind::Number,
            Piece::Tree(Json::Bool(_)) => JsonKind::Bool,
            Piece::Tree(Json::Null) => JsonKind::Null,
            Piece::Text(text) => JsonKind::of(text),
        }
    }

    /// An array's elements.
    fn elements(self) -> Option<Vec<Piece<'a>>> {
        match self {
            Piece::Tree(Json::Array(items)) => Some(items.iter().map(Piece::Tree).collect()),
            Piece::Tree(_) => None,
            Piece::Text(text) => Some(json_text::elements(text)?.into_iter().map(Piece::Text).collect()),
        }
    }

    /// An object's members.
    fn members(self) -> Option<Members<'a>> {
        match self {
            Piece::Tree(json @ Json::Object(_)) => Some(Members::Tree(json)),
            Piece::Tree(_) => None,
            Piece::Text(text) => json_text::members(text).map(Members::Text),
        }
    }

    fn to_tree(self) -> Result<Json> {
        match self {
            Piece::Tree(json) => Ok(json.clone()),
            Piece::Text(text) => Json::parse(text),
        }
    }

    fn to_text(self) -> String {
        match self {
            Piece::Tree(json) => json.to_string(),
            Piece::Text(text) => text.to_owned(),
        }
    }

    /// As text; strings without quotes.
    fn plain(self) -> String {
        match self {
            Piece::Tree(Json::String(text)) => text.to_string(),
            Piece::Text(text) if self.kind() == JsonKind::String => json_text::unescape(text.trim()),
            _ => self.to_text(),
        }
    }
}

impl<'a> Members<'a> {
    /// Of several with this name the last.
    fn named(&self, name: &str) -> Option<Piece<'a>> {
        match self {
            Members::Tree(json) => json.member(name).map(Piece::Tree),
            Members::Text(members) => {
                members.iter().rev().find(|(own, _)| own == name).map(|(_, text)| Piece::Text(text))
            }
        }
    }
}

/// A JSON value, that of member `key`, as a value of an SQL type. `base` is the row that it is to change, if there is one.
fn convert(
    json: Piece<'_>,
    key: &str,
    ty: SqlType,
    base_row: Option<&RecordValue>,
    context: &mut dyn EvalContext,
) -> Result<Value> {
    sync::yield_point()?;
    let base = base_type(context.catalog(), ty);
    match (json.kind(), base.oid) {
        (JsonKind::Null, _) if base.oid == ty.oid => return Ok(Value::Null),
        (_, JSONB) => return Ok(Value::Jsonb(Arc::new(JsonbValue(json.to_tree()?)))),
        (JsonKind::String, JSON) => return Ok(Value::from(Json::String(json.plain().into()).to_string())),
        (_, JSON) => return Ok(Value::from(json.to_text())),
        (JsonKind::Null, _) => {
            context.check_domain(ty.oid, &Value::Null)?;
            return Ok(Value::Null);
        }
        (JsonKind::String, _) => return text_io::input(context, &json.plain(), ty),
        _ => {}
    }
    let shape = match context.catalog().user_type(base.oid).map(|user| user.kind.clone()) {
        Some(UserTypeKind::Composite(shape)) => Some(shape),
        _ => None,
    };
    let value = match shape {
        Some(shape) => row(json, &shape, base_row, context)?,
        None => match element_type(context.catalog(), base.oid) {
            Some(element) => {
                let mut reader = ArrayReader {
                    element: SqlType::with_typmod(element, base.typmod),
                    key,
                    dimension_count: None,
                    dimensions: SmallVec::new(),
                    values: Vec::new(),
                    place: Vec::new(),
                };
                reader.read(json, context)?;
                reader.finish()
            }
            None => return text_io::input(context, &json.to_text(), ty),
        },
    };
    if base.oid != ty.oid {
        context.check_domain(ty.oid, &value)?;
    }
    Ok(value)
}

/// Reads nested JSON arrays, all of one shape.
struct ArrayReader<'k> {
    element: SqlType,
    /// The member that is read.
    key: &'k str,
    /// The number of dimensions. It becomes known at the first element that is no array. Arrays at deeper levels belong
    /// to the elements.
    dimension_count: Option<usize>,
    dimensions: SmallVec<[Dimension; 1]>,
    values: Vec<Value>,
    /// The indexes that lead to where it is.
    place: Vec<usize>,
}

impl ArrayReader<'_> {
    /// 22P02 for a value where an array is wanted.
    fn expected(&self) -> Error {
        let hint = if self.place.is_empty() {
            format!("See the value of key \"{}\".", self.key)
        } else {
            let place: String = self.place.iter().map(|index| format!("[{index}]")).collect();
            format!("See the array element {place} of key \"{}\".", self.key)
        };
        Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, "expected JSON array").hint(hint)
    }

    fn read(&mut self, json: Piece<'_>, context: &mut dyn EvalContext) -> Result<()> {
        let Some(items) = json.elements() else { return Err(self.expected()) };
        let depth = self.place.len();
        if depth >= MAX_DIMENSIONS {
            return Err(too_many_dimensions(depth + 1));
        }
        let length = items.len() as u32;
        match self.dimensions.get(depth) {
            None => self.dimensions.push(Dimension { length, lower_bound: 1 }),
            Some(known) if known.length == length => {}
            Some(_) => {
                return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, "malformed JSON array")
                    .detail("Multidimensional arrays must have sub-arrays with matching dimensions."));
            }
        }
        for (index, item) in items.into_iter().enumerate() {
            self.place.push(index);
            let may_nest = self.dimension_count.is_none_or(|count| depth + 1 < count);
            if may_nest && (item.kind() == JsonKind::Array || self.dimension_count.is_some()) {
                self.read(item, context)?;
            } else {
                self.dimension_count = Some(depth + 1);
                let value = convert(item, self.key, self.element, None, context)?;
                self.values.push(value);
            }
            self.place.pop();
        }
        if self.dimension_count.is_none() {
            // An array without elements ends here.
            self.dimension_count = Some(depth + 1);
        }
        Ok(())
    }

    fn finish(self) -> Value {
        let dimensions = if self.values.is_empty() { SmallVec::new() } else { self.dimensions };
        Value::Array(Arc::new(ArrayValue { element: self.element.oid, dimensions, values: self.values }))
    }
}

/// A JSON object as a row; members that are missing stay as `defaults` has them.
fn row(
    json: Piece<'_>,
    shape: &Arc<RecordShape>,
    defaults: Option<&RecordValue>,
    context: &mut dyn EvalContext,
) -> Result<Value> {
    let Some(members) = json.members() else {
        let kind = if json.kind() == JsonKind::Array { "an array" } else { "a scalar" };
        return Err(invalid(format!("cannot call populate_composite on {kind}")));
    };
    let mut fields = Vec::with_capacity(shape.fields.len());
    for (place, (name, ty)) in shape.fields.iter().enumerate() {
        sync::yield_point()?;
        let default = defaults.and_then(|defaults| defaults.fields.get(place));
        fields.push(match (members.named(name), default) {
            (Some(member), Some(Value::Record(base))) => convert(member, name, *ty, Some(base), context)?,
            (Some(member), _) => convert(member, name, *ty, None, context)?,
            (None, Some(default)) => default.clone(),
            (None, None) => convert(Piece::Tree(&Json::Null), name, *ty, None, context)?,
        });
    }
    Ok(Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields })))
}

fn rows(
    json: Piece<'_>,
    shape: &Arc<RecordShape>,
    defaults: Option<&RecordValue>,
    function: &str,
    context: &mut dyn EvalContext,
) -> Result<Vec<Value>> {
    let items = match (json.elements(), json.kind()) {
        (Some(items), _) => items,
        (None, _) if matches!(json, Piece::Tree(_)) => {
            return Err(invalid(format!("cannot call {function} on a non-array")));
        }
        (None, JsonKind::Object) => return Err(invalid(format!("cannot call {function} on an object"))),
        _ => return Err(invalid(format!("cannot call {function} on a scalar"))),
    };
    let mut made = Vec::with_capacity(items.len());
    for item in items {
        sync::yield_point()?;
        if item.kind() != JsonKind::Object {
            return Err(invalid(format!("argument of {function} must be an array of objects")));
        }
        made.push(row(item, shape, defaults, context)?);
    }
    Ok(made)
}

/// The shape that the column definition list gave.
///
/// # Errors
/// 0A000 where there is none.
fn defined<'a>(function: &str, a: &'a [Value]) -> Result<&'a Arc<RecordShape>> {
    match a.get(1) {
        Some(Value::Record(record)) => Ok(&record.shape),
        _ => Err(Error::unsupported(format!("could not determine row type for result of {function}")).hint(
            "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.",
        )),
    }
}

fn to_record(function: &str, context: &mut dyn EvalContext, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    let shape = defined(function, a)?;
    let made = match &a[0] {
        Value::Null => row(Piece::Tree(&Json::Object(Vec::new())), shape, None, context)?,
        json => row(Piece::of(json)?, shape, None, context)?,
    };
    Ok(ReadyRows::boxed(vec![made]))
}

fn to_recordset(function: &str, context: &mut dyn EvalContext, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    if a[0].is_null() {
        return Ok(ReadyRows::boxed(Vec::new()));
    }
    Ok(ReadyRows::boxed(rows(Piece::of(&a[0])?, defined(function, a)?, None, function, context)?))
}

/// The row type to be filled: that of the first argument. 42804
fn wanted(function: &str, context: &dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Arc<RecordShape>> {
    let base = base_type(context.catalog(), types.arguments[0]);
    match (context.catalog().user_type(base.oid).map(|user| user.kind.clone()), &a[0]) {
        (Some(UserTypeKind::Composite(shape)), _) => Ok(shape),
        (_, Value::Record(record)) => Ok(Arc::clone(&record.shape)),
        _ if base.oid == RECORD => {
            Err(Error::unsupported(format!("could not determine row type for result of {function}")).hint(
                "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.",
            ))
        }
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
        json => {
            let made = row(Piece::of(json)?, &shape, defaults, context)?;
            checked(made, types, context)
        }
    }
}

/// A row that was made, if the domain that it is to be of takes it: 23514.
fn checked(made: Value, types: &CallTypes, context: &mut dyn EvalContext) -> Result<Value> {
    let wanted = types.arguments[0];
    if base_type(context.catalog(), wanted).oid != wanted.oid {
        context.check_domain(wanted.oid, &made)?;
    }
    Ok(made)
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
    let json = match &a[1] {
        Value::Null => return Ok(ReadyRows::boxed(Vec::new())),
        json => Piece::of(json)?,
    };
    let made = rows(json, &shape, defaults, function, context)?;
    let made = made.into_iter().map(|row| checked(row, types, context)).collect::<Result<_>>()?;
    Ok(ReadyRows::boxed(made))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::set(3204, "json_to_record", &[JSON], RECORD, |context, _, a| to_record("json_to_record", context, a)).stable().not_strict(),
    FunctionDef::set(3490, "jsonb_to_record", &[JSONB], RECORD, |context, _, a| to_record("jsonb_to_record", context, a)).stable().not_strict(),
    FunctionDef::set(3205, "json_to_recordset", &[JSON], RECORD, |context, _, a| to_recordset("json_to_recordset", context, a)).stable().not_strict(),
    FunctionDef::set(3491, "jsonb_to_recordset", &[JSONB], RECORD, |context, _, a| to_recordset("jsonb_to_recordset", context, a)).stable().not_strict(),
    FunctionDef::typed(3960, "json_populate_record", &[ANYELEMENT, JSON, BOOL], ANYELEMENT, |context, types, a| populate_record("json_populate_record", context, types, a)).stable().not_strict().named(&["base", "from_json", "use_json_as_text"]).defaults(&["false"]),
    FunctionDef::typed(3209, "jsonb_populate_record", &[ANYELEMENT, JSONB], ANYELEMENT, |context, types, a| populate_record("jsonb_populate_record", context, types, a)).stable().not_strict(),
    FunctionDef::set(3961, "json_populate_recordset", &[ANYELEMENT, JSON, BOOL], ANYELEMENT, |context, types, a| populate_recordset("json_populate_recordset", context, types, a)).stable().not_strict().named(&["base", "from_json", "use_json_as_text"]).defaults(&["false"]),
    FunctionDef::set(3475, "jsonb_populate_recordset", &[ANYELEMENT, JSONB], ANYELEMENT, |context, types, a| populate_recordset("jsonb_populate_recordset", context, types, a)).stable().not_strict(),
];
