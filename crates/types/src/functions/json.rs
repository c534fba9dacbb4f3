//! Functions of `json`, which keeps its text, and of making JSON from SQL values.

use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};

use super::{FunctionDef, mismatch};
use crate::context::EvalContext;
use crate::function_def::{CallTypes, ValueStream};
use crate::json::{self, Json, JsonbValue, write_string};
use crate::json_convert::{key_text, to_json, write_json};
use crate::json_text::{self, JsonKind};
use crate::oids::*;
use crate::type_table::SqlType;
use crate::value::{ArrayValue, RecordShape, RecordValue, SmolStr, Value};

/// A `jsonb` value of a tree.
pub(super) fn jsonb(json: Json) -> Value {
    Value::Jsonb(Arc::new(JsonbValue(json)))
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The steps of a path; `None` if one is NULL.
pub(super) fn path_steps(array: &ArrayValue) -> Option<Vec<&str>> {
    array.values.iter().map(Value::as_str).collect()
}

fn text_path(a: &[Value]) -> Result<Option<&str>> {
    let [Value::Text(text), Value::Array(path)] = a else { return Err(mismatch(&a[0])) };
    let Some(steps) = path_steps(path) else { return Ok(None) };
    json::check_escapes(text)?;
    follow(text.trim(), &steps)
}

/// The value that a path leads to. Of several members with one name, the last one counts that the rest of the path fits.
fn follow<'a>(current: &'a str, steps: &[&str]) -> Result<Option<&'a str>> {
    sync::yield_point()?;
    let Some((step, rest)) = steps.split_first() else { return Ok(Some(current)) };
    match JsonKind::of(current) {
        JsonKind::Object => {
            let members = json_text::members(current).unwrap_or_default();
            for (_, value) in members.into_iter().rev().filter(|(key, _)| key == step) {
                if let Some(found) = follow(value, rest)? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        }
        JsonKind::Array => match step.trim().parse().ok().and_then(|index| json_text::element(current, index)) {
            Some(element) => follow(element, rest),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The member of an object. 22P02 and 22P05 for escapes that stand for no character, wherever they are in the text.
fn member<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    json::check_escapes(text)?;
    Ok(json_text::member(text, key))
}

/// The element of an array. 22P02 and 22P05 as for [`member`].
fn element(text: &str, index: i32) -> Result<Option<&str>> {
    json::check_escapes(text)?;
    Ok(json_text::element(text, i64::from(index)))
}

fn json_array_length(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Text text);
    match JsonKind::of(text) {
        JsonKind::Array => Ok(Value::Int4(json_text::elements(text).map_or(0, |elements| elements.len() as i32))),
        JsonKind::Object => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    }
}

/// Without the members that are null, and without blanks.
fn strip_text(text: &str, out: &mut String) -> Result<()> {
    // Each level looks for the ends of all that lies within it.
    sync::yield_point()?;
    if let Some(members) = json_text::members(text) {
        out.push('{');
        let mut first = true;
        for (key, value) in members {
            if JsonKind::of(value) == JsonKind::Null {
                continue;
            }
            if !first {
                out.push(',');
            }
            first = false;
            push_string(&key, out);
            out.push(':');
            strip_text(value, out)?;
        }
        out.push('}');
    } else if let Some(elements) = json_text::elements(text) {
        out.push('[');
        for (index, element) in elements.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            strip_text(element, out)?;
        }
        out.push(']');
    } else if JsonKind::of(text) == JsonKind::String {
        push_string(&json_text::unescape(text.trim()), out);
    } else {
        out.push_str(text.trim());
    }
    Ok(())
}

fn push_string(text: &str, out: &mut String) {
    let mut quoted = Vec::new();
    write_string(text, &mut quoted);
    out.push_str(&String::from_utf8_lossy(&quoted));
}

