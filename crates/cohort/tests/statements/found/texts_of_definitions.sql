-- Defaults, checks and views are shown with the casts that they were bound with.
create domain short as varchar(20) not null;
create domain money_like as numeric(8,2) constraint fits check (value > 1.5);
create table shown (
    c1 varchar(20) check (c1 in ('a', 'b')), c2 char(3) default null, c3 varchar default 'x'::text, c4 varchar(3) default null,
    c5 timestamp(2) default null, c6 numeric(4,1) default null, c7 int default null, c8 text default 'x'::varchar,
    c9 text default null::varchar, c10 int check (c10 in (1, 2)), c11 bigint check (c11 in (1, 2)), c12 short default null,
    c13 money_like default null, c14 int default null::bigint, c15 char(2) default 'a', c16 interval(2) default null);
alter table shown add constraint k1 check (c1::text in ('a', 'b')), add constraint k2 check (c1 = any (array['a', 'b']));
alter table shown add constraint k3 check (c1 = any (array['a'::varchar, 'b'])), add constraint k4 check (c1 in ('a'::text, 'b'));
alter table shown add constraint k5 check (c8 in ('a', 'b')), add constraint k6 check (c2 in ('a', 'b'));
alter table shown add constraint k7 check (c1 = any ('{a,b}')), add constraint k8 check (c1 = any ('{a,b}'::text[]));
alter table shown add constraint k9 check (c1 = any (array['a', 'b']::text[]));
alter table shown add constraint k10 check (c1 = any (array['a'::varchar, 'b'::varchar]::text[]));
alter table shown add constraint k12 check (c1 = any ((array['a'::varchar(2), 'b'])::text[]));
alter table shown add constraint k14 check ((array[1, 2]::bigint[])[1] = 1);
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'shown'::regclass order by conname;
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
where adrelid = 'shown'::regclass order by attnum;
alter table shown alter c1 set default 'x'::text, alter c8 set default null, alter c2 set default null;
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
where adrelid = 'shown'::regclass and attname in ('c1', 'c2', 'c8') order by attnum;
create view v1 as select 'x'::text::varchar a, 'x'::varchar::text b, null::varchar(3) c, null::varchar::text d, array[1, 2]::text[] e,
    array['a', 'b']::varchar(3)[] f, '{1,2}'::int[]::text[] g, (array['a', 'b']::varchar[])::text[] h
from shown where c1 in ('a', 'b') and c2 in ('a', 'b') and c1 not in ('a', 'b') and c1 = any (array['a', 'b']);
select pg_get_viewdef('v1'::regclass);
create view v2 as select case when c1 in ('a', 'b') then 1 end a, string_agg(c1, ',' order by c1) b,
    string_agg(c8, ',' order by c8 desc), max(c1) as m from shown group by 1;
select pg_get_viewdef('v2'::regclass);
create view v3 as select array_agg(c1 order by c10 + 1, c1 desc nulls last, lower(c1)) b, sum(c10) filter (where c10 > 1),
    string_agg(c1, ',' order by c8) as s from shown;
select pg_get_viewdef('v3'::regclass);
create view v4 as select max(c1) over (order by c1), first_value(c1) over (order by c8), count(*) over () from shown;
select pg_get_viewdef('v4'::regclass);
create view v5 as select c1 from shown where c1 like 'a%' and (select max(x.c1) from shown x) > c1;
select pg_get_viewdef('v5'::regclass);
insert into shown (c1, c10, c11) values ('a', 1, 2);
insert into shown (c1, c12) values ('a', 'b');
select c3, c8, c15 from shown;
create view v6 as select substring(c1 from 1 for 2) as x, string_agg(c2::text, ',' order by c2::text) as s from shown group by 1, c2::text;
select pg_get_viewdef('v6'::regclass);
create view v7 as select c5 at time zone 'UTC' as x, string_agg((c7 > 1)::text, ',' order by (c7 > 1)::text) as s from shown group by 1;
select pg_get_viewdef('v7'::regclass);
create view v8 as select distinct c7 is null as x, position('a' in c1) from shown group by 1, 2 order by 1;
select pg_get_viewdef('v8'::regclass);
create view v9 as select count(distinct c13) filter (where c13 is not null) as m, c13 as k from shown group by c13 having count(*) > 1 order by 1 desc;
select pg_get_viewdef('v9'::regclass);
