//! Expressions: what they are worth for a row.

use std::cmp::Ordering;
use std::sync::Arc;

use base::{Error, Result, sqlstate};
use plan::{Call, CaseWhen, Expr, ExprKind, FieldAccess, FunctionTarget, Quantified, Quantifier, SessionValue};
use smallvec::SmallVec;
use types::{
    self, ArrayValue, CallTypes, Comparator, Dimension, EvalContext, Implementation, RecordValue, SqlType, Value,
};

use crate::operand::{binary, operand, truth};
use crate::{Run, check_depth, subquery};

/// Values of a call's arguments; most calls have one or two.
pub(super) type Arguments = SmallVec<[Value; 4]>;

/// An evaluator of expressions: an execution, or a thread that helps one.
pub trait Evaluator<'a, 'p: 'a>: EvalContext + Sized {
    /// `$1`, `$2`, ...
    fn parameters(&self) -> &'a [Value];
    /// Operands of the simple CASEs being evaluated, innermost last.
    fn case_operands(&mut self) -> &mut Vec<Value>;
    /// The execution.
    ///
    /// # Errors
    /// XX000 on a thread that helps: it is given no expression that needs more than itself.
    fn run(&mut self) -> Result<&mut Run<'a, 'p>>;
}

impl<'a, 'p> Evaluator<'a, 'p> for Run<'a, 'p> {
    #[inline]
    fn parameters(&self) -> &'a [Value] {
        self.parameters
    }

    #[inline]
    fn case_operands(&mut self) -> &mut Vec<Value> {
        &mut self.locals.case_operands
    }

    #[inline]
    fn run(&mut self) -> Result<&mut Run<'a, 'p>> {
        Ok(self)
    }
}

/// The value of `expr` for `row`.
///
/// # Errors
/// Errors of the functions called, with the position in the statement where it is known.
pub fn evaluate<'a, 'p: 'a, E: Evaluator<'a, 'p>>(expr: &'p Expr, row: &[Value], run: &mut E) -> Result<Value> {
    match &expr.kind {
        ExprKind::Constant(value) => Ok(value.clone()),
        ExprKind::Column(slot) => Ok(row[*slot as usize].clone()),
        ExprKind::Parameter(index) => match run.parameters().get(*index as usize) {
            Some(value) => Ok(value.clone()),
            None => {
                Err(Error::new(sqlstate::UNDEFINED_PARAMETER, format!("no value found for parameter {}", index + 1)))
            }
        },
        ExprKind::Outer(index) => Ok(run.run()?.locals.outer[*index as usize].clone()),
        ExprKind::Call(call) => evaluate_call(call, row, run),
        ExprKind::And(operands) => evaluate_junction(operands, false, row, run),
        ExprKind::Or(operands) => evaluate_junction(operands, true, row, run),
        ExprKind::Not(input) => Ok(match evaluate(input, row, run)? {
            Value::Bool(value) => Value::Bool(!value),
            other => other,
        }),
        ExprKind::IsNull(input) => Ok(Value::Bool(match evaluate(input, row, run)? {
            Value::Record(record) => record.fields.iter().all(Value::is_null),
            value => value.is_null(),
        })),
        ExprKind::IsNotNull(input) => Ok(Value::Bool(match evaluate(input, row, run)? {
            Value::Record(record) => !record.fields.iter().any(Value::is_null),
            value => !value.is_null(),
        })),
        ExprKind::IsTruth { input, value, negated } => {
            let truth = match evaluate(input, row, run)? {
                Value::Bool(truth) => Some(truth),
                _ => None,
            };
            Ok(Value::Bool((truth == *value) != *negated))
        }
        ExprKind::IsDistinct { equal, negated } => Ok(Value::Bool(is_distinct(equal, row, run)? != *negated)),
        ExprKind::Case { operand, whens, otherwise } => {
            evaluate_case(operand.as_deref(), whens, otherwise.as_deref(), row, run)
        }
        ExprKind::CaseOperand => {
            run.case_operands().last().cloned().ok_or_else(|| Error::internal("a CASE operand outside of a CASE"))
        }
        ExprKind::Coalesce(operands) => evaluate_coalesce(operands, row, run),
        ExprKind::NullIf(equal) => evaluate_null_if(equal, row, run),
        ExprKind::Greatest(operands) => evaluate_extreme(operands, Ordering::Greater, expr.sql_type, row, run),
        ExprKind::Least(operands) => evaluate_extreme(operands, Ordering::Less, expr.sql_type, row, run),
        ExprKind::Array { elements, nested } => {
            evaluate_array(elements, *nested, expr.sql_type, row, run)?.within_limits()
        }
        ExprKind::Subscript { input, subscripts, slice } => {
            let array = evaluate(input, row, run)?;
            match (array, evaluate_bounds(subscripts, row, run)?) {
                (Value::Array(array), Some(bounds)) => subscript(&array, &bounds, *slice),
                _ => Ok(Value::Null),
            }
        }
        ExprKind::Quantified(quantified) => evaluate_quantified(quantified, row, run),
        ExprKind::Subquery(query) => subquery::evaluate(query, expr.sql_type, row, run.run()?),
        ExprKind::Row { fields, shape, .. } => {
            let fields = fields.iter().map(|field| evaluate(field, row, run)).collect::<Result<_>>()?;
            Value::Record(Arc::new(RecordValue { shape: Arc::clone(shape), fields })).within_limits()
        }
        ExprKind::Field(access) => evaluate_field(access, expr.sql_type, row, run),
        ExprKind::Cast(cast) => {
            let value = evaluate(&cast.input, row, run)?;
            cast.cast.apply(run, value)
        }
        ExprKind::Session(value) => session_value(*value, expr.sql_type, run.run()?),
        ExprKind::Variable(_) | ExprKind::Aggregate(_) | ExprKind::Window(_) | ExprKind::Set(_) => {
            Err(Error::internal(format!("an expression of kind {:?} reached the executor", expr.kind)))
        }
    }
}

