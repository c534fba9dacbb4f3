select 'sad'::mood
select null::pair
select 5::dom
select (-5)::dom
select '{sad}'::mood[]
select null::t
create type new_e as enum ('a')
create type s.new_e as enum ('a')
create type closed.new_e as enum ('a')
create type new_c as (a int)
create type new_c as (a mood)
create type new_c as (a dom[])
create domain new_d as int
create domain new_d as dom
create domain new_d as mood
create domain s.new_d as int
create type new_r as range (subtype = int)
create type new_b
alter type mood add value 'other'
alter type mood rename value 'sad' to 'blue'
alter type mood rename to mood_2
alter type mood owner to stranger
alter type mood owner to current_user
alter type mood set schema s
alter type pair add attribute c int
alter type pair drop attribute b
alter type pair add attribute c mood
alter type pair rename attribute b to c
alter type pair owner to current_user
alter domain dom add check (value < 100)
alter domain dom drop constraint dom_check
alter domain dom set default 5
alter domain dom rename to dom_2
alter domain dom owner to current_user
alter domain dom set schema s
alter type t rename to t_2
alter type t owner to current_user
drop type mood
drop type pair
drop domain dom
drop type closed.hidden_type
drop type t
comment on type mood is 'x'
comment on domain dom is 'x'
grant usage on type mood to stranger
grant usage on domain dom to stranger
revoke usage on type mood from grantee
create schema new_s
create schema new_s authorization owner
create schema new_s authorization stranger
create schema new_s authorization power
create schema authorization current_user
create schema pg_new
create schema if not exists s
create schema new_s create table x (a int)
alter schema s rename to s_2
alter schema s owner to stranger
alter schema s owner to current_user
alter schema public owner to current_user
alter schema pg_catalog rename to x
alter schema pg_catalog owner to current_user
alter schema information_schema owner to current_user
comment on schema pg_catalog is 'x'
comment on schema information_schema is 'x'
grant usage on schema pg_catalog to stranger
alter function pg_catalog.now() owner to current_user
comment on function pg_catalog.now() is 'x'
alter table pg_catalog.pg_class owner to current_user
alter language plpgsql owner to current_user
comment on language plpgsql is 'x'
drop schema s
drop schema closed cascade
drop schema public cascade
drop schema pg_catalog
comment on schema s is 'x'
grant usage on schema closed to stranger
grant create on schema s to stranger
grant create on database postgres to stranger
grant temporary on database postgres to stranger
revoke temporary on database postgres from public
grant connect on database postgres to public
grant usage on language plpgsql to stranger
revoke usage on language plpgsql from public
alter default privileges grant select on tables to stranger
alter default privileges for role owner grant select on tables to stranger
alter default privileges for role power grant select on tables to stranger
alter default privileges in schema s grant select on tables to stranger
alter default privileges in schema closed grant select on tables to stranger
create temporary table tt (a int); insert into tt values (1); select * from tt; update tt set a = 2; delete from tt; drop table tt
create temporary table tt (a serial primary key, b mood)
create temporary table tt (a serial); insert into tt default values; select * from tt; select currval('tt_a_seq'), lastval()
create temporary view tv as select 1 as a; select * from tv
create temporary sequence ts; select nextval('ts'), nextval('pg_temp.ts')
create temporary table tt as select * from t; select count(*) from tt
create table pg_temp.tt (a int); select * from pg_temp.tt; truncate tt; create index on tt (a); alter table tt add column b int; copy tt to stdout; lock table tt
select has_schema_privilege(pg_my_temp_schema(), 'usage')
create temporary table tt (a int); select has_schema_privilege(pg_my_temp_schema(), 'usage'), has_schema_privilege(pg_my_temp_schema(), 'create'), has_table_privilege('tt', 'select')
