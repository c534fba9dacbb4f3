//! Assignment to a part of a value: an element or slice of an array, a member of a JSON document, a field of a row.
//!
//! `SET a[1] = x` is bound as `SET a = assign(a, x, ...)`; none of these functions has a name that SQL could call.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

use super::{FunctionDef, mismatch};
use crate::array_text::{MAX_ELEMENTS, array_too_large};
use crate::context::{EvalContext, UserTypeKind};
use crate::function_def::CallTypes;
use crate::json::{Json, JsonbValue};
use crate::oids::*;
use crate::type_table::{base_type, element_type};
use crate::value::{ArrayValue, Dimension, RecordValue, SmolStr, Value, lengthen};

/// Array, new value, for each subscript a letter (`i`: an index; `s`: a slice; `l`, `u`, `n`: a slice with its lower
/// bound only, its upper bound only, none), then two bounds for each.
pub static ARRAY: FunctionDef =
    FunctionDef::typed(9300, "array_assign", &[ANY, ANY, TEXT], ANYARRAY, assign_to_array).not_strict();
/// Document, new value, path, whether the path starts with a number.
pub static JSON_DOCUMENT: FunctionDef =
    FunctionDef::plain(9301, "jsonb_assign", &[JSONB, JSONB, TEXT_ARRAY, BOOL], JSONB, assign_to_json).not_strict();
/// Row, new value, place of the field.
pub static FIELD: FunctionDef =
    FunctionDef::typed(9302, "field_assign", &[ANY, ANY, INT4], ANY, assign_to_field).not_strict();

/// Elements a JSON array may have.
const JSON_ELEMENTS_MAX: usize = 33_554_431;

fn subscript_error(message: &str) -> Error {
    Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message)
}

fn null_subscript(what: &str) -> Error {
    Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, format!("{what} subscript in assignment must not be null"))
}

/// Bounds as written; those left out are none.
type Bounds = SmallVec<[(Option<i64>, Option<i64>); 2]>;

fn assign_to_array(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let kinds = a[2].as_str().ok_or_else(|| mismatch(&a[2]))?.as_bytes();
    let slice = kinds.iter().any(|kind| *kind != b'i');
    let mut bounds = Bounds::new();
    for (kind, pair) in kinds.iter().zip(a[3..].chunks(2)) {
        let bound = |value: &Value, is_given: bool| match value {
            Value::Int4(bound) => Ok(Some(i64::from(*bound))),
            _ if is_given => Err(null_subscript("array")),
            _ => Ok(None),
        };
        let lower = bound(&pair[0], matches!(kind, b's' | b'l'))?;
        let upper = bound(&pair[1], matches!(kind, b's' | b'u' | b'i'))?;
        // An index among slices is a slice from 1 to there.
        bounds.push((if slice && *kind == b'i' { Some(1) } else { lower }, upper));
    }
    let array = match &a[0] {
        Value::Array(array) => (**array).clone(),
        _ => {
            let base = base_type(context.catalog(), types.result);
            let element = element_type(context.catalog(), base.oid).ok_or_else(|| mismatch(&a[0]))?;
            ArrayValue::empty(element)
        }
    };
    let array = if slice {
        // A NULL slice changes nothing.
        let Value::Array(source) = &a[1] else { return Ok(a[0].clone()) };
        assign_slice(array, &bounds, &source.values)?
    } else {
        let indexes: SmallVec<[i64; 2]> = bounds.iter().filter_map(|(_, index)| *index).collect();
        assign_element(array, &indexes, a[1].clone())?
    };
    Ok(Value::Array(Arc::new(array)))
}

