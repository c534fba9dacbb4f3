//! Relations that PostgreSQL has and that tell little here: their columns are there for those who ask for them.
//!
//! Generated once from the names and types of a PostgreSQL 15's own catalogs; the queries are ours. The counts of the views are made
//! nowhere yet: it is NULL.

use base::Oid;
use schema::catalog::{INFORMATION_SCHEMA, PG_CATALOG_SCHEMA};

const CATALOG: Oid = PG_CATALOG_SCHEMA;
const INFORMATION: Oid = INFORMATION_SCHEMA;

/// Those that have no rows: schema, number, name and columns.
#[rustfmt::skip]
pub const TABLES: &[(Oid, u32, &str, &str)] = &[
    (INFORMATION, 13200, "_pg_foreign_data_wrappers", "oid oid, fdwowner oid, fdwoptions text[], foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, authorization_identifier name, foreign_data_wrapper_language varchar"),
    (INFORMATION, 13201, "_pg_foreign_servers", "oid oid, srvoptions text[], foreign_server_catalog name, foreign_server_name name, foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, foreign_server_type varchar, foreign_server_version varchar, authorization_identifier name"),
    (INFORMATION, 13202, "_pg_foreign_table_columns", "nspname name, relname name, attname name, attfdwoptions text[]"),
    (INFORMATION, 13203, "_pg_foreign_tables", "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, ftoptions text[], foreign_server_catalog name, foreign_server_name name, authorization_identifier name"),
    (INFORMATION, 13204, "_pg_user_mappings", "oid oid, umoptions text[], umuser oid, authorization_identifier name, foreign_server_catalog name, foreign_server_name name, srvowner name"),
    (INFORMATION, 13208, "check_constraint_routine_usage", "constraint_catalog name, constraint_schema name, constraint_name name, specific_catalog name, specific_schema name, specific_name name"),
    (INFORMATION, 13211, "column_column_usage", "table_catalog name, table_schema name, table_name name, column_name name, dependent_column name"),
    (INFORMATION, 13213, "column_options", "table_catalog name, table_schema name, table_name name, column_name name, option_name name, option_value varchar"),
    (INFORMATION, 13216, "data_type_privileges", "object_catalog name, object_schema name, object_name name, object_type varchar, dtd_identifier name"),
    (INFORMATION, 13219, "foreign_data_wrapper_options", "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, option_name name, option_value varchar"),
    (INFORMATION, 13220, "foreign_data_wrappers", "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, authorization_identifier name, library_name varchar, foreign_data_wrapper_language varchar"),
    (INFORMATION, 13221, "foreign_server_options", "foreign_server_catalog name, foreign_server_name name, option_name name, option_value varchar"),
    (INFORMATION, 13222, "foreign_servers", "foreign_server_catalog name, foreign_server_name name, foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, foreign_server_type varchar, foreign_server_version varchar, authorization_identifier name"),
    (INFORMATION, 13223, "foreign_table_options", "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, option_name name, option_value varchar"),
    (INFORMATION, 13224, "foreign_tables", "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, foreign_server_catalog name, foreign_server_name name"),
    (INFORMATION, 13229, "routine_column_usage", "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name, column_name name"),
    (INFORMATION, 13230, "routine_routine_usage", "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name"),
    (INFORMATION, 13231, "routine_sequence_usage", "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, sequence_catalog name, sequence_schema name, sequence_name name"),
    (INFORMATION, 13232, "routine_table_usage", "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name"),
    (INFORMATION, 13233, "sql_features", "feature_id varchar, feature_name varchar, sub_feature_id varchar, sub_feature_name varchar, is_supported yes_or_no, is_verified_by varchar, comments varchar"),
    (INFORMATION, 13234, "sql_implementation_info", "implementation_info_id varchar, implementation_info_name varchar, integer_value int4, character_value varchar, comments varchar"),
    (INFORMATION, 13235, "sql_parts", "feature_id varchar, feature_name varchar, is_supported yes_or_no, is_verified_by varchar, comments varchar"),
    (INFORMATION, 13236, "sql_sizing", "sizing_id int4, sizing_name varchar, supported_value int4, comments varchar"),
    (INFORMATION, 13237, "transforms", "udt_catalog name, udt_schema name, udt_name name, specific_catalog name, specific_schema name, specific_name name, group_name name, transform_type varchar"),
    (INFORMATION, 13239, "udt_privileges", "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, privilege_type varchar, is_grantable yes_or_no"),
    (INFORMATION, 13240, "user_mapping_options", "authorization_identifier name, foreign_server_catalog name, foreign_server_name name, option_name name, option_value varchar"),
    (INFORMATION, 13241, "user_mappings", "authorization_identifier name, foreign_server_catalog name, foreign_server_name name"),
    (INFORMATION, 13242, "view_routine_usage", "table_catalog name, table_schema name, table_name name, specific_catalog name, specific_schema name, specific_name name"),
    (CATALOG, 3700, "pg_backend_memory_contexts", "name text, ident text, parent text, level int4, total_bytes int8, total_nblocks int8, free_bytes int8, free_chunks int8, used_bytes int8"),
    (CATALOG, 3701, "pg_config", "name text, setting text"),
    (CATALOG, 3702, "pg_file_settings", "sourcefile text, sourceline int4, seqno int4, name text, setting text, applied bool, error text"),
    (CATALOG, 3703, "pg_ident_file_mappings", "line_number int4, map_name text, sys_name text, pg_username text, error text"),
    (CATALOG, 2613, "pg_largeobject", "loid oid, pageno int4, data bytea"),
    (CATALOG, 6000, "pg_replication_origin", "roident oid, roname text"),
    (CATALOG, 3704, "pg_replication_origin_status", "local_id oid, external_id text, remote_lsn pg_lsn, local_lsn pg_lsn"),
    (CATALOG, 3705, "pg_shmem_allocations", "name text, off int8, size int8, allocated_size int8"),
    (CATALOG, 3707, "pg_stat_gssapi", "pid int4, gss_authenticated bool, principal text, encrypted bool"),
    (CATALOG, 3708, "pg_stat_progress_basebackup", "pid int4, phase text, backup_total int8, backup_streamed int8, tablespaces_total int8, tablespaces_streamed int8"),
    (CATALOG, 3709, "pg_stat_progress_cluster", "pid int4, datid oid, datname name, relid oid, command text, phase text, cluster_index_relid oid, heap_tuples_scanned int8, heap_tuples_written int8, heap_blks_total int8, heap_blks_scanned int8, index_rebuild_count int8"),
    (CATALOG, 3710, "pg_stat_recovery_prefetch", "stats_reset timestamptz, prefetch int8, hit int8, skip_init int8, skip_new int8, skip_fpw int8, skip_rep int8, wal_distance int4, block_distance int4, io_depth int4"),
    (CATALOG, 3711, "pg_stat_replication_slots", "slot_name text, spill_txns int8, spill_count int8, spill_bytes int8, stream_txns int8, stream_count int8, stream_bytes int8, total_txns int8, total_bytes int8, stats_reset timestamptz"),
    (CATALOG, 3712, "pg_stat_subscription_stats", "subid oid, subname name, apply_error_count int8, sync_error_count int8, stats_reset timestamptz"),
    (CATALOG, 3717, "pg_stat_xact_user_functions", "funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8"),
    (CATALOG, 2619, "pg_statistic", "starelid oid, staattnum int2, stainherit bool, stanullfrac float4, stawidth int4, stadistinct float4, stakind1 int2, stakind2 int2, stakind3 int2, stakind4 int2, stakind5 int2, staop1 oid, staop2 oid, staop3 oid, staop4 oid, staop5 oid, stacoll1 oid, stacoll2 oid, stacoll3 oid, stacoll4 oid, stacoll5 oid, stanumbers1 float4[], stanumbers2 float4[], stanumbers3 float4[], stanumbers4 float4[], stanumbers5 float4[], stavalues1 anyarray, stavalues2 anyarray, stavalues3 anyarray, stavalues4 anyarray, stavalues5 anyarray"),
    (CATALOG, 3429, "pg_statistic_ext_data", "stxoid oid, stxdinherit bool, stxdndistinct bytea, stxddependencies bytea, stxdmcv bytea, stxdexpr text[]"),
    (CATALOG, 3728, "pg_stats_ext", "schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner name, attnames name[], exprs text[], kinds char[], inherited bool, n_distinct bytea, dependencies bytea, most_common_vals text[], most_common_val_nulls bool[], most_common_freqs float8[], most_common_base_freqs float8[]"),
    (CATALOG, 3729, "pg_stats_ext_exprs", "schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner name, expr text, inherited bool, null_frac float4, avg_width int4, n_distinct float4, most_common_vals anyarray, most_common_freqs float4[], histogram_bounds anyarray, correlation float4, most_common_elems anyarray, most_common_elem_freqs float4[], elem_count_histogram float4[]"),
    (CATALOG, 3603, "pg_ts_config_map", "mapcfg oid, maptokentype int4, mapseqno int4, mapdict oid"),
    (CATALOG, 1418, "pg_user_mapping", "oid oid, umuser oid, umserver oid, umoptions text[]"),
    (CATALOG, 3730, "pg_user_mappings", "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions text[]"),
];

