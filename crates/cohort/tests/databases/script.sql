-- Making, entering, changing and dropping databases.
create database shop;
select datname, datistemplate, datallowconn, datconnlimit from pg_database order by 1;
create table here(i int);
\c shop
select current_database();
create table t(id serial primary key, v text, b numeric);
create type mood as enum ('sad','ok');
create view vv as select v from t;
create function f(int) returns int language sql as 'select $1 + 1';
insert into t(v,b) select 'x'||g, g from generate_series(1,1000) g;
select count(*) from t;
\d
\c postgres
select * from t;
\dt
create database copy template shop;
\c copy
\d
select count(*), sum(b) from t;
insert into t(v) values ('new') returning id;
select f(1), 'ok'::mood;
\c shop
select count(*), max(id) from t;
drop database copy;
\c postgres
drop database shop;
drop database if exists shop;
drop database nosuch;
drop database postgres;
alter database template1 connection limit 3;
create database a with owner postgres encoding 'UTF8' lc_collate 'C' template template0 connection limit 5 is_template true;
drop database a;
alter database a is_template false;
alter database a rename to b;
alter database a rename to b;
comment on database b is 'hello';
select shobj_description(oid,'pg_database') from pg_database where datname='b';
drop database b with (force);
begin; create database c; rollback;
create database c encoding 'LATIN9x';
create database c nooption 1;
create database c connection limit -5;
create database c template nosuch;
create database postgres;
create role owner1 login; create role plain login createdb;
create database owned owner owner1;
\c owned
create table x(i int);
alter table x owner to plain;
grant select on x to owner1;
\c postgres
drop role plain;
drop role owner1;
reassign owned by owner1 to postgres;
alter database owned set work_mem = '7MB';
alter role plain in database owned set work_mem = '9MB';
select setdatabase::regclass is null, setrole = 0, setconfig from pg_db_role_setting order by 2;
\c owned plain
show work_mem;
\c owned postgres
show work_mem;
drop database owned;
create table here2(i int);
select pg_try_advisory_lock(5);
notify c, 'x';
\c postgres postgres
set role plain;
create database mine;
alter database mine connection limit 2;
alter database mine owner to postgres;
drop database mine;
create database fromit template owned;
reset role;
grant connect on database owned to plain;
revoke connect on database owned from public;
select datacl from pg_database where datname='owned';
\c postgres postgres
alter database owned allow_connections false;
alter database postgres allow_connections false;
drop database owned;
select count(*) from pg_db_role_setting;
select datname, numbackends from pg_stat_database where datname is not null order by 1;
-- One database knows nothing of another's objects, and shares roles with it.
create database one;
create database two;
\c one
create schema own;
create table own.t(i int);
comment on table own.t is 'in one';
create function own.f() returns int language sql as 'select 1';
create role shared;
grant usage on schema own to shared;
alter default privileges in schema own grant select on tables to shared;
create domain own.d as int check (value > 0);
\c two
select count(*) from pg_namespace where nspname = 'own';
select count(*) from pg_class where relname = 't';
create schema own authorization shared;
select count(*) from pg_roles where rolname = 'shared';
\c postgres
drop role shared;
\c two
drop owned by shared;
\c one
drop role shared;
drop owned by shared;
drop role shared;
select pg_advisory_lock(1), pg_advisory_lock(1, 2);
select d.datname, classid, objid, objsubid, granted from pg_locks l join pg_database d on d.oid = l.database where locktype = 'advisory' order by 2, 3, 4;
begin;
lock table own.t;
select d.datname, relation::regclass, mode from pg_locks l join pg_database d on d.oid = l.database where relation = 'own.t'::regclass;
rollback;
create database three template one;
\c two
create database three template one;
\c three
\c two
select i from one.own.t;
select count(*) from two.pg_catalog.pg_class where relname = 'pg_class';
alter database one rename to two;
alter database two rename to four;
alter database one rename to four;
\c four
select obj_description('own.t'::regclass), own.f();
select 0::own.d;
\c postgres
drop database four;
drop database two;
drop database three;
alter database template0 connection limit 0;
alter database template0 connection limit -1;
drop database template0;
alter database postgres with oops 1;
create database x is_template maybe;
create database x is_template true allow_connections false;
alter database x is_template false;
drop database x;
create database x tablespace nosuch;
create database x strategy = nosuch;
create database x strategy = file_copy locale 'C' lc_collate 'C';
create database x locale 'nosuch';
create database x owner nosuch;
create database x template template1 template template1;
select datname from pg_database order by 1;
-- One text means another table in each database, and rights are those of the database that the session is in.
create database left_one;
create database right_one;
\c left_one
create table same(a int, b text);
insert into same values (1, 'left');
select * from same where a = 1;
\c right_one
create table same(b text, a int, c numeric);
insert into same values ('right', 1, 2.5);
select * from same where a = 1;
\c left_one
select * from same where a = 1;
insert into same values (1, 'again');
revoke temporary on database left_one from public;
revoke connect on database right_one from public;
\c left_one plain
create temp table x(i int);
select pg_database_size('right_one');
\c postgres plain
create temp table x(i int);
select has_database_privilege('left_one', 'temp'), has_database_privilege('right_one', 'connect');
\c postgres postgres
drop database left_one;
drop database right_one;
create database closed allow_connections false;
create database private;
revoke connect on database private from public;
create database full connection limit 0;
create database plain_one is_template default connection limit = default owner default template default;
select datistemplate, datconnlimit from pg_database where datname = 'plain_one';
alter database plain_one set tablespace pg_default;
alter database plain_one set tablespace nosuch;
set default_transaction_read_only = on;
create database x;
drop database plain_one;
drop database template1;
alter database plain_one connection limit 3;
reset default_transaction_read_only;
drop database plain_one;
create database placed location '/somewhere';
create database placed location '/somewhere' location '/elsewhere';
drop database placed;
