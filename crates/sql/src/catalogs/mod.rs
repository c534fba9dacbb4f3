//! System catalogs and views: tables computed from the engine's descriptors and the server's state.
//!
//! [`registry`] lists each with its columns, as PostgreSQL 15 has them, and the function that makes its rows.

mod absent;
mod access;
mod builtin;
mod depend;
mod domains;
mod empty;
mod information;
mod information_privileges;
mod information_types;
mod information_views;
mod monitoring;
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

use executor::Run;
pub use objects::comments;
pub use relations::role_name;
pub use rows::BTREE_METHOD;

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
    use crate::system_tables::is_view;
    use plan::privileges::CLOSED_TABLES;

    #[test]
    fn no_table_has_the_number_of_a_function() {
        let numbers: Vec<_> = system()
            .tables()
            .iter()
            .filter_map(|table| Some((table.name.clone(), types::function(table.oid)?.name)))
            .collect();
        assert_eq!(numbers, [], "tables with the number of a function");
    }

    #[test]
    fn the_tables_that_are_closed_are_described_as_they_are() {
        for (oid, described, _) in CLOSED_TABLES {
            let table = system_table(Oid(oid)).unwrap_or_else(|| panic!("there is no {described}"));
            let word = if is_view(&table) { "view" } else { "table" };
            assert_eq!(described, format!("{word} {}", table.name));
        }
    }
}