/// Whether `condition` is true for `row`.
///
/// # Errors
/// As [`evaluate`].
#[inline]
pub(super) fn is_true<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    condition: &'p Expr,
    row: &[Value],
    run: &mut E,
) -> Result<bool> {
    Ok(truth(condition, row, run)? == Some(true))
}

pub(super) fn evaluate_arguments<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    arguments: &'p [Expr],
    row: &[Value],
    run: &mut E,
) -> Result<Arguments> {
    let mut values = Arguments::new();
    for argument in arguments {
        values.push(evaluate(argument, row, run)?);
    }
    Ok(values)
}

/// The comparison of values of a type; domains compare as their base types.
pub(super) fn comparator_of(sql_type: SqlType, context: &impl EvalContext) -> Result<Comparator> {
    let base = types::base_type(context.catalog(), sql_type);
    types::comparator(base.oid).ok_or_else(|| {
        let name = types::format_type_name(context.catalog(), base.oid);
        Error::new(sqlstate::UNDEFINED_FUNCTION, format!("could not identify an ordering operator for type {name}"))
    })
}

fn evaluate_call<'a, 'p: 'a, E: Evaluator<'a, 'p>>(call: &'p Call, row: &[Value], run: &mut E) -> Result<Value> {
    match call.arguments.as_slice() {
        [argument] => {
            let argument = operand(argument, row, run)?;
            call_function(call, std::slice::from_ref(&*argument), run)
        }
        [left, right] => {
            let (left, right) = (operand(left, row, run)?, operand(right, row, run)?);
            match binary(call, &left, &right) {
                Some(value) => Ok(value),
                None => call_function(call, &[left.into_value(), right.into_value()], run),
            }
        }
        arguments => {
            let arguments = evaluate_arguments(arguments, row, run)?;
            call_function(call, &arguments, run)
        }
    }
}

