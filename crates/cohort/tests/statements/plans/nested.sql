-- Subqueries, lateral items and aggregates within each other.
create table t (a int primary key, b bool, c text, d int);
insert into t select g, g % 2 = 0, 'x' || g, g % 10 from generate_series(1, 100) g;
create table u (a int, t int, e int);
insert into u select g, g % 40, g % 7 from generate_series(1, 200) g;
create table w (u int, f int);
insert into w select g, g % 5 from generate_series(1, 150) g;
analyze;

-- A condition of a join within a lateral item reads what stands beside the item.
select x.a, q.a, q.s from t x, lateral (select y.a, s.s from t y left join lateral (select y.d + z.d as s from t z where z.a = 1) s on s.s = x.d) q where x.a < 3 and q.a < 4 order by 1, 2;
select x.a, q.* from t x, lateral (select y.a, v.e from t y left join u v on v.t = y.a and v.e = x.d where y.a < 5) q where x.a < 4 order by 1, 2, 3;
select x.a, q.n from t x cross join lateral (select count(*) n from u v left join w on w.u = v.a and w.f < x.d where v.t = x.a) q where x.a < 6 order by 1;
select x.a, q.* from t x left join lateral (select y.a b, z.f from u y full join w z on y.a = z.u where y.t = x.a) q on true where x.a < 3 order by 1, 2;
select x.a, q.* from t x, lateral (select v.a from u v where v.t = x.a and exists (select 1 from w where w.u = v.a and w.f = x.d)) q order by 1, 2;
select x.a, q.* from t x, lateral (select * from (values (x.a), (x.d)) r (n) left join lateral (select n + x.d m) s on s.m > x.a) q where x.a < 3 order by 1, 2;

-- Aggregates of the query around.
select (select min(t.a) from u limit 1) from t;
select (select max(min(t.a)) from u) from t;
select (select min(t.a)) from t;
select d, (select sum(t.a)), (select count(*) from u where u.a < max(t.a)) from t group by d order by 1;
select sum((select min(t.a) from u)) from t;
select max((select count(t.a))) from t;
select (select max(t.d) from u where u.a = 1), min(t.a) from t;
select (select (select max(t.d) from u where u.a = 1) from w where w.u = 1) from t;

-- Subqueries among the expressions that rows are grouped by.
select (exists (select 1 from u where u.t = t.a)), count(*) from t group by (exists (select 1 from u where u.t = t.a)) order by 1;
select (select max(e) from u where u.t = t.d), count(*) from t group by (select max(e) from u where u.t = t.d) order by 1;
select t.a in (select u.t from u), count(*) from t group by t.a in (select u.t from u) order by 1;
select case when (a, d) in (select t, e from u) then 'in' else 'out' end, count(*) from t group by case when (a, d) in (select t, e from u) then 'in' else 'out' end order by 1;
select (select max(e) from u where u.t = t.d), count(*) from t group by (select min(e) from u where u.t = t.d);
select (select max(e) from u where u.t = t.d) + 1, count(*) from t group by (select max(e) from u where u.t = t.d) having (select max(e) from u where u.t = t.d) > 5 order by 1;
select array(select e from u where u.t = t.d order by 1), count(*) from t group by array(select e from u where u.t = t.d order by 1) order by 1 limit 2;

-- A common table expression read where a conflict is resolved, and in RETURNING.
with n as (select 5 as v) insert into t values (1, true, 'z', 3) on conflict (a) do update set d = (select v from n) returning *;
with n as (select 6 as v) insert into t values (1, true, 'z', 3) on conflict (a) do update set d = t.d where t.d < (select v from n) returning a, (select v from n);
with n as (select 7 as v), m as (select v + 1 as v from n) insert into t values (2, true, 'z', 3) on conflict (a) do update set d = (select v from m), c = (select v::text from n) returning a, c, d;
with n as materialized (select 5 as v) insert into t values (3, true, 'z', 3) on conflict (a) do update set d = (select v from n) + excluded.d returning *;

-- Names of columns that come from subqueries under casts.
select (select 'a'::text)::bpchar, (select 1)::int8, (select a from t where a = 1)::text, (select a as z from t where a = 1)::text;