/// Keys and values from an array of both, an array of pairs, or two arrays. 2202E, 22004.
pub(super) fn pairs(a: &[Value]) -> Result<Vec<(String, Option<String>)>> {
    let wrong = |message: &str| Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let flat: Vec<(Option<String>, Option<String>)> = match a {
        [Value::Array(array)] => {
            match array.dimensions.as_slice() {
                [] => return Ok(Vec::new()),
                [only] if only.length % 2 == 1 => return Err(wrong("array must have even number of elements")),
                [_] => {}
                [_, inner] if inner.length != 2 => return Err(wrong("array must have two columns")),
                [_, _] => {}
                _ => return Err(wrong("wrong number of array subscripts")),
            }
            array.values.chunks(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
        }
        [Value::Array(keys), Value::Array(values)] => {
            // Two empty arrays make an empty object; one beside another array does not.
            if keys.dimensions.len() > 1 || keys.dimensions.len() != values.dimensions.len() {
                return Err(wrong("wrong number of array subscripts"));
            }
            if keys.values.len() != values.values.len() {
                return Err(wrong("mismatched array dimensions"));
            }
            keys.values.iter().zip(&values.values).map(|(key, value)| (text(key), text(value))).collect()
        }
        _ => return Err(mismatch(&a[0])),
    };
    flat.into_iter()
        .map(|(key, value)| match key {
            Some(key) => Ok((key, value)),
            None => Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key")),
        })
        .collect()
}

fn object_text(pairs: &[(String, Option<String>)]) -> String {
    let mut out = String::from("{");
    for (index, (key, value)) in pairs.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        push_string(key, &mut out);
        out.push_str(" : ");
        match value {
            Some(value) => push_string(value, &mut out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
    out
}

fn json_of(context: &dyn EvalContext, types: &CallTypes, a: &[Value], index: usize) -> Result<String> {
    let mut out = Vec::new();
    let oid = types.arguments.get(index).map_or(TEXT, |ty| ty.oid);
    write_json(&a[index], oid, context, &mut out)?;
    Ok(String::from_utf8(out).expect("JSON text is UTF-8"))
}

/// With a line break after each comma of the outermost level, if asked for.
fn lines(text: String, wanted: &Value) -> Result<Value> {
    if !wanted.is_true() {
        return Ok(Value::from(text));
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut depth = 0;
    let mut in_string = false;
    let mut escaped = false;
    for character in text.chars() {
        out.push(character);
        if in_string {
            in_string = escaped || character != '"';
            escaped = character == '\\' && !escaped;
            continue;
        }
        match character {
            '"' => in_string = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 1 => out.push_str("\n "),
            _ => {}
        }
    }
    Ok(Value::from(out))
}

/// Checks the alternating keys and values of a call. 22023.
pub(super) fn check_members(a: &[Value], function: &str) -> Result<()> {
    if a.len() % 2 == 1 {
        return Err(invalid("argument list must have even number of elements")
            .hint(format!("The arguments of {function}() must consist of alternating keys and values.")));
    }
    match a.iter().step_by(2).position(Value::is_null) {
        Some(index) if function == "json_build_object" => {
            Err(invalid(format!("argument {} cannot be null", index * 2 + 1)).hint("Object keys should be text."))
        }
        Some(index) => Err(invalid(format!("argument {}: key must not be null", index * 2 + 1))),
        None => Ok(()),
    }
}

fn build_object(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    check_members(a, "json_build_object")?;
    let mut out = vec![b'{'];
    for index in (0..a.len()).step_by(2) {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        let key = key_text(&a[index], types.arguments[index].oid, context)?;
        json::write_string(&key, &mut out);
        out.extend_from_slice(b" : ");
        write_json(&a[index + 1], types.arguments[index + 1].oid, context, &mut out)?;
    }
    out.push(b'}');
    Ok(Value::from(String::from_utf8(out).expect("JSON text is UTF-8")))
}

fn build_array(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let mut out = vec![b'['];
    for (index, value) in a.iter().enumerate() {
        sync::yield_point()?;
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write_json(value, types.arguments[index].oid, context, &mut out)?;
    }
    out.push(b']');
    Ok(Value::from(String::from_utf8(out).expect("JSON text is UTF-8")))
}

/// The shape of rows of key and value.
pub(super) fn key_value_shape(value_type: Oid) -> Arc<RecordShape> {
    let fields = vec![("key".to_owned(), SqlType::TEXT), ("value".to_owned(), SqlType::new(value_type))];
    Arc::new(RecordShape::without_type(fields))
}

/// The members of an object or the elements of an array, each when it is asked for.
struct Parts {
    text: SmolStr,
    /// Where the next one begins.
    position: usize,
    kind: PartKind,
}

enum PartKind {
    /// Rows of this shape.
    Members {
        shape: Arc<RecordShape>,
        as_text: bool,
    },
    Keys,
    Elements {
        as_text: bool,
    },
}

impl ValueStream for Parts {
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        let shown = |value: &str, as_text: bool| match as_text {
            true => Value::from(json_text::plain(value)),
            false => Value::from(value),
        };
        Ok(match &self.kind {
            PartKind::Members { shape, as_text } => {
                json_text::next_member(&self.text, &mut self.position).map(|(key, value)| {
                    let fields = vec![Value::from(key), shown(value, *as_text)];
                    Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields }))
                })
            }
            PartKind::Keys => json_text::next_member(&self.text, &mut self.position).map(|(key, _)| Value::from(key)),
            PartKind::Elements { as_text } => {
                json_text::next_element(&self.text, &mut self.position).map(|value| shown(value, *as_text))
            }
        })
    }
}