/// Calls `call`'s function with these arguments.
pub(super) fn call_function<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    call: &Call,
    arguments: &[Value],
    run: &mut E,
) -> Result<Value> {
    sync::yield_point()?;
    match &call.function {
        FunctionTarget::Builtin(function) => {
            if function.strict && arguments.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            match function.implementation {
                Implementation::Plain(function) if !arguments.iter().any(types::is_large) => {
                    function(run, arguments)?.within_limits()
                }
                _ => {
                    check_depth()?;
                    function.call(run, &call.types, arguments)
                }
            }
        }
        FunctionTarget::Stored(function) => {
            check_depth()?;
            let run = run.run()?;
            let host = run.host;
            host.call(run, function, &call.types, arguments)
        }
    }
}

/// AND (`decisive` false) and OR (`decisive` true).
fn evaluate_junction<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    operands: &'p [Expr],
    decisive: bool,
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    let mut is_unknown = false;
    for operand in operands {
        match evaluate(operand, row, run)? {
            Value::Bool(value) if value == decisive => return Ok(Value::Bool(decisive)),
            Value::Bool(_) => {}
            _ => is_unknown = true,
        }
    }
    Ok(if is_unknown { Value::Null } else { Value::Bool(!decisive) })
}

fn evaluate_case<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    operand: Option<&'p Expr>,
    whens: &'p [CaseWhen],
    otherwise: Option<&'p Expr>,
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    let depth = run.case_operands().len();
    if let Some(operand) = operand {
        let value = evaluate(operand, row, run)?;
        run.case_operands().push(value);
    }
    let mut chosen = Ok(otherwise);
    for when in whens {
        match is_true(&when.condition, row, run) {
            Ok(true) => chosen = Ok(Some(&when.result)),
            Ok(false) => continue,
            Err(error) => chosen = Err(error),
        }
        break;
    }
    run.case_operands().truncate(depth);
    match chosen? {
        Some(result) => evaluate(result, row, run),
        None => Ok(Value::Null),
    }
}

fn evaluate_extreme<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    operands: &'p [Expr],
    wanted: Ordering,
    sql_type: SqlType,
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    let compare = comparator_of(sql_type, run)?;
    let mut best = Value::Null;
    for operand in operands {
        let value = evaluate(operand, row, run)?;
        if !value.is_null() && (best.is_null() || compare(&value, &best) == wanted) {
            best = value;
        }
    }
    Ok(best)
}

fn is_distinct<'a, 'p: 'a, E: Evaluator<'a, 'p>>(equal: &'p Call, row: &[Value], run: &mut E) -> Result<bool> {
    let arguments = evaluate_arguments(&equal.arguments, row, run)?;
    Ok(match (arguments[0].is_null(), arguments[1].is_null()) {
        (true, true) => false,
        (false, false) => !call_function(equal, &arguments, run)?.is_true(),
        _ => true,
    })
}

fn evaluate_coalesce<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    operands: &'p [Expr],
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    for operand in operands {
        let value = evaluate(operand, row, run)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

fn evaluate_null_if<'a, 'p: 'a, E: Evaluator<'a, 'p>>(equal: &'p Call, row: &[Value], run: &mut E) -> Result<Value> {
    let mut arguments = evaluate_arguments(&equal.arguments, row, run)?;
    if !arguments[0].is_null() && !arguments[1].is_null() && call_function(equal, &arguments, run)?.is_true() {
        return Ok(Value::Null);
    }
    Ok(arguments.swap_remove(0))
}

/// Lower bounds and upper ones; `None` if one is NULL.
type Bounds = SmallVec<[(Option<i32>, Option<i32>); 2]>;

