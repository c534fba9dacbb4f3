//! Elements and slices of arrays that are variables.

use std::sync::Arc;

use base::{Error, Result, sqlstate};

use super::expression::evaluate;
use super::frame::{Frame, cast};
use super::tree::{Expression, Subscript, VariableKind};
use crate::executor::Run;
use crate::types::functions::assign;
use crate::types::{ArrayValue, Dimension, SqlType, Value, copy_of_values, oids};

/// Replaces one element or slice of the array in a variable, where it is. A value that can't be changed there is given back changed,
/// with its type, for the variable to be assigned.
///
/// # Errors
/// 42804 for a variable that is no array, 22004 for a NULL place, 2202E for one out of bounds. The variable is as it was then.
pub fn assign_element(
    target: usize,
    subscripts: &[Subscript],
    value: Value,
    sql_type: SqlType,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Option<(Value, SqlType)>> {
    let (current, array_type) = frame.current(target, run)?;
    if crate::types::base_type(&run.catalog, array_type).oid == oids::JSONB {
        let changed = with_json_part(current, subscripts, value, sql_type, frame, run)?;
        return Ok(Some((changed, array_type)));
    }
    // An array that somebody else has, too, is copied when it is changed.
    drop(current);
    let declared_type = array_type;
    let array_type = crate::types::base_type(&run.catalog, declared_type);
    let is_domain = array_type.oid != declared_type.oid;
    let Some(element) = crate::types::element_type(&run.catalog, array_type.oid) else {
        let array_type = declared_type;
        let shown = crate::types::format_type_name(&run.catalog, array_type.oid);
        let message = format!("cannot subscript type {shown} because it does not support subscripting");
        return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
    };
    let is_slice = subscripts.iter().any(|subscript| !matches!(subscript, Subscript::Index(_)));
    let mut places: Vec<(Option<i64>, Option<i64>)> = Vec::with_capacity(subscripts.len());
    for subscript in subscripts {
        places.push(match subscript {
            // An index among slices is a slice from 1 to there.
            Subscript::Index(index) => (is_slice.then_some(1), Some(place(index, frame, run)?)),
            Subscript::Slice(first, last) => {
                let mut end = |end: &Option<Expression>| end.as_ref().map(|end| place(end, frame, run)).transpose();
                (end(first)?, end(last)?)
            }
        });
    }
    if is_slice {
        let value = cast(value, sql_type, array_type, run)?;
        let mut changed = ArrayValue::empty(element);
        if let (Value::Array(array), _) = frame.current(target, run)? {
            changed = array.copied()?;
        }
        if let Value::Array(source) = value {
            changed = assign::assign_slice(changed, &places, &source.values)?;
        }
        return Ok(Some((Value::Array(Arc::new(changed)), array_type)));
    }
    let element_type = SqlType::with_typmod(element, array_type.typmod);
    let value = cast(value, sql_type, element_type, run)?;
    let places: Vec<i32> = places.into_iter().filter_map(|(_, place)| place).map(|place| place as i32).collect();
    // A domain's checks are to see the whole array.
    if let (false, VariableKind::Scalar(_), Value::Array(array)) =
        (is_domain, &frame.function.variables[target].kind, &mut frame.values[target])
    {
        store(own(array)?, &places, value)?;
        return Ok(None);
    }
    let mut array = match frame.current(target, run)?.0 {
        Value::Array(array) => array,
        _ => Arc::new(ArrayValue::empty(element)),
    };
    store(own(&mut array)?, &places, value)?;
    Ok(Some((Value::Array(array), array_type)))
}

/// The array itself if nobody else has it, otherwise a copy in its place.
fn own(array: &mut Arc<ArrayValue>) -> Result<&mut ArrayValue> {
    if Arc::get_mut(array).is_none() {
        *array = Arc::new(array.copied()?);
    }
    Ok(Arc::make_mut(array))
}

/// A jsonb value with the part that the subscripts lead to replaced.
fn with_json_part(
    document: Value,
    subscripts: &[Subscript],
    value: Value,
    sql_type: SqlType,
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Value> {
    let (mut steps, mut starts_with_number) = (Vec::with_capacity(subscripts.len()), false);
    for (number, subscript) in subscripts.iter().enumerate() {
        let Subscript::Index(step) = subscript else {
            return Err(Error::new(sqlstate::DATATYPE_MISMATCH, "jsonb subscript does not support slices"));
        };
        let (step, step_type) = evaluate(step, frame, run)?;
        starts_with_number |= number == 0 && matches!(step_type.oid, oids::INT2 | oids::INT4);
        match cast(step, step_type, SqlType::TEXT, run)? {
            Value::Text(step) => steps.push(step),
            _ => {
                let message = "jsonb subscript in assignment must not be null";
                return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
        }
    }
    let part = cast(value, sql_type, SqlType::new(oids::JSONB), run)?;
    let steps: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
    assign::with_json_part(&document, &steps, starts_with_number, &part)
}

fn place(expression: &Expression, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<i64> {
    let (value, sql_type) = evaluate(expression, frame, run)?;
    match cast(value, sql_type, SqlType::INT4, run)? {
        Value::Int4(place) => Ok(i64::from(place)),
        _ => Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null")),
    }
}

fn out_of_range() -> Error {
    Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "array subscript out of range")
}

/// The most elements an array may be made to have by an assignment.
const ELEMENTS_MAX: i64 = 0x3ff_ffff;

/// Replaces the element at `places`. An array of one dimension grows as far as is needed, by NULLs. After an error it is as it was.
fn store(array: &mut ArrayValue, places: &[i32], value: Value) -> Result<()> {
    if array.dimensions.is_empty() {
        assign::check_bounds(places.iter().map(|place| (i64::from(*place), 1)))?;
        array.dimensions = places.iter().map(|place| Dimension { length: 1, lower_bound: *place }).collect();
        array.values = vec![value];
        return Ok(());
    }
    if places.len() != array.dimensions.len() {
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    if let ([place], [dimension]) = (places, &array.dimensions[..]) {
        let offset = i64::from(*place) - i64::from(dimension.lower_bound);
        let length = i64::from(dimension.length);
        let (before, behind) = ((-offset).max(0), (offset - length + 1).max(0));
        assign::check_bounds([(i64::from(dimension.lower_bound) - before, before + length + behind)].into_iter())?;
        if before + length + behind > ELEMENTS_MAX {
            let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        array.pad(before as usize, behind as usize)?;
        array.values[(offset + before) as usize] = value;
        return Ok(());
    }
    let mut at = 0usize;
    for (place, dimension) in places.iter().zip(&array.dimensions) {
        let offset = i64::from(*place) - i64::from(dimension.lower_bound);
        if offset < 0 || offset >= i64::from(dimension.length) {
            return Err(out_of_range());
        }
        at = at * dimension.length as usize + offset as usize;
    }
    array.values[at] = value;
    Ok(())
}

/// The values that FOREACH assigns, each with its type: elements, or slices of `slice` dimensions.
///
/// # Errors
/// 2202E if the array has fewer dimensions than `slice`. An item is an error if copying it was interrupted.
pub fn slices(
    array: &ArrayValue,
    slice: usize,
    array_type: SqlType,
) -> Result<impl Iterator<Item = Result<(Value, SqlType)>> + '_> {
    let dimensions = array.dimensions.len();
    if slice > dimensions {
        let message = format!("slice dimension ({slice}) is out of the valid range 0..{dimensions}");
        return Err(Error::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let inner = &array.dimensions[dimensions - slice..];
    let size: usize = inner.iter().map(|dimension| dimension.length as usize).product();
    Ok(array.values.chunks(size.max(1)).map(move |values| match values {
        [element] if slice == 0 => Ok((element.clone(), SqlType::new(array.element))),
        _ => {
            let part = ArrayValue { element: array.element, dimensions: inner.into(), values: copy_of_values(values)? };
            Ok((Value::Array(Arc::new(part)), array_type))
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::oids;

    #[test]
    fn an_array_grows_both_ways_and_is_filled_with_nulls() {
        let mut array = ArrayValue::empty(oids::INT4);
        store(&mut array, &[2], Value::Int4(7)).unwrap();
        assert_eq!(array.dimensions[0].lower_bound, 2);
        store(&mut array, &[4], Value::Int4(9)).unwrap();
        store(&mut array, &[1], Value::Int4(5)).unwrap();
        assert_eq!((array.dimensions[0].lower_bound, array.dimensions[0].length), (1, 4));
        assert!(array.values[2].is_null());
        assert!(store(&mut array, &[i32::MAX], Value::Null).is_err());
        assert!(store(&mut array, &[1, 1], Value::Null).is_err());
        assert_eq!(array.values.len(), 4);
    }

    #[test]
    fn an_array_is_copied_only_while_somebody_else_has_it() {
        let mut array = Arc::new(ArrayValue::one_dimensional(oids::INT4, vec![Value::Int4(1)]));
        let others = Arc::clone(&array);
        own(&mut array).unwrap().values[0] = Value::Int4(2);
        assert!(matches!(others.values[0], Value::Int4(1)));
        let place = array.values.as_ptr();
        own(&mut array).unwrap().values[0] = Value::Int4(3);
        assert_eq!(array.values.as_ptr(), place);
        assert!(matches!(array.values[0], Value::Int4(3)));
    }
}
