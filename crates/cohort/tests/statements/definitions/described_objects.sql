-- pg_describe_object tells objects of every catalog, and DROP tells them in the same words.
create schema "S 1";
set search_path = "S 1";
create table t ("A b" int, b int, constraint "C d" check ("A b" > 0));
create function "F x"(int) returns int immutable language sql as 'select 1';
create view "V w" as select "A b" from t;
create domain "D m" as int constraint "dc K" check ("F x"(value) > 0);
create table u ("D d" "D m", x int default "F x"(1), constraint "T c" check ("F x"(x) > 1), "G g" int generated always as ("F x"(x)) stored);
create index "I x" on u ("F x"(x));
create function trf() returns trigger language plpgsql as 'begin return new; end';
create trigger "T r" after insert on u for each row when ("F x"(new.x) > 0) execute function trf();
alter table t drop column "A b";
drop function "F x"(int);
drop type "D m";
drop table t;
drop table u;
alter default privileges in schema "S 1" grant select on tables to public;
alter default privileges in schema "S 1" grant execute on functions to public;
alter default privileges in schema "S 1" grant usage on sequences to public;
alter default privileges in schema "S 1" grant usage on types to public;
select pg_describe_object(826, oid, 0) from pg_default_acl where defaclnamespace = '"S 1"'::regnamespace order by 1;
select pg_describe_object(2618, oid, 0) from pg_rewrite where ev_class = '"V w"'::regclass;
select pg_describe_object(2604, oid, 0) from pg_attrdef where adrelid = 'u'::regclass order by 1;
select pg_describe_object(2606, oid, 0) from pg_constraint where conrelid in ('t'::regclass, 'u'::regclass) or conname = 'dc K' order by 1;
select pg_describe_object(2620, oid, 0) from pg_trigger where tgrelid = 'u'::regclass;
set search_path = public;
select pg_describe_object(2618, oid, 0) from pg_rewrite where ev_class = '"S 1"."V w"'::regclass;
select pg_describe_object(2604, oid, 0) from pg_attrdef where adrelid = '"S 1".u'::regclass order by 1;
select pg_describe_object(2606, oid, 0) from pg_constraint where conrelid in ('"S 1".t'::regclass, '"S 1".u'::regclass) or conname = 'dc K' order by 1;
select pg_describe_object(1259, '"S 1".u'::regclass, 0), pg_describe_object(1259, '"S 1".u'::regclass, 1),
    pg_describe_object(1259, '"S 1"."V w"'::regclass, 1), pg_describe_object(1259, '"S 1".u'::regclass, -2),
    pg_describe_object(1259, '"S 1".u'::regclass, 55), pg_describe_object(1259, '"S 1"."I x"'::regclass, 1),
    pg_describe_object(1255, '"S 1"."F x"'::regproc, 0), pg_describe_object(1247, '"S 1"."D m"'::regtype, 0),
    pg_describe_object(2615, '"S 1"'::regnamespace, 0);
drop schema "S 1" cascade;
select pg_describe_object(0, 0, 0), pg_describe_object(1259, 0, 0), pg_describe_object(1255, 0, 0);
select pg_describe_object(0, 1, 0);
select pg_describe_object(1249, 1, 0);
select pg_describe_object(1259, 1259, 0), pg_describe_object(1259, 1259, 1), pg_describe_object(1259, 1259, 99),
    pg_describe_object(1259, 'pg_tables'::regclass, 0), pg_describe_object(1259, 'pg_tables'::regclass, 1);
select pg_describe_object(1255, 'abs(int)'::regprocedure, 0), pg_describe_object(2617, '+(int,int)'::regoperator, 0),
    pg_describe_object(3456, '"C"'::regcollation, 0), pg_describe_object(2616, 1978, 0), pg_describe_object(2753, 1976, 0),
    pg_describe_object(2601, 403, 0), pg_describe_object(1213, 1663, 0);
select pg_describe_object(1262, (select oid from pg_database where datname = 'postgres'), 0), pg_describe_object(1260, 10, 0),
    pg_describe_object(2612, (select oid from pg_language where lanname = 'plpgsql'), 0),
    pg_describe_object(3079, (select oid from pg_extension), 0);
select pg_describe_object(2605, (select oid from pg_cast where castsource = 20 and casttarget = 21), 0);
select pg_describe_object(class, 4000000000, 0) from unnest('{1247,1255,1259,1260,1262,2604,2606,2615,2617,2618,2620,3456,826,2605}'::oid[]) class;
-- Objects that are built in belong to a role that keeps them.
drop owned by postgres;
reassign owned by postgres to postgres;
