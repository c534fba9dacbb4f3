-- Distinct rows of a recursion: padding counts for nothing, and memory is bounded.
with recursive c (x) as (select 'a'::char(5) union select (trim(x) || ' ')::char(5) from c) select x, length(x) from c;
with recursive c (x) as (select 'a'::char(3) union select (x || 'b')::char(3) from c) select x, length(x) from c order by x;
with recursive c (x, y) as (select 1, 1.0 union select x, y + 0.00 from c) select * from c;
with recursive c (x) as (select 1 union select (x * 7) % 101 from c) select count(*), sum(x) from c;
with recursive c (x) as (values (1), (2), (1) union select x + 2 from c where x < 20) select * from c order by x;
with recursive c (x) as (select null::int union select x from c) select * from c;
with recursive c (a) as (select array[1] union select array[1] from c) select * from c;
with recursive c (r) as (select row(1, 'x'::text) union select row(1, 'x'::text) from c) select r from c;
set work_mem = '64kB';
with recursive c (n, t) as (select 1, repeat('x', 100) union select n % 3000 + 1, repeat('x', 100) from c) select count(*), sum(n), count(distinct t) from c;
-- Rows that functions gather.
create function counted(n int) returns setof int language plpgsql as $$ begin for i in 1..n loop return next i; end loop; end $$;
select count(*), sum(c), min(c), max(c) from counted(20000) c;
select * from counted(3);
select counted(2), counted(3);
create function texts(n int) returns table (i int, t text) language plpgsql as $$ begin for k in 1..n loop i := k; t := repeat('y', 50) || k; return next; end loop; return query select 0, 'last'::text; end $$;
select count(*), sum(i), max(length(t)) from texts(5000);
select * from texts(2);
select t.i, u.i from texts(1) t, texts(2) u order by 1, 2;
create function none() returns setof int language plpgsql as $$ begin return; end $$;
select * from none();
create function fails_late(n int) returns setof int language plpgsql as $$ begin return next 1; return next 1 / n; end $$;
select * from fails_late(0);
select * from fails_late(1);
reset work_mem;
-- Functions that take a row, called as if they were its columns.
create table people (first text, last text, born int);
insert into people values ('Ada', 'Lovelace', 1815), ('Alan', 'Turing', 1912);
create function full_name(people) returns text language sql immutable as $$ select $1.first || ' ' || $1.last $$;
create function age_in(p people, y int) returns int language sql as 'select y - p.born';
select p.full_name from people p order by 1;
select people.full_name, people.born from people order by 2;
select p.full_name from people p where p.full_name like 'A%T%';
select p.no_such from people p;
select p.age_in from people p;
select no_table.full_name from people p;
select q.full_name from (select * from people) q;
