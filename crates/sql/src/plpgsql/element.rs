//! Elements and slices of arrays that are variables.

use std::sync::Arc;

use base::{Error, Result, sqlstate};
use types::functions::assign;
use types::{ArrayValue, Dimension, RecordValue, SqlType, Value, copy_of_values, oids};

use super::expression::evaluate;
use super::frame::Frame;
use super::tree::{Expression, Step, Subscript, VariableKind};
use executor::{Run, cast_for_assignment};

/// Replaces one element or slice of the array in a variable, where it is, or the part of the element that `steps` lead to. A value
/// that can't be changed there is given back changed, with its type, for the variable to be assigned.
///
/// # Errors
/// 42804 for a variable that is no array, 22004 for a NULL place, 2202E for one out of bounds. The variable is as it was then.
pub fn assign_element(
    target: usize,
    (subscripts, steps): (&[Subscript], &[Step]),
    value: Value,
    sql_type: SqlType,
    frame: &mut Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Option<(Value, SqlType)>> {
    let (current, array_type) = frame.current(target, run)?;
    if !steps.is_empty() {
        let way = Way { name: frame.function.variables[target].name.clone(), value, sql_type };
        let changed = way.with_element(current, array_type, (subscripts, steps), frame, run)?;
        return Ok(Some((changed, types::base_type(&run.catalog, array_type))));
    }
    if types::base_type(&run.catalog, array_type).oid == oids::JSONB {
        let changed = with_json_part(current, subscripts, value, sql_type, frame, run)?;
        return Ok(Some((changed, array_type)));
    }
    // An array that somebody else has, too, is copied when it is changed.
    drop(current);
    let declared_type = array_type;
    let array_type = types::base_type(&run.catalog, declared_type);
    let is_domain = array_type.oid != declared_type.oid;
    let Some(element) = types::element_type(&run.catalog, array_type.oid) else {
        let array_type = declared_type;
        let shown = types::format_type_name(&run.catalog, array_type.oid);
        let message = format!("cannot subscript type {shown} because it does not support subscripting");
        return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
    };
    let places = places(subscripts, frame, run)?;
    if is_slice(subscripts) {
        let value = cast_for_assignment(value, sql_type, array_type, run)?;
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
    let value = cast_for_assignment(value, sql_type, element_type, run)?;
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

fn is_slice(subscripts: &[Subscript]) -> bool {
    subscripts.iter().any(|subscript| !matches!(subscript, Subscript::Index(_)))
}

/// The ends of slices, of which either may be left out; of an index, the place is the second one.
fn places(
    subscripts: &[Subscript],
    frame: &Frame<'_>,
    run: &mut Run<'_, '_>,
) -> Result<Vec<(Option<i64>, Option<i64>)>> {
    let is_slice = is_slice(subscripts);
    let mut places = Vec::with_capacity(subscripts.len());
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
    Ok(places)
}

/// A value of `sql_type` on its way to a part of the variable `name`.
struct Way {
    name: String,
    value: Value,
    sql_type: SqlType,
}

impl Way {
    /// `current`, of `own_type`, with the part replaced that `steps` lead to.
    fn with_part(
        &self,
        current: Value,
        own_type: SqlType,
        steps: &[Step],
        frame: &Frame<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Value> {
        run.check_depth()?;
        let Some((step, rest)) = steps.split_first() else {
            return cast_for_assignment(self.value.clone(), self.sql_type, own_type, run);
        };
        let changed = match step {
            Step::Field(field) => self.with_field(current, own_type, (field, rest), frame, run)?,
            Step::Part(subscripts) => self.with_element(current, own_type, (subscripts, rest), frame, run)?,
        };
        // A domain's checks see the whole value.
        cast_for_assignment(changed, types::base_type(&run.catalog, own_type), own_type, run)
    }

    fn with_field(
        &self,
        current: Value,
        own_type: SqlType,
        (field, rest): (&str, &[Step]),
        frame: &Frame<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Value> {
        let refused = |state, why: &str| {
            let message = format!("cannot assign to field \"{field}\" of column \"{}\" because {why}", self.name);
            Error::new(state, message)
        };
        let shown = types::format_type_name(&run.catalog, own_type.oid);
        let base = types::base_type(&run.catalog, own_type);
        let Some(shape) = types::composite_shape(&run.catalog, base.oid) else {
            let why = format!("its type {shown} is not a composite type");
            return Err(refused(sqlstate::DATATYPE_MISMATCH, &why));
        };
        let Some(place) = shape.fields.iter().position(|(own, _)| own == field) else {
            let why = format!("there is no such column in data type {shown}");
            return Err(refused(sqlstate::UNDEFINED_COLUMN, &why));
        };
        let mut changed = match current {
            Value::Record(record) => (*record).clone(),
            _ => RecordValue { fields: vec![Value::Null; shape.fields.len()], shape: Arc::clone(&shape) },
        };
        let inner = std::mem::take(&mut changed.fields[place]);
        changed.fields[place] = self.with_part(inner, shape.fields[place].1, rest, frame, run)?;
        Ok(Value::Record(Arc::new(changed)))
    }

    fn with_element(
        &self,
        current: Value,
        own_type: SqlType,
        (subscripts, rest): (&[Subscript], &[Step]),
        frame: &Frame<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Value> {
        if subscripts.len() > types::MAX_DIMENSIONS {
            return Err(types::too_many_dimensions(subscripts.len()));
        }
        let array_type = types::base_type(&run.catalog, own_type);
        if array_type.oid == oids::JSONB && rest.is_empty() {
            return with_json_part(current, subscripts, self.value.clone(), self.sql_type, frame, run);
        }
        let Some(element) = types::element_type(&run.catalog, array_type.oid) else {
            let shown = types::format_type_name(&run.catalog, own_type.oid);
            let message = format!("cannot subscript type {shown} because it does not support subscripting");
            return Err(Error::new(sqlstate::DATATYPE_MISMATCH, message));
        };
        let places = places(subscripts, frame, run)?;
        let mut array = match current {
            Value::Array(array) => array.copied()?,
            _ => ArrayValue::empty(element),
        };
        if is_slice(subscripts) {
            if let Value::Array(source) = self.with_part(Value::Null, array_type, rest, frame, run)? {
                array = assign::assign_slice(array, &places, &source.values)?;
            }
            return Ok(Value::Array(Arc::new(array)));
        }
        let places: Vec<i32> = places.into_iter().filter_map(|(_, place)| place).map(|place| place as i32).collect();
        let old = offset_of(&array, &places).map(|at| array.values[at].clone()).unwrap_or_default();
        let element_type = SqlType::with_typmod(element, array_type.typmod);
        let new = self.with_part(old, element_type, rest, frame, run)?;
        store(&mut array, &places, new)?;
        Ok(Value::Array(Arc::new(array)))
    }
}

/// Where the element at `places` is among the values, if the array has it.
fn offset_of(array: &ArrayValue, places: &[i32]) -> Option<usize> {
    if places.len() != array.dimensions.len() || places.is_empty() {
        return None;
    }
    let mut at = 0usize;
    for (place, dimension) in places.iter().zip(&array.dimensions) {
        let offset = i64::from(*place) - i64::from(dimension.lower_bound);
        if offset < 0 || offset >= i64::from(dimension.length) {
            return None;
        }
        at = at * dimension.length as usize + offset as usize;
    }
    Some(at)
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
        match cast_for_assignment(step, step_type, SqlType::TEXT, run)? {
            Value::Text(step) => steps.push(step),
            _ => {
                let message = "jsonb subscript in assignment must not be null";
                return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
        }
    }
    let part = cast_for_assignment(value, sql_type, SqlType::new(oids::JSONB), run)?;
    let steps: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
    assign::with_json_part(&document, &steps, starts_with_number, &part)
}

fn place(expression: &Expression, frame: &Frame<'_>, run: &mut Run<'_, '_>) -> Result<i64> {
    let (value, sql_type) = evaluate(expression, frame, run)?;
    match cast_for_assignment(value, sql_type, SqlType::INT4, run)? {
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
        if before + length + behind > ELEMENTS_MAX {
            let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        assign::check_bounds([(i64::from(dimension.lower_bound) - before, before + length + behind)].into_iter())?;
        array.pad(before as usize, behind as usize)?;
        array.values[(offset + before) as usize] = value;
        return Ok(());
    }
    let at = offset_of(array, places).ok_or_else(out_of_range)?;
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
    use types::oids;

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
