-- An expression with a window function within is the same expression where it is written again.
create table wk (a int, b int);
insert into wk values (1, 2), (2, 1), (3, 3);
select (select max(r) from (select rank() over (order by wk.b, x.a rows 1 preceding) r from wk x) q) as m, count(*) from wk
  group by (select max(r) from (select rank() over (order by wk.b, x.a rows 1 preceding) r from wk x) q);
select sum(a) over (order by b) from wk order by sum(a) over (order by b) desc;
select distinct sum(a) over (order by b) from wk order by sum(a) over (order by b) desc;
select distinct sum(a) over (order by b) from wk order by sum(a) over (order by b desc) desc;
select distinct sum(a) over (order by b rows 1 preceding) from wk order by sum(a) over (order by b rows 2 preceding) desc;

-- The output of a join's inner side is told: clients look there for columns that an outer join may leave without a value.
set enable_mergejoin = off;
explain (verbose, costs off) select x.a, y.a from wk x left join wk y on y.a = x.b;
explain (verbose, costs off) select x.a, y.a from wk x left join wk y on y.a > x.b;
