//! Functions that SQL has no name for: values of two types, of which an operator says whether they are equal, as keys of one type.

use base::{Oid, Result};

use super::comparisons::place_in_time;
use crate::context::EvalContext;
use crate::function_def::FunctionDef;
use crate::oids::{ANY, DATE, FLOAT4, FLOAT8, INT8, NAME, TEXT, TIMESTAMP, TIMESTAMPTZ};
use crate::{SqlType, Value};

/// A date or timestamp without a zone.
static MOMENT_KEY: FunctionDef =
    FunctionDef::plain(9304, "moment", &[ANY], INT8, |context, a| moment(context, a, false));
/// A date or timestamp, taken in the session's zone if it has none.
static ZONED_MOMENT_KEY: FunctionDef =
    FunctionDef::plain(9305, "moment_in_zone", &[ANY], INT8, |context, a| moment(context, a, true)).stable();
static FLOAT8_KEY: FunctionDef = FunctionDef::plain(9306, "float8", &[ANY], FLOAT8, |_, a| {
    Ok(match &a[0] {
        Value::Float4(value) => Value::Float8(f64::from(*value)),
        other => other.clone(),
    })
});
static TEXT_KEY: FunctionDef = FunctionDef::plain(9307, "text", &[ANY], TEXT, |_, a| Ok(a[0].clone()));

fn moment(context: &mut dyn EvalContext, a: &[Value], with_zone: bool) -> Result<Value> {
    Ok(Value::Int8(place_in_time(context, &a[0], with_zone)))
}

/// The function that makes a key of a value of either type, such that keys are equal where the operator says that the values are. `None`
/// if there is none, or if the types are the same.
pub fn join_key(left: Oid, right: Oid) -> Option<(&'static FunctionDef, SqlType)> {
    let are = |one: Oid, other: Oid| [(one, other), (other, one)].contains(&(left, right));
    let found = if are(DATE, TIMESTAMP) {
        &MOMENT_KEY
    } else if are(DATE, TIMESTAMPTZ) || are(TIMESTAMP, TIMESTAMPTZ) {
        &ZONED_MOMENT_KEY
    } else if are(FLOAT4, FLOAT8) {
        &FLOAT8_KEY
    } else if are(NAME, TEXT) {
        &TEXT_KEY
    } else {
        return None;
    };
    Some((found, SqlType::new(found.result)))
}
