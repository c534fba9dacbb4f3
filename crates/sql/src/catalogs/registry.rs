//! The list of computed tables.

use std::sync::{Arc, LazyLock};

use base::{Oid, Result};
use plan::{SystemCatalog, VirtualColumn, VirtualTable};
use rustc_hash::FxHashMap;
use schema::catalog::{INFORMATION_SCHEMA, PG_CATALOG_SCHEMA, SequenceDef};
use types::{BuiltinCatalog, SqlType, Value, array_type, builtin_type_named, oids};

use super::{
    Equal, absent, access, builtin, depend, empty, information, information_privileges, information_types,
    information_views, monitoring, objects, relations, sequences, statistics, triggers, views,
};
use executor::Run;

/// A function that makes the rows of a table.
pub type Rows = fn(&mut Run<'_, '_>, Equal<'_>) -> Result<Vec<Vec<Value>>>;

/// A computed table.
pub struct Entry {
    /// The definition that the binder uses: name, schema and columns.
    pub table: Arc<VirtualTable>,
    /// The function that makes its rows.
    pub rows: Rows,
}

/// All of them.
pub struct Registry {
    entries: Vec<Entry>,
    by_oid: FxHashMap<Oid, usize>,
    by_name: FxHashMap<(Oid, String), usize>,
}

impl Registry {
    /// A table with its producer.
    pub fn entry(&self, oid: Oid) -> Option<&Entry> {
        self.by_oid.get(&oid).map(|place| &self.entries[*place])
    }
}

impl SystemCatalog for Registry {
    fn table_named(&self, schema: Oid, name: &str) -> Option<Arc<VirtualTable>> {
        let place = self.by_name.get(&(schema, name.to_owned()))?;
        Some(Arc::clone(&self.entries[*place].table))
    }

    fn table(&self, oid: Oid) -> Option<Arc<VirtualTable>> {
        self.entry(oid).map(|entry| Arc::clone(&entry.table))
    }

    fn tables(&self) -> Vec<Arc<VirtualTable>> {
        self.entries.iter().map(|entry| Arc::clone(&entry.table)).collect()
    }

    fn sequence_table(&self, sequence: &SequenceDef) -> Option<Arc<VirtualTable>> {
        Some(sequences::sequence_table(sequence))
    }
}

/// Columns from names and types.
pub fn columns(list: &[(&str, Oid)]) -> Vec<VirtualColumn> {
    let column = |(name, oid): &(&str, Oid)| VirtualColumn { name: (*name).into(), sql_type: SqlType::new(*oid) };
    list.iter().map(column).collect()
}

/// Makes a table of `name type, name type, ...`; `[]` behind a type makes an array.
fn entry(schema: Oid, oid: u32, name: &str, columns: &str, estimated_rows: f64, rows: Rows) -> Entry {
    let columns = parse_columns(columns);
    let table = VirtualTable { oid: Oid(oid), schema, name: name.into(), columns, estimated_rows, view_query: None };
    Entry { table: Arc::new(table), rows }
}

/// Columns from `name type, name type, ...`.
fn parse_columns(columns: &str) -> Vec<VirtualColumn> {
    columns
        .split(',')
        .map(str::trim)
        .filter(|column| !column.is_empty())
        .map(|column| {
            let (column_name, type_name) = column.split_once(' ').expect("a column has a name and a type");
            let (type_name, is_array) = match type_name.strip_suffix("[]") {
                Some(element) => (element, true),
                None => (type_name, false),
            };
            if type_name == "yes_or_no" {
                // The standard's domain is a text of three characters.
                let sql_type = SqlType::with_typmod(oids::VARCHAR, 7);
                return VirtualColumn { name: column_name.into(), sql_type };
            }
            let definition = builtin_type_named(type_name).expect("system tables use built-in types");
            let type_oid = if is_array {
                array_type(&BuiltinCatalog, definition.oid).expect("the element types used here have arrays")
            } else {
                definition.oid
            };
            VirtualColumn { name: column_name.into(), sql_type: SqlType::new(type_oid) }
        })
        .collect()
}

/// See the module.
pub static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let catalog = |oid, name, columns, estimated, rows| entry(PG_CATALOG_SCHEMA, oid, name, columns, estimated, rows);
    let schema = |oid, name, columns, estimated, rows| entry(INFORMATION_SCHEMA, oid, name, columns, estimated, rows);
    let mut entries = vec![
        catalog(
            1259,
            "pg_class",
            "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, relfilenode oid, reltablespace oid, relpages int4, reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool, relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool, relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, relreplident char, relispartition bool, relrewrite oid, relfrozenxid xid, relminmxid xid, relacl aclitem[], reloptions text[], relpartbound pg_node_tree",
            300.0,
            relations::pg_class,
        ),
        catalog(
            1249,
            "pg_attribute",
            "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4, attcacheoff int4, atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char, attnotnull bool, atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, attisdropped bool, attislocal bool, attinhcount int4, attcollation oid, attacl aclitem[], attoptions text[], attfdwoptions text[], attmissingval anyarray",
            2000.0,
            relations::pg_attribute,
        ),
        catalog(
            2604,
            "pg_attrdef",
            "oid oid, adrelid oid, adnum int2, adbin pg_node_tree",
            10.0,
            relations::pg_attrdef,
        ),
        catalog(
            2610,
            "pg_index",
            "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, indnullsnotdistinct bool, indisprimary bool, indisexclusion bool, indimmediate bool, indisclustered bool, indisvalid bool, indcheckxmin bool, indisready bool, indislive bool, indisreplident bool, indkey int2vector, indcollation oidvector, indclass oidvector, indoption int2vector, indexprs pg_node_tree, indpred pg_node_tree",
            20.0,
            relations::pg_index,
        ),
        catalog(
            2606,
            "pg_constraint",
            "oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, convalidated bool, conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char, confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey int2[], confkey int2[], conpfeqop oid[], conppeqop oid[], conffeqop oid[], confdelsetcols int2[], conexclop oid[], conbin pg_node_tree",
            20.0,
            relations::pg_constraint,
        ),
        catalog(
            2224,
            "pg_sequence",
            "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, seqcache int8, seqcycle bool",
            5.0,
            sequences::pg_sequence,
        ),
        catalog(
            3001,
            "pg_tables",
            "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool, hastriggers bool, rowsecurity bool",
            20.0,
            views::pg_tables,
        ),
        catalog(
            3064,
            "pg_stats",
            "schemaname name, tablename name, attname name, inherited bool, null_frac float4, avg_width int4, n_distinct float4, most_common_vals anyarray, most_common_freqs float4[], histogram_bounds anyarray, correlation float4, most_common_elems anyarray, most_common_elem_freqs float4[], elem_count_histogram float4[]",
            100.0,
            views::pg_stats,
        ),
        catalog(
            3002,
            "pg_indexes",
            "schemaname name, tablename name, indexname name, tablespace name, indexdef text",
            20.0,
            views::pg_indexes,
        ),
        catalog(
            3003,
            "pg_views",
            "schemaname name, viewname name, viewowner name, definition text",
            5.0,
            views::pg_views,
        ),
        catalog(
            3004,
            "pg_sequences",
            "schemaname name, sequencename name, sequenceowner name, data_type regtype, start_value int8, min_value int8, max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8",
            5.0,
            sequences::pg_sequences,
        ),
        catalog(
            2615,
            "pg_namespace",
            "oid oid, nspname name, nspowner oid, nspacl aclitem[]",
            4.0,
            objects::pg_namespace,
        ),
        catalog(
            1262,
            "pg_database",
            "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, datallowconn bool, datconnlimit int4, datfrozenxid xid, datminmxid xid, dattablespace oid, datcollate text, datctype text, daticulocale text, datcollversion text, datacl aclitem[]",
            1.0,
            objects::pg_database,
        ),
        catalog(
            1260,
            "pg_authid",
            "oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolbypassrls bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz",
            2.0,
            objects::pg_authid,
        ),
        catalog(
            3005,
            "pg_roles",
            "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz, rolbypassrls bool, rolconfig text[], oid oid",
            2.0,
            objects::pg_roles,
        ),
        catalog(
            2964,
            "pg_db_role_setting",
            "setdatabase oid, setrole oid, setconfig text[]",
            2.0,
            access::pg_db_role_setting,
        ),
        catalog(
            826,
            "pg_default_acl",
            "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl aclitem[]",
            2.0,
            access::pg_default_acl,
        ),
        catalog(
            3006,
            "pg_user",
            "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, valuntil timestamptz, useconfig text[]",
            2.0,
            objects::pg_user,
        ),
        catalog(
            3070,
            "pg_shadow",
            "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, valuntil timestamptz, useconfig text[]",
            2.0,
            access::pg_shadow,
        ),
        catalog(3071, "pg_group", "groname name, grosysid oid, grolist oid[]", 2.0, access::pg_group),
        catalog(
            3072,
            "pg_hba_file_rules",
            "line_number int4, type text, database text[], user_name text[], address text, netmask text, auth_method text, options text[], error text",
            4.0,
            access::pg_hba_file_rules,
        ),
        catalog(
            3068,
            "pg_stat_ssl",
            "pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, client_serial numeric, issuer_dn text",
            20.0,
            access::pg_stat_ssl,
        ),
        catalog(
            1255,
            "pg_proc",
            "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, prorows float4, provariadic oid, prosupport regproc, prokind char, prosecdef bool, proleakproof bool, proisstrict bool, proretset bool, provolatile char, proparallel char, pronargs int2, pronargdefaults int2, prorettype oid, proargtypes oidvector, proallargtypes oid[], proargmodes char[], proargnames text[], proargdefaults pg_node_tree, protrftypes oid[], prosrc text, probin text, prosqlbody pg_node_tree, proconfig text[], proacl aclitem[]",
            1000.0,
            objects::pg_proc,
        ),
        catalog(
            2612,
            "pg_language",
            "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, laninline oid, lanvalidator oid, lanacl aclitem[]",
            4.0,
            objects::pg_language,
        ),
        catalog(
            2609,
            "pg_description",
            "objoid oid, classoid oid, objsubid int4, description text",
            10.0,
            objects::pg_description,
        ),
        catalog(
            2620,
            "pg_trigger",
            "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, tgattr int2vector, tgargs bytea, tgqual pg_node_tree, tgoldtable name, tgnewtable name",
            10.0,
            triggers::pg_trigger,
        ),
        catalog(
            1247,
            "pg_type",
            "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, typcategory char, typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript regproc, typelem oid, typarray oid, typinput regproc, typoutput regproc, typreceive regproc, typsend regproc, typmodin regproc, typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool, typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin pg_node_tree, typdefault text, typacl aclitem[]",
            200.0,
            builtin::pg_type,
        ),
        catalog(2601, "pg_am", "oid oid, amname name, amhandler regproc, amtype char", 2.0, builtin::pg_am),
        catalog(
            3456,
            "pg_collation",
            "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool, collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
            3.0,
            builtin::pg_collation,
        ),
        catalog(
            1213,
            "pg_tablespace",
            "oid oid, spcname name, spcowner oid, spcacl aclitem[], spcoptions text[]",
            2.0,
            builtin::pg_tablespace,
        ),
        catalog(
            2617,
            "pg_operator",
            "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool, oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid, oprnegate oid, oprcode regproc, oprrest regproc, oprjoin regproc",
            500.0,
            builtin::pg_operator,
        ),
        catalog(3501, "pg_enum", "oid oid, enumtypid oid, enumsortorder float4, enumlabel name", 5.0, builtin::pg_enum),
        catalog(
            3079,
            "pg_extension",
            "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, extconfig oid[], extcondition text[]",
            1.0,
            builtin::pg_extension,
        ),
        catalog(
            3010,
            "pg_settings",
            "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, vartype text, source text, min_val text, max_val text, enumvals text[], boot_val text, reset_val text, sourcefile text, sourceline int4, pending_restart bool",
            200.0,
            monitoring::pg_settings,
        ),
        catalog(
            3011,
            "pg_stat_activity",
            "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port int4, backend_start timestamptz, xact_start timestamptz, query_start timestamptz, state_change timestamptz, wait_event_type text, wait_event text, state text, backend_xid xid, backend_xmin xid, query_id int8, query text, backend_type text",
            20.0,
            monitoring::pg_stat_activity,
        ),
        catalog(
            3043,
            "pg_locks",
            "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid xid, classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, fastpath bool, waitstart timestamptz",
            50.0,
            monitoring::pg_locks,
        ),
        catalog(
            3044,
            "pg_prepared_xacts",
            "transaction xid, gid text, prepared timestamptz, owner name, database name",
            1.0,
            monitoring::pg_prepared_xacts,
        ),
        catalog(
            3045,
            "pg_prepared_statements",
            "name text, statement text, prepare_time timestamptz, parameter_types regtype[], from_sql bool, generic_plans int8, custom_plans int8",
            5.0,
            monitoring::pg_prepared_statements,
        ),
        catalog(
            3046,
            "pg_cursors",
            "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz",
            2.0,
            monitoring::pg_cursors,
        ),
        catalog(
            3047,
            "pg_stat_wal",
            "wal_records int8, wal_fpi int8, wal_bytes numeric, wal_buffers_full int8, wal_write int8, wal_sync int8, wal_write_time float8, wal_sync_time float8, stats_reset timestamptz",
            1.0,
            statistics::pg_stat_wal,
        ),
        catalog(
            3048,
            "pg_stat_slru",
            "name text, blks_zeroed int8, blks_hit int8, blks_read int8, blks_written int8, blks_exists int8, flushes int8, truncates int8, stats_reset timestamptz",
            1.0,
            statistics::pg_stat_slru,
        ),
        catalog(
            3049,
            "pg_stat_user_tables",
            "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8",
            20.0,
            statistics::pg_stat_user_tables,
        ),
        catalog(
            3074,
            "pg_stat_all_tables",
            "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8",
            20.0,
            statistics::pg_stat_user_tables,
        ),
        catalog(
            3075,
            "pg_stat_user_indexes",
            "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
            40.0,
            statistics::pg_stat_user_indexes,
        ),
        catalog(
            3076,
            "pg_stat_all_indexes",
            "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
            40.0,
            statistics::pg_stat_user_indexes,
        ),
        catalog(
            3077,
            "pg_stat_database",
            "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, blks_read int8, blks_hit int8, tup_returned int8, tup_fetched int8, tup_inserted int8, tup_updated int8, tup_deleted int8, conflicts int8, temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, checksum_last_failure timestamptz, blk_read_time float8, blk_write_time float8, session_time float8, active_time float8, idle_in_transaction_time float8, sessions int8, sessions_abandoned int8, sessions_fatal int8, sessions_killed int8, stats_reset timestamptz",
            1.0,
            statistics::pg_stat_database,
        ),
        catalog(
            3066,
            "pg_stat_bgwriter",
            "checkpoints_timed int8, checkpoints_req int8, checkpoint_write_time float8, checkpoint_sync_time float8, buffers_checkpoint int8, buffers_clean int8, maxwritten_clean int8, buffers_backend int8, buffers_backend_fsync int8, buffers_alloc int8, stats_reset timestamptz",
            1.0,
            statistics::pg_stat_bgwriter,
        ),
        catalog(
            3080,
            "pg_stat_archiver",
            "archived_count int8, last_archived_wal text, last_archived_time timestamptz, failed_count int8, last_failed_wal text, last_failed_time timestamptz, stats_reset timestamptz",
            1.0,
            statistics::pg_stat_archiver,
        ),
        catalog(3050, "cohort_stat_commit", "name text, value float8", 20.0, statistics::cohort_stat_commit),
        catalog(
            3065,
            "cohort_stat_commit_histograms",
            "histogram text, upto int8, count int8",
            40.0,
            statistics::cohort_stat_commit_histograms,
        ),
        catalog(3067, "cohort_stat_ssi", "name text, value int8", 20.0, statistics::cohort_stat_ssi),
        catalog(
            3051,
            "cohort_stat_latches",
            "name text, shacq int8, exacq int8, blk int8, spindelay int8, dequeue_self int8",
            30.0,
            statistics::cohort_stat_latches,
        ),
        catalog(
            2616,
            "pg_opclass",
            "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype oid, opcdefault bool, opckeytype oid",
            30.0,
            builtin::pg_opclass,
        ),
        catalog(
            2753,
            "pg_opfamily",
            "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid",
            22.0,
            builtin::pg_opfamily,
        ),
        catalog(
            2618,
            "pg_rewrite",
            "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual pg_node_tree, ev_action pg_node_tree",
            5.0,
            builtin::pg_rewrite,
        ),
        catalog(
            2608,
            "pg_depend",
            "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
            30.0,
            depend::pg_depend,
        ),
        catalog(2396, "pg_shdescription", "objoid oid, classoid oid, description text", 1.0, objects::pg_shdescription),
        catalog(
            1261,
            "pg_auth_members",
            "roleid oid, member oid, grantor oid, admin_option bool",
            2.0,
            objects::pg_auth_members,
        ),
        catalog(
            2605,
            "pg_cast",
            "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char",
            200.0,
            builtin::pg_cast,
        ),
        catalog(
            3394,
            "pg_init_privs",
            "objoid oid, classoid oid, objsubid int4, privtype char, initprivs aclitem[]",
            1.0,
            objects::pg_init_privs,
        ),
        catalog(
            3052,
            "pg_matviews",
            "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, ispopulated bool, definition text",
            2.0,
            views::pg_matviews,
        ),
        schema(
            13001,
            "tables",
            "table_catalog name, table_schema name, table_name name, table_type varchar, self_referencing_column_name name, reference_generation varchar, user_defined_type_catalog name, user_defined_type_schema name, user_defined_type_name name, is_insertable_into yes_or_no, is_typed yes_or_no, commit_action varchar",
            20.0,
            information::tables,
        ),
        schema(
            13002,
            "columns",
            "table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, column_default varchar, is_nullable yes_or_no, data_type varchar, character_maximum_length int4, character_octet_length int4, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, domain_catalog name, domain_schema name, domain_name name, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, is_self_referencing yes_or_no, is_identity yes_or_no, identity_generation varchar, identity_start varchar, identity_increment varchar, identity_maximum varchar, identity_minimum varchar, identity_cycle yes_or_no, is_generated varchar, generation_expression varchar, is_updatable yes_or_no",
            100.0,
            information::columns,
        ),
        schema(
            13003,
            "schemata",
            "catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name, default_character_set_schema name, default_character_set_name name, sql_path varchar",
            4.0,
            information::schemata,
        ),
        schema(
            13004,
            "table_constraints",
            "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, table_name name, constraint_type varchar, is_deferrable yes_or_no, initially_deferred yes_or_no, enforced yes_or_no, nulls_distinct yes_or_no",
            20.0,
            information::table_constraints,
        ),
        schema(
            13005,
            "key_column_usage",
            "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, position_in_unique_constraint int4",
            20.0,
            information::key_column_usage,
        ),
        schema(
            13106,
            "column_privileges",
            "grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, privilege_type varchar, is_grantable yes_or_no",
            100.0,
            information_privileges::column_privileges,
        ),
        schema(
            13108,
            "table_privileges",
            "grantor name, grantee name, table_catalog name, table_schema name, table_name name, privilege_type varchar, is_grantable yes_or_no, with_hierarchy yes_or_no",
            40.0,
            information_privileges::table_privileges,
        ),
        schema(
            13114,
            "domains",
            "domain_catalog name, domain_schema name, domain_name name, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, domain_default varchar, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name",
            20.0,
            information_types::domains,
        ),
        schema(
            13115,
            "attributes",
            "udt_catalog name, udt_schema name, udt_name name, attribute_name name, ordinal_position int4, attribute_default varchar, is_nullable yes_or_no, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, attribute_udt_catalog name, attribute_udt_schema name, attribute_udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, is_derived_reference_attribute yes_or_no",
            20.0,
            information_types::attributes,
        ),
        schema(
            13116,
            "parameters",
            "specific_catalog name, specific_schema name, specific_name name, ordinal_position int4, parameter_mode varchar, is_result yes_or_no, as_locator yes_or_no, parameter_name name, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, parameter_default varchar",
            20.0,
            information_types::parameters,
        ),
        schema(
            13117,
            "element_types",
            "object_catalog name, object_schema name, object_name name, object_type varchar, collection_type_identifier name, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, domain_default varchar, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name",
            20.0,
            information_types::element_types,
        ),
        schema(
            13118,
            "routine_privileges",
            "grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, privilege_type varchar, is_grantable yes_or_no",
            20.0,
            information_privileges::routine_privileges,
        ),
        schema(
            13119,
            "usage_privileges",
            "grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type varchar, privilege_type varchar, is_grantable yes_or_no",
            20.0,
            information_privileges::usage_privileges,
        ),
        schema(
            13120,
            "view_table_usage",
            "view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name name",
            20.0,
            views::view_table_usage,
        ),
        schema(
            13121,
            "view_column_usage",
            "view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name name, column_name name",
            20.0,
            views::view_column_usage,
        ),
    ];
    for (oid, name, columns) in empty::TABLES {
        entries.push(catalog(*oid, name, columns, 0.0, |_, _| Ok(Vec::new())));
    }
    for (schema, oid, name, columns) in absent::TABLES {
        entries.push(entry(*schema, *oid, name, columns, 0.0, |_, _| Ok(Vec::new())));
    }
    for (schema, oid, name, columns, text) in absent::VIEWS {
        let mut view = entry(*schema, *oid, name, columns, 20.0, |_, _| Ok(Vec::new()));
        Arc::make_mut(&mut view.table).view_query = Some(text);
        entries.push(view);
    }
    for (oid, name, columns, text) in information_views::VIEWS.iter().chain(information_privileges::VIEWS) {
        let mut view = entry(INFORMATION_SCHEMA, *oid, name, columns, 20.0, |_, _| Ok(Vec::new()));
        Arc::make_mut(&mut view.table).view_query = Some(text);
        entries.push(view);
    }
    for (oid, name, columns, text) in views::QUERIES {
        let mut view = catalog(*oid, name, columns, 500.0, |_, _| Ok(Vec::new()));
        Arc::make_mut(&mut view.table).view_query = Some(text);
        entries.push(view);
    }
    let by_oid = entries.iter().enumerate().map(|(place, entry)| (entry.table.oid, place)).collect();
    let by_name = entries
        .iter()
        .enumerate()
        .map(|(place, entry)| ((entry.table.schema, entry.table.name.to_string()), place))
        .collect();
    Registry { entries, by_oid, by_name }
});
