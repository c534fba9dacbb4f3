//! System catalogs and views: tables computed from the engine's descriptors and the server's state.
//!
//! [`registry`] lists each with its columns, as PostgreSQL 15 has them, and the function that makes its rows.

mod absent;
mod access;
pub mod builtin;
mod depend;
mod domains;
mod empty;
mod information;
mod information_privileges;
mod information_types;
mod information_views;
mod monitoring;
mod not_null;
mod objects;
mod registry;
mod relations;
mod rows;
mod sequences;
mod statistics;
mod triggers;
mod views;

use std::sync::Arc;

use base::{Oid, Result};
use plan::{SystemCatalog, VirtualTable};
use registry::{Entry, REGISTRY};
use types::Value;

pub use builtin::{is_shared, is_view};
use executor::Run;
pub use not_null::is_not_null;
pub use objects::comments;
pub use relations::{SYSTEM_COLUMNS, constraints, default_oid, role_name};
pub use rows::BTREE_METHOD;
pub use sequences::SEQUENCE_COLUMNS;

/// Conditions `column = value` that a producer may use to make fewer rows.
pub type Equal<'e> = &'e [(usize, Value)];

/// The computed tables, for the binder.
pub fn system() -> &'static dyn SystemCatalog {
    &*REGISTRY
}

/// Full rows of a computed table.
///
/// # Errors
/// Errors of evaluating stored expressions. Most tables evaluate none and never fail.
pub fn rows(run: &mut Run<'_, '_>, table: &VirtualTable, equal: Equal<'_>) -> Result<Vec<Vec<Value>>> {
    match REGISTRY.entry(table.oid) {
        Some(Entry { rows, .. }) => rows(run, equal),
        None if run.catalog.catalog().sequence(table.oid).is_some() => sequences::sequence_row(run, table.oid),
        None => Err(base::Error::internal(format!("system table {} is not in the registry", table.name))),
    }
}

/// The number of the rule behind a view.
pub fn rule_oid(view: Oid) -> Oid {
    relations::default_oid(view, 0)
}

/// A computed table by its number.
pub fn system_table(oid: Oid) -> Option<Arc<VirtualTable>> {
    REGISTRY.table(oid)
}

/// A computed table by its name.
pub fn system_table_named(schema: Option<&str>, name: &str) -> Option<Arc<VirtualTable>> {
    let schema = match schema {
        None | Some("pg_catalog") => schema::catalog::PG_CATALOG_SCHEMA,
        Some("information_schema") => schema::catalog::INFORMATION_SCHEMA,
        Some(_) => return None,
    };
    REGISTRY.table_named(schema, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::privileges::CLOSED_TABLES;

    #[test]
    fn the_tables_that_are_closed_are_described_as_they_are() {
        for (oid, described, _) in CLOSED_TABLES {
            let table = system_table(Oid(oid)).unwrap_or_else(|| panic!("there is no {described}"));
            let word = if is_view(&table) { "view" } else { "table" };
            assert_eq!(described, format!("{word} {}", table.name));
        }
    }
}
