//! Functions of `jsonb`.

use std::collections::HashSet;
use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::json::{check_members, invalid, jsonb, key_value_shape, pairs, path_steps};
use super::{FunctionDef, mismatch};
use crate::context::EvalContext;
use crate::function_def::{CallTypes, ValueStream};
use crate::json::{Json, JsonbValue};
use crate::json_convert::{key_text, to_json};
use crate::number_text;
use crate::numeric::Numeric;
use crate::oids::*;
use crate::value::{ArrayValue, RecordShape, RecordValue, SmolStr, Value};

/// A value as text: strings without quotes, null as NULL.
fn plain(json: Option<&Json>) -> Value {
    match json {
        None | Some(Json::Null) => Value::Null,
        Some(Json::String(text)) => Value::Text(text.clone()),
        Some(other) => Value::from(other.to_string()),
    }
}

/// Returns the value that a path leads to; `None` if it leads nowhere.
fn follow<'a>(json: &'a Json, path: &ArrayValue) -> Option<&'a Json> {
    path_steps(path)?.into_iter().try_fold(json, |current, step| match current {
        Json::Object(_) => current.member(step),
        Json::Array(_) => current.element(step.trim().parse().ok()?),
        _ => None,
    })
}

fn array_length(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    take!(a; Jsonb json);
    match &json.0 {
        Json::Array(values) => Ok(Value::Int4(values.len() as i32)),
        Json::Object(_) => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    }
}

fn strip(json: &Json) -> Json {
    match json {
        Json::Object(pairs) => Json::Object(
            pairs
                .iter()
                .filter(|(_, value)| *value != Json::Null)
                .map(|(key, value)| (key.clone(), strip(value)))
                .collect(),
        ),
        Json::Array(values) => Json::Array(values.iter().map(strip).collect()),
        other => other.clone(),
    }
}

fn object(pairs: Vec<(String, Option<String>)>) -> Value {
    let members = pairs
        .into_iter()
        .map(|(key, value)| (SmolStr::from(key), value.map_or(Json::Null, |value| Json::String(SmolStr::from(value)))))
        .collect();
    jsonb(Json::object(members))
}

fn build_object(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    check_members(a, "jsonb_build_object")?;
    let mut members = Vec::with_capacity(a.len() / 2);
    for index in (0..a.len()).step_by(2) {
        let key = key_text(&a[index], types.arguments[index].oid, context)?;
        members.push((key, to_json(&a[index + 1], types.arguments[index + 1].oid, context)?));
    }
    Ok(jsonb(Json::object(members)))
}

fn build_array(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let mut values = Vec::with_capacity(a.len());
    for (value, ty) in a.iter().zip(&types.arguments) {
        sync::yield_point()?;
        values.push(to_json(value, ty.oid, context)?);
    }
    Ok(jsonb(Json::Array(values)))
}

/// Objects are merged, everything else is taken for arrays and joined.
fn concatenate(left: &Json, right: &Json) -> Result<Value> {
    if let (Json::Object(left), Json::Object(right)) = (left, right) {
        return Ok(jsonb(Json::object(left.iter().chain(right).cloned().collect())));
    }
    let list = |json: &Json| match json {
        Json::Array(values) => values.clone(),
        other => vec![other.clone()],
    };
    Ok(jsonb(Json::Array(list(left).into_iter().chain(list(right)).collect())))
}

fn same_scalar(left: &Json, right: &Json) -> bool {
    left.compare(right).is_eq()
}

/// Whether `left` has all that `right` has, at the same places; an array may contain a bare scalar.
fn contains(left: &Json, right: &Json) -> Result<bool> {
    match (left, right) {
        (Json::Array(values), scalar) if !matches!(scalar, Json::Array(_) | Json::Object(_)) => {
            any(values, |value| Ok(same_scalar(value, scalar)))
        }
        _ => contains_inside(left, right),
    }
}

