-- Sequences, indexes, triggers and grants within CREATE SCHEMA.
create role es_owner;
create function es_tell() returns trigger language plpgsql as $$ begin raise notice '% % %', tg_name, tg_op, tg_when; return null; end $$;
create schema es1 authorization es_owner
  grant select on t to public
  create index on t (a)
  create view v as select * from t
  create table t (a int primary key default nextval('es1.sq'))
  create sequence sq increment 5;
select relname, relkind, relowner::regrole, relacl from pg_class where relnamespace = 'es1'::regnamespace order by 1;
create schema es2 create trigger tt before truncate on t execute function nosuch() create table t (a int);
create schema es2 create table t (a int) create trigger tt before insert on t for each statement execute function es_tell();
insert into es2.t values (1);
create schema es3 create trigger tt before insert on es2.t for each statement execute function es_tell();
create schema es3 create index i on es2.t (a);
create schema es3 create sequence es2.s;
create schema es3 grant select on es2.t to public;
select relacl from pg_class where oid = 'es2.t'::regclass;
create schema es4 create table t (a int) grant insert on table es4.t to es_owner with grant option grant usage on schema es4 to public;
select relacl from pg_class where oid = 'es4.t'::regclass;
select nspacl from pg_namespace where nspname = 'es4';
create schema es5 grant select on nosuch to public;
create schema es5 create function f() returns int language sql as 'select 1';
create schema es5 create temp sequence s;
create schema if not exists es4 create sequence s;
create schema es5 revoke all on es4.t from public;
set role es_owner;
create schema es6 create table t (a int);
reset role;
drop schema es1, es2, es3, es4 cascade;
drop role es_owner;
