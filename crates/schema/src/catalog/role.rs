//! Descriptors of roles, and the roles that each database has from the beginning.

use base::Oid;
use serde::{Deserialize, Serialize};

/// The role that owns what a new database holds.
pub const BOOTSTRAP_ROLE: Oid = Oid(10);
/// The role that owns `public`: whoever owns the database counts as a member of it.
pub const DATABASE_OWNER_ROLE: Oid = Oid(6171);
/// May read every table, view and sequence, and look into every schema.
pub const READ_ALL_DATA_ROLE: Oid = Oid(6181);
/// May change the rows of every table, and look into every schema.
pub const WRITE_ALL_DATA_ROLE: Oid = Oid(6182);
/// May read all settings and statistics.
pub const MONITOR_ROLE: Oid = Oid(3373);
/// May read settings that are for superusers.
pub const READ_ALL_SETTINGS_ROLE: Oid = Oid(3374);
/// May see what others' sessions do.
pub const READ_ALL_STATS_ROLE: Oid = Oid(3375);
/// May run functions that look through whole tables for statistics.
pub const STAT_SCAN_TABLES_ROLE: Oid = Oid(3377);
/// May cancel and end others' sessions, except superusers'.
pub const SIGNAL_BACKEND_ROLE: Oid = Oid(4200);
/// May order a checkpoint.
pub const CHECKPOINT_ROLE: Oid = Oid(4544);
/// May read files of the server's machine.
pub const READ_SERVER_FILES_ROLE: Oid = Oid(4569);
/// May write files on the server's machine.
pub const WRITE_SERVER_FILES_ROLE: Oid = Oid(4570);
/// May run programs on the server's machine.
pub const EXECUTE_SERVER_PROGRAM_ROLE: Oid = Oid(4571);
/// The roles that each database has from the beginning, besides its first superuser, and what they are members of.
pub const PREDEFINED_ROLES: [(Oid, &str, &[Oid]); 12] = [
    (DATABASE_OWNER_ROLE, "pg_database_owner", &[]),
    (READ_ALL_DATA_ROLE, "pg_read_all_data", &[]),
    (WRITE_ALL_DATA_ROLE, "pg_write_all_data", &[]),
    (MONITOR_ROLE, "pg_monitor", &[READ_ALL_SETTINGS_ROLE, READ_ALL_STATS_ROLE, STAT_SCAN_TABLES_ROLE]),
    (READ_ALL_SETTINGS_ROLE, "pg_read_all_settings", &[]),
    (READ_ALL_STATS_ROLE, "pg_read_all_stats", &[]),
    (STAT_SCAN_TABLES_ROLE, "pg_stat_scan_tables", &[]),
    (SIGNAL_BACKEND_ROLE, "pg_signal_backend", &[]),
    (CHECKPOINT_ROLE, "pg_checkpoint", &[]),
    (READ_SERVER_FILES_ROLE, "pg_read_server_files", &[]),
    (WRITE_SERVER_FILES_ROLE, "pg_write_server_files", &[]),
    (EXECUTE_SERVER_PROGRAM_ROLE, "pg_execute_server_program", &[]),
];

/// A role.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RoleDef {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether it inherits what it is a member of.
    pub inherit: bool,
    /// Whether it may make roles.
    pub create_role: bool,
    /// Whether it may make databases.
    pub create_database: bool,
    /// Whether it may connect.
    pub login: bool,
    /// Whether it may replicate.
    pub replication: bool,
    /// How many sessions it may have; -1: any number.
    pub connection_limit: i32,
    /// The verifier of its password.
    pub password: Option<String>,
    /// Until when the password is good, in microseconds since 2000-01-01 UTC.
    pub valid_until: Option<i64>,
    /// Roles it is a member of.
    pub member_of: Vec<Oid>,
    /// `ALTER ROLE ... SET`.
    pub settings: Vec<(String, String)>,
    /// `COMMENT ON`.
    pub comment: Option<String>,
    /// `BYPASSRLS`; described only, as there is no row security.
    pub bypass_row_security: bool,
    /// Those of `member_of` that it may grant to others: WITH ADMIN OPTION.
    pub admin_of: Vec<Oid>,
}
