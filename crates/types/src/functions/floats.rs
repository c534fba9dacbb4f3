//! Floating-point arithmetic and mathematical functions.

use base::{Error, Result, sqlstate};

use super::integers::{Integer, division_by_zero, out_of_range};
use super::{FunctionDef, degrees, mismatch};
use crate::context::EvalContext;
use crate::oids::*;
use crate::random::RandomState;
use crate::value::Value;

/// A floating-point type of SQL.
pub(super) trait Float: Copy + PartialEq {
    fn take(value: &Value) -> Result<Self>;
    fn wrap(self) -> Value;
    fn double(self) -> f64;
    fn narrow(value: f64) -> Self;
}

impl Float for f32 {
    fn take(value: &Value) -> Result<f32> {
        match value {
            Value::Float4(value) => Ok(*value),
            other => Err(mismatch(other)),
        }
    }
    fn wrap(self) -> Value {
        Value::Float4(self)
    }
    fn double(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> f32 {
        value as f32
    }
}

impl Float for f64 {
    #[inline]
    fn take(value: &Value) -> Result<f64> {
        match value {
            Value::Float8(value) => Ok(*value),
            other => Err(mismatch(other)),
        }
    }
    #[inline]
    fn wrap(self) -> Value {
        Value::Float8(self)
    }
    fn double(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> f64 {
        value
    }
}

#[cold]
fn overflow() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

#[cold]
fn underflow() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

#[cold]
fn input_out_of_range() -> Error {
    Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// Whether the sum of two operands became infinite.
fn check_overflow(result: f64, left: f64, right: f64) -> Result<()> {
    if result.is_infinite() && !left.is_infinite() && !right.is_infinite() { Err(overflow()) } else { Ok(()) }
}

// Both operand types are computed in double precision and rounded once more for `real`: products, quotients and sums of
// 24-bit numbers are exact enough in 53 bits for that to be the correctly rounded result.

fn add<F: Float>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = (F::take(&a[0])?, F::take(&a[1])?);
    let result = F::narrow(left.double() + right.double());
    check_overflow(result.double(), left.double(), right.double())?;
    Ok(result.wrap())
}

fn subtract<F: Float>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = (F::take(&a[0])?, F::take(&a[1])?);
    let result = F::narrow(left.double() - right.double());
    check_overflow(result.double(), left.double(), right.double())?;
    Ok(result.wrap())
}

fn multiply<F: Float>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = (F::take(&a[0])?.double(), F::take(&a[1])?.double());
    let result = F::narrow(left * right);
    check_overflow(result.double(), left, right)?;
    if result.double() == 0.0 && left != 0.0 && right != 0.0 {
        return Err(underflow());
    }
    Ok(result.wrap())
}

fn divide<F: Float>(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (left, right) = (F::take(&a[0])?.double(), F::take(&a[1])?.double());
    if right == 0.0 && !left.is_nan() {
        return Err(division_by_zero());
    }
    let result = F::narrow(left / right);
    if result.double().is_infinite() && !left.is_infinite() {
        return Err(overflow());
    }
    if result.double() == 0.0 && left != 0.0 && !right.is_infinite() {
        return Err(underflow());
    }
    Ok(result.wrap())
}

/// Both operands as doubles.
fn widened(a: &[Value]) -> Result<[Value; 2]> {
    let widen = |value: &Value| match value {
        Value::Float4(value) => Ok(Value::Float8(f64::from(*value))),
        Value::Float8(value) => Ok(Value::Float8(*value)),
        other => Err(mismatch(other)),
    };
    Ok([widen(&a[0])?, widen(&a[1])?])
}

fn add_mixed(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    add::<f64>(context, &widened(a)?)
}

fn subtract_mixed(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    subtract::<f64>(context, &widened(a)?)
}

fn multiply_mixed(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    multiply::<f64>(context, &widened(a)?)
}

fn divide_mixed(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    divide::<f64>(context, &widened(a)?)
}

fn unary(a: &[Value], function: fn(f64) -> f64) -> Result<Value> {
    Ok(Value::Float8(function(f64::take(&a[0])?)))
}

