//! The cast of a value to the type of the variable or column that it is assigned to.

use std::sync::Arc;

use base::Result;
use types::{Cast, CastContext, SqlType, Value, oids};

use crate::Run;

/// Casts as an assignment does; through text where there is no other way, as PL/pgSQL always has.
///
/// # Errors
/// Errors of the cast.
pub fn cast_for_assignment(value: Value, source: SqlType, target: SqlType, run: &mut Run<'_, '_>) -> Result<Value> {
    if source == target {
        return Ok(value);
    }
    if value.is_null() && source.oid != target.oid {
        return types::null_input(run, target);
    }
    if source.oid == oids::RECORD
        && let Value::Record(record) = &value
        && types::composite_shape(&run.catalog, types::base_type(&run.catalog, target).oid).is_some()
    {
        // A row without a name becomes one with a name by its text.
        let text = types::output_string(&Value::Record(Arc::clone(record)), source.oid, &run.format, &run.catalog)?;
        return types::input(run, &text, target);
    }
    if let Some(found) = Cast::find(&run.catalog, source, target, CastContext::Assignment) {
        return if found.is_noop() { Ok(value) } else { found.apply(run, value) };
    }
    let text = Value::text(&types::output_string(&value, source.oid, &run.format, &run.catalog)?);
    // The text is read without the target's modifier, which then fits the value as in an assignment: bits are not padded or cut.
    let base = SqlType::new(types::base_type(&run.catalog, target).oid);
    let read = Cast::explicit(&run.catalog, SqlType::UNKNOWN, base)?.apply(run, text)?;
    let fitted = match Cast::find(&run.catalog, base, target, CastContext::Assignment) {
        Some(cast) => cast,
        None => Cast::explicit(&run.catalog, base, target)?,
    };
    fitted.apply(run, read)
}