/// Refuses dimensions that end behind the greatest place there is: each is a first place and a length.
///
/// # Errors
/// 54000
pub fn check_bounds(dimensions: impl Iterator<Item = (i64, i64)>) -> Result<()> {
    for (first, length) in dimensions {
        if first + length > i64::from(i32::MAX) {
            let message = format!("array lower bound is too large: {first}");
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
    }
    Ok(())
}

/// Makes a one-dimensional array reach from `lower` to `upper` at least, with NULLs where nothing was.
fn extend(array: &mut ArrayValue, lower: i64, upper: i64) -> Result<()> {
    let first = i64::from(array.dimensions[0].lower_bound);
    let last = first + i64::from(array.dimensions[0].length) - 1;
    let (new_first, new_last) = (first.min(lower), last.max(upper));
    if new_last - new_first + 1 > MAX_ELEMENTS as i64 {
        return Err(array_too_large());
    }
    check_bounds([(new_first, new_last - new_first + 1)].into_iter())?;
    array.pad((first - new_first) as usize, (new_last - last) as usize)
}

fn assign_element(mut array: ArrayValue, indexes: &[i64], value: Value) -> Result<ArrayValue> {
    if array.dimensions.is_empty() {
        check_bounds(indexes.iter().map(|index| (*index, 1)))?;
        array.dimensions = indexes.iter().map(|index| Dimension { length: 1, lower_bound: *index as i32 }).collect();
        array.values = vec![value];
        return Ok(array);
    }
    if array.dimensions.len() != indexes.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if let [index] = indexes {
        extend(&mut array, *index, *index)?;
    }
    let mut place = 0i64;
    for (index, dimension) in indexes.iter().zip(&array.dimensions) {
        let offset = index - i64::from(dimension.lower_bound);
        if !(0..i64::from(dimension.length)).contains(&offset) {
            return Err(subscript_error("array subscript out of range"));
        }
        place = place * i64::from(dimension.length) + offset;
    }
    array.values[place as usize] = value;
    Ok(array)
}

/// Replaces a slice: an array of one dimension grows as far as is needed.
///
/// # Errors
/// 2202E for bounds that the array doesn't have, or too few values; 54000 for an array that would be too large.
pub fn assign_slice(
    mut array: ArrayValue,
    bounds: &[(Option<i64>, Option<i64>)],
    source: &[Value],
) -> Result<ArrayValue> {
    let reversed = || subscript_error("upper bound cannot be less than lower bound");
    if array.dimensions.is_empty() {
        let mut count = 1i64;
        for (lower, upper) in bounds {
            let (Some(lower), Some(upper)) = (lower, upper) else {
                return Err(subscript_error("array slice subscript must provide both boundaries").detail(
                    "When assigning to a slice of an empty array value, slice boundaries must be fully specified.",
                ));
            };
            if *upper < lower - 1 {
                return Err(array_too_large());
            }
            if *upper < *lower {
                return Ok(array);
            }
            count = count.saturating_mul(upper - lower + 1);
            if count > MAX_ELEMENTS as i64 {
                return Err(array_too_large());
            }
            array.dimensions.push(Dimension { length: (upper - lower + 1) as u32, lower_bound: *lower as i32 });
        }
        check_bounds(array.dimensions.iter().map(|own| (i64::from(own.lower_bound), i64::from(own.length))))?;
        let source = source.get(..count as usize).ok_or_else(|| subscript_error("source array too small"))?;
        array.values = source.to_vec();
        return Ok(array);
    }
    if array.dimensions.len() < bounds.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    let is_flat = array.dimensions.len() == 1;
    let mut ranges: SmallVec<[(i64, i64); 2]> = SmallVec::new();
    for (number, dimension) in array.dimensions.clone().iter().enumerate() {
        let first = i64::from(dimension.lower_bound);
        let last = first + i64::from(dimension.length) - 1;
        let (lower, upper) = bounds.get(number).copied().unwrap_or((None, None));
        let (lower, upper) = (lower.unwrap_or(first), upper.unwrap_or(last));
        if upper < lower {
            return Err(reversed());
        }
        if is_flat {
            extend(&mut array, lower, upper)?;
            let first = i64::from(array.dimensions[0].lower_bound);
            ranges.push((lower - first, upper - first));
        } else if lower < first || upper > last {
            return Err(subscript_error("array subscript out of range"));
        } else {
            ranges.push((lower - first, upper - first));
        }
    }
    let count: i64 = ranges.iter().map(|(from, to)| to - from + 1).product();
    if (source.len() as i64) < count {
        return Err(subscript_error("source array too small"));
    }
    let mut at: SmallVec<[i64; 2]> = ranges.iter().map(|(from, _)| *from).collect();
    for value in source {
        sync::yield_point()?;
        let place = at.iter().zip(&array.dimensions).fold(0, |place, (at, d)| place * i64::from(d.length) + at);
        array.values[place as usize] = value.clone();
        let Some(number) = (0..at.len()).rev().find(|number| at[*number] < ranges[*number].1) else { break };
        at[number] += 1;
        for later in number + 1..at.len() {
            at[later] = ranges[later].0;
        }
    }
    Ok(array)
}

fn assign_to_json(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let Value::Array(path) = &a[2] else { return Err(null_subscript("jsonb")) };
    let steps = path
        .values
        .iter()
        .map(|step| step.as_str().ok_or_else(|| null_subscript("jsonb")))
        .collect::<Result<Vec<_>>>()?;
    with_json_part(&a[0], &steps, a[3].is_true(), &a[1])
}

/// A jsonb value with the part at `steps` replaced by another one; a document that is NULL begins as an array if the first
/// step is a number.
///
/// # Errors
/// 22023 and its kin for a step that leads nowhere; 54000 for an array that would be too long.
pub fn with_json_part(document: &Value, steps: &[&str], starts_with_number: bool, part: &Value) -> Result<Value> {
    let part = match part {
        Value::Jsonb(part) => part.0.clone(),
        _ => Json::Null,
    };
    let document = match document {
        Value::Jsonb(document) => document.0.clone(),
        _ if starts_with_number => Json::Array(Vec::new()),
        _ => Json::Object(Vec::new()),
    };
    Ok(Value::Jsonb(Arc::new(JsonbValue(put(document, steps, 0, part)?))))
}

/// The document with `new` at `steps[depth..]`; what is missing on the way is made.
fn put(json: Json, steps: &[&str], depth: usize, new: Json) -> Result<Json> {
    let Some(step) = steps.get(depth) else { return Ok(new) };
    match json {
        Json::Object(mut pairs) => {
            match pairs.iter().position(|(key, _)| key == step) {
                Some(index) => {
                    let old = std::mem::replace(&mut pairs[index].1, Json::Null);
                    pairs[index].1 = put(old, steps, depth + 1, new)?;
                }
                None => {
                    pairs.push((SmolStr::new(step), made(steps, depth + 1, new)?));
                    return Ok(Json::object(pairs));
                }
            }
            Ok(Json::Object(pairs))
        }
        Json::Array(mut values) => {
            let index: i32 = step.trim().parse().map_err(|_| {
                Error::new(
                    sqlstate::INVALID_TEXT_REPRESENTATION,
                    format!("path element at position {} is not an integer: \"{step}\"", depth + 1),
                )
            })?;
            let length = values.len() as i64;
            let place = if index < 0 { i64::from(index) + length } else { i64::from(index) };
            if place < 0 {
                return Err(Error::new(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    format!("path element at position {} is out of range: {index}", depth + 1),
                ));
            }
            if place < length {
                let old = std::mem::replace(&mut values[place as usize], Json::Null);
                values[place as usize] = put(old, steps, depth + 1, new)?;
            } else {
                fill(&mut values, place)?;
                values.push(made(steps, depth + 1, new)?);
            }
            Ok(Json::Array(values))
        }
        _ => Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, "cannot replace existing key")
            .detail("The path assumes key is a composite object, but it is a scalar value.")),
    }
}

