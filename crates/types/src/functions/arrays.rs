//! Functions of arrays.

use std::hash::Hasher;
use std::sync::Arc;

use base::{Error, Oid, Result, sqlstate};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use super::{FunctionDef, mismatch};
use crate::apart::make_of;
use crate::array_text::{MAX_DIMENSIONS, MAX_ELEMENTS, array_too_large, check_bounds, too_many_dimensions};
use crate::compare::{compare_padded, compare_values, hash_value};
use crate::context::EvalContext;
use crate::function_def::{CallTypes, ReadyRows, ValueStream};
use crate::oids::*;
use crate::text_io;
use crate::type_table::element_type;
use crate::value::{ArrayValue, Dimension, Value};

/// A count that is NULL instead of zero.
fn array_number(count: i32) -> Value {
    if count == 0 { Value::Null } else { Value::Int4(count) }
}

fn dimension(array: &ArrayValue, number: i32) -> Option<Dimension> {
    array.dimensions.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

fn dimensions_text(array: &ArrayValue) -> Value {
    if array.dimensions.is_empty() {
        return Value::Null;
    }
    let text: String = array
        .dimensions
        .iter()
        .map(|d| format!("[{}:{}]", d.lower_bound, i64::from(d.lower_bound) + i64::from(d.length) - 1))
        .collect();
    Value::from(text)
}

/// Whether two elements are the same; NULL is the same as NULL.
fn same(array: &ArrayValue, left: &Value, right: &Value) -> bool {
    if left.is_null() || right.is_null() {
        return left.is_null() && right.is_null();
    }
    if array.element == BPCHAR { compare_padded(left, right).is_eq() } else { compare_values(left, right).is_eq() }
}

fn data_exception(message: &str) -> Error {
    Error::new(sqlstate::DATA_EXCEPTION, message)
}

fn append(types: &CallTypes, array: &Value, element: &Value, front: bool) -> Result<Value> {
    let array = match array {
        Value::Array(array) => (**array).clone(),
        _ => {
            let oid = element_type(&crate::BuiltinCatalog, types.result.oid);
            let oid = oid.unwrap_or_else(|| types.arguments[usize::from(!front)].oid);
            ArrayValue::empty(oid)
        }
    };
    if array.dimensions.len() > 1 {
        return Err(data_exception("argument must be empty or one-dimensional array"));
    }
    if array.values.len() >= MAX_ELEMENTS {
        return Err(array_too_large());
    }
    let lower_bound = array.dimensions.first().map_or(1, |d| d.lower_bound);
    if front && !array.dimensions.is_empty() && lower_bound == i32::MIN {
        return Err(super::integers::out_of_range::<i32>());
    }
    let length = array.values.len() as u32 + 1;
    check_bounds(&[Dimension { length, lower_bound }])?;
    let mut array = array;
    let mut values = std::mem::take(&mut array.values);
    if front {
        values.insert(0, element.clone());
    } else {
        values.push(element.clone());
    }
    Ok(Value::Array(Arc::new(ArrayValue::with_lower_bound(array.element, values, lower_bound))))
}

fn concatenate(a: &[Value]) -> Result<Value> {
    let (left, right) = match (&a[0], &a[1]) {
        (Value::Array(left), Value::Array(right)) => (left, right),
        (Value::Null, other) | (other, Value::Null) => return Ok(other.clone()),
        (other, _) => return Err(mismatch(other)),
    };
    if left.dimensions.is_empty() {
        return Ok(a[1].clone());
    }
    if right.dimensions.is_empty() {
        return Ok(a[0].clone());
    }
    let incompatible = |detail: &str| {
        Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays").detail(detail)
    };
    let same_shape = |l: &[Dimension], r: &[Dimension]| l.iter().zip(r).all(|(l, r)| l == r);
    let (l, r) = (&left.dimensions, &right.dimensions);
    let mut dimensions: SmallVec<[Dimension; 1]>;
    if l.len() == r.len() {
        if !same_shape(&l[1..], &r[1..]) {
            return Err(incompatible("Arrays with differing element dimensions are not compatible for concatenation."));
        }
        dimensions = l.clone();
        dimensions[0].length += r[0].length;
    } else if l.len() + 1 == r.len() {
        if !same_shape(l, &r[1..]) {
            return Err(incompatible("Arrays with differing dimensions are not compatible for concatenation."));
        }
        dimensions = r.clone();
        dimensions[0].length += 1;
    } else if r.len() + 1 == l.len() {
        if !same_shape(&l[1..], r) {
            return Err(incompatible("Arrays with differing dimensions are not compatible for concatenation."));
        }
        dimensions = l.clone();
        dimensions[0].length += 1;
    } else {
        return Err(incompatible(&format!(
            "Arrays of {} and {} dimensions are not compatible for concatenation.",
            l.len(),
            r.len()
        )));
    }
    if left.values.len() + right.values.len() > MAX_ELEMENTS {
        return Err(array_too_large());
    }
    check_bounds(&dimensions)?;
    let values = left.values.iter().chain(&right.values).cloned().collect();
    Ok(Value::Array(Arc::new(ArrayValue { element: left.element, dimensions, values })))
}

fn remove(a: &[Value]) -> Result<Value> {
    let Value::Array(array) = &a[0] else { return Ok(Value::Null) };
    if array.dimensions.len() > 1 {
        return Err(Error::unsupported("removing elements from multidimensional arrays is not supported"));
    }
    let mut values = Vec::new();
    for value in &array.values {
        sync::yield_point()?;
        if !same(array, value, &a[1]) {
            values.push(value.clone());
        }
    }
    if values.len() == array.values.len() {
        return Ok(a[0].clone());
    }
    let lower_bound = array.dimensions.first().map_or(1, |d| d.lower_bound);
    Ok(Value::Array(Arc::new(ArrayValue::with_lower_bound(array.element, values, lower_bound))))
}

fn replace(a: &[Value]) -> Result<Value> {
    let Value::Array(array) = &a[0] else { return Ok(Value::Null) };
    let mut values = Vec::with_capacity(array.values.len());
    for value in &array.values {
        sync::yield_point()?;
        values.push(if same(array, value, &a[1]) { a[2].clone() } else { value.clone() });
    }
    let dimensions = array.dimensions.clone();
    Ok(Value::Array(Arc::new(ArrayValue { element: array.element, dimensions, values })))
}

fn check_searchable(array: &ArrayValue) -> Result<i32> {
    if array.dimensions.len() > 1 {
        return Err(Error::unsupported("searching for elements in multidimensional arrays is not supported"));
    }
    Ok(array.dimensions.first().map_or(1, |d| d.lower_bound))
}

fn position(a: &[Value]) -> Result<Value> {
    let Value::Array(array) = &a[0] else { return Ok(Value::Null) };
    let lower_bound = check_searchable(array)?;
    let skip = match a.get(2) {
        None => 0,
        Some(Value::Int4(start)) => i64::from(*start) - i64::from(lower_bound),
        Some(_) => {
            return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
        }
    };
    for (index, value) in array.values.iter().enumerate().skip(skip.max(0) as usize) {
        sync::yield_point()?;
        if same(array, value, &a[1]) {
            return Ok(Value::Int4(lower_bound + index as i32));
        }
    }
    Ok(Value::Null)
}

fn positions(a: &[Value]) -> Result<Value> {
    let Value::Array(array) = &a[0] else { return Ok(Value::Null) };
    let lower_bound = check_searchable(array)?;
    let mut found = Vec::new();
    for (index, value) in array.values.iter().enumerate() {
        sync::yield_point()?;
        if same(array, value, &a[1]) {
            found.push(Value::Int4(lower_bound + index as i32));
        }
    }
    Ok(Value::array(INT4, found))
}

fn to_string(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (Value::Array(array), Value::Text(delimiter)) = (&a[0], &a[1]) else { return Ok(Value::Null) };
    let null_text = a.get(2).and_then(Value::as_str);
    let parts = array.values.iter().filter_map(|value| match value {
        Value::Null => null_text.map(|text| Ok(text.to_owned())),
        value => Some(
            sync::yield_point()
                .and_then(|()| text_io::output_string(value, array.element, context.format(), context.catalog())),
        ),
    });
    super::text::joined(parts.collect::<Result<Vec<String>>>()?, delimiter)
}

fn fill(_: &mut dyn EvalContext, types: &CallTypes, a: &[Value]) -> Result<Value> {
    let integers = |value: Option<&Value>| -> Result<Option<Vec<i32>>> {
        match value {
            None => Ok(None),
            Some(Value::Array(array)) => {
                if array.dimensions.len() > 1 {
                    return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
                        .detail("Dimension array must be one dimensional."));
                }
                let numbers: Option<Vec<i32>> =
                    array.values.iter().map(|value| value.as_i64().map(|number| number as i32)).collect();
                numbers
                    .map(Some)
                    .ok_or_else(|| Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null"))
            }
            Some(_) => {
                Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "dimension array or low bound array cannot be null"))
            }
        }
    };
    let lengths = integers(a.get(1))?.unwrap_or_default();
    let bounds = integers(a.get(2))?;
    if bounds.as_ref().is_some_and(|bounds| bounds.len() != lengths.len()) {
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
            .detail("Low bound array has different size than dimensions array."));
    }
    if lengths.len() > MAX_DIMENSIONS {
        return Err(too_many_dimensions(lengths.len()));
    }
    let element = types.arguments[0].oid;
    let mut count = 1_usize;
    let mut dimensions = SmallVec::new();
    for (index, length) in lengths.iter().enumerate() {
        let length = u32::try_from(*length).map_err(|_| array_too_large())?;
        count = count.saturating_mul(length as usize);
        let lower_bound = bounds.as_ref().map_or(1, |bounds| bounds[index]);
        dimensions.push(Dimension { length, lower_bound });
    }
    if count > MAX_ELEMENTS {
        return Err(array_too_large());
    }
    if lengths.is_empty() || count == 0 {
        return Ok(Value::Array(Arc::new(ArrayValue::empty(element))));
    }
    check_bounds(&dimensions)?;
    let bytes = count.saturating_mul(size_of::<Value>() + a[0].heap_bytes());
    super::text::check_length(bytes)?;
    make_of(&Arc::new((dimensions, a[0].clone())), bytes, move |(dimensions, value)| {
        let (dimensions, values) = (dimensions.clone(), vec![value.clone(); count]);
        Value::Array(Arc::new(ArrayValue { element, dimensions, values }))
    })
}

