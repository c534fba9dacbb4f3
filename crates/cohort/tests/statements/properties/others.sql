-- Statements that PostgreSQL takes.
create table tt (a serial, b int generated always as identity, c text);
alter index tt rename to tt2;
alter index tt2 rename to tt;
create view vv as select * from tt;
alter index vv rename to vv2;
alter index tt_a_seq rename to zz;
create type ct as (a int);
alter index ct rename to ct2;
create sequence s as int;
alter sequence s as bigint;
select data_type, max_value from pg_sequences where schemaname = current_schema() and sequencename = 's';
alter sequence s as smallint;
select data_type, max_value from pg_sequences where schemaname = current_schema() and sequencename = 's';
alter sequence s as text;
create sequence s3 as smallint maxvalue 300;
alter sequence s3 as int;
select data_type, max_value from pg_sequences where schemaname = current_schema() and sequencename = 's3';
select sequence_name, data_type, numeric_precision, numeric_precision_radix, numeric_scale, start_value, minimum_value, maximum_value, increment, cycle_option from information_schema.sequences where sequence_schema = current_schema() order by 1;
create domain dd as int check (value > 0);
create table ud (a dd);
insert into ud values (5);
create view uv as select a, a::dd as b, 3::dd as c from ud;
alter domain dd add constraint big check (value < 1000);
alter domain dd add constraint small check (value > 7);
alter domain dd add constraint late check (value < 3) not valid;
select conname, convalidated from pg_constraint where contypid = 'dd'::regtype order by 1;
select a from ud;
insert into ud values (6);
alter domain dd validate constraint late;
alter domain dd drop constraint late;
alter domain dd drop constraint dd_check;
alter domain dd set not null;
alter domain dd drop not null;
alter domain dd add constraint again check (value < 99) not valid;
alter domain dd validate constraint again;
select conname, convalidated from pg_constraint where contypid = 'dd'::regtype order by 1;
select * from uv;
-- COPY FREEZE wants a table that nobody else knows.
create table old (a int);
copy old from stdin with (freeze);
1
\.
copy old from stdin with (freeze false);
1
\.
begin;
create table fr (a int);
copy fr from stdin with (freeze);
1
\.
commit;
begin;
truncate old;
copy old from stdin with (freeze true);
2
\.
savepoint s;
copy old from stdin with (freeze true);
3
\.
rollback to s;
truncate old;
copy old from stdin with (freeze true);
4
\.
release s;
copy old from stdin with (freeze true);
5
\.
commit;
select * from old;
copy old from stdin with (freeze maybe);
\.
-- PostgreSQL's own objects.
select no_such_fn(1);
select 1::no_such;
select * from pg_catalog.pg_nope;
select 1 @@@@ 2;
select locktype, relation::regclass, virtualxid is not null as has_number, mode, granted, fastpath from pg_locks where pid = pg_backend_pid() order by 1, 2, 3;
begin;
insert into ud values (8);
select locktype, relation::regclass, mode, granted, fastpath from pg_locks where pid = pg_backend_pid() order by 1, 2, 3;
commit;