/// Builds the value that `steps` from `depth` on lead through, with `new` at its end. None of it existed before.
fn made(steps: &[&str], depth: usize, new: Json) -> Result<Json> {
    let Some(step) = steps.get(depth) else { return Ok(new) };
    let inner = made(steps, depth + 1, new)?;
    Ok(match step.trim().parse::<i32>() {
        Ok(index) => {
            let mut values = Vec::new();
            fill(&mut values, i64::from(index))?;
            values.push(inner);
            Json::Array(values)
        }
        Err(_) => Json::Object(vec![(SmolStr::new(step), inner)]),
    })
}

fn fill(values: &mut Vec<Json>, length: i64) -> Result<()> {
    let length = usize::try_from(length).unwrap_or(0);
    if length >= JSON_ELEMENTS_MAX {
        let message = format!("number of jsonb array elements exceeds the maximum allowed ({JSON_ELEMENTS_MAX})");
        return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    lengthen(values, length, &Json::Null)
}

fn assign_to_field(context: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let Value::Int4(place) = a[2] else { return Err(mismatch(&a[2])) };
    let mut record = match &a[0] {
        Value::Record(record) => (**record).clone(),
        _ => {
            let base = base_type(context.catalog(), types.result);
            let Some(UserTypeKind::Composite(shape)) =
                context.catalog().user_type(base.oid).map(|user| user.kind.clone())
            else {
                return Err(mismatch(&a[0]));
            };
            RecordValue { fields: vec![Value::Null; shape.fields.len()], shape }
        }
    };
    match record.fields.get_mut(place as usize) {
        Some(field) => *field = a[1].clone(),
        None => return Err(mismatch(&a[0])),
    }
    Ok(Value::Record(Arc::new(record)))
}