/// Those that are queries: schema, number, name, columns and query.
#[rustfmt::skip]
pub const VIEWS: &[(Oid, u32, &str, &str, &str)] = &[
    (INFORMATION, 13205, "administrable_role_authorizations",
     "grantee name, role_name name, is_grantable yes_or_no",
     "SELECT q.grantee::name, q.role_name::name, q.is_grantable::varchar(3)
     FROM (SELECT * FROM information_schema.applicable_roles WHERE is_grantable = 'YES') q (grantee, role_name, is_grantable)"),
    (INFORMATION, 13206, "applicable_roles",
     "grantee name, role_name name, is_grantable yes_or_no",
     "SELECT q.grantee::name, q.role_name::name, q.is_grantable::varchar(3)
     FROM (SELECT grantee.rolname, granted.rolname, CASE WHEN m.admin_option THEN 'YES' ELSE 'NO' END
         FROM pg_catalog.pg_auth_members m
         JOIN pg_catalog.pg_roles grantee ON grantee.oid = m.member
         JOIN pg_catalog.pg_roles granted ON granted.oid = m.roleid
         WHERE pg_has_role(grantee.oid, 'USAGE')) q (grantee, role_name, is_grantable)"),
    (INFORMATION, 13207, "character_sets",
     "character_set_catalog name, character_set_schema name, character_set_name name, character_repertoire name, form_of_use name, default_collate_catalog name, default_collate_schema name, default_collate_name name",
     "SELECT q.character_set_catalog::name, q.character_set_schema::name, q.character_set_name::name, q.character_repertoire::name, q.form_of_use::name, q.default_collate_catalog::name, q.default_collate_schema::name, q.default_collate_name::name
     FROM (SELECT NULL, NULL, 'UTF8', 'UCS', 'UTF8', current_database(), 'pg_catalog', 'default') q (character_set_catalog, character_set_schema, character_set_name, character_repertoire, form_of_use, default_collate_catalog, default_collate_schema, default_collate_name)"),
    (INFORMATION, 13209, "collation_character_set_applicability",
     "collation_catalog name, collation_schema name, collation_name name, character_set_catalog name, character_set_schema name, character_set_name name",
     "SELECT q.collation_catalog::name, q.collation_schema::name, q.collation_name::name, q.character_set_catalog::name, q.character_set_schema::name, q.character_set_name::name
     FROM (SELECT current_database(), n.nspname, c.collname, NULL, NULL, 'UTF8'
         FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace) q (collation_catalog, collation_schema, collation_name, character_set_catalog, character_set_schema, character_set_name)"),
    (INFORMATION, 13210, "collations",
     "collation_catalog name, collation_schema name, collation_name name, pad_attribute varchar",
     "SELECT q.collation_catalog::name, q.collation_schema::name, q.collation_name::name, q.pad_attribute::varchar
     FROM (SELECT current_database(), n.nspname, c.collname, 'NO PAD'
         FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace) q (collation_catalog, collation_schema, collation_name, pad_attribute)"),
    (INFORMATION, 13212, "column_domain_usage",
     "domain_catalog name, domain_schema name, domain_name name, table_catalog name, table_schema name, table_name name, column_name name",
     "SELECT q.domain_catalog::name, q.domain_schema::name, q.domain_name::name, q.table_catalog::name, q.table_schema::name, q.table_name::name, q.column_name::name
     FROM (SELECT current_database(), dn.nspname, d.typname, current_database(), n.nspname, c.relname, a.attname
         FROM pg_catalog.pg_type d
         JOIN pg_catalog.pg_namespace dn ON dn.oid = d.typnamespace
         JOIN pg_catalog.pg_attribute a ON a.atttypid = d.oid AND a.attnum > 0 AND NOT a.attisdropped
         JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v')
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE d.typtype = 'd' AND pg_has_role(d.typowner, 'USAGE')) q (domain_catalog, domain_schema, domain_name, table_catalog, table_schema, table_name, column_name)"),
    (INFORMATION, 13214, "column_udt_usage",
     "udt_catalog name, udt_schema name, udt_name name, table_catalog name, table_schema name, table_name name, column_name name",
     "SELECT q.udt_catalog::name, q.udt_schema::name, q.udt_name::name, q.table_catalog::name, q.table_schema::name, q.table_name::name, q.column_name::name
     FROM (SELECT current_database(), tn.nspname, t.typname, current_database(), n.nspname, c.relname, a.attname
         FROM pg_catalog.pg_attribute a
         JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v')
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_type own ON own.oid = a.atttypid
         JOIN pg_catalog.pg_type t ON t.oid = CASE own.typtype WHEN 'd' THEN own.typbasetype ELSE own.oid END
         JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
         WHERE a.attnum > 0 AND NOT a.attisdropped AND pg_has_role(t.typowner, 'USAGE')) q (udt_catalog, udt_schema, udt_name, table_catalog, table_schema, table_name, column_name)"),
    (INFORMATION, 13215, "constraint_table_usage",
     "table_catalog name, table_schema name, table_name name, constraint_catalog name, constraint_schema name, constraint_name name",
     "SELECT q.table_catalog::name, q.table_schema::name, q.table_name::name, q.constraint_catalog::name, q.constraint_schema::name, q.constraint_name::name
     FROM (SELECT current_database(), n.nspname, c.relname, current_database(), kn.nspname, k.conname
         FROM pg_catalog.pg_constraint k
         JOIN pg_catalog.pg_namespace kn ON kn.oid = k.connamespace
         JOIN pg_catalog.pg_class c
           ON c.oid = CASE k.contype WHEN 'f' THEN k.confrelid ELSE k.conrelid END AND c.relkind = 'r'
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE k.contype IN ('p', 'u', 'f') AND pg_has_role(c.relowner, 'USAGE')) q (table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name)"),
    (INFORMATION, 13217, "domain_udt_usage",
     "udt_catalog name, udt_schema name, udt_name name, domain_catalog name, domain_schema name, domain_name name",
     "SELECT q.udt_catalog::name, q.udt_schema::name, q.udt_name::name, q.domain_catalog::name, q.domain_schema::name, q.domain_name::name
     FROM (SELECT current_database(), bn.nspname, b.typname, current_database(), dn.nspname, d.typname
         FROM pg_catalog.pg_type d
         JOIN pg_catalog.pg_namespace dn ON dn.oid = d.typnamespace
         JOIN pg_catalog.pg_type b ON b.oid = d.typbasetype
         JOIN pg_catalog.pg_namespace bn ON bn.oid = b.typnamespace
         WHERE d.typtype = 'd' AND pg_has_role(b.typowner, 'USAGE')) q (udt_catalog, udt_schema, udt_name, domain_catalog, domain_schema, domain_name)"),
    (INFORMATION, 13218, "enabled_roles",
     "role_name name",
     "SELECT q.role_name::name
     FROM (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_has_role(r.oid, 'USAGE')) q (role_name)"),
    (INFORMATION, 13225, "information_schema_catalog_name",
     "catalog_name name",
     "SELECT q.catalog_name::name
     FROM (SELECT current_database()::name) q (catalog_name)"),
    (INFORMATION, 13226, "role_routine_grants",
     "grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, privilege_type varchar, is_grantable yes_or_no",
     "SELECT q.grantor::name, q.grantee::name, q.specific_catalog::name, q.specific_schema::name, q.specific_name::name, q.routine_catalog::name, q.routine_schema::name, q.routine_name::name, q.privilege_type::varchar, q.is_grantable::varchar(3)
     FROM (SELECT * FROM information_schema.routine_privileges p
         WHERE p.grantor IN (SELECT role_name FROM information_schema.enabled_roles)
            OR p.grantee IN (SELECT role_name FROM information_schema.enabled_roles)) q (grantor, grantee, specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema, routine_name, privilege_type, is_grantable)"),
    (INFORMATION, 13227, "role_udt_grants",
     "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, privilege_type varchar, is_grantable yes_or_no",
     "SELECT q.grantor::name, q.grantee::name, q.udt_catalog::name, q.udt_schema::name, q.udt_name::name, q.privilege_type::varchar, q.is_grantable::varchar(3)
     FROM (SELECT * FROM information_schema.udt_privileges p
         WHERE p.grantor IN (SELECT role_name FROM information_schema.enabled_roles)
            OR p.grantee IN (SELECT role_name FROM information_schema.enabled_roles)) q (grantor, grantee, udt_catalog, udt_schema, udt_name, privilege_type, is_grantable)"),
    (INFORMATION, 13228, "role_usage_grants",
     "grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type varchar, privilege_type varchar, is_grantable yes_or_no",
     "SELECT q.grantor::name, q.grantee::name, q.object_catalog::name, q.object_schema::name, q.object_name::name, q.object_type::varchar, q.privilege_type::varchar, q.is_grantable::varchar(3)
     FROM (SELECT * FROM information_schema.usage_privileges p
         WHERE p.grantor IN (SELECT role_name FROM information_schema.enabled_roles)
            OR p.grantee IN (SELECT role_name FROM information_schema.enabled_roles)) q (grantor, grantee, object_catalog, object_schema, object_name, object_type, privilege_type, is_grantable)"),
    (INFORMATION, 13238, "triggered_update_columns",
     "trigger_catalog name, trigger_schema name, trigger_name name, event_object_catalog name, event_object_schema name, event_object_table name, event_object_column name",
     "SELECT q.trigger_catalog::name, q.trigger_schema::name, q.trigger_name::name, q.event_object_catalog::name, q.event_object_schema::name, q.event_object_table::name, q.event_object_column::name
     FROM (SELECT current_database(), n.nspname, t.tgname, current_database(), n.nspname, c.relname, a.attname
         FROM pg_catalog.pg_trigger t
         JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (t.tgattr::int2[])
         WHERE NOT t.tgisinternal
           AND (pg_has_role(c.relowner, 'USAGE') OR has_column_privilege(c.oid, a.attnum, 'INSERT, UPDATE, REFERENCES'))) q (trigger_catalog, trigger_schema, trigger_name, event_object_catalog, event_object_schema, event_object_table, event_object_column)"),
    (CATALOG, 3706, "pg_stat_database_conflicts",
     "datid oid, datname name, confl_tablespace int8, confl_lock int8, confl_snapshot int8, confl_bufferpin int8, confl_deadlock int8",
     "SELECT q.datid::oid, q.datname::name, q.confl_tablespace::int8, q.confl_lock::int8, q.confl_snapshot::int8, q.confl_bufferpin::int8, q.confl_deadlock::int8
     FROM (SELECT d.oid, d.datname, 0::int8, 0::int8, 0::int8, 0::int8, 0::int8 FROM pg_catalog.pg_database d) q (datid, datname, confl_tablespace, confl_lock, confl_snapshot, confl_bufferpin, confl_deadlock)"),
    (CATALOG, 3713, "pg_stat_sys_indexes",
     "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
     "SELECT q.relid::oid, q.indexrelid::oid, q.schemaname::name, q.relname::name, q.indexrelname::name, q.idx_scan::int8, q.idx_tup_read::int8, q.idx_tup_fetch::int8
     FROM (SELECT * FROM pg_catalog.pg_stat_all_indexes s WHERE s.schemaname IN ('pg_catalog', 'information_schema')) q (relid, indexrelid, schemaname, relname, indexrelname, idx_scan, idx_tup_read, idx_tup_fetch)"),
    (CATALOG, 3714, "pg_stat_sys_tables",
     "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.seq_scan::int8, q.seq_tup_read::int8, q.idx_scan::int8, q.idx_tup_fetch::int8, q.n_tup_ins::int8, q.n_tup_upd::int8, q.n_tup_del::int8, q.n_tup_hot_upd::int8, q.n_live_tup::int8, q.n_dead_tup::int8, q.n_mod_since_analyze::int8, q.n_ins_since_vacuum::int8, q.last_vacuum::timestamptz, q.last_autovacuum::timestamptz, q.last_analyze::timestamptz, q.last_autoanalyze::timestamptz, q.vacuum_count::int8, q.autovacuum_count::int8, q.analyze_count::int8, q.autoanalyze_count::int8
     FROM (SELECT * FROM pg_catalog.pg_stat_all_tables s WHERE s.schemaname IN ('pg_catalog', 'information_schema')) q (relid, schemaname, relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, n_live_tup, n_dead_tup, n_mod_since_analyze, n_ins_since_vacuum, last_vacuum, last_autovacuum, last_analyze, last_autoanalyze, vacuum_count, autovacuum_count, analyze_count, autoanalyze_count)"),
    (CATALOG, 3715, "pg_stat_xact_all_tables",
     "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.seq_scan::int8, q.seq_tup_read::int8, q.idx_scan::int8, q.idx_tup_fetch::int8, q.n_tup_ins::int8, q.n_tup_upd::int8, q.n_tup_del::int8, q.n_tup_hot_upd::int8
     FROM (SELECT s.relid, s.schemaname, s.relname, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_all_tables s) q (relid, schemaname, relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd)"),
    (CATALOG, 3716, "pg_stat_xact_sys_tables",
     "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.seq_scan::int8, q.seq_tup_read::int8, q.idx_scan::int8, q.idx_tup_fetch::int8, q.n_tup_ins::int8, q.n_tup_upd::int8, q.n_tup_del::int8, q.n_tup_hot_upd::int8
     FROM (SELECT s.relid, s.schemaname, s.relname, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_sys_tables s) q (relid, schemaname, relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd)"),
    (CATALOG, 3718, "pg_stat_xact_user_tables",
     "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.seq_scan::int8, q.seq_tup_read::int8, q.idx_scan::int8, q.idx_tup_fetch::int8, q.n_tup_ins::int8, q.n_tup_upd::int8, q.n_tup_del::int8, q.n_tup_hot_upd::int8
     FROM (SELECT s.relid, s.schemaname, s.relname, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_user_tables s) q (relid, schemaname, relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd)"),
    (CATALOG, 3719, "pg_statio_all_indexes",
     "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8",
     "SELECT q.relid::oid, q.indexrelid::oid, q.schemaname::name, q.relname::name, q.indexrelname::name, q.idx_blks_read::int8, q.idx_blks_hit::int8
     FROM (SELECT s.relid, s.indexrelid, s.schemaname, s.relname, s.indexrelname, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_all_indexes s) q (relid, indexrelid, schemaname, relname, indexrelname, idx_blks_read, idx_blks_hit)"),
    (CATALOG, 3720, "pg_statio_all_sequences",
     "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.blks_read::int8, q.blks_hit::int8
     FROM (SELECT c.oid, n.nspname, c.relname, NULL::int8, NULL::int8 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S') q (relid, schemaname, relname, blks_read, blks_hit)"),
    (CATALOG, 3721, "pg_statio_all_tables",
     "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.heap_blks_read::int8, q.heap_blks_hit::int8, q.idx_blks_read::int8, q.idx_blks_hit::int8, q.toast_blks_read::int8, q.toast_blks_hit::int8, q.tidx_blks_read::int8, q.tidx_blks_hit::int8
     FROM (SELECT s.relid, s.schemaname, s.relname, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_all_tables s) q (relid, schemaname, relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit, toast_blks_read, toast_blks_hit, tidx_blks_read, tidx_blks_hit)"),
    (CATALOG, 3722, "pg_statio_sys_indexes",
     "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8",
     "SELECT q.relid::oid, q.indexrelid::oid, q.schemaname::name, q.relname::name, q.indexrelname::name, q.idx_blks_read::int8, q.idx_blks_hit::int8
     FROM (SELECT s.relid, s.indexrelid, s.schemaname, s.relname, s.indexrelname, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_sys_indexes s) q (relid, indexrelid, schemaname, relname, indexrelname, idx_blks_read, idx_blks_hit)"),
    (CATALOG, 3723, "pg_statio_sys_sequences",
     "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.blks_read::int8, q.blks_hit::int8
     FROM (SELECT * FROM pg_catalog.pg_statio_all_sequences s WHERE s.schemaname IN ('pg_catalog', 'information_schema')) q (relid, schemaname, relname, blks_read, blks_hit)"),
    (CATALOG, 3724, "pg_statio_sys_tables",
     "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.heap_blks_read::int8, q.heap_blks_hit::int8, q.idx_blks_read::int8, q.idx_blks_hit::int8, q.toast_blks_read::int8, q.toast_blks_hit::int8, q.tidx_blks_read::int8, q.tidx_blks_hit::int8
     FROM (SELECT s.relid, s.schemaname, s.relname, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_sys_tables s) q (relid, schemaname, relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit, toast_blks_read, toast_blks_hit, tidx_blks_read, tidx_blks_hit)"),
    (CATALOG, 3725, "pg_statio_user_indexes",
     "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8",
     "SELECT q.relid::oid, q.indexrelid::oid, q.schemaname::name, q.relname::name, q.indexrelname::name, q.idx_blks_read::int8, q.idx_blks_hit::int8
     FROM (SELECT s.relid, s.indexrelid, s.schemaname, s.relname, s.indexrelname, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_user_indexes s) q (relid, indexrelid, schemaname, relname, indexrelname, idx_blks_read, idx_blks_hit)"),
    (CATALOG, 3726, "pg_statio_user_sequences",
     "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.blks_read::int8, q.blks_hit::int8
     FROM (SELECT * FROM pg_catalog.pg_statio_all_sequences s WHERE s.schemaname NOT IN ('pg_catalog', 'information_schema')) q (relid, schemaname, relname, blks_read, blks_hit)"),
    (CATALOG, 3727, "pg_statio_user_tables",
     "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
     "SELECT q.relid::oid, q.schemaname::name, q.relname::name, q.heap_blks_read::int8, q.heap_blks_hit::int8, q.idx_blks_read::int8, q.idx_blks_hit::int8, q.toast_blks_read::int8, q.toast_blks_hit::int8, q.tidx_blks_read::int8, q.tidx_blks_hit::int8
     FROM (SELECT s.relid, s.schemaname, s.relname, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM pg_catalog.pg_stat_user_tables s) q (relid, schemaname, relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit, toast_blks_read, toast_blks_hit, tidx_blks_read, tidx_blks_hit)"),
];
