select f(1)
select * from calling
select * from counted
select f(id) from t
select touch()
select definer()
call p(1)
call p(null)
create function new_f() returns int language plpgsql as 'begin return f(1); end'; select new_f()
create procedure new_p() language plpgsql as 'begin call p(1); end'; call new_p()
create view new_v as select f(1); select * from new_v
set role owner; set session authorization stranger; select current_user, current_setting('role')
do $$ begin call p(1); end $$
do $$ begin perform f(1); end $$
do language plpgsql $$ begin null; end $$
create function new_f() returns int language sql as 'select 1'
create function s.new_f() returns int language sql as 'select 1'
create function closed.new_f() returns int language sql as 'select 1'
create function pg_catalog.new_f() returns int language sql as 'select 1'
create function new_f(mood) returns int language sql as 'select 1'
create function new_f() returns mood language sql as $$ select null::mood $$
create function new_f() returns setof dom language sql as $$ select null::dom $$
create function new_f(t) returns int language sql as 'select 1'
create function new_f() returns int language sql leakproof as 'select 1'
create function new_f() returns int language internal as 'int4pl'
create function new_f() returns int language c as 'x', 'y'
create function new_f() returns int language sql security definer as 'select 1'
create function new_f() returns int language sql set log_statement = 'all' as 'select 1'
create function new_f() returns int language sql set session_replication_role = 'replica' as 'select 1'
create function new_f() returns int language sql set role = 'owner' as 'select 1'
create or replace function f(int) returns int language sql as 'select 2'
create or replace function f(int) returns text language sql as $$ select 'x' $$
create or replace function definer() returns int language sql as 'select 2'
create or replace function definer() returns int language sql security definer as 'select 2'
create or replace procedure p(int) language plpgsql as 'begin null; end'
create or replace function p(int) returns int language sql as 'select 1'
create or replace function closed.hidden_f() returns int language sql as 'select 2'
create or replace function touch() returns int language plpgsql as 'begin return 7; end'
create or replace function trg() returns trigger language plpgsql as 'begin return null; end'
create or replace function new_f() returns int language sql as 'select 1'
create procedure new_p() language plpgsql as 'begin null; end'
alter function f(int) immutable
alter function definer() security invoker
alter function f(int) leakproof
alter function f(int) set work_mem = '1MB'
alter function f(int) set log_statement = 'all'
alter function f(int) rename to f_2
alter function f(int) owner to stranger
alter function f(int) owner to current_user
alter function definer() owner to current_user
alter function f(int) set schema s
alter function f(int) set schema closed
alter procedure p(int) rename to p_2
alter procedure p(int) owner to current_user
alter routine p(int) security definer
drop function f(int)
drop function touch()
drop function definer()
drop procedure p(int)
drop routine p(int)
drop function pg_catalog.now()
comment on function f(int) is 'x'
comment on procedure p(int) is 'x'
grant execute on function f(int) to stranger
grant execute on function definer() to stranger
revoke execute on function f(int) from grantee
grant execute on procedure p(int) to public
grant execute on all functions in schema public to stranger
select * from guarded where seen(v)
select * from guarded where trusted(v)
select * from (select * from guarded) g where seen(v) and w > 0
select guarded.id from guarded join ref on true where seen(v)
select g.id from guarded g, t where g.id = t.id and seen(g.v) and seen(t.v)
update guarded set w = 5 where seen(v)
delete from guarded where seen(v)
select count(*) from guarded where v like 't%' and seen(v)
select * from guarded where id / (id - 2) > 0
create aggregate new_agg(int) (sfunc = int4pl, stype = int)
create operator === (leftarg = int, rightarg = int, function = int4eq)
create cast (mood as int) without function
create language x handler plpgsql_call_handler
create transform for int language sql (from sql with function f(int), to sql with function f(int))
create extension pg_prewarm
create extension plpgsql
drop extension plpgsql
create event trigger et on ddl_command_start execute function trg()
create publication pub
create foreign data wrapper fdw
create access method am type index handler bthandler
create collation coll from "C"
create text search configuration cfg (copy = simple)
create conversion conv for 'UTF8' to 'LATIN1' from utf8_to_iso8859_1
!create tablespace ts location '/tmp/nowhere'
!alter system set work_mem = '1MB'
!alter system reset all
!checkpoint
!create database new_db
!create database new_db owner power
!drop database if exists missing
!drop database postgres
alter database postgres owner to current_user
alter database postgres owner to stranger
alter database postgres owner to power
alter database postgres rename to other
alter database postgres set work_mem = '1MB'
alter database postgres connection limit 5
alter database postgres with allow_connections true
alter database missing owner to stranger
load 'plpgsql'
load '$libdir/plugins/x'
select * from pg_ls_dir('.') limit 0
select pg_read_file('PG_VERSION')
select pg_stat_file('PG_VERSION') is null
select pg_reload_conf()
select pg_rotate_logfile()
select pg_switch_wal() is null
select pg_stat_reset()
select pg_stat_reset_shared('bgwriter')
select pg_create_restore_point('x') is null
select pg_promote()
select lo_import('/etc/passwd')
select lo_export(1, '/tmp/x')
select pg_log_backend_memory_contexts(pg_backend_pid())
select set_config('log_statement', 'all', false)
select set_config('work_mem', '1MB', true)
select current_setting('data_directory') is null
select current_setting('hba_file') is null
show data_directory
show config_file
show hba_file
select name from pg_settings where name in ('data_directory', 'hba_file', 'config_file', 'ident_file', 'work_mem') order by 1
set log_statement = 'all'
set session_replication_role = 'replica'
set work_mem = '1MB'
set my.custom = 'x'
set port = 5
listen x
notify x
select pg_notify('x', 'y')
select pg_advisory_xact_lock(1)
select pg_export_snapshot() is null
set transaction isolation level serializable
