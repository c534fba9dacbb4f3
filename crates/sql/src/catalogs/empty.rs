//! Catalogs of things that don't exist here: clients ask for them all the same.

/// Number, name and columns.
pub const TABLES: &[(u32, &str, &str)] = &[
    (2611, "pg_inherits", "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool"),
    (
        3350,
        "pg_partitioned_table",
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2vector, partclass oidvector, partcollation oidvector, partexprs pg_node_tree",
    ),
    (
        3256,
        "pg_policy",
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles oid[], polqual pg_node_tree, polwithcheck pg_node_tree",
    ),
    (
        3381,
        "pg_statistic_ext",
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, stxkeys int2vector, stxkind char[], stxexprs pg_node_tree",
    ),
    (
        6104,
        "pg_publication",
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, pubdelete bool, pubtruncate bool, pubviaroot bool",
    ),
    (6106, "pg_publication_rel", "oid oid, prpubid oid, prrelid oid, prqual pg_node_tree, prattrs int2vector"),
    (6237, "pg_publication_namespace", "oid oid, pnpubid oid, pnnspid oid"),
    (
        6100,
        "pg_subscription",
        "oid oid, subdbid oid, subskiplsn pg_lsn, subname name, subowner oid, subenabled bool, subbinary bool, substream bool, subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname name, subsynccommit text, subpublications text[]",
    ),
    (
        3598,
        "pg_seclabels",
        "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text, provider text, label text",
    ),
    (
        3466,
        "pg_event_trigger",
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, evttags text[]",
    ),
    (3118, "pg_foreign_table", "ftrelid oid, ftserver oid, ftoptions text[]"),
    (
        1417,
        "pg_foreign_server",
        "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl aclitem[], srvoptions text[]",
    ),
    (
        2328,
        "pg_foreign_data_wrapper",
        "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl aclitem[], fdwoptions text[]",
    ),
    (
        3541,
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical regproc, rngsubdiff regproc",
    ),
    (
        1214,
        "pg_shdepend",
        "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char",
    ),
    (3592, "pg_shseclabel", "objoid oid, classoid oid, provider text, label text"),
    (3596, "pg_seclabel", "objoid oid, classoid oid, objsubid int4, provider text, label text"),
    (
        2600,
        "pg_aggregate",
        "aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, aggfinalfn regproc, aggcombinefn regproc, aggserialfn regproc, aggdeserialfn regproc, aggmtransfn regproc, aggminvtransfn regproc, aggmfinalfn regproc, aggfinalextra bool, aggmfinalextra bool, aggfinalmodify char, aggmfinalmodify char, aggsortop oid, aggtranstype oid, aggtransspace int4, aggmtranstype oid, aggmtransspace int4, agginitval text, aggminitval text",
    ),
    (3602, "pg_ts_config", "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid"),
    (
        3600,
        "pg_ts_dict",
        "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, dictinitoption text",
    ),
    (
        2607,
        "pg_conversion",
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4, conproc regproc, condefault bool",
    ),
    (
        2602,
        "pg_amop",
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, amoppurpose char, amopopr oid, amopmethod oid, amopsortfamily oid",
    ),
    (
        2603,
        "pg_amproc",
        "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, amproc regproc",
    ),
    (3576, "pg_transform", "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc"),
    (6243, "pg_parameter_acl", "oid oid, parname text, paracl aclitem[]"),
    (
        3601,
        "pg_ts_parser",
        "oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, prsend regproc, prsheadline regproc, prslextype regproc",
    ),
    (3764, "pg_ts_template", "oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc"),
    (6102, "pg_subscription_rel", "srsubid oid, srrelid oid, srsubstate char, srsublsn pg_lsn"),
    (3055, "pg_publication_tables", "pubname name, schemaname name, tablename name, attnames name[], rowfilter text"),
    (3056, "pg_rules", "schemaname name, tablename name, rulename name, definition text"),
    (
        3057,
        "pg_policies",
        "schemaname name, tablename name, policyname name, permissive text, roles name[], cmd text, qual text, with_check text",
    ),
    (
        3063,
        "pg_replication_slots",
        "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool, active_pid int4, xmin xid, catalog_xmin xid, restart_lsn pg_lsn, confirmed_flush_lsn pg_lsn, wal_status text, safe_wal_size int8, two_phase bool",
    ),
    (2995, "pg_largeobject_metadata", "oid oid, lomowner oid, lomacl aclitem[]"),
    (
        3053,
        "pg_stat_replication",
        "pid int4, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port int4, backend_start timestamptz, backend_xmin xid, state text, sent_lsn pg_lsn, write_lsn pg_lsn, flush_lsn pg_lsn, replay_lsn pg_lsn, write_lag interval, flush_lag interval, replay_lag interval, sync_priority int4, sync_state text, reply_time timestamptz",
    ),
    (
        3081,
        "pg_stat_user_functions",
        "funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8",
    ),
    (
        3082,
        "pg_stat_wal_receiver",
        "pid int4, status text, receive_start_lsn pg_lsn, receive_start_tli int4, written_lsn pg_lsn, flushed_lsn pg_lsn, received_tli int4, last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, latest_end_lsn pg_lsn, latest_end_time timestamptz, slot_name text, sender_host text, sender_port int4, conninfo text",
    ),
    (
        3083,
        "pg_stat_subscription",
        "subid oid, subname name, pid int4, relid oid, received_lsn pg_lsn, last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, latest_end_lsn pg_lsn, latest_end_time timestamptz",
    ),
    (
        3084,
        "pg_stat_progress_vacuum",
        "pid int4, datid oid, datname name, relid oid, phase text, heap_blks_total int8, heap_blks_scanned int8, heap_blks_vacuumed int8, index_vacuum_count int8, max_dead_tuples int8, num_dead_tuples int8",
    ),
    (
        3085,
        "pg_stat_progress_analyze",
        "pid int4, datid oid, datname name, relid oid, phase text, sample_blks_total int8, sample_blks_scanned int8, ext_stats_total int8, ext_stats_computed int8, child_tables_total int8, child_tables_done int8, current_child_table_relid oid",
    ),
    (
        3086,
        "pg_stat_progress_create_index",
        "pid int4, datid oid, datname name, relid oid, index_relid oid, command text, phase text, lockers_total int8, lockers_done int8, current_locker_pid int8, blocks_total int8, blocks_done int8, tuples_total int8, tuples_done int8, partitions_total int8, partitions_done int8",
    ),
    (
        3087,
        "pg_stat_progress_copy",
        "pid int4, datid oid, datname name, relid oid, command text, type text, bytes_processed int8, bytes_total int8, tuples_processed int8, tuples_excluded int8",
    ),
];
