-- grouping, ordering, sets, changes
select bid, count(*) from pgbench_accounts
select bid, count(*) from pgbench_accounts group by bid
select bid + 1, count(*) from pgbench_accounts group by bid + 1
select bid + 2, count(*) from pgbench_accounts group by bid + 1
select bid + 1 + 2 from pgbench_accounts group by bid + 1
select bid as b, count(*) from pgbench_accounts group by b
select bid as aid, count(*) from pgbench_history group by aid
select a.aid, a.bid from pgbench_history a group by a.aid
select a.aid, a.bid from pgbench_accounts a group by a.aid
select a.aid, b.bbalance from pgbench_accounts a, pgbench_branches b group by a.aid
select * from test group by 3
select * from test group by 0
select * from test group by 1, 2
select id from test group by 'a'
select id from test group by 1.5
select id, sum(id) from test group by 2
select max(id) from test group by max(id)
select bid from pgbench_history group by bid having aid > 1
select bid from pgbench_history having bid > 1
select 1 from pgbench_history having true
select 1 from test having sum(id)
select 1 from test where count(*) > 1
select 1 from test where sum(id) > 1 group by id
select sum(count(*)) from test
select sum((select count(*) from people)) from test
select (select sum(t.id) from people) from test t
select (select sum(t.id + p.id) from people p) from test t
select t.id, (select max(p.id) from people p where p.boss = t.id) from test t group by t.id
select (select max(t.id) from test t where t.id = h.aid) from pgbench_history h group by h.bid
select 1 from test t join people p on count(*) = 1
select count(*) from test order by id
select id from test group by id order by count(*), id
select id from test order by 2
select id from test order by 'a'
select id from test order by nothing
select id as x, info as x from test order by x
select id as x, id as x from test order by x
select id as info from test order by info
select id as info from test order by info || 'a'
select id from test order by id using <
select id from test order by id using =
select distinct id from test order by info
select distinct id from test order by id + 1
select distinct id, info from test order by 2
select distinct on (id) id from test order by info
select distinct on (id) id, info from test order by id, info desc
select distinct on (id, info) * from test order by info
select distinct on (2) id, info from test
select distinct on (3) id, info from test
select id from test union select id from people order by id
select id from test union select id from people order by id + 1
select id from test union select id from people order by nothing
select id from test union select id from people order by 2
select 1 union select 1, 2
select 1 union select true
select 1 union select 'a'
select 1 union select '2'
select 1 union select 2.5 union all select null
select null union select null
select 'a' union select 'b' except select 'c' intersect select 'd'
select 1 intersect select 2.5
(select id from test limit 1) union all (select id from people order by name limit 2)
select * from test for update
select * from test t for update of test
select * from test t for update of t nowait
select * from test t for no key update of t skip locked
select count(*) from test for update
select distinct id from test for update
select id from test group by id for share
select 1 union select 2 for update
select 1 for update of x
select * from (select id from test) s for update
select * from generate_series(1, 2) g for update
select * from generate_series(1, 2) g for update of g
select t.id from people p left join test t on t.id = p.id for update
select t.id from people p left join test t on t.id = p.id for update of p
values (1), (2, 3)
values (1, 'a'), (2.5, null)
values (1), ('a')
values (default)
select generate_series(1, 2), 5
select id from test where generate_series(1, 2) = 1
select case when true then generate_series(1, 2) end
select sum(generate_series(1, 2))
select generate_series(1, generate_series(1, 2))
select * from generate_series(1, generate_series(1, 2))
select id from test order by generate_series(1, 2)
select count(*) from generate_series(1, 2) group by generate_series(1, 2)
select rank() over () from test where rank() over () > 1
select 1 from test group by rank() over ()
select rank() over (order by rank() over ()) from test
select id from test limit 1 for update
select * from test fetch first 2 rows with ties
select * from test order by id fetch first 2 rows with ties
insert into test values (1, 'a', 2)
insert into test values (1)
insert into test (id, info) values (1)
insert into test (id) values (1, 2)
insert into test (id, id) values (1, 2)
insert into test (id, nothing) values (1, 2)
insert into test (test.id) values (1)
insert into test (ctid) values ('(0,1)')
insert into test values ('abc', 1)
insert into test values ('2020-01-01'::date, 'x')
insert into test values (1, true)
insert into test values (1.5, 5)
insert into test values ($1, $2)
insert into test values ($1, $2), ($3, default)
insert into test select $1, $2
insert into test select id, name from people where boss = $1
insert into test select 'a', 'b'
insert into test select 1, 2, 3
insert into test (info) select id from people
insert into test default values
insert into test values (1, 'a') returning *
insert into test values (1, 'a') returning id + $1, nothing
insert into test values (1, 'a') returning count(*)
insert into nowhere values (1)
insert into rich2 values (1)
insert into test as t values (1, 'a') returning t.id
insert into test as t values (1, 'a') returning test.id
insert into people values (1, 'a') on conflict do nothing
insert into people values (1, 'a') on conflict (id) do nothing
insert into people values (1, 'a') on conflict (lower(name)) do nothing
insert into people values (1, 'a') on conflict (name) do nothing
insert into people values (1, 'a') on conflict (nothing) do nothing
insert into people values (1, 'a') on conflict on constraint people_pkey do update set name = excluded.name
insert into people values (1, 'a') on conflict on constraint nosuch do nothing
insert into people values (1, 'a') on conflict do update set name = 'b'
insert into people values (1, 'a') on conflict (id) do update set name = people.name || excluded.name where people.boss > $1 returning name
insert into people values (1, 'a') on conflict (id) do update set name = name
insert into people as p values (1, 'a') on conflict (id) do update set name = people.name
insert into events (id, amount, at) values ($1, $2, $3)
insert into events (kind) values ('a very long kind')
insert into events values (1, default, default, default)
update test set id = 1, id = 2
update test set nothing = 1
update test set id = 'a'
update test set id = info
update test set info = id
update test set id = $1, info = $2 where id = $3
update test t set id = t.id + 1 where t.id = 1
update test t set t.id = 1
update test set id = default where info is null
update test set (id, info) = (1, 'a')
update test set (id, info) = (select 1, 'a')
update test set (id, info) = (1, 'a', 2)
update test set (id, info) = (select 1)
update test set id = p.id from people p where p.name = test.info returning test.id, p.*
update test set id = 1 from test
update test set id = count(*)
update test set id = 1 where count(*) > 1
update test set id = generate_series(1, 2)
update test set ctid = '(0,1)'
update nowhere set id = 1
delete from test where id = $1 returning *
delete from test t using people p where p.id = t.id returning p.name
delete from test where nothing = 1
delete from test where 1
delete from nowhere
