//! The server's own functions, tables and views that are not for everybody.
//!
//! The list of a function stands where its body does; what has no body there computes from its arguments. Tables and views are for
//! everybody to read, but those named here.

use base::Oid;
use engine::catalog::READ_ALL_STATS_ROLE;

use super::{Kind, Privileges};
use crate::catalogs;
use crate::types;

/// The roles that may use something of the server's own, as long as nobody granted anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Everybody.
    Anybody,
    /// Superusers and these roles.
    Roles(&'static [Oid]),
}

/// Tables and views that are not for everybody to read, and who may besides superusers. As in PostgreSQL 15.
const CLOSED: [(&str, &[Oid]); 20] = [
    ("pg_authid", &[]),
    ("pg_user_mapping", &[]),
    ("pg_largeobject", &[]),
    ("pg_statistic", &[]),
    ("pg_statistic_ext_data", &[]),
    ("pg_shadow", &[]),
    ("pg_file_settings", &[]),
    ("pg_hba_file_rules", &[]),
    ("pg_ident_file_mappings", &[]),
    ("pg_config", &[]),
    ("pg_shmem_allocations", &[READ_ALL_STATS_ROLE]),
    ("pg_backend_memory_contexts", &[READ_ALL_STATS_ROLE]),
    ("pg_replication_origin_status", &[]),
    ("_pg_foreign_data_wrappers", &[]),
    ("_pg_foreign_servers", &[]),
    ("_pg_foreign_table_columns", &[]),
    ("_pg_foreign_tables", &[]),
    ("_pg_user_mappings", &[]),
    ("sql_parts", &[]),
    ("transforms", &[]),
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
    if let Some(Authority::Roles(roles)) = crate::session::functions::authority(oid) {
        let name = types::function(oid).map_or("", |def| def.name);
        return Some(Closed { kind: Kind::Function, described: format!("function {name}"), roles });
    }
    let table = catalogs::system_table(oid)?;
    let (name, roles) = CLOSED.into_iter().find(|(name, _)| *name == table.name.as_str())?;
    let word = if catalogs::is_view(&table) { "view" } else { "table" };
    Some(Closed { kind: Kind::Relation, described: format!("{word} {name}"), roles })
}

/// Whether something of the server's own is not for everybody.
pub fn is_closed(oid: Oid) -> bool {
    closed(oid).is_some()
}