fn evaluate_bounds<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    subscripts: &'p [(Option<Expr>, Option<Expr>)],
    row: &[Value],
    run: &mut E,
) -> Result<Option<Bounds>> {
    let mut bounds = Bounds::new();
    for (lower, upper) in subscripts {
        let mut bound = |bound: &'p Option<Expr>| -> Result<Option<Option<i32>>> {
            let Some(bound) = bound else { return Ok(Some(None)) };
            Ok(match evaluate(bound, row, run)? {
                Value::Null => None,
                value => Some(value.as_i64().and_then(|value| i32::try_from(value).ok())),
            })
        };
        let (Some(lower), Some(upper)) = (bound(lower)?, bound(upper)?) else { return Ok(None) };
        bounds.push((lower, upper));
    }
    Ok(Some(bounds))
}

fn evaluate_array<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    elements: &'p [Expr],
    nested: bool,
    sql_type: SqlType,
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    let values: Vec<Value> = elements.iter().map(|element| evaluate(element, row, run)).collect::<Result<_>>()?;
    let element = types::element_type(run.catalog(), types::base_type(run.catalog(), sql_type).oid)
        .ok_or_else(|| Error::internal("an array constructor of a type that is no array"))?;
    if !nested {
        return Ok(Value::array(element, values));
    }
    types::nested_array(element, &values)
}

/// An element of `array`, or a slice of it.
fn subscript(array: &ArrayValue, bounds: &[(Option<i32>, Option<i32>)], slice: bool) -> Result<Value> {
    let empty = || if slice { Value::Array(Arc::new(ArrayValue::empty(array.element))) } else { Value::Null };
    if bounds.len() != array.dimensions.len() && !(slice && bounds.len() < array.dimensions.len()) {
        return Ok(empty());
    }
    let mut ranges: SmallVec<[(i64, i64); 2]> = SmallVec::new();
    for (number, dimension) in array.dimensions.iter().enumerate() {
        let first = i64::from(dimension.lower_bound);
        let last = first + i64::from(dimension.length) - 1;
        let (lower, upper) = bounds.get(number).copied().unwrap_or((None, None));
        let (from, to) = if slice {
            // A plain index among slices means 1 to that index.
            (lower.map_or(first, i64::from).max(first), upper.map_or(last, i64::from).min(last))
        } else {
            let Some(index) = upper.map(i64::from) else { return Ok(Value::Null) };
            if index < first || index > last {
                return Ok(Value::Null);
            }
            (index, index)
        };
        if from > to {
            return Ok(empty());
        }
        ranges.push((from - first, to - first));
    }
    let mut strides: SmallVec<[i64; 2]> = SmallVec::from_elem(1, array.dimensions.len());
    for number in (0..array.dimensions.len().saturating_sub(1)).rev() {
        strides[number] = strides[number + 1] * i64::from(array.dimensions[number + 1].length);
    }
    if !slice {
        let at: i64 = ranges.iter().zip(&strides).map(|((at, _), stride)| at * stride).sum();
        return Ok(array.values[at as usize].clone());
    }
    let mut values = Vec::new();
    let mut at: SmallVec<[i64; 2]> = ranges.iter().map(|(from, _)| *from).collect();
    loop {
        sync::yield_point()?;
        let place: i64 = at.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        values.push(array.values[place as usize].clone());
        let Some(number) = (0..at.len()).rev().find(|number| at[*number] < ranges[*number].1) else { break };
        at[number] += 1;
        for later in number + 1..at.len() {
            at[later] = ranges[later].0;
        }
    }
    let dimensions =
        ranges.iter().map(|(from, to)| Dimension { length: (to - from + 1) as u32, lower_bound: 1 }).collect();
    Ok(Value::Array(Arc::new(ArrayValue { element: array.element, dimensions, values })))
}

fn evaluate_quantified<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    quantified: &'p Quantified,
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    let array = evaluate(&quantified.array, row, run)?;
    let Value::Array(array) = array else { return Ok(Value::Null) };
    let left = evaluate(&quantified.left, row, run)?;
    let decisive = quantified.quantifier == Quantifier::Any;
    let mut is_unknown = false;
    for element in &array.values {
        sync::yield_point()?;
        let arguments = [left.clone(), element.clone()];
        match quantified.function.call(run, &quantified.types, &arguments)? {
            Value::Bool(value) if value == decisive => return Ok(Value::Bool(decisive)),
            Value::Bool(_) => {}
            _ => is_unknown = true,
        }
    }
    Ok(if is_unknown { Value::Null } else { Value::Bool(!decisive) })
}

