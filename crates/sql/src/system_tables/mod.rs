//! Facts of system tables that do not depend on their rows.

mod not_null;

use base::Oid;
use plan::VirtualTable;
use schema::catalog::INFORMATION_SCHEMA;
use types::oids;

pub use not_null::is_not_null;

/// The tables of `information_schema` that are no views.
const INFORMATION_TABLES: [&str; 4] = ["sql_features", "sql_implementation_info", "sql_parts", "sql_sizing"];

/// Whether PostgreSQL has the computed table as a view.
pub fn is_view(table: &VirtualTable) -> bool {
    // Views have no fixed numbers there; here they have those from 3001 on, and catalogs of that range are listed.
    let is_late_catalog = matches!(
        table.oid.0,
        3079 | 3118 | 3256 | 3350 | 3381 | 3394 | 3429 | 3456 | 3466 | 3501 | 3541 | 3576 | 3592 | 3596 | 3600
            ..=3603 | 3764
    );
    table.view_query.is_some()
        || table.schema == INFORMATION_SCHEMA && !INFORMATION_TABLES.contains(&table.name.as_str())
        || (table.oid.0 >= 3001 && table.oid.0 < 4000 && !is_late_catalog)
}

/// Whether PostgreSQL has the catalog once for all databases.
pub fn is_shared(table: &VirtualTable) -> bool {
    matches!(table.oid.0, 1213 | 1214 | 1260 | 1261 | 1262 | 2396 | 2964 | 3592 | 6000 | 6100 | 6243)
}

/// The columns that every table has without being told.
pub const SYSTEM_COLUMNS: &[(&str, Oid, i16)] = &[
    ("tableoid", oids::OID, -6),
    ("cmax", oids::CID, -5),
    ("xmax", oids::XID, -4),
    ("cmin", oids::CID, -3),
    ("xmin", oids::XID, -2),
    ("ctid", oids::TID, -1),
];

/// The columns of a sequence seen as a table.
pub const SEQUENCE_COLUMNS: &[(&str, Oid)] =
    &[("last_value", oids::INT8), ("log_cnt", oids::INT8), ("is_called", oids::BOOL)];

/// A number for a column's default (or a view's rule, with place 0), which has none of its own.
pub fn default_oid(table: Oid, place: usize) -> Oid {
    Oid(table.0.wrapping_mul(2048).wrapping_add(place as u32))
}

/// The number of the rule behind a view.
pub fn rule_oid(view: Oid) -> Oid {
    default_oid(view, 0)
}