fn each(a: &[Value], value_type: Oid) -> Result<Box<dyn ValueStream>> {
    take!(a; Text text);
    if JsonKind::of(text) == JsonKind::Array {
        return Err(invalid("cannot deconstruct an array as an object"));
    }
    json::check_escapes(text)?;
    let position = json_text::members_start(text).ok_or_else(|| invalid("cannot deconstruct a scalar"))?;
    let kind = PartKind::Members { shape: key_value_shape(value_type), as_text: value_type == TEXT };
    Ok(Box::new(Parts { text: text.clone(), position, kind }))
}

fn json_keys(_: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    take!(a; Text text);
    if JsonKind::of(text) == JsonKind::Array {
        return Err(invalid("cannot call json_object_keys on an array"));
    }
    json::check_escapes(text)?;
    let position = json_text::members_start(text).ok_or_else(|| invalid("cannot call json_object_keys on a scalar"))?;
    Ok(Box::new(Parts { text: text.clone(), position, kind: PartKind::Keys }))
}

fn elements(a: &[Value], as_text: bool) -> Result<Box<dyn ValueStream>> {
    take!(a; Text text);
    let function = if as_text { "json_array_elements_text" } else { "json_array_elements" };
    // An object is recognised by its first character, before its escapes are looked at; a scalar only as a whole.
    if JsonKind::of(text) == JsonKind::Object {
        return Err(invalid(format!("cannot call {function} on a non-array")));
    }
    if as_text {
        json::check_escapes(text)?;
    }
    let position =
        json_text::elements_start(text).ok_or_else(|| invalid(format!("cannot call {function} on a scalar")))?;
    Ok(Box::new(Parts { text: text.clone(), position, kind: PartKind::Elements { as_text } }))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(3947, "json_object_field", &[JSON, TEXT], JSON, |_, a| { take!(a; Text j, Text k); Ok(member(j, k)?.into()) }).named(&["from_json", "field_name"]),
    FunctionDef::plain(3948, "json_object_field_text", &[JSON, TEXT], TEXT, |_, a| { take!(a; Text j, Text k); Ok(member(j, k)?.and_then(json_text::plain).into()) }).named(&["from_json", "field_name"]),
    FunctionDef::plain(3949, "json_array_element", &[JSON, INT4], JSON, |_, a| { take!(a; Text j, Int4 n); Ok(element(j, *n)?.into()) }).named(&["from_json", "element_index"]),
    FunctionDef::plain(3950, "json_array_element_text", &[JSON, INT4], TEXT, |_, a| { take!(a; Text j, Int4 n); Ok(element(j, *n)?.and_then(json_text::plain).into()) }).named(&["from_json", "element_index"]),
    FunctionDef::plain(3951, "json_extract_path", &[JSON, TEXT_ARRAY], JSON, |_, a| Ok(text_path(a)?.into())).variadic().named(&["from_json", "path_elems"]),
    FunctionDef::plain(3953, "json_extract_path_text", &[JSON, TEXT_ARRAY], TEXT, |_, a| Ok(text_path(a)?.and_then(json_text::plain).into())).variadic().named(&["from_json", "path_elems"]),
    FunctionDef::plain(3968, "json_typeof", &[JSON], TEXT, |_, a| { take!(a; Text j); Ok(Value::from(JsonKind::of(j).name())) }),
    FunctionDef::plain(3956, "json_array_length", &[JSON], INT4, json_array_length),
    FunctionDef::plain(3261, "json_strip_nulls", &[JSON], JSON, |_, a| { take!(a; Text j); json::check_escapes(j)?; let mut out = String::new(); strip_text(j, &mut out)?; Ok(Value::from(out)) }),
    FunctionDef::plain(3202, "json_object", &[TEXT_ARRAY], JSON, |_, a| Ok(Value::from(object_text(&pairs(a)?)))),
    FunctionDef::plain(3203, "json_object", &[TEXT_ARRAY, TEXT_ARRAY], JSON, |_, a| Ok(Value::from(object_text(&pairs(a)?)))),
    FunctionDef::plain(3201, "json_build_object", &[], JSON, |_, _| Ok(Value::from("{}"))).stable().not_strict(),
    FunctionDef::typed(3200, "json_build_object", &[ANY], JSON, build_object).stable().not_strict().variadic(),
    FunctionDef::plain(3199, "json_build_array", &[], JSON, |_, _| Ok(Value::from("[]"))).stable().not_strict(),
    FunctionDef::typed(3198, "json_build_array", &[ANY], JSON, build_array).stable().not_strict().variadic(),
    FunctionDef::typed(3176, "to_json", &[ANYELEMENT], JSON, |context, types, a| Ok(Value::from(json_of(context, types, a, 0)?))).stable(),
    FunctionDef::typed(3787, "to_jsonb", &[ANYELEMENT], JSONB, |context, types, a| Ok(jsonb(to_json(&a[0], types.arguments[0].oid, context)?))).stable(),
    FunctionDef::typed(3155, "row_to_json", &[RECORD], JSON, |context, types, a| Ok(Value::from(json_of(context, types, a, 0)?))).stable(),
    FunctionDef::typed(3156, "row_to_json", &[RECORD, BOOL], JSON, |context, types, a| lines(json_of(context, types, a, 0)?, &a[1])).stable(),
    FunctionDef::typed(3153, "array_to_json", &[ANYARRAY], JSON, |context, types, a| Ok(Value::from(json_of(context, types, a, 0)?))).stable(),
    FunctionDef::typed(3154, "array_to_json", &[ANYARRAY, BOOL], JSON, |context, types, a| lines(json_of(context, types, a, 0)?, &a[1])).stable(),
    FunctionDef::set(3958, "json_each", &[JSON], RECORD, |_, _, a| each(a, JSON)).named(&["from_json"]).columns(&[("key", TEXT), ("value", JSON)]),
    FunctionDef::set(3959, "json_each_text", &[JSON], RECORD, |_, _, a| each(a, TEXT)).named(&["from_json"]).columns(&[("key", TEXT), ("value", TEXT)]),
    FunctionDef::set(3957, "json_object_keys", &[JSON], TEXT, json_keys),
    FunctionDef::set(3955, "json_array_elements", &[JSON], JSON, |_, _, a| elements(a, false)).named(&["from_json"]).columns(&[("value", JSON)]),
    FunctionDef::set(3969, "json_array_elements_text", &[JSON], TEXT, |_, _, a| elements(a, true)).named(&["from_json"]).columns(&[("value", TEXT)]),
];
