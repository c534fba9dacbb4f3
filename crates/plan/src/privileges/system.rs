//! The server's own functions, tables and views that are not for everybody.
//!
//! The declaration of a function tells the roles that may call it (`Implementation::Session`). Other functions compute from their arguments.
//! All roles may read the tables and views but for those listed here.

use base::Oid;
use schema::catalog::READ_ALL_STATS_ROLE;
use types::{Authority, Implementation};

use super::{Kind, Privileges};

/// Tables and views that not all roles may read: number, description, and the roles that may read it besides superusers. As in
/// PostgreSQL 15.
pub const CLOSED_TABLES: [(u32, &str, &[Oid]); 20] = [
    (1260, "table pg_authid", &[]),
    (1418, "table pg_user_mapping", &[]),
    (2613, "table pg_largeobject", &[]),
    (2619, "table pg_statistic", &[]),
    (3429, "table pg_statistic_ext_data", &[]),
    (3070, "view pg_shadow", &[]),
    (3702, "view pg_file_settings", &[]),
    (3072, "view pg_hba_file_rules", &[]),
    (3703, "view pg_ident_file_mappings", &[]),
    (3701, "view pg_config", &[]),
    (3705, "view pg_shmem_allocations", &[READ_ALL_STATS_ROLE]),
    (3700, "view pg_backend_memory_contexts", &[READ_ALL_STATS_ROLE]),
    (3704, "view pg_replication_origin_status", &[]),
    (13200, "view _pg_foreign_data_wrappers", &[]),
    (13201, "view _pg_foreign_servers", &[]),
    (13202, "view _pg_foreign_table_columns", &[]),
    (13203, "view _pg_foreign_tables", &[]),
    (13204, "view _pg_user_mappings", &[]),
    (13235, "table sql_parts", &[]),
    (13237, "view transforms", &[]),
];

/// Something of the server's own that is not for everybody.
pub(super) struct Closed {
    /// Its kind.
    pub kind: Kind,
    /// `function pg_reload_conf`
    pub described: String,
    /// The roles that may use it besides superusers.
    pub roles: &'static [Oid],
}

impl Closed {
    /// The privileges of its roles.
    pub fn privileges(&self) -> Privileges {
        if self.kind == Kind::Function { Privileges::EXECUTE } else { Privileges::SELECT }
    }
}

/// A closed object of the server's own, by its number.
pub(super) fn closed(oid: Oid) -> Option<Closed> {
    if oid >= Oid::FIRST_NORMAL {
        return None;
    }
    if let Some(function) = types::function(oid)
        && let Implementation::Session(Authority::Roles(roles)) = function.implementation
    {
        return Some(Closed { kind: Kind::Function, described: format!("function {}", function.name), roles });
    }
    let (_, described, roles) = CLOSED_TABLES.into_iter().find(|(number, ..)| *number == oid.0)?;
    Some(Closed { kind: Kind::Relation, described: described.to_owned(), roles })
}

/// Whether something of the server's own is not for everybody.
pub fn is_closed(oid: Oid) -> bool {
    closed(oid).is_some()
}
