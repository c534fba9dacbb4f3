select usename, datid is null, datname, usesysid is null, application_name, client_addr, client_port, backend_start is null, xact_start is null, query_start is null, state_change is null, state, backend_xid is null, query, backend_type from pg_stat_activity where usename in ('owner', 'super', 'watcher') order by usename
select application_name = '' from pg_stat_activity where pid = pg_backend_pid()
select count(*) from pg_stat_activity where usename is null and datname is not null
select count(*) from pg_stat_ssl where pid = (select pid from pg_stat_activity where usename = 'owner')
select pg_stat_get_backend_activity(b) from pg_stat_get_backend_idset() b where pg_stat_get_backend_userid(b) = 'owner'::regrole
select pg_cancel_backend(pid) from pg_stat_activity where usename = 'owner'
select pg_cancel_backend(pid) from pg_stat_activity where usename = 'super'
select pg_cancel_backend(pid) from pg_stat_activity where usename = 'stranger'
select pg_cancel_backend(pid) from pg_stat_activity where usename = 'member'
select pg_cancel_backend(1)
select pg_terminate_backend(1)
select pg_terminate_backend(pid) from pg_stat_activity where usename = 'owner' and has_table_privilege('t', 'select') = false
select pg_terminate_backend(pid) from pg_stat_activity where usename = 'super' and has_table_privilege('secret', 'select') = false
select pg_blocking_pids(1)
select pg_database_size('postgres') > 0
select pg_tablespace_size('pg_default') > 0
select pg_total_relation_size('secret') > 0
select rolname from pg_roles where rolname like 'pg\_%' order by 1
select rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit, rolbypassrls from pg_roles where rolname in ('grp', 'creator', 'super', 'pg_monitor') order by 1
select pg_has_role('watcher', 'pg_read_all_stats', 'usage'), pg_has_role('watcher', 'pg_read_all_settings', 'member'), pg_has_role('watcher', 'pg_stat_scan_tables', 'member')