fn binary(a: &[Value], function: fn(f64, f64) -> f64) -> Result<Value> {
    Ok(Value::Float8(function(f64::take(&a[0])?, f64::take(&a[1])?)))
}

/// With overflow and underflow found.
fn checked(argument: f64, function: fn(f64) -> f64) -> Result<Value> {
    let result = function(argument);
    check_overflow(result, argument, argument)?;
    if result == 0.0 && argument != 0.0 {
        return Err(underflow());
    }
    Ok(Value::Float8(result))
}

fn square_root(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let argument = f64::take(&a[0])?;
    if argument < 0.0 {
        return Err(Error::new(
            sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            "cannot take square root of a negative number",
        ));
    }
    Ok(Value::Float8(argument.sqrt()))
}

fn power(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let (base, exponent) = (f64::take(&a[0])?, f64::take(&a[1])?);
    let invalid = |message: &str| Error::new(sqlstate::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message);
    if base.is_nan() || exponent.is_nan() {
        let one = exponent == 0.0 || base == 1.0;
        return Ok(Value::Float8(if one { 1.0 } else { f64::NAN }));
    }
    if base == 0.0 && exponent < 0.0 {
        return Err(invalid("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.floor() != exponent {
        return Err(invalid("a negative number raised to a non-integer power yields a complex result"));
    }
    let result = base.powf(exponent);
    if base.is_finite() && exponent.is_finite() {
        if result.is_infinite() {
            return Err(overflow());
        }
        if result == 0.0 && base != 0.0 {
            return Err(underflow());
        }
    }
    Ok(Value::Float8(result))
}

fn exponential(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let argument = f64::take(&a[0])?;
    let result = argument.exp();
    if argument.is_finite() {
        if result.is_infinite() {
            return Err(overflow());
        }
        if result == 0.0 {
            return Err(underflow());
        }
    }
    Ok(Value::Float8(result))
}

fn logarithm(a: &[Value], function: fn(f64) -> f64) -> Result<Value> {
    let argument = f64::take(&a[0])?;
    let invalid = |message: &str| Error::new(sqlstate::INVALID_ARGUMENT_FOR_LOGARITHM, message);
    if argument == 0.0 {
        return Err(invalid("cannot take logarithm of zero"));
    }
    if argument < 0.0 {
        return Err(invalid("cannot take logarithm of a negative number"));
    }
    Ok(Value::Float8(function(argument)))
}

/// Functions of an angle: infinity has none.
fn trigonometric(a: &[Value], function: fn(f64) -> f64) -> Result<Value> {
    let argument = f64::take(&a[0])?;
    if argument.is_infinite() {
        return Err(input_out_of_range());
    }
    Ok(Value::Float8(function(argument)))
}

/// Functions of a sine or cosine.
fn inverse(a: &[Value], function: fn(f64) -> f64) -> Result<Value> {
    checked_domain(a, |argument| (-1.0..=1.0).contains(&argument), function)
}

/// From here on, the square root in their definition is the number itself.
const HYPERBOLIC_LARGE: f64 = 1e100;

fn asinh(x: f64) -> f64 {
    if x.abs() < HYPERBOLIC_LARGE { x.asinh() } else { (x.abs().ln() + std::f64::consts::LN_2).copysign(x) }
}

fn acosh(x: f64) -> f64 {
    if x < HYPERBOLIC_LARGE { x.acosh() } else { x.ln() + std::f64::consts::LN_2 }
}

fn checked_domain(a: &[Value], domain: fn(f64) -> bool, function: fn(f64) -> f64) -> Result<Value> {
    let argument = f64::take(&a[0])?;
    if !argument.is_nan() && !domain(argument) {
        return Err(input_out_of_range());
    }
    Ok(Value::Float8(function(argument)))
}

fn set_seed(context: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let seed = f64::take(&a[0])?;
    if !(-1.0..=1.0).contains(&seed) {
        let shown = crate::number_text::float8_text(seed);
        return Err(Error::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("setseed parameter {shown} is out of allowed range [-1,1]"),
        ));
    }
    *context.random() = RandomState::from_float(seed);
    Ok(Value::Void)
}

/// The nearest integer, half to even.
fn to_integer<T: Integer>(value: f64) -> Result<Value> {
    let rounded = value.round_ties_even();
    // the bounds themselves: 2^63 is a double, 2^63 - 1 is not
    if !(rounded >= i64::MIN as f64 && rounded < -(i64::MIN as f64)) {
        return Err(out_of_range::<T>());
    }
    T::try_from(rounded as i64).map(T::wrap).map_err(|_| out_of_range::<T>())
}

fn to_float4(_: &mut dyn EvalContext, a: &[Value]) -> Result<Value> {
    let value = f64::take(&a[0])?;
    let narrow = value as f32;
    if narrow.is_infinite() && !value.is_infinite() {
        return Err(overflow());
    }
    if narrow == 0.0 && value != 0.0 {
        return Err(underflow());
    }
    Ok(Value::Float4(narrow))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(204, "float4pl", &[FLOAT4, FLOAT4], FLOAT4, add::<f32>),
    FunctionDef::plain(205, "float4mi", &[FLOAT4, FLOAT4], FLOAT4, subtract::<f32>),
    FunctionDef::plain(202, "float4mul", &[FLOAT4, FLOAT4], FLOAT4, multiply::<f32>),
    FunctionDef::plain(203, "float4div", &[FLOAT4, FLOAT4], FLOAT4, divide::<f32>),
    FunctionDef::plain(206, "float4um", &[FLOAT4], FLOAT4, |_, a| Ok(f32::wrap(-f32::take(&a[0])?))),
    FunctionDef::plain(1913, "float4up", &[FLOAT4], FLOAT4, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(207, "float4abs", &[FLOAT4], FLOAT4, |_, a| Ok(f32::wrap(f32::take(&a[0])?.abs()))),
    FunctionDef::plain(1394, "abs", &[FLOAT4], FLOAT4, |_, a| Ok(f32::wrap(f32::take(&a[0])?.abs()))),
    FunctionDef::plain(209, "float4larger", &[FLOAT4, FLOAT4], FLOAT4, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(211, "float4smaller", &[FLOAT4, FLOAT4], FLOAT4, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(218, "float8pl", &[FLOAT8, FLOAT8], FLOAT8, add::<f64>),
    FunctionDef::plain(219, "float8mi", &[FLOAT8, FLOAT8], FLOAT8, subtract::<f64>),
    FunctionDef::plain(216, "float8mul", &[FLOAT8, FLOAT8], FLOAT8, multiply::<f64>),
    FunctionDef::plain(217, "float8div", &[FLOAT8, FLOAT8], FLOAT8, divide::<f64>),
    FunctionDef::plain(220, "float8um", &[FLOAT8], FLOAT8, |_, a| Ok(f64::wrap(-f64::take(&a[0])?))),
    FunctionDef::plain(1914, "float8up", &[FLOAT8], FLOAT8, |_, a| Ok(a[0].clone())),
    FunctionDef::plain(221, "float8abs", &[FLOAT8], FLOAT8, |_, a| Ok(f64::wrap(f64::take(&a[0])?.abs()))),
    FunctionDef::plain(1395, "abs", &[FLOAT8], FLOAT8, |_, a| Ok(f64::wrap(f64::take(&a[0])?.abs()))),
    FunctionDef::plain(223, "float8larger", &[FLOAT8, FLOAT8], FLOAT8, |_, a| Ok(super::larger(a))),
    FunctionDef::plain(224, "float8smaller", &[FLOAT8, FLOAT8], FLOAT8, |_, a| Ok(super::smaller(a))),
    FunctionDef::plain(281, "float48pl", &[FLOAT4, FLOAT8], FLOAT8, add_mixed),
    FunctionDef::plain(282, "float48mi", &[FLOAT4, FLOAT8], FLOAT8, subtract_mixed),
    FunctionDef::plain(279, "float48mul", &[FLOAT4, FLOAT8], FLOAT8, multiply_mixed),
    FunctionDef::plain(280, "float48div", &[FLOAT4, FLOAT8], FLOAT8, divide_mixed),
    FunctionDef::plain(285, "float84pl", &[FLOAT8, FLOAT4], FLOAT8, add_mixed),
    FunctionDef::plain(286, "float84mi", &[FLOAT8, FLOAT4], FLOAT8, subtract_mixed),
    FunctionDef::plain(283, "float84mul", &[FLOAT8, FLOAT4], FLOAT8, multiply_mixed),
    FunctionDef::plain(284, "float84div", &[FLOAT8, FLOAT4], FLOAT8, divide_mixed),
    FunctionDef::plain(2308, "ceil", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::ceil)),
    FunctionDef::plain(2320, "ceiling", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::ceil)),
    FunctionDef::plain(2309, "floor", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::floor)),
    FunctionDef::plain(1342, "round", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::round_ties_even)),
    FunctionDef::plain(228, "dround", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::round_ties_even)),
    FunctionDef::plain(1343, "trunc", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::trunc)),
    FunctionDef::plain(229, "dtrunc", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::trunc)),
    FunctionDef::plain(2310, "sign", &[FLOAT8], FLOAT8, |_, a| unary(a, |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 })),
    FunctionDef::plain(1344, "sqrt", &[FLOAT8], FLOAT8, square_root),
    FunctionDef::plain(230, "dsqrt", &[FLOAT8], FLOAT8, square_root),
    FunctionDef::plain(1345, "cbrt", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::cbrt)),
    FunctionDef::plain(231, "dcbrt", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::cbrt)),
    FunctionDef::plain(1368, "power", &[FLOAT8, FLOAT8], FLOAT8, power),
    FunctionDef::plain(1346, "pow", &[FLOAT8, FLOAT8], FLOAT8, power),
    FunctionDef::plain(232, "dpow", &[FLOAT8, FLOAT8], FLOAT8, power),
    FunctionDef::plain(1347, "exp", &[FLOAT8], FLOAT8, exponential),
    FunctionDef::plain(233, "dexp", &[FLOAT8], FLOAT8, exponential),
    FunctionDef::plain(1341, "ln", &[FLOAT8], FLOAT8, |_, a| logarithm(a, f64::ln)),
    FunctionDef::plain(234, "dlog1", &[FLOAT8], FLOAT8, |_, a| logarithm(a, f64::ln)),
    FunctionDef::plain(1340, "log", &[FLOAT8], FLOAT8, |_, a| logarithm(a, f64::log10)),
    FunctionDef::plain(1194, "log10", &[FLOAT8], FLOAT8, |_, a| logarithm(a, f64::log10)),
    FunctionDef::plain(1339, "dlog10", &[FLOAT8], FLOAT8, |_, a| logarithm(a, f64::log10)),
    FunctionDef::plain(1604, "sin", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, f64::sin)),
    FunctionDef::plain(1605, "cos", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, f64::cos)),
    FunctionDef::plain(1606, "tan", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, f64::tan)),
    FunctionDef::plain(1607, "cot", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, |x| 1.0 / x.tan())),
    FunctionDef::plain(1600, "asin", &[FLOAT8], FLOAT8, |_, a| inverse(a, f64::asin)),
    FunctionDef::plain(1601, "acos", &[FLOAT8], FLOAT8, |_, a| inverse(a, f64::acos)),
    FunctionDef::plain(1602, "atan", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::atan)),
    FunctionDef::plain(1603, "atan2", &[FLOAT8, FLOAT8], FLOAT8, |_, a| binary(a, f64::atan2)),
    FunctionDef::plain(2462, "sinh", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::sinh)),
    FunctionDef::plain(2463, "cosh", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::cosh)),
    FunctionDef::plain(2464, "tanh", &[FLOAT8], FLOAT8, |_, a| unary(a, f64::tanh)),
    FunctionDef::plain(2465, "asinh", &[FLOAT8], FLOAT8, |_, a| unary(a, asinh)),
    FunctionDef::plain(2466, "acosh", &[FLOAT8], FLOAT8, |_, a| checked_domain(a, |x| x >= 1.0, acosh)),
    FunctionDef::plain(2467, "atanh", &[FLOAT8], FLOAT8, |_, a| checked_domain(a, |x| (-1.0..=1.0).contains(&x), f64::atanh)),
    FunctionDef::plain(2735, "sind", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, degrees::sind)),
    FunctionDef::plain(2736, "cosd", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, degrees::cosd)),
    FunctionDef::plain(2737, "tand", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, degrees::tand)),
    FunctionDef::plain(2738, "cotd", &[FLOAT8], FLOAT8, |_, a| trigonometric(a, degrees::cotd)),
    FunctionDef::plain(2731, "asind", &[FLOAT8], FLOAT8, |_, a| inverse(a, degrees::asind)),
    FunctionDef::plain(2732, "acosd", &[FLOAT8], FLOAT8, |_, a| inverse(a, degrees::acosd)),
    FunctionDef::plain(2733, "atand", &[FLOAT8], FLOAT8, |_, a| unary(a, degrees::atand)),
    FunctionDef::plain(2734, "atan2d", &[FLOAT8, FLOAT8], FLOAT8, |_, a| binary(a, degrees::atan2d)),
    FunctionDef::plain(1608, "degrees", &[FLOAT8], FLOAT8, |_, a| checked(f64::take(&a[0])?, |x| x / (std::f64::consts::PI / 180.0))),
    FunctionDef::plain(1609, "radians", &[FLOAT8], FLOAT8, |_, a| checked(f64::take(&a[0])?, |x| x * (std::f64::consts::PI / 180.0))),
    FunctionDef::plain(1610, "pi", &[], FLOAT8, |_, _| Ok(Value::Float8(std::f64::consts::PI))),
    FunctionDef::plain(1598, "random", &[], FLOAT8, |context, _| Ok(Value::Float8(context.random().next_f64()))).volatile(),
    FunctionDef::plain(1599, "setseed", &[FLOAT8], VOID, set_seed).volatile(),
    FunctionDef::plain(238, "int2", &[FLOAT4], INT2, |_, a| to_integer::<i16>(f64::from(f32::take(&a[0])?))),
    FunctionDef::plain(237, "int2", &[FLOAT8], INT2, |_, a| to_integer::<i16>(f64::take(&a[0])?)),
    FunctionDef::plain(319, "int4", &[FLOAT4], INT4, |_, a| to_integer::<i32>(f64::from(f32::take(&a[0])?))),
    FunctionDef::plain(317, "int4", &[FLOAT8], INT4, |_, a| to_integer::<i32>(f64::take(&a[0])?)),
    FunctionDef::plain(653, "int8", &[FLOAT4], INT8, |_, a| to_integer::<i64>(f64::from(f32::take(&a[0])?))),
    FunctionDef::plain(483, "int8", &[FLOAT8], INT8, |_, a| to_integer::<i64>(f64::take(&a[0])?)),
    FunctionDef::plain(236, "float4", &[INT2], FLOAT4, |_, a| Ok(Value::Float4(a[0].as_i64().unwrap_or(0) as f32))),
    FunctionDef::plain(318, "float4", &[INT4], FLOAT4, |_, a| Ok(Value::Float4(a[0].as_i64().unwrap_or(0) as f32))),
    FunctionDef::plain(652, "float4", &[INT8], FLOAT4, |_, a| Ok(Value::Float4(a[0].as_i64().unwrap_or(0) as f32))),
    FunctionDef::plain(235, "float8", &[INT2], FLOAT8, |_, a| Ok(Value::Float8(a[0].as_i64().unwrap_or(0) as f64))),
    FunctionDef::plain(316, "float8", &[INT4], FLOAT8, |_, a| Ok(Value::Float8(a[0].as_i64().unwrap_or(0) as f64))),
    FunctionDef::plain(482, "float8", &[INT8], FLOAT8, |_, a| Ok(Value::Float8(a[0].as_i64().unwrap_or(0) as f64))),
    FunctionDef::plain(311, "float8", &[FLOAT4], FLOAT8, |_, a| Ok(Value::Float8(f64::from(f32::take(&a[0])?)))),
    FunctionDef::plain(312, "float4", &[FLOAT8], FLOAT4, to_float4),
];
