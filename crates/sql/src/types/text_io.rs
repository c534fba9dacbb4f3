//! Text input and output of every type.

use base::{Oid, Result};

use super::context::{CatalogLookup, EvalContext, FormatSettings};
use super::type_table::SqlType;
use super::value::Value;

/// Reads `text` as a value of type `ty`, its modifier applied as in an assignment
/// (`varchar(3)` raises 22001, `numeric(5,2)` rounds).
pub fn input(_context: &mut dyn EvalContext, _text: &str, _ty: SqlType) -> Result<Value> {
    todo!()
}

/// Appends the text form of `value`, which has type `oid` and is not NULL.
pub fn output(_value: &Value, _oid: Oid, _format: &FormatSettings, _catalog: &dyn CatalogLookup, _out: &mut Vec<u8>) {
    todo!()
}

/// The text form of `value` as a string.
pub fn output_string(value: &Value, oid: Oid, format: &FormatSettings, catalog: &dyn CatalogLookup) -> String {
    let mut out = Vec::new();
    output(value, oid, format, catalog, &mut out);
    String::from_utf8(out).expect("text output is UTF-8")
}
