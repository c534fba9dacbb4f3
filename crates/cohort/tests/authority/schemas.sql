-- USAGE of a schema, CREATE in it, and the rights of its owner. Names with a schema are looked up in many places, each with its own line.
select * from hid.x
select * from hid.v
insert into hid.x (b) values (1)
update hid.x set b = 1
delete from hid.x
table hid.m
select * from hid.s
truncate hid.x
lock table hid.x
copy hid.x to stdout
analyze hid.x
explain select * from hid.x
prepare q as select * from hid.x
prepare q as insert into hid.x (b) values (1)
prepare q (hid.ct) as select 1
declare c cursor for select * from hid.x
select nextval('hid.s')
select setval('hid.s', 5)
select currval('hid.s')
select nextval('hid.x_a_seq')
select last_value from hid.s
select pg_get_serial_sequence('hid.x', 'a')
select pg_relation_size('hid.x')
select pg_total_relation_size('hid.x')
select pg_get_viewdef('hid.v')
select pg_get_viewdef('hid.v', true)
select pg_get_functiondef('hid.f'::regproc)
select obj_description('hid.x'::regclass)
select 'hid.x'::regclass::text
select to_regclass('hid.x')::text
select to_regclass('hid.nope')
select 'hid.nope'::regclass
select 'hid.f'::regproc::text
select to_regproc('hid.f')::text
select 'hid.f(int)'::regprocedure::text
select to_regprocedure('hid.f(int)')::text
select 'hid.ct'::regtype::text
select to_regtype('hid.ct')::text
select 'hid.nope'::regtype
select to_regtype('hid.nope')
select 'hid.f'::regproc
select 'hid.nope'::regproc
select has_table_privilege('hid.x', 'select')
select has_table_privilege('hid.nope', 'select')
select has_any_column_privilege('hid.x', 'select')
select has_column_privilege('hid.x', 'a', 'select')
select has_sequence_privilege('hid.s', 'usage')
select has_function_privilege('hid.f(int)', 'execute')
select has_type_privilege('hid.ct', 'usage')
select hid.f(1)
select hid.f()
select hid.nofn()
call hid.p()
call hid.nope()
select null::hid.ct
select null::hid.nope
select 'a'::hid.en
select cast(1 as hid.d)
select array[1]::hid.d[]
select null::hid.x
do $$ declare v hid.ct; begin end $$
do $$ declare v hid.x.a%type; begin end $$
do $$ declare v hid.x%rowtype; begin end $$
do $$ declare v hid.d := 1; begin end $$
do $$ begin perform nextval('hid.s'); end $$
do $$ begin perform hid.f(1); end $$
do $$ declare r record; begin for r in select * from hid.x loop end loop; end $$
create function s.fn() returns int language plpgsql as $$ declare v hid.ct; begin return 1; end $$
create function s.fn() returns int language sql as 'select hid.f(1)'
create function s.fn() returns int language sql as 'select a from hid.x'
create function s.fn(hid.ct) returns int language sql as 'select 1'
create function s.fn() returns hid.ct language sql as 'select null::hid.ct'
create function s.fn() returns setof hid.x language sql as 'select * from hid.x'
create view s.w as select * from hid.x
create view s.w as select hid.f(1)
create table s.u (a hid.ct)
create table s.u (a hid.d)
create table s.u (like hid.x)
create table s.u (a int default nextval('hid.s'))
create table s.u (a int check (hid.f(a) > 0))
create table s.u (a int references hid.x)
create table s.u as select * from hid.x
create type s.cc as (a hid.ct)
create domain s.dd as hid.d
create table s.u (a int); create index on s.u (hid.f(a))
create temp table a9 (a int); create trigger tr before insert on a9 for each row execute function hid.trg()
create temp table a9 (a int); create trigger tr before insert on a9 for each row when (hid.f(new.a) > 0) execute function suppress_redundant_updates_trigger()
create temp table a9 (a int); alter table a9 alter a set default nextval('hid.s')
create temp table a9 (a int); alter table a9 alter a type hid.d
create temp table a9 (a int); alter table a9 add b hid.ct
create temp table a9 (a int); alter table a9 add foreign key (a) references hid.x
create temp table a9 (a int); alter table a9 add check (hid.f(a) > 0)
create trigger tr before insert on hid.x for each row execute function suppress_redundant_updates_trigger()
create index on hid.x (b)
reindex table hid.x
refresh materialized view hid.m
create or replace view hid.v as select 2 as x
create sequence s.q owned by hid.x.b
alter table hid.x add c int
alter table hid.x rename to y
alter table hid.x rename b to c
alter table hid.x owner to current_user
alter table hid.x set schema public
alter view hid.v rename to w
alter sequence hid.s restart
alter sequence hid.s rename to z
alter materialized view hid.m rename to n
alter function hid.f(int) rename to q
alter function hid.f(int) volatile
alter function hid.f(int) owner to current_user
alter function hid.f(int) set schema public
alter function hid.nope() volatile
alter procedure hid.p() rename to q
alter type hid.en add value 'y'
alter type hid.en rename to z
alter type hid.ct add attribute y int
alter type hid.ct owner to current_user
alter type hid.ct set schema public
alter domain hid.d set not null
alter domain hid.d add check (value > 0)
alter domain hid.d rename to z
drop table hid.x
drop view hid.v
drop sequence hid.s
drop materialized view hid.m
drop function hid.f(int)
drop function if exists hid.f(int)
drop function if exists hid.nope()
drop procedure hid.p()
drop type hid.en
drop type if exists hid.nope
drop domain hid.d
drop index hid.x_pkey
drop table if exists hid.nope
drop trigger if exists nope on hid.x
drop table if exists hid.x
comment on table hid.x is 'c'
comment on column hid.x.a is 'c'
comment on function hid.f(int) is 'c'
comment on type hid.ct is 'c'
comment on sequence hid.s is 'c'
comment on view hid.v is 'c'
comment on domain hid.d is 'c'
comment on schema hid is 'c'
grant select on hid.x to stranger
grant select on all tables in schema hid to stranger
grant all on all sequences in schema hid to stranger
grant execute on all functions in schema hid to stranger
grant execute on function hid.f(int) to stranger
grant execute on function hid.nope() to stranger
grant usage on type hid.ct to stranger
grant usage on sequence hid.s to stranger
grant usage on schema hid to stranger
revoke select on hid.x from stranger
grant select (a) on hid.x to stranger
alter default privileges in schema hid grant select on tables to stranger
set constraints hid.nope deferred
set search_path = hid; select * from x
set search_path = hid; select f(1)
set search_path = hid; create table y (a int)
set search_path = hid; select 'x'::regclass
set search_path = hid, public; create table new_y (a int)
create table hid.y (a int)
create schema authorization current_user create table z (a hid.d)
create table shut.u (a int)
create index on shut.t (a)
create unique index on shut.t (a)
alter table shut.t add primary key (a)
alter table shut.t add unique (b)
alter table shut.t add constraint kk unique using index ix
alter table shut.t add c serial
alter table shut.t add c int generated always as identity
alter table shut.t alter a add generated always as identity
alter table shut.t add c int
alter table shut.t add c int unique
alter table shut.t add c int check (c > 0)
alter table shut.t add check (a > 0)
alter table shut.t add foreign key (a) references t
alter table shut.t alter a type bigint
alter table shut.t rename b to z
alter table shut.t rename to z
alter index shut.ix rename to iy
alter view shut.v rename to z
alter table shut.v rename to z
alter materialized view shut.m rename to z
alter sequence shut.s rename to z
alter function shut.f() rename to z
alter procedure shut.p() rename to z
alter routine shut.f() rename to z
alter type shut.en rename to z
alter domain shut.d rename to z
alter type shut.ct rename to z
alter type shut.en add value 'b'
alter type shut.ct add attribute b int
alter type shut.ct rename attribute a to b
alter domain shut.d set not null
alter domain shut.d add constraint c check (value > 0)
create or replace view shut.v as select 2 as x
create or replace function shut.f() returns int language sql as 'select 2'
create or replace function shut.g() returns int language sql as 'select 2'
create view shut.w as select 1
create materialized view shut.n as select 1
create sequence shut.q
create type shut.e2 as enum ()
create type shut.c2 as (a int)
create domain shut.d2 as int
create table if not exists shut.t (a int)
create table if not exists shut.t as select 1
create materialized view if not exists shut.m as select 1
create index if not exists ix on shut.t (a)
create sequence if not exists shut.s
create trigger tr before update on shut.t for each row execute function suppress_redundant_updates_trigger()
alter table shut.t owner to member
alter table shut.t owner to current_user
alter function shut.f() owner to member
alter table shut.t set schema public
alter function shut.f() set schema public
alter type shut.en set schema public
alter table t set schema shut
alter function f(int) set schema shut
alter type mood set schema shut
alter sequence seq set schema shut
drop table shut.t
drop index shut.ix
drop function shut.f()
drop type shut.en
reindex table shut.t
comment on table shut.t is 'c'
grant select on shut.t to stranger
create table s.u (like shut.t including all)
select * into shut.n from t
create table shut.n as select 1
alter table shut.t rename constraint nope to n
truncate shut.t
analyze shut.t
drop index land.ix
drop table land.t
drop view land.v
drop materialized view land.m
drop sequence land.s
drop function land.f()
drop procedure land.p()
drop routine land.f()
drop type land.en
drop domain land.d
drop type land.ct
drop table land.t, land.v
drop schema land cascade
alter table land.t add b int
alter table land.t rename to z
alter function land.f() volatile
alter type land.en add value 'b'
comment on table land.t is 'c'
grant select on land.t to stranger
truncate land.t
create index on land.t (a)
drop trigger if exists nope on land.t
alter table land.t owner to owner
alter schema land rename to lend
alter table land.t drop column a
alter domain land.d set not null
select * from land.t
drop table if exists land.t
drop function if exists land.f()
drop function land.nope()
truncate pk
truncate pk cascade
truncate pk, fk
truncate counted_t
truncate counted_t restart identity
truncate counted_t continue identity
truncate pk restart identity cascade
truncate t cascade
truncate t restart identity
insert into uses_hid (b) values (1)
insert into uses_hid values (1, 1, 'a', 1)
insert into uses_hid (b) values (1); update uses_hid set b = 2
select * from over_hid
select c from uses_hid where c = 'a'
select calls_hid()
select asks_hid()
insert into refers_to_hid values (null), (1)
create table s.u (like uses_hid including all)
create view s.w as select * from uses_hid
alter table uses_hid alter c type text
select table_schema, table_name, view_definition is null from information_schema.views where table_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2, 3
select sequence_schema, sequence_name, data_type from information_schema.sequences where sequence_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2, 3
select table_schema, table_name, constraint_type from information_schema.table_constraints where table_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2, 3
select table_schema, table_name, column_name from information_schema.key_column_usage where table_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2, 3
select constraint_schema, constraint_name from information_schema.referential_constraints where constraint_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2
select event_object_schema, trigger_name, event_manipulation from information_schema.triggers where event_object_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2, 3
select table_schema, table_name from information_schema.tables where table_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2
select table_schema, table_name, column_name from information_schema.columns where table_schema in ('hid', 'shut', 'land', 'public', 's', 'closed') order by 1, 2, 3
select schema_name from information_schema.schemata where schema_name !~ '^pg_toast|^pg_temp' order by 1
create table s.u (like typed)
create temp table u (like typed including all)
select nope from hid.x
select a + true from hid.x
select * from hid.x where 'x'
select hid.f('x', 'y')
call hid.f(1)
insert into hid.x values (1, 2, 3, 4, 5)
insert into hid.x values (1) on conflict (b) do nothing
update hid.x set nope = 1
delete from hid.x where nope = 1
create temp view w as select nope from hid.x
create function s.fn(a hid.x.a%type) returns int language sql as 'select 1'
create function s.fn(a hid.ct.x%type) returns int language sql as 'select 1'
copy (select nope from hid.x) to stdout
select hid.x.a from t
reassign owned by owner to grantee
reindex schema land
reindex schema shut
reindex schema nope
select * from api.x
insert into api.x (b) values (1)
insert into api.x values (1, 2) on conflict (a) do update set b = 3
update api.x set b = 1
update api.x set b = 1 where a = (select max(a) from api.x)
delete from api.x
select * from api.x for update
prepare qx as update api.x set b = 2
copy api.x (b) to stdout
explain (costs off) delete from api.x
select is_updatable, is_insertable_into from information_schema.views where table_schema = 'api' and table_name = 'x'
select * from api.y
insert into api.y (b) values (1)
insert into api.y values (1, 2) on conflict (a) do update set b = 3
update api.y set b = 1
update api.y set b = 1 where a = (select max(a) from api.x)
delete from api.y
select * from api.y for update
prepare qy as update api.y set b = 2
copy api.y (b) to stdout
explain (costs off) delete from api.y
select is_updatable, is_insertable_into from information_schema.views where table_schema = 'api' and table_name = 'y'
select * from api.z
insert into api.z (b) values (1)
insert into api.z values (1, 2) on conflict (a) do update set b = 3
update api.z set b = 1
update api.z set b = 1 where a = (select max(a) from api.x)
delete from api.z
select * from api.z for update
prepare qz as update api.z set b = 2
copy api.z (b) to stdout
explain (costs off) delete from api.z
select is_updatable, is_insertable_into from information_schema.views where table_schema = 'api' and table_name = 'z'
