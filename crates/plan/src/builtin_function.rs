//! Built-in functions in the form of those that users make.

use std::sync::Arc;

use base::Oid;
use schema::catalog::{ArgumentDef, ArgumentMode, BOOTSTRAP_ROLE, FunctionDef, PG_CATALOG_SCHEMA, Parallel};

/// A built-in function in the form of those that users make, without a name.
pub fn function_as_stored(oid: Oid, inputs: &[Oid], result: Oid, returns_set: bool) -> FunctionDef {
    let argument =
        |type_oid: &Oid| ArgumentDef { name: None, type_oid: *type_oid, mode: ArgumentMode::In, default: None };
    FunctionDef {
        arguments: inputs.iter().map(argument).collect(),
        returns: result,
        returns_set,
        language: "internal".to_owned(),
        ..FunctionDef::new(oid, PG_CATALOG_SCHEMA, "", BOOTSTRAP_ROLE)
    }
}

/// The only trigger function that is built in.
pub const SUPPRESS_REDUNDANT_UPDATES: Oid = Oid(1291);

/// A built-in trigger function in the form of those that users make.
pub fn builtin_trigger_function(oid: Oid) -> Option<Arc<FunctionDef>> {
    let function = types::function(oid).filter(|function| function.oid == SUPPRESS_REDUNDANT_UPDATES)?;
    let plain = function_as_stored(oid, function.arguments, function.result, false);
    let name = function.name.to_owned();
    Some(Arc::new(FunctionDef { name, strict: function.strict, parallel: Parallel::Safe, ..plain }))
}
