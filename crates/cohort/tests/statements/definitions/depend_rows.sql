-- pg_depend, as far as there are objects of the kind: what depends on what, in words.
create schema depending;
set search_path = depending;
create function b() returns int language sql immutable as 'select 1';
create function bi(int) returns int language sql immutable as 'select $1';
create type e as enum ('a', 'b');
create type cc as (x int, y e);
create domain dm as int default b() check (bi(value) > 0);
create domain de as e default 'a'::e check (value <> 'b'::e);
create domain dc as cc check ((value).x > 0);
create sequence sq;
create table t (a int default b(), c int check (bi(c) > 0), g int generated always as (bi(a)) stored, d dm, f e default 'a'::e,
    h int default nextval('sq'), i serial, j int generated always as identity, k cc[], primary key (a) include (c),
    constraint ck check (a > c and f <> 'b'::e), u text collate "POSIX" default 'a'::e::text, v regclass default 'sq'::regclass,
    w regtype default 'cc'::regtype, x regproc default 'b'::regproc, z int check (1 > 0));
create index ix on t (bi(c)) where bi(a) > 0;
create index ix2 on t ((1)) where f = 'a'::e;
create index ix3 on t (c, d) include (g);
create unique index ix4 on t (c) where z is not null;
create index ix5 on t (a, (a + c), (bi(a)), (bi(c)));
create table r (x int references t (a), y int, foreign key (y) references t on delete cascade, unique (x, y));
create table own (k dc default row(1, 'a')::cc check ((k).x > 0), l int default ('(1,a)'::cc).x, m e[] default array['a'::e],
    n e[] default '{a,b}', o text default case when 'a'::e = 'b' then 'x' else 'y' end);
create function a(x int default b(), w e default 'a') returns e language sql as 'select w';
create function a2(x int default b(), w int default a(bi(1))::text::int) returns e language sql as 'select null::e';
create function pp(x cc, y t) returns setof t language plpgsql as 'begin end';
create function pt() returns table (p e, q dm) language plpgsql as 'begin end';
create procedure pr(x dm) language plpgsql as 'begin end';
create function tf() returns trigger language plpgsql as 'begin return new; end';
create trigger tr before insert or update of a, c on t for each row when (bi(new.a) > 0 and new.f = 'a'::e) execute function tf();
create trigger tr2 after delete on t for each statement execute function tf();
create trigger tr3 after update on t for each row when (old.* is distinct from new.*) execute function tf();
create constraint trigger ct after insert on t from r deferrable for each row execute function tf();
alter table t rename constraint ct to ct2;
create view v as select a, bi(c) as bc, f::text from t where f <> 'b';
create materialized view mv as select * from v;
create index mvi on mv (a);
create view v2 as select * from r natural join mv;
create view v3 as select count(*) from t, own;
create view v4 as select 'sq'::regclass as x, nextval('sq') as y, 'a'::e as z, '{a}'::e[] as w, null::dm as u;
alter table own add column dropped int default b();
alter table own drop column dropped;
select * from (
    select pg_describe_object(classid, objid, objsubid) as object,
        pg_describe_object(refclassid, refobjid, refobjsubid) as referenced, deptype
    from pg_depend where objid >= 16384
) d where object !~ 'pg_toast|RI_Constraint' and object || referenced !~ 'd_' order by object collate "C", referenced collate "C", deptype;
-- A written row of the table's own type names its columns and functions; the row as a whole does not.
create function same(int) returns int language sql immutable as 'select $1';
create table d_written (a int, b int, check (row(d_written.a, same(d_written.b))::d_written is distinct from '(1,2)'));
create table d_whole (a int, b int, check (d_whole is distinct from '(1,2)'));
create index d_key on d_written ((row(a, same(b))::d_written));
select pg_describe_object(classid, objid, objsubid) as object, pg_describe_object(refclassid, refobjid, refobjsubid) as referenced, deptype
    from pg_depend where objid in (select oid from pg_constraint where conrelid in ('d_written'::regclass, 'd_whole'::regclass)) or objid = 'd_key'::regclass
    order by object collate "C", referenced collate "C", deptype;
-- The same rows are found by either side.
select pg_describe_object(classid, objid, objsubid), deptype from pg_depend
    where refclassid = 'pg_proc'::regclass and refobjid = 'bi'::regproc order by 1, 2;
select pg_describe_object(classid, objid, objsubid), deptype from pg_depend
    where refclassid = 'pg_class'::regclass and refobjid = 'own'::regclass and pg_describe_object(classid, objid, objsubid) !~ 'pg_toast' order by 1, 2;
select pg_describe_object(classid, objid, objsubid), deptype from pg_depend
    where refclassid = 'pg_type'::regclass and refobjid = 'e'::regtype order by 1, 2;
select pg_describe_object(refclassid, refobjid, refobjsubid), deptype from pg_depend
    where classid = 'pg_class'::regclass and objid = 'ix'::regclass order by 1, 2;
select pg_describe_object(refclassid, refobjid, refobjsubid), deptype from pg_depend
    where classid = 'pg_proc'::regclass and objid = 'a'::regproc order by 1, 2;
select pg_describe_object(refclassid, refobjid, refobjsubid), deptype from pg_depend
    where objid = (select oid from pg_attrdef where adrelid = 't'::regclass and adnum = 1) order by 1, 2;
-- DROP knows them, too.
drop function b();
drop function bi(int);
drop type cc;
drop type e;
drop sequence sq;
drop table r;
drop domain dc;
drop table own;
alter table t drop column c;
drop schema depending cascade;
