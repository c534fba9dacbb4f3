//! Tables that the server computes: the catalogs and the information schema, as the binder knows them.

use std::sync::Arc;

use base::Oid;
use schema::catalog::SequenceDef;
use syntax::tree::Name;
use types::SqlType;

/// A table that the server computes, as the binder knows it.
#[derive(Debug, Clone)]
pub struct VirtualTable {
    /// Its oid, PostgreSQL's where PostgreSQL has the table.
    pub oid: Oid,
    /// `pg_catalog` or `information_schema`.
    pub schema: Oid,
    /// Its name.
    pub name: Name,
    /// Its columns.
    pub columns: Vec<VirtualColumn>,
    /// The number of rows to expect.
    pub estimated_rows: f64,
    /// It is a view over others: its query, whose columns are as many and in this order.
    pub view_query: Option<&'static str>,
}

/// A column of a [`VirtualTable`].
#[derive(Debug, Clone)]
pub struct VirtualColumn {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub sql_type: SqlType,
}

/// The tables that the server computes.
pub trait SystemCatalog: Send + Sync {
    /// The table called `name` in `pg_catalog` or `information_schema`.
    fn table_named(&self, schema: Oid, name: &str) -> Option<Arc<VirtualTable>>;

    /// The table with this oid.
    fn table(&self, oid: Oid) -> Option<Arc<VirtualTable>>;

    /// All of them.
    fn tables(&self) -> Vec<Arc<VirtualTable>>;

    /// The one-row table that a sequence reads as: `last_value`, `log_cnt`, `is_called`.
    fn sequence_table(&self, _sequence: &SequenceDef) -> Option<Arc<VirtualTable>> {
        None
    }
}

/// No computed tables.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoSystemCatalog;

impl SystemCatalog for NoSystemCatalog {
    fn table_named(&self, _schema: Oid, _name: &str) -> Option<Arc<VirtualTable>> {
        None
    }

    fn table(&self, _oid: Oid) -> Option<Arc<VirtualTable>> {
        None
    }

    fn tables(&self) -> Vec<Arc<VirtualTable>> {
        Vec::new()
    }
}