fn trim(a: &[Value]) -> Result<Value> {
    let [Value::Array(array), Value::Int4(count)] = a else { return Err(mismatch(&a[0])) };
    let length = array.dimensions.first().map_or(0, |d| d.length);
    let kept = u32::try_from(*count).ok().and_then(|count| length.checked_sub(count)).ok_or_else(|| {
        Error::new(
            sqlstate::ARRAY_SUBSCRIPT_ERROR,
            format!("number of elements to trim must be between 0 and {length}"),
        )
    })?;
    let per_row = array.values.len() / (length.max(1) as usize);
    let mut trimmed = (**array).clone();
    trimmed.values.truncate(per_row * kept as usize);
    match trimmed.dimensions.first_mut() {
        Some(first) if kept > 0 => {
            first.length = kept;
            first.lower_bound = 1;
        }
        _ => trimmed.dimensions.clear(),
    }
    Ok(Value::Array(Arc::new(trimmed)))
}

/// Whether every element of `right` is in `left`; NULLs are never.
fn contains(left: &ArrayValue, right: &ArrayValue) -> Result<bool> {
    let own = ElementSet::new(left, right.values.len())?;
    for wanted in &right.values {
        if wanted.is_null() || !own.contains(wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlaps(left: &ArrayValue, right: &ArrayValue) -> Result<bool> {
    let own = ElementSet::new(left, right.values.len())?;
    for wanted in &right.values {
        if !wanted.is_null() && own.contains(wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// So many comparisons of elements are made without a table.
const COMPARISONS_MAX: usize = 64;

/// The elements of an array that aren't NULL, to be looked up.
struct ElementSet<'a> {
    array: &'a ArrayValue,
    /// By their hashes, if it is worth while.
    table: Option<HashTable<(u64, &'a Value)>>,
}

impl<'a> ElementSet<'a> {
    /// For so many look-ups.
    fn new(array: &'a ArrayValue, look_ups: usize) -> Result<ElementSet<'a>> {
        let mut set = ElementSet { array, table: None };
        if array.values.len().saturating_mul(look_ups) > COMPARISONS_MAX {
            let mut table = HashTable::with_capacity(array.values.len());
            for value in array.values.iter().filter(|value| !value.is_null()) {
                sync::yield_point()?;
                let hash = set.hash(value);
                let is_same = |other: &(u64, &Value)| other.0 == hash && same(array, other.1, value);
                if let Entry::Vacant(vacant) = table.entry(hash, is_same, |(hash, _)| *hash) {
                    vacant.insert((hash, value));
                }
            }
            set.table = Some(table);
        }
        Ok(set)
    }

    fn hash(&self, value: &Value) -> u64 {
        let mut hasher = FxHasher::default();
        hash_value(value, self.array.element, &mut hasher);
        hasher.finish()
    }

    /// Whether a value that isn't NULL is one of them.
    fn contains(&self, value: &Value) -> Result<bool> {
        sync::yield_point()?;
        if let Some(table) = &self.table {
            let hash = self.hash(value);
            return Ok(table.find(hash, |other| other.0 == hash && same(self.array, other.1, value)).is_some());
        }
        Ok(self.array.values.iter().any(|own| !own.is_null() && same(self.array, own, value)))
    }
}

/// The elements one after the other.
struct Elements {
    array: Arc<ArrayValue>,
    next: usize,
}

impl ValueStream for Elements {
    fn next(&mut self, _context: &mut dyn EvalContext) -> Result<Option<Value>> {
        let value = self.array.values.get(self.next).cloned();
        self.next += 1;
        Ok(value)
    }
}

fn unnest(_: &mut dyn EvalContext, _: &CallTypes, a: &[Value]) -> Result<Box<dyn ValueStream>> {
    match &a[0] {
        Value::Array(array) => Ok(Box::new(Elements { array: array.clone(), next: 0 })),
        other => Err(mismatch(other)),
    }
}

fn subscripts(a: &[Value]) -> Result<Box<dyn ValueStream>> {
    let (Value::Array(array), Value::Int4(number)) = (&a[0], &a[1]) else { return Err(mismatch(&a[0])) };
    let Some(dimension) = dimension(array, *number) else { return Ok(ReadyRows::boxed(Vec::new())) };
    let range = dimension.lower_bound..dimension.lower_bound + dimension.length as i32;
    let backwards = a.get(2).is_some_and(Value::is_true);
    let rows = if backwards { range.rev().map(Value::Int4).collect() } else { range.map(Value::Int4).collect() };
    Ok(ReadyRows::boxed(rows))
}

/// In which of the ranges between sorted thresholds a value lies: from 0, below the first. 2202E, 22004
fn bucket(a: &[Value]) -> Result<Value> {
    let Value::Array(thresholds) = &a[1] else { return Err(mismatch(&a[1])) };
    if thresholds.dimensions.len() > 1 {
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "thresholds must be one-dimensional array"));
    }
    if thresholds.values.iter().any(Value::is_null) {
        return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs"));
    }
    let below = thresholds.values.partition_point(|threshold| compare_values(threshold, &a[0]).is_le());
    Ok(Value::Int4(below as i32))
}

/// The arrays `values` as one with a dimension more, an empty one if all are NULL or empty.
///
/// # Errors
/// 2202E if they are not of one shape, or only some of them are NULL or empty; 54000 for too many dimensions.
pub fn nested_array(element: Oid, values: &[Value]) -> Result<Value> {
    let mismatch = || {
        Error::new(
            sqlstate::ARRAY_SUBSCRIPT_ERROR,
            "multidimensional arrays must have array expressions with matching dimensions",
        )
    };
    let mut inner: Option<SmallVec<[Dimension; 1]>> = None;
    let mut all = Vec::new();
    let mut count = 0u32;
    for value in values {
        let Value::Array(array) = value else { continue };
        if array.dimensions.is_empty() {
            continue;
        }
        match &inner {
            None => inner = Some(array.dimensions.clone()),
            Some(dimensions) if *dimensions == array.dimensions => {}
            Some(_) => return Err(mismatch()),
        }
        count += 1;
        all.extend(array.values.iter().cloned());
    }
    let Some(inner) = inner else { return Ok(Value::Array(Arc::new(ArrayValue::empty(element)))) };
    if count as usize != values.len() {
        return Err(mismatch());
    }
    let mut dimensions: SmallVec<[Dimension; 1]> = SmallVec::new();
    dimensions.push(Dimension { length: count, lower_bound: 1 });
    dimensions.extend(inner);
    if dimensions.len() > MAX_DIMENSIONS {
        return Err(too_many_dimensions(dimensions.len()));
    }
    Ok(Value::Array(Arc::new(ArrayValue { element, dimensions, values: all })))
}

/// The arrays that a query gave as one with a dimension more.
///
/// # Errors
/// 22004 for NULL, 2202E for empty arrays and such of different shapes, 54000 for too many dimensions.
pub fn stacked_array(element: Oid, values: &[Value]) -> Result<Value> {
    let wrong = |message: &str| Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message);
    let mut first: Option<&[Dimension]> = None;
    for value in values {
        let Value::Array(array) = value else {
            return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
        };
        if array.dimensions.is_empty() {
            return Err(wrong("cannot accumulate empty arrays"));
        }
        if **first.get_or_insert(&array.dimensions) != *array.dimensions {
            return Err(wrong("cannot accumulate arrays of different dimensionality"));
        }
    }
    nested_array(element, values)
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::typed(378, "array_append", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY, |_, types, a| append(types, &a[0], &a[1], false)).not_strict(),
    FunctionDef::typed(379, "array_prepend", &[ANYCOMPATIBLE, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY, |_, types, a| append(types, &a[1], &a[0], true)).not_strict(),
    FunctionDef::plain(383, "array_cat", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY, |_, a| concatenate(a)).not_strict(),
    FunctionDef::plain(748, "array_ndims", &[ANYARRAY], INT4, |_, a| { take!(a; Array array); Ok(array_number(array.dimensions.len() as i32)) }),
    FunctionDef::plain(747, "array_dims", &[ANYARRAY], TEXT, |_, a| { take!(a; Array array); Ok(dimensions_text(array)) }),
    FunctionDef::plain(2176, "array_length", &[ANYARRAY, INT4], INT4, |_, a| { take!(a; Array array, Int4 n); Ok(dimension(array, *n).map(|d| d.length as i32).into()) }),
    FunctionDef::plain(2091, "array_lower", &[ANYARRAY, INT4], INT4, |_, a| { take!(a; Array array, Int4 n); Ok(dimension(array, *n).map(|d| d.lower_bound).into()) }),
    FunctionDef::plain(2092, "array_upper", &[ANYARRAY, INT4], INT4, |_, a| { take!(a; Array array, Int4 n); Ok(dimension(array, *n).map(|d| d.lower_bound + d.length as i32 - 1).into()) }),
    FunctionDef::plain(3179, "cardinality", &[ANYARRAY], INT4, |_, a| { take!(a; Array array); Ok(Value::Int4(array.values.len() as i32)) }),
    FunctionDef::plain(3218, "width_bucket", &[ANYCOMPATIBLE, ANYCOMPATIBLEARRAY], INT4, |_, a| bucket(a)),
    FunctionDef::plain(3167, "array_remove", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY, |_, a| remove(a)).not_strict(),
    FunctionDef::plain(3168, "array_replace", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY, |_, a| replace(a)).not_strict(),
    FunctionDef::plain(3277, "array_position", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], INT4, |_, a| position(a)).not_strict(),
    FunctionDef::plain(3278, "array_position", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, INT4], INT4, |_, a| position(a)).not_strict(),
    FunctionDef::plain(3279, "array_positions", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], INT4_ARRAY, |_, a| positions(a)).not_strict(),
    FunctionDef::plain(395, "array_to_string", &[ANYARRAY, TEXT], TEXT, to_string).stable(),
    FunctionDef::plain(384, "array_to_string", &[ANYARRAY, TEXT, TEXT], TEXT, to_string).stable().not_strict(),
    FunctionDef::typed(1193, "array_fill", &[ANYELEMENT, INT4_ARRAY], ANYARRAY, fill).not_strict(),
    FunctionDef::typed(1286, "array_fill", &[ANYELEMENT, INT4_ARRAY, INT4_ARRAY], ANYARRAY, fill).not_strict(),
    FunctionDef::plain(6172, "trim_array", &[ANYARRAY, INT4], ANYARRAY, |_, a| trim(a)),
    FunctionDef::plain(515, "array_larger", &[ANYARRAY, ANYARRAY], ANYARRAY, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(516, "array_smaller", &[ANYARRAY, ANYARRAY], ANYARRAY, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(2748, "arraycontains", &[ANYARRAY, ANYARRAY], BOOL, |_, a| { take!(a; Array l, Array r); Ok(Value::Bool(contains(l, r)?)) }),
    FunctionDef::plain(2749, "arraycontained", &[ANYARRAY, ANYARRAY], BOOL, |_, a| { take!(a; Array l, Array r); Ok(Value::Bool(contains(r, l)?)) }),
    FunctionDef::plain(2747, "arrayoverlap", &[ANYARRAY, ANYARRAY], BOOL, |_, a| { take!(a; Array l, Array r); Ok(Value::Bool(overlaps(l, r)?)) }),
    FunctionDef::set(2331, "unnest", &[ANYARRAY], ANYELEMENT, unnest),
    FunctionDef::set(1192, "generate_subscripts", &[ANYARRAY, INT4], INT4, |_, _, a| subscripts(a)),
    FunctionDef::set(1191, "generate_subscripts", &[ANYARRAY, INT4, BOOL], INT4, |_, _, a| subscripts(a)),
];
