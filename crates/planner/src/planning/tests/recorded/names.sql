-- names and scopes
selec 1
select 1 form test
select 'ä' from where
select (1
select 'abc
select "abc
select 1;; select 2
select * from nowhere
select * from no.where
select * from public.test
select * from postgres.public.test
select * from other.public.test
select nothing
select nothing from test
select abalanc from pgbench_accounts
select x.id from test
select test.id from test t
select public.test.id from test
select public.test.id from public.test t
select t.nothing from test t
select t.inf from test t
select t.* from test t
select x.* from test t
select *
select id from test, people
select t.id, p.id from test t, people p
select * from test t, people t
select * from test, test
select * from test a join test a on true
select * from test t, (select t.id) s
select * from test t, lateral (select t.id) s
select * from test t left join lateral (select t.id + 1 as x) s on true
select * from test t right join lateral (select t.id) s on true
select * from test t full join lateral (select t.id) s on true
select * from (select id from test)
select * from (values (1, 'a'))
select * from (values (1, 'a'), (2, 'b')) as v
select * from (values (1, 'a'), (2, 'b')) as v(x, y)
select * from (values (1, 'a'), (2, 'b')) as v(x, y, z)
select * from test as t(a)
select * from test as t(a, b, c)
select a, info from test as t(a)
select id from test as t(a)
select ctid, xmin, tableoid from test
select t.ctid from test t, people p
select ctid from test, people
select test from test
select t from test t
select t.id as id, t.id as id2 from test t order by id
select * from pgbench_branches join pgbench_tellers using (bid)
select * from pgbench_branches natural join pgbench_tellers
select bid from pgbench_branches join pgbench_tellers using (bid)
select bid from pgbench_branches join pgbench_tellers on pgbench_branches.bid = pgbench_tellers.bid
select * from pgbench_branches full join pgbench_tellers using (bid)
select b.bid, t.bid, bid from pgbench_branches b left join pgbench_tellers t using (bid)
select * from pgbench_branches join pgbench_tellers using (nothing)
select * from pgbench_branches join pgbench_tellers using (tid)
select * from (pgbench_branches b join pgbench_tellers t on b.bid = t.bid) j
select * from (pgbench_branches b join pgbench_tellers t on b.bid = t.bid) as j(a, b)
select b.bid from (pgbench_branches b join pgbench_tellers t on b.bid = t.bid) as j
select * from test t join people p on t.id = x.id
select * from test a, test b join people p on a.id = p.id
select x from generate_series(1, 3) x
select * from generate_series(1, 3)
select * from generate_series(1, 3) as g(n)
select * from generate_series(1, 3) with ordinality
select g.n, o from generate_series(1, 3) with ordinality as g(n, o)
select * from rows from (generate_series(1, 2), generate_series(1, 3)) as x(a, b)
select * from unnest(array[1, 2], array['a', 'b']) as u(a, b)
select unnest(array[1.5, 2])
select * from test where id = (select max(id) from people where people.id = test.id)
select * from test where id = (select max(id) from people where people.nothing = test.id)
with x as (select 1 as a) select * from x
with x as (select 1 as a) select b from x
with x(b) as (select 1 as a) select * from x
with x(b, c) as (select 1 as a) select * from x
with x as (select 1), x as (select 2) select * from x
with x as (select * from y), y as (select 1) select * from x
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select * from n
with recursive n(i) as (select 1 union all select i + 1.5 from n) select * from n
with recursive n as (select 1 as i union select i from n) select * from n
with recursive n(i) as (select i from n) select * from n
with recursive n(i) as (select i from n union all select 1) select * from n
with x as (insert into test values (1, 'a') returning id) select * from x
with x as (insert into test values (1, 'a')) select * from x
select * from (with x as (delete from test returning *) select * from x) s
select 1 as "A", 2 as b
select nosuch(1)
select nosuch(1, 'a', null)
select upper(1)
select pg_catalog.upper('a')
select no.upper('a')
select 1::nosuch
select 'x'::no.such
select cast('1' as integer[])
select $0
select $1
select $2::int, $1
select $70000