fn contains_inside(left: &Json, right: &Json) -> Result<bool> {
    sync::yield_point()?;
    match (left, right) {
        (Json::Object(_), Json::Object(wanted)) => {
            for (key, value) in wanted {
                match left.member(key) {
                    Some(own) if contains_inside(own, value)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Json::Array(own), Json::Array(wanted)) => {
            for value in wanted {
                if !any(own, |own| contains_inside(own, value))? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Object(_) | Json::Array(_), _) | (_, Json::Object(_) | Json::Array(_)) => Ok(false),
        _ => Ok(same_scalar(left, right)),
    }
}

fn any(values: &[Json], mut is_it: impl FnMut(&Json) -> Result<bool>) -> Result<bool> {
    for value in values {
        sync::yield_point()?;
        if is_it(value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether text is a key, or a string in an array.
fn exists(json: &Json, text: &str) -> Result<bool> {
    let is_text = |json: &Json| matches!(json, Json::String(own) if own == text);
    match json {
        Json::Object(_) => Ok(json.member(text).is_some()),
        Json::Array(values) => any(values, |value| Ok(is_text(value))),
        other => Ok(is_text(other)),
    }
}

/// How many of these texts are looked for in an array one by one.
const FEW_TEXTS: usize = 4;

/// Whether any of the texts [exists](exists), or each of them. NULLs don't count.
fn exist(json: &Json, texts: &ArrayValue, each: bool) -> Result<bool> {
    let strings = match json {
        Json::Array(values) if texts.values.len() > FEW_TEXTS => {
            let texts =
                values.iter().filter_map(|value| if let Json::String(text) = value { Some(text) } else { None });
            Some(set_of(texts.map(|text| text.as_str()))?)
        }
        _ => None,
    };
    for text in texts.values.iter().filter_map(Value::as_str) {
        sync::yield_point()?;
        let is_there = match &strings {
            Some(strings) => strings.contains(text),
            None => exists(json, text)?,
        };
        if is_there != each {
            return Ok(is_there);
        }
    }
    Ok(each)
}

/// A set of texts that clients choose: its hashes are seeded, so that nobody can choose texts that fall together.
fn set_of<'t>(texts: impl Iterator<Item = &'t str>) -> Result<HashSet<&'t str>> {
    let mut set = HashSet::new();
    for text in texts {
        sync::yield_point()?;
        set.insert(text);
    }
    Ok(set)
}

fn delete_all(json: &Json, keys: &ArrayValue) -> Result<Value> {
    if keys.dimensions.len() > 1 {
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    let keys: Vec<&str> = keys.values.iter().filter_map(Value::as_str).collect();
    delete_keys(json, &keys)
}

fn delete_keys(json: &Json, keys: &[&str]) -> Result<Value> {
    let keys = set_of(keys.iter().copied())?;
    match json {
        Json::Object(pairs) => {
            Ok(jsonb(Json::Object(pairs.iter().filter(|(key, _)| !keys.contains(key.as_str())).cloned().collect())))
        }
        Json::Array(values) => Ok(jsonb(Json::Array(
            values
                .iter()
                .filter(|value| !matches!(value, Json::String(text) if keys.contains(text.as_str())))
                .cloned()
                .collect(),
        ))),
        _ => Err(invalid("cannot delete from scalar")),
    }
}

/// The place of an index in a list; negative ones count from the end. `None`: outside.
fn place(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 { index + length as i64 } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

fn delete_element(json: &Json, index: i64) -> Result<Value> {
    match json {
        Json::Array(values) => {
            let mut values = values.clone();
            if let Some(place) = place(index, values.len()) {
                values.remove(place);
            }
            Ok(jsonb(Json::Array(values)))
        }
        Json::Object(_) => Err(invalid("cannot delete from object using integer index")),
        _ => Err(invalid("cannot delete from scalar")),
    }
}

/// The change to make at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    Delete,
    Set { new: &'a Json, create: bool },
    Insert { new: &'a Json, after: bool },
}

fn change(json: &Json, path: &ArrayValue, change: Change<'_>) -> Result<Value> {
    if path.dimensions.len() > 1 {
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    if !matches!(json, Json::Object(_) | Json::Array(_)) {
        return Err(invalid(match change {
            Change::Delete => "cannot delete path in scalar",
            _ => "cannot set path in scalar",
        }));
    }
    // Nothing is in there to be changed.
    let is_empty = match json {
        Json::Object(pairs) => pairs.is_empty(),
        Json::Array(values) => values.is_empty(),
        _ => false,
    };
    let creates = matches!(change, Change::Set { create: true, .. } | Change::Insert { .. });
    if path.values.is_empty() || is_empty && !creates {
        return Ok(jsonb(json.clone()));
    }
    let mut json = json.clone();
    change_at(&mut json, &path.values, 0, change)?;
    Ok(jsonb(json))
}

/// 22004 for a step that is NULL, once the path leads to it.
fn change_at(json: &mut Json, steps: &[Value], depth: usize, change: Change<'_>) -> Result<()> {
    let is_last = depth + 1 == steps.len();
    let step = steps[depth].as_str().ok_or_else(|| {
        Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, format!("path element at position {} is null", depth + 1))
    })?;
    match json {
        Json::Object(pairs) => {
            let key = step;
            match pairs.iter().position(|(own, _)| own == key) {
                Some(index) if is_last => match change {
                    Change::Delete => {
                        pairs.remove(index);
                    }
                    Change::Set { new, .. } => pairs[index].1 = new.clone(),
                    Change::Insert { .. } => {
                        return Err(invalid("cannot replace existing key")
                            .hint("Try using the function jsonb_set to replace key value."));
                    }
                },
                Some(index) => change_at(&mut pairs[index].1, steps, depth + 1, change)?,
                None if is_last => {
                    if let Change::Set { new, create: true } | Change::Insert { new, .. } = change {
                        pairs.push((SmolStr::new(key), new.clone()));
                        *json = Json::object(std::mem::take(pairs));
                    }
                }
                None => {}
            }
        }
        Json::Array(values) => {
            let index: i32 = step.trim().parse().map_err(|_| {
                Error::new(
                    sqlstate::INVALID_TEXT_REPRESENTATION,
                    format!("path element at position {} is not an integer: \"{step}\"", depth + 1),
                )
            })?;
            match place(i64::from(index), values.len()) {
                Some(place) if is_last => match change {
                    Change::Delete => {
                        values.remove(place);
                    }
                    Change::Set { new, .. } => values[place] = new.clone(),
                    Change::Insert { new, after } => values.insert(place + usize::from(after), new.clone()),
                },
                Some(place) => change_at(&mut values[place], steps, depth + 1, change)?,
                None if is_last => match change {
                    // beyond an end, the value is put there
                    Change::Set { new, create: true } | Change::Insert { new, .. } => {
                        let place = if index < 0 { 0 } else { values.len() };
                        values.insert(place, new.clone());
                    }
                    _ => {}
                },
                None => {}
            }
        }
        _ => {}
    }
    Ok(())
}

fn set_lax(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let _ = context;
    if a[0].is_null() || a[1].is_null() || a[3].is_null() {
        return Ok(Value::Null);
    }
    let (Value::Jsonb(json), Value::Array(path), Value::Bool(create)) = (&a[0], &a[1], &a[3]) else {
        return Err(mismatch(&a[0]));
    };
    if let Value::Jsonb(new) = &a[2] {
        return change(&json.0, path, Change::Set { new: &new.0, create: *create });
    }
    match a[4].as_str() {
        Some("raise_exception") => Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null")
            .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .hint(
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
            )),
        Some("use_json_null") => change(&json.0, path, Change::Set { new: &Json::Null, create: *create }),
        Some("delete_key") => change(&json.0, path, Change::Delete),
        Some("return_target") => Ok(a[0].clone()),
        _ => Err(invalid(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
        )),
    }
}

/// The members of an object or the elements of an array, each when it is asked for.
struct Parts {
    json: Arc<JsonbValue>,
    /// The number of the next one.
    next: usize,
    as_text: bool,
    kind: PartKind,
}

enum PartKind {
    /// Rows of this shape.
    Members(Arc<RecordShape>),
    Keys,
    Elements,
}

impl Parts {
    fn boxed(json: &Arc<JsonbValue>, as_text: bool, kind: PartKind) -> Box<dyn ValueStream> {
        Box::new(Parts { json: Arc::clone(json), next: 0, as_text, kind })
    }
}

impl ValueStream for Parts {
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        let shown = |value: &Json| if self.as_text { plain(Some(value)) } else { jsonb(value.clone()) };
        let part = match (&self.json.0, &self.kind) {
            (Json::Object(pairs), PartKind::Members(shape)) => pairs.get(self.next).map(|(key, value)| {
                let fields = vec![Value::Text(key.clone()), shown(value)];
                Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields }))
            }),
            (Json::Object(pairs), PartKind::Keys) => pairs.get(self.next).map(|(key, _)| Value::Text(key.clone())),
            (Json::Array(values), PartKind::Elements) => values.get(self.next).map(shown),
            _ => None,
        };
        self.next += 1;
        Ok(part)
    }
}

fn each(a: &[Value], as_text: bool) -> Result<Box<dyn ValueStream>> {
    take!(a; Jsonb json);
    if !matches!(json.0, Json::Object(_)) {
        let function = if as_text { "jsonb_each_text" } else { "jsonb_each" };
        return Err(invalid(format!("cannot call {function} on a non-object")));
    }
    let shape = key_value_shape(if as_text { TEXT } else { JSONB });
    Ok(Parts::boxed(json, as_text, PartKind::Members(shape)))
}

fn keys(_: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    take!(a; Jsonb json);
    match &json.0 {
        Json::Object(_) => Ok(Parts::boxed(json, true, PartKind::Keys)),
        Json::Array(_) => Err(invalid("cannot call jsonb_object_keys on an array")),
        _ => Err(invalid("cannot call jsonb_object_keys on a scalar")),
    }
}

fn elements(a: &[Value], as_text: bool) -> Result<Box<dyn ValueStream>> {
    take!(a; Jsonb json);
    match &json.0 {
        Json::Array(_) => Ok(Parts::boxed(json, as_text, PartKind::Elements)),
        Json::Object(_) => Err(invalid("cannot extract elements from an object")),
        _ => Err(invalid("cannot extract elements from a scalar")),
    }
}

fn cannot_cast(json: &Json, target: &str) -> Error {
    let kind = match json {
        Json::Null => "null",
        Json::Object(_) => "object",
        Json::Number(_) => "numeric",
        other => other.type_name(),
    };
    invalid(format!("cannot cast jsonb {kind} to type {target}"))
}

fn number<'a>(json: &'a Json, target: &str) -> Result<&'a Numeric> {
    match json {
        Json::Number(number) => Ok(number),
        other => Err(cannot_cast(other, target)),
    }
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(3478, "jsonb_object_field", &[JSONB, TEXT], JSONB, |_, a| { take!(a; Jsonb j, Text k); Ok(j.0.member(k).cloned().map_or(Value::Null, jsonb)) }).named(&["from_json", "field_name"]),
    FunctionDef::plain(3214, "jsonb_object_field_text", &[JSONB, TEXT], TEXT, |_, a| { take!(a; Jsonb j, Text k); Ok(plain(j.0.member(k))) }).named(&["from_json", "field_name"]),
    FunctionDef::plain(3215, "jsonb_array_element", &[JSONB, INT4], JSONB, |_, a| { take!(a; Jsonb j, Int4 n); Ok(j.0.element(i64::from(*n)).cloned().map_or(Value::Null, jsonb)) }).named(&["from_json", "element_index"]),
    FunctionDef::plain(3216, "jsonb_array_element_text", &[JSONB, INT4], TEXT, |_, a| { take!(a; Jsonb j, Int4 n); Ok(plain(j.0.element(i64::from(*n)))) }).named(&["from_json", "element_index"]),
    FunctionDef::plain(3217, "jsonb_extract_path", &[JSONB, TEXT_ARRAY], JSONB, |_, a| { take!(a; Jsonb j, Array p); Ok(follow(&j.0, p).cloned().map_or(Value::Null, jsonb)) }).variadic().named(&["from_json", "path_elems"]),
    FunctionDef::plain(3940, "jsonb_extract_path_text", &[JSONB, TEXT_ARRAY], TEXT, |_, a| { take!(a; Jsonb j, Array p); Ok(plain(follow(&j.0, p))) }).variadic().named(&["from_json", "path_elems"]),
    FunctionDef::plain(3210, "jsonb_typeof", &[JSONB], TEXT, |_, a| { take!(a; Jsonb j); Ok(Value::from(j.0.type_name())) }),
    FunctionDef::plain(3207, "jsonb_array_length", &[JSONB], INT4, array_length),
    FunctionDef::plain(3262, "jsonb_strip_nulls", &[JSONB], JSONB, |_, a| { take!(a; Jsonb j); Ok(jsonb(strip(&j.0))) }),
    FunctionDef::plain(3306, "jsonb_pretty", &[JSONB], TEXT, |_, a| { take!(a; Jsonb j); let mut out = Vec::new(); j.0.write_pretty(0, &mut out)?; Ok(Value::from(String::from_utf8_lossy(&out).into_owned())) }),
    FunctionDef::plain(3263, "jsonb_object", &[TEXT_ARRAY], JSONB, |_, a| Ok(object(pairs(a)?))),
    FunctionDef::plain(3264, "jsonb_object", &[TEXT_ARRAY, TEXT_ARRAY], JSONB, |_, a| Ok(object(pairs(a)?))),
    FunctionDef::plain(3274, "jsonb_build_object", &[], JSONB, |_, _| Ok(jsonb(Json::Object(Vec::new())))).stable().not_strict(),
    FunctionDef::typed(3273, "jsonb_build_object", &[ANY], JSONB, build_object).stable().not_strict().variadic(),
    FunctionDef::plain(3272, "jsonb_build_array", &[], JSONB, |_, _| Ok(jsonb(Json::Array(Vec::new())))).stable().not_strict(),
    FunctionDef::typed(3271, "jsonb_build_array", &[ANY], JSONB, build_array).stable().not_strict().variadic(),
    FunctionDef::plain(3301, "jsonb_concat", &[JSONB, JSONB], JSONB, |_, a| { take!(a; Jsonb l, Jsonb r); concatenate(&l.0, &r.0) }),
    FunctionDef::plain(4046, "jsonb_contains", &[JSONB, JSONB], BOOL, |_, a| { take!(a; Jsonb l, Jsonb r); Ok(Value::Bool(contains(&l.0, &r.0)?)) }),
    FunctionDef::plain(4050, "jsonb_contained", &[JSONB, JSONB], BOOL, |_, a| { take!(a; Jsonb l, Jsonb r); Ok(Value::Bool(contains(&r.0, &l.0)?)) }),
    FunctionDef::plain(4047, "jsonb_exists", &[JSONB, TEXT], BOOL, |_, a| { take!(a; Jsonb j, Text k); Ok(Value::Bool(exists(&j.0, k)?)) }),
    FunctionDef::plain(4048, "jsonb_exists_any", &[JSONB, TEXT_ARRAY], BOOL, |_, a| { take!(a; Jsonb j, Array k); Ok(Value::Bool(exist(&j.0, k, false)?)) }),
    FunctionDef::plain(4049, "jsonb_exists_all", &[JSONB, TEXT_ARRAY], BOOL, |_, a| { take!(a; Jsonb j, Array k); Ok(Value::Bool(exist(&j.0, k, true)?)) }),
    FunctionDef::plain(3302, "jsonb_delete", &[JSONB, TEXT], JSONB, |_, a| { take!(a; Jsonb j, Text k); delete_keys(&j.0, &[k.as_str()]) }),
    FunctionDef::plain(3343, "jsonb_delete", &[JSONB, TEXT_ARRAY], JSONB, |_, a| { take!(a; Jsonb j, Array k); delete_all(&j.0, k) }).variadic().named(&["from_json", "path_elems"]),
    FunctionDef::plain(3303, "jsonb_delete", &[JSONB, INT4], JSONB, |_, a| { take!(a; Jsonb j, Int4 n); delete_element(&j.0, i64::from(*n)) }),
    FunctionDef::plain(3304, "jsonb_delete_path", &[JSONB, TEXT_ARRAY], JSONB, |_, a| { take!(a; Jsonb j, Array p); change(&j.0, p, Change::Delete) }),
    FunctionDef::plain(3305, "jsonb_set", &[JSONB, TEXT_ARRAY, JSONB, BOOL], JSONB, |_, a| { take!(a; Jsonb j, Array p, Jsonb new, Bool create); change(&j.0, p, Change::Set { new: &new.0, create: *create }) }).named(&["jsonb_in", "path", "replacement", "create_if_missing"]).defaults(&["true"]),
    FunctionDef::plain(5054, "jsonb_set_lax", &[JSONB, TEXT_ARRAY, JSONB, BOOL, TEXT], JSONB, set_lax).not_strict().named(&["jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"]).defaults(&["true", "use_json_null"]),
    FunctionDef::plain(3579, "jsonb_insert", &[JSONB, TEXT_ARRAY, JSONB, BOOL], JSONB, |_, a| { take!(a; Jsonb j, Array p, Jsonb new, Bool after); change(&j.0, p, Change::Insert { new: &new.0, after: *after }) }).named(&["jsonb_in", "path", "replacement", "insert_after"]).defaults(&["false"]),
    FunctionDef::set(3208, "jsonb_each", &[JSONB], RECORD, |_, _, a| each(a, false)).named(&["from_json"]).columns(&[("key", TEXT), ("value", JSONB)]),
    FunctionDef::set(3932, "jsonb_each_text", &[JSONB], RECORD, |_, _, a| each(a, true)).named(&["from_json"]).columns(&[("key", TEXT), ("value", TEXT)]),
    FunctionDef::set(3931, "jsonb_object_keys", &[JSONB], TEXT, keys),
    FunctionDef::set(3219, "jsonb_array_elements", &[JSONB], JSONB, |_, _, a| elements(a, false)).named(&["from_json"]).columns(&[("value", JSONB)]),
    FunctionDef::set(3465, "jsonb_array_elements_text", &[JSONB], TEXT, |_, _, a| elements(a, true)).named(&["from_json"]).columns(&[("value", TEXT)]),
    FunctionDef::plain(3556, "bool", &[JSONB], BOOL, |_, a| { take!(a; Jsonb j); match &j.0 { Json::Bool(value) => Ok(Value::Bool(*value)), other => Err(cannot_cast(other, "boolean")) } }),
    FunctionDef::plain(3449, "numeric", &[JSONB], NUMERIC, |_, a| { take!(a; Jsonb j); Ok(Value::Numeric(number(&j.0, "numeric")?.clone())) }),
    FunctionDef::plain(3450, "int2", &[JSONB], INT2, |_, a| { take!(a; Jsonb j); Ok(Value::Int2(number(&j.0, "smallint")?.to_integer("smallint", i64::from(i16::MIN)..=i64::from(i16::MAX))? as i16)) }),
    FunctionDef::plain(3451, "int4", &[JSONB], INT4, |_, a| { take!(a; Jsonb j); Ok(Value::Int4(number(&j.0, "integer")?.to_integer("integer", i64::from(i32::MIN)..=i64::from(i32::MAX))? as i32)) }),
    FunctionDef::plain(3452, "int8", &[JSONB], INT8, |_, a| { take!(a; Jsonb j); Ok(Value::Int8(number(&j.0, "bigint")?.to_integer("bigint", i64::MIN..=i64::MAX)?)) }),
    FunctionDef::plain(3453, "float4", &[JSONB], FLOAT4, |_, a| { take!(a; Jsonb j); Ok(Value::Float4(number_text::parse_float4(&number(&j.0, "real")?.to_string())?)) }),
    FunctionDef::plain(2580, "float8", &[JSONB], FLOAT8, |_, a| { take!(a; Jsonb j); Ok(Value::Float8(number_text::parse_float8(&number(&j.0, "double precision")?.to_string())?)) }),
];
