-- Each row of a common table expression that calls something volatile is computed once, and so is what rows are sorted by.
create sequence how_often;
create table often (a int, v int, g int);
insert into often select i, i, i from generate_series(1, 10) i;
with q as not materialized (values (random())) select a.column1 = b.column1 from q a, q b;
with q as not materialized (values (random()), (random())) select count(*) from q a, q b where a.column1 = b.column1;
with q as not materialized (select * from (values (nextval('how_often'))) v (n)) select count(distinct n) from (select n from q union all select n from q) b;
with q as not materialized (select a from often where nextval('how_often') > 0) select count(*) from q, q r;
select nextval('how_often');
create function numbers_drawn() returns setof bigint language sql volatile as 'select nextval(''how_often'') from generate_series(1, 3)';
with q as not materialized (select * from numbers_drawn() n) select q.n = r.n as same, count(*) from q, q r group by 1 order by 1;
select nextval('how_often');
-- A volatile condition of a join is computed for each pair of rows.
select count(*) from often x join often y on x.a = y.a + nextval('how_often') * 0;
select nextval('how_often');
select count(*) from often x left join often y on x.a = y.a + nextval('how_often') * 0;
select nextval('how_often');
select count(*) from often x join often y on x.a = y.a and x.v = y.v + nextval('how_often') * 0;
select nextval('how_often');
-- Where rows are locked as well.
select a, nextval('how_often') from often order by nextval('how_often') desc for update;
select a, nextval('how_often') n from often order by n desc for update;
select a from often order by nextval('how_often') desc limit 2 for update;
select nextval('how_often');
select a, nextval('how_often') from often order by a, nextval('how_often') desc offset 3 limit 2 for update;
select nextval('how_often');
-- A condition on a subquery whose rows are locked is one of the subquery.
begin;
select * from (select * from often where v > 8 for update) q where g < 10;
rollback;
drop function numbers_drawn;
drop table often;
drop sequence how_often;
