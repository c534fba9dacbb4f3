//! The views of `information_schema` that are queries over `pg_catalog`.

/// Number, name, columns, and the query.
pub const VIEWS: &[(u32, &str, &str, &str)] = &[
    (
        13101,
        "views",
        "table_catalog name, table_schema name, table_name name, view_definition varchar, check_option varchar, is_updatable yes_or_no, is_insertable_into yes_or_no, is_trigger_updatable yes_or_no, is_trigger_deletable yes_or_no, is_trigger_insertable_into yes_or_no",
        "SELECT current_database()::name, n.nspname, c.relname,
                (CASE WHEN pg_has_role(c.relowner, 'USAGE') THEN pg_get_viewdef(c.oid) END)::varchar, (CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED'
                      WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL' ELSE 'NONE' END)::varchar,
                (CASE WHEN pg_relation_is_updatable(c.oid, false) & 20 = 20 THEN 'YES' ELSE 'NO' END)::varchar(3),
                (CASE WHEN pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END)::varchar(3),
                (CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 81 = 81) THEN 'YES' ELSE 'NO' END)::varchar(3),
                (CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 73 = 73) THEN 'YES' ELSE 'NO' END)::varchar(3),
                (CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 69 = 69) THEN 'YES' ELSE 'NO' END)::varchar(3)
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'v'
           AND (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
    (
        13102,
        "referential_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, unique_constraint_catalog name, unique_constraint_schema name, unique_constraint_name name, match_option varchar, update_rule varchar, delete_rule varchar",
        "SELECT current_database()::name, n.nspname, f.conname, current_database()::name, un.nspname, u.conname,
                (CASE f.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' ELSE 'NONE' END)::varchar,
                (CASE f.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
                 WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END)::varchar,
                (CASE f.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
                 WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END)::varchar
         FROM pg_catalog.pg_constraint f
         JOIN pg_catalog.pg_namespace n ON n.oid = f.connamespace
         JOIN pg_catalog.pg_class c ON c.oid = f.conrelid
         LEFT JOIN pg_catalog.pg_constraint u
           ON u.conrelid = f.confrelid AND u.conindid = f.conindid AND u.contype IN ('p', 'u')
         LEFT JOIN pg_catalog.pg_namespace un ON un.oid = u.connamespace
         WHERE f.contype = 'f'
           AND (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                OR has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'))",
    ),
    (
        13103,
        "sequences",
        "sequence_catalog name, sequence_schema name, sequence_name name, data_type varchar, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, start_value varchar, minimum_value varchar, maximum_value varchar, increment varchar, cycle_option yes_or_no",
        "SELECT current_database()::name, n.nspname, c.relname, format_type(s.seqtypid, NULL)::varchar,
                CASE format_type(s.seqtypid, NULL) WHEN 'smallint' THEN 16 WHEN 'integer' THEN 32 ELSE 64 END, 2, 0,
                s.seqstart::text::varchar, s.seqmin::text::varchar, s.seqmax::text::varchar,
                s.seqincrement::text::varchar, (CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END)::varchar(3)
         FROM pg_catalog.pg_sequence s
         JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'S' AND NOT pg_is_other_temp_schema(n.oid)
           AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                           WHERE d.deptype = 'i' AND d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid)
           AND (pg_has_role(c.relowner, 'USAGE') OR has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE'))",
    ),
    (
        13104,
        "triggers",
        "trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation varchar, event_object_catalog name, event_object_schema name, event_object_table name, action_order int4, action_condition varchar, action_statement varchar, action_orientation varchar, action_timing varchar, action_reference_old_table name, action_reference_new_table name, action_reference_old_row name, action_reference_new_row name, created timestamptz",
        "SELECT current_database()::name, n.nspname, t.tgname, e.word::varchar, current_database()::name, n.nspname, c.relname,
                (row_number() OVER (PARTITION BY n.nspname, c.relname, e.bit, t.tgtype & 1, t.tgtype & 66 ORDER BY t.tgname))::int4,
                (regexp_match(pg_get_triggerdef(t.oid), '.{35,} WHEN \\((.+)\\) EXECUTE FUNCTION'))[1]::varchar,
                substring(pg_get_triggerdef(t.oid) from position('EXECUTE FUNCTION' in substring(pg_get_triggerdef(t.oid) from 48)) + 47)::varchar,
                (CASE WHEN t.tgtype & 1 = 1 THEN 'ROW' ELSE 'STATEMENT' END)::varchar,
                (CASE t.tgtype & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE 'AFTER' END)::varchar,
                t.tgoldtable, t.tgnewtable, NULL::name, NULL::name, NULL::timestamptz
         FROM pg_catalog.pg_trigger t
         JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) e (bit, word) ON t.tgtype & e.bit <> 0
         WHERE pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
            OR has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES')",
    ),
    (
        13105,
        "routines",
        "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, routine_type varchar, module_catalog name, module_schema name, module_name name, udt_catalog name, udt_schema name, udt_name name, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, type_udt_catalog name, type_udt_schema name, type_udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, routine_body varchar, routine_definition varchar, external_name varchar, external_language varchar, parameter_style varchar, is_deterministic yes_or_no, sql_data_access varchar, is_null_call yes_or_no, sql_path varchar, schema_level_routine yes_or_no, max_dynamic_result_sets int4, is_user_defined_cast yes_or_no, is_implicitly_invocable yes_or_no, security_type varchar, to_sql_specific_catalog name, to_sql_specific_schema name, to_sql_specific_name name, as_locator yes_or_no, created timestamptz, last_altered timestamptz, new_savepoint_level yes_or_no, is_udt_dependent yes_or_no, result_cast_from_data_type varchar, result_cast_as_locator yes_or_no, result_cast_char_max_length int4, result_cast_char_octet_length int4, result_cast_char_set_catalog name, result_cast_char_set_schema name, result_cast_char_set_name name, result_cast_collation_catalog name, result_cast_collation_schema name, result_cast_collation_name name, result_cast_numeric_precision int4, result_cast_numeric_precision_radix int4, result_cast_numeric_scale int4, result_cast_datetime_precision int4, result_cast_interval_type varchar, result_cast_interval_precision int4, result_cast_type_udt_catalog name, result_cast_type_udt_schema name, result_cast_type_udt_name name, result_cast_scope_catalog name, result_cast_scope_schema name, result_cast_scope_name name, result_cast_maximum_cardinality int4, result_cast_dtd_identifier name",
        "SELECT q.specific_catalog::name, q.specific_schema::name, q.specific_name::name, q.routine_catalog::name, q.routine_schema::name, q.routine_name::name, q.routine_type::varchar, q.module_catalog::name, q.module_schema::name, q.module_name::name, q.udt_catalog::name, q.udt_schema::name, q.udt_name::name, q.data_type::varchar, q.character_maximum_length::int4, q.character_octet_length::int4, q.character_set_catalog::name, q.character_set_schema::name, q.character_set_name::name, q.collation_catalog::name, q.collation_schema::name, q.collation_name::name, q.numeric_precision::int4, q.numeric_precision_radix::int4, q.numeric_scale::int4, q.datetime_precision::int4, q.interval_type::varchar, q.interval_precision::int4, q.type_udt_catalog::name, q.type_udt_schema::name, q.type_udt_name::name, q.scope_catalog::name, q.scope_schema::name, q.scope_name::name, q.maximum_cardinality::int4, q.dtd_identifier::name, q.routine_body::varchar, q.routine_definition::varchar, q.external_name::varchar, q.external_language::varchar, q.parameter_style::varchar, q.is_deterministic::varchar(3), q.sql_data_access::varchar, q.is_null_call::varchar(3), q.sql_path::varchar, q.schema_level_routine::varchar(3), q.max_dynamic_result_sets::int4, q.is_user_defined_cast::varchar(3), q.is_implicitly_invocable::varchar(3), q.security_type::varchar, q.to_sql_specific_catalog::name, q.to_sql_specific_schema::name, q.to_sql_specific_name::name, q.as_locator::varchar(3), q.created::timestamptz, q.last_altered::timestamptz, q.new_savepoint_level::varchar(3), q.is_udt_dependent::varchar(3), q.result_cast_from_data_type::varchar, q.result_cast_as_locator::varchar(3), q.result_cast_char_max_length::int4, q.result_cast_char_octet_length::int4, q.result_cast_char_set_catalog::name, q.result_cast_char_set_schema::name, q.result_cast_char_set_name::name, q.result_cast_collation_catalog::name, q.result_cast_collation_schema::name, q.result_cast_collation_name::name, q.result_cast_numeric_precision::int4, q.result_cast_numeric_precision_radix::int4, q.result_cast_numeric_scale::int4, q.result_cast_datetime_precision::int4, q.result_cast_interval_type::varchar, q.result_cast_interval_precision::int4, q.result_cast_type_udt_catalog::name, q.result_cast_type_udt_schema::name, q.result_cast_type_udt_name::name, q.result_cast_scope_catalog::name, q.result_cast_scope_schema::name, q.result_cast_scope_name::name, q.result_cast_maximum_cardinality::int4, q.result_cast_dtd_identifier::name
     FROM (SELECT current_database(), n.nspname, p.proname::text || '_' || p.oid::text, current_database(), n.nspname, p.proname, CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN p.prokind = 'p' THEN NULL ELSE format_type(p.prorettype, NULL) END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN p.prokind = 'p' THEN NULL ELSE current_database() END, CASE WHEN p.prokind = 'p' THEN NULL ELSE tn.nspname END, CASE WHEN p.prokind = 'p' THEN NULL ELSE t.typname END, NULL, NULL, NULL, NULL, CASE WHEN p.prokind = 'p' THEN NULL ELSE '0' END, CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END, CASE WHEN pg_has_role(p.proowner, 'USAGE') THEN p.prosrc ELSE NULL END, NULL, upper(l.lanname::text), 'GENERAL', CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END, 'MODIFIES', CASE WHEN p.prokind = 'p' THEN NULL WHEN p.proisstrict THEN 'YES' ELSE 'NO' END, NULL, 'YES', 0, NULL, NULL, CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END, NULL, NULL, NULL, 'NO', NULL, NULL, NULL, 'NO', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
         FROM pg_catalog.pg_proc p
         JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
         JOIN pg_catalog.pg_language l ON l.oid = p.prolang
         LEFT JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
         LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
         WHERE pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE')) q (specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema, routine_name, routine_type, module_catalog, module_schema, module_name, udt_catalog, udt_schema, udt_name, data_type, character_maximum_length, character_octet_length, character_set_catalog, character_set_schema, character_set_name, collation_catalog, collation_schema, collation_name, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision, interval_type, interval_precision, type_udt_catalog, type_udt_schema, type_udt_name, scope_catalog, scope_schema, scope_name, maximum_cardinality, dtd_identifier, routine_body, routine_definition, external_name, external_language, parameter_style, is_deterministic, sql_data_access, is_null_call, sql_path, schema_level_routine, max_dynamic_result_sets, is_user_defined_cast, is_implicitly_invocable, security_type, to_sql_specific_catalog, to_sql_specific_schema, to_sql_specific_name, as_locator, created, last_altered, new_savepoint_level, is_udt_dependent, result_cast_from_data_type, result_cast_as_locator, result_cast_char_max_length, result_cast_char_octet_length, result_cast_char_set_catalog, result_cast_char_set_schema, result_cast_char_set_name, result_cast_collation_catalog, result_cast_collation_schema, result_cast_collation_name, result_cast_numeric_precision, result_cast_numeric_precision_radix, result_cast_numeric_scale, result_cast_datetime_precision, result_cast_interval_type, result_cast_interval_precision, result_cast_type_udt_catalog, result_cast_type_udt_schema, result_cast_type_udt_name, result_cast_scope_catalog, result_cast_scope_schema, result_cast_scope_name, result_cast_maximum_cardinality, result_cast_dtd_identifier)",
    ),
    (
        13110,
        "constraint_column_usage",
        "table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name, constraint_schema name, constraint_name name",
        "SELECT current_database()::name, n.nspname, c.relname, a.attname, current_database()::name, k.nspname, k.conname
         FROM (SELECT o.conname, m.nspname, CASE o.contype WHEN 'f' THEN o.confrelid ELSE o.conrelid END AS relation,
                      CASE o.contype WHEN 'f' THEN o.confkey ELSE o.conkey END AS columns
               FROM pg_catalog.pg_constraint o JOIN pg_catalog.pg_namespace m ON m.oid = o.connamespace
               WHERE o.contype IN ('c', 'f', 'p', 'u') AND o.conrelid <> 0) k
         JOIN pg_catalog.pg_class c ON c.oid = k.relation
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.columns) AND NOT a.attisdropped
         WHERE pg_has_role(c.relowner, 'USAGE')",
    ),
    (
        13111,
        "check_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, check_clause varchar",
        "SELECT current_database()::name, n.nspname, o.conname, substring(pg_get_constraintdef(o.oid) from 7)::varchar
         FROM pg_catalog.pg_constraint o
         JOIN pg_catalog.pg_namespace n ON n.oid = o.connamespace
         LEFT JOIN pg_catalog.pg_class c ON c.oid = o.conrelid
         LEFT JOIN pg_catalog.pg_type t ON t.oid = o.contypid
         WHERE o.contype = 'c' AND pg_has_role(coalesce(c.relowner, t.typowner), 'USAGE')
         UNION ALL
         SELECT current_database()::name, n.nspname,
                (n.oid::text || '_' || c.oid::text || '_' || a.attnum::text || '_not_null')::name,
                (a.attname::text || ' IS NOT NULL')::varchar
         FROM pg_catalog.pg_attribute a
         JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull AND c.relkind IN ('r', 'p')
           AND pg_has_role(c.relowner, 'USAGE')",
    ),
    (
        13112,
        "domain_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, domain_catalog name, domain_schema name, domain_name name, is_deferrable yes_or_no, initially_deferred yes_or_no",
        "SELECT current_database()::name, m.nspname, o.conname, current_database()::name, n.nspname, t.typname,
                (CASE WHEN o.condeferrable THEN 'YES' ELSE 'NO' END)::varchar(3),
                (CASE WHEN o.condeferred THEN 'YES' ELSE 'NO' END)::varchar(3)
         FROM pg_catalog.pg_constraint o
         JOIN pg_catalog.pg_namespace m ON m.oid = o.connamespace
         JOIN pg_catalog.pg_type t ON t.oid = o.contypid
         JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
         WHERE pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE')",
    ),
    (
        13113,
        "user_defined_types",
        "user_defined_type_catalog name, user_defined_type_schema name, user_defined_type_name name, user_defined_type_category varchar, is_instantiable yes_or_no, is_final yes_or_no, ordering_form varchar, ordering_category varchar, ordering_routine_catalog name, ordering_routine_schema name, ordering_routine_name name, reference_type varchar, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, source_dtd_identifier name, ref_dtd_identifier name",
        "SELECT current_database()::name, n.nspname, c.relname, 'STRUCTURED'::varchar, 'YES'::varchar(3),
                NULL::varchar(3), NULL::varchar, NULL::varchar, NULL::name, NULL::name, NULL::name, NULL::varchar,
                NULL::varchar, NULL::int4, NULL::int4, NULL::name, NULL::name, NULL::name, NULL::name, NULL::name,
                NULL::name, NULL::int4, NULL::int4, NULL::int4, NULL::int4, NULL::varchar, NULL::int4, NULL::name, NULL::name
         FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_type t ON t.oid = c.reltype
         WHERE c.relkind = 'c' AND (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'))",
    ),
];
