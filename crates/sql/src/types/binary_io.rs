//! Binary input and output of every type, for the protocol and COPY.

use base::{Oid, Result};

use super::context::{CatalogLookup, EvalContext};
use super::type_table::SqlType;
use super::value::Value;

/// Reads the binary form of a value of type `ty`.
pub fn binary_input(_context: &mut dyn EvalContext, _bytes: &[u8], _ty: SqlType) -> Result<Value> {
    todo!()
}

/// Appends the binary form of `value`, which has type `oid` and is not NULL, without its length.
pub fn binary_output(_value: &Value, _oid: Oid, _catalog: &dyn CatalogLookup, _out: &mut Vec<u8>) -> Result<()> {
    todo!()
}
