//! Names of types as SQL writes them, and their modifiers.

use base::{Oid, Result};

use super::context::CatalogLookup;
use super::type_table::SqlType;

/// The type's name as `format_type` prints it: `character varying(3)`, `integer[]`.
pub fn format_type(_catalog: &dyn CatalogLookup, _ty: SqlType) -> String {
    todo!()
}

/// The type's name without its modifier, as error messages print it.
pub fn format_type_name(catalog: &dyn CatalogLookup, oid: Oid) -> String {
    format_type(catalog, SqlType::new(oid))
}

/// The type called `name` (as the parser gives it: `int4`, `bpchar`, `varchar`, ...), in `schema` if written.
/// 42704 `type "x" does not exist`.
pub fn resolve_type_name(_catalog: &dyn CatalogLookup, _schema: Option<&str>, _name: &str) -> Result<Oid> {
    todo!()
}

/// Encodes the modifiers written after a type's name: `varchar(3)` is `[3]`, `numeric(5,2)` is `[5, 2]`;
/// for `interval` the parser's range mask comes first. 42601 or 22023 with PostgreSQL's texts.
pub fn encode_typmod(_oid: Oid, _modifiers: &[i32]) -> Result<i32> {
    todo!()
}

/// Parses a whole type name, as `regtype` input and `to_regtype` do: `character varying(3)[]`.
pub fn parse_type_name(_catalog: &dyn CatalogLookup, _text: &str) -> Result<SqlType> {
    todo!()
}
