-- What a view means doesn't change with what comes later.
create table a (id int primary key, v int);
create table b (bid int primary key, w int);
insert into a values (1, 2), (2, 3);
insert into b values (1, 20), (2, 30);
create view joined as select id, w from a join b on id = bid where v > 0;
create view natural_one as select * from a natural join (select bid as id, w from b) x;
create view using_one as select * from a join (select bid as id, w from b) x using (id);
create view nested as select (select max(w) from b where bid = id) as m, id from a;
create view starred as select count(*) from (select * from a union all select * from b) u;
create view in_exists as select id from a where exists (select 1 from b where bid = id and w > v * 2);
create view over_view as select * from joined natural join natural_one;
create view whole as select a from a;
create view grouped as select v as g, count(*) from a group by g, v;
create materialized view kept as select id, w from a join b on id = bid;
select pg_get_viewdef('joined'::regclass);
select pg_get_viewdef('using_one'::regclass);
select pg_get_viewdef('natural_one'::regclass);
alter table b add column id int default 77;
alter table a add column w int default 99;
alter table b add column v int default 1000;
alter table a add column bid int default 2;
alter table a add column g int default 5;
select * from joined order by 1;
select * from natural_one order by 1;
select * from using_one order by 1;
select * from nested order by 2;
select * from starred;
select * from in_exists order by 1;
select * from over_view order by 1;
select * from whole order by 1;
select * from grouped order by 1;
refresh materialized view kept;
select * from kept order by 1;
update joined set w = 1;
create view changed as select id, v from a where exists (select 1 from b where b.bid = a.id);
alter table b add column changed_id int;
update changed set v = v + 1 where id = 1 returning *;
insert into changed values (9, 9);
delete from changed where id = 2;
select * from a order by id;
-- Columns that go, and new ones of the same name.
alter table a drop column w;
alter table a add column w int default 98;
select * from joined order by 1;
alter table a rename column v to vv;
select * from joined order by 1;
select * from natural_one order by 1;
drop table a, b cascade;
-- Functions.
create function f(x bigint) returns text language sql as $$ select 'big' $$;
create view calling as select f(1) as r;
create function d(x int, y int default 5) returns text language sql as $$ select 'two' $$;
create view defaulted as select d(1) as r;
create view from_function as select * from f(2) r;
create function f(x int) returns text language sql as $$ select 'int' $$;
create function d(x int) returns text language sql as $$ select 'one' $$;
select * from calling;
select * from defaulted;
select * from from_function;
drop function f(int);
drop function f(bigint);
drop function d(int);
drop function d(int, int);
create or replace view calling as select f(1::bigint) as r;
create function f(x int) returns text language sql as $$ select 'int' $$;
alter function f(bigint) rename to big;
select * from calling;
select pg_get_viewdef('calling'::regclass);
create schema elsewhere;
alter function big(bigint) set schema elsewhere;
select * from calling;
select pg_get_viewdef('calling'::regclass);
alter schema elsewhere rename to there;
select * from calling;
select pg_get_viewdef('calling'::regclass);
drop function there.big(bigint);
drop function there.big(bigint) cascade;
drop function d(int, int) cascade;
drop function f(int);
drop schema there;
-- Literals are what they were read as when the view was made, and are shown with their types.
create table t (id int primary key, a int, b text, d timestamp, j jsonb, e bool);
insert into t values (1, 1, 'b1', '2020-01-02', '{"k": 5}', true), (2, 2, 'c2', '2021-01-02', null, false);
create view fixed as select 'today'::date = current_date as is_today, 'now'::timestamptz <= now() as was, date '2020-02-03' as d;
create view shown as
  select id, case when a = 1 then 'one' when a = 2 then 'two' else 'none' end as k, coalesce(b, 'z') as cb, j ->> 'k' as jk,
    extract(year from d) as y, substring(b from 1 for 2) as sb, position('b' in b) as p, trim(both 'b' from b) as tr,
    overlay(b placing 'z' from 1) as o, d at time zone 'UTC' as z, b ~ 'x' as re, interval '1 day' as i, '{1,2}'::int[] as ar,
    '-1.5'::numeric(5,2) as n, 'abc'::varchar(2) as v, '-5'::int as m, 'true'::bool as t, '1e3'::float8 as f
  from t where b like 'b%' or e and d > '2019-01-01' and a = '1';
create view with_queries as with q as (select id, a from t), r (z) as (select 'x' as y) select q.id, r.z from q, r;
create view unions as select 1 as n, 'x' as s union select '2', null;
select * from fixed;
select * from shown order by id;
select * from with_queries order by 1;
select * from unions order by 1;
select pg_get_viewdef('shown'::regclass);
select pg_get_viewdef('shown'::regclass, true);
select pg_get_viewdef('with_queries'::regclass);
set datestyle = 'German, DMY';
set intervalstyle = iso_8601;
select * from shown order by id;
reset datestyle;
reset intervalstyle;
drop table t cascade;
drop view fixed;
drop view unions;
-- Calls with VARIADIC arguments, and functions of types of other schemas.
create function addv(a int, b int default 5, variadic c int[] default '{}') returns int language sql immutable as $$ select a + b + cardinality(c) $$;
create function joined_all(variadic parts text[]) returns text language sql immutable as $$ select array_to_string(parts, '-') $$;
create table g (id int, x int default addv(1, 2, 3), y int default addv(1), z int default addv(1, 1, variadic array[4, 5]),
  j jsonb, k text generated always as (jsonb_extract_path_text(j, 'a', 'b')) stored, check (addv(id, 1, id, id) > 0),
  s text default format('%s-%s', 'a', 'b'), t text default concat('a', 1, 'b'), u text default format('%s%s', variadic array['x', 'y']),
  v text default joined_all('p', 'q'));
create index on g (addv(id, 2, 3));
create view called as select addv(id, 2, 3, 4) as a, joined_all('m', v) as b, format('%s', id) as c from g;
insert into g (id, j) values (1, '{"a": {"b": "c"}}');
select * from g;
select * from called;
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'g'::regclass and adnum in (2, 4, 9) order by adnum;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'g'::regclass;
select indexdef from pg_indexes where tablename = 'g';
insert into g values (-9);
drop table g cascade;
drop function addv, joined_all;