fn evaluate_field<'a, 'p: 'a, E: Evaluator<'a, 'p>>(
    access: &'p FieldAccess,
    sql_type: SqlType,
    row: &[Value],
    run: &mut E,
) -> Result<Value> {
    match evaluate(&access.input, row, run)? {
        Value::Record(record) => {
            // A row that was made before the column was added does not have it.
            let Some(place) = record.shape.place_of(access.field as usize, access.attribute_number) else {
                return Ok(Value::Null);
            };
            let Some(value) = record.fields.get(place) else { return Ok(Value::Null) };
            if record.shape.fields.get(place).is_none_or(|(_, own)| own.oid != sql_type.oid) {
                check_field(value, sql_type, run)?;
            }
            Ok(value.clone())
        }
        _ => Ok(Value::Null),
    }
}

/// Checks a field whose row says another type of it. The row may be older than the type is, on its way to a function that is called after a
/// change of the type.
///
/// # Errors
/// 55000 for a value of another kind, 22001 for a text that is too long, and those of a domain.
#[cold]
fn check_field(value: &Value, sql_type: SqlType, context: &mut impl EvalContext) -> Result<()> {
    let catalog = context.catalog();
    let is_domain = types::base_type(catalog, sql_type).oid != sql_type.oid;
    if types::builtin_type(sql_type.oid).is_none_or(|ty| !ty.is_pseudo())
        && !types::StorageKind::of(catalog, sql_type.oid).takes(value)
    {
        let message = "cannot use a row because its type was changed after the row was made";
        return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    if sql_type.typmod >= 0 {
        types::coerce_length(value.clone(), sql_type, false)?;
    }
    if is_domain { context.check_domain(sql_type.oid, value) } else { Ok(()) }
}

/// CURRENT_TIMESTAMP and its kin, by the functions that give the same.
fn session_value(value: SessionValue, sql_type: SqlType, run: &mut Run<'_, '_>) -> Result<Value> {
    let now = Value::TimestampTz(run.transaction_timestamp);
    let precise = |precision: Option<u8>| match precision {
        Some(precision) => SqlType::with_typmod(sql_type.oid, i32::from(precision)),
        None => SqlType::new(sql_type.oid),
    };
    let target = match value {
        SessionValue::CurrentDate => SqlType::new(types::oids::DATE),
        SessionValue::CurrentTime(precision)
        | SessionValue::CurrentTimestamp(precision)
        | SessionValue::LocalTime(precision)
        | SessionValue::LocalTimestamp(precision) => precise(precision),
        SessionValue::CurrentUser => return Ok(Value::text(run.state.acting_role().required_name()?)),
        SessionValue::SessionUser => return Ok(Value::text(run.state.session_role().required_name()?)),
        SessionValue::CurrentCatalog => return Ok(Value::text(run.state.database_name())),
        SessionValue::CurrentSchema => return Ok(run.state.current_schema().map_or(Value::Null, Value::text)),
    };
    let cast = types::Cast::explicit(&run.catalog, SqlType::new(types::oids::TIMESTAMPTZ), target)?;
    cast.apply(run, now)
}

/// Calls a function for its one value, outside of an expression.
///
/// # Errors
/// Errors of the function.
pub(super) fn call_for_value(
    function: &FunctionTarget,
    types: &CallTypes,
    arguments: &[Value],
    run: &mut Run<'_, '_>,
) -> Result<Value> {
    match function {
        FunctionTarget::Builtin(function) => function.call(run, types, arguments),
        FunctionTarget::Stored(function) => {
            let host = run.host;
            host.call(run, function, types, arguments)
        }
    }
}
