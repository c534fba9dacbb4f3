-- types of expressions, literals and parameters
select 1, 1.5, 'a', null, true, 3000000000, 10000000000000000000, 1e3, -5, - 5, -2147483648, -9223372036854775808
select 1 + 1, 1 + 1.5, 1 + 3000000000, 1.5 + 2::float8, 2::int2 + 1
select 1 where 5
select 1 where null
select 1 where 'true'
select 1 where 'maybe'
select 'x' || 1, 1 || 'x', 'a' || 'b', null || 'a'
select 'x' || 1 + true
select '5' + '6'
select '5' + 6, 6 + '5', '1' = 1, 1.5 = '2'
select -'5', -null, not null, not 'true'
select 1 = true
select 'abc'::int
select 'abc'::integer + 1
select '2020-01-01'::date + 1, '2020-01-01'::date - '2019-01-01'::date, date '2020-01-01' + interval '1 day'
select '2020-13-01'::date
select true::date
select 1::text::int, 1::bool, 'a'::varchar(3), 'abc'::char(2), 1.5::numeric(3, 1), 1::varchar
select 1::numeric(3, 5)
select 1::numeric(0)
select 'a'::varchar(0)
select 'a'::varchar('x')
select 1::int[]
select array[1, 2], array[1, 2.5], array['a', null], array[[1, 2], [3, 4]], array[]::int[]
select array[]
select array[1, 'a']
select array[1, true]
select (array[1, 2])[1], (array[1, 2])[1:2], ('{1,2}'::int[])[$1]
select (1)[1]
select case when true then 1 else 2.5 end, case 1 when 2 then 'a' end, case when true then null end
select case when true then 1 else true end
select case when 1 then 1 end
select case 1 when 'a' then 1 end
select case 'a' when 1 then 1 end
select coalesce(1, 2.5), coalesce(null, 'a'), coalesce(null, null)
select coalesce(1, 'a')
select coalesce(1, true)
select nullif(1, 2), nullif('a', 'b'), nullif(1, 2.5)
select greatest(1, 2.5), least('a', 'b'), greatest(null, 1)
select greatest(1, 'a')
select 1 in (1, 2, 3), 1 in (1.5, 2), 'a' in ('b', null), 1 in (null)
select 1 in ('a')
select 1 in (1, true)
select id in (1, id) from test
select 1 between 2 and 3, 1 not between symmetric 3 and 2.5, 'a' between 'b' and 'c'
select 1 is null, null is null, 1 is not null, 1 is distinct from 2, 1 is not distinct from null
select true is true, null is unknown, 1 is true
select 1 = any(array[1, 2]), 1 = all('{1,2}'), 'a' = any('{a}'), 1 = any(1)
select 1 = any('a')
select 'a' like 'b', 'a' not ilike 'b', 'a' ~ 'b', 'a' similar to 'b'
select 1 like 'a'
select row(1, 'a'), (1, 2) = (3, 4), (1, 2) < (3, 4.5), row(1) = row(2)
select (1, 2) = (3, 4, 5)
select (1, 2) = (3, 'a')
select (select 1), exists (select 1), array(select 1), 1 in (select 2), (1, 2) in (select 1, 2)
select (select 1, 2)
select 1 in (select 1, 2)
select (1, 2) in (select 1)
select 1 = any(select 'a')
select 1 = any(select 'a'::text)
select (select 'a'), (select null)
select current_date, current_timestamp, current_time(2), localtimestamp(0), current_user, session_user, current_schema
select now(), clock_timestamp(), length('a'), upper('a'), abs(-1), abs(-1.5), round(1.5), round(1.555, 2), mod(5, 3)
select lower($1), $1 || 'a', $2 + 1, 1 + $3, $4 = 1.5
select $1 + $2
select $1 = $2
select $1 is null
select $1 is null or $1 = 5
select $1::int, $1
select $1, $1::int
select $1::int, $1::text
select $1 + 1, $1 || 'a'
select coalesce($1, 1), coalesce($2, $3), nullif($4, 5)
select case when $1 then $2 else 5 end
select * from test where id = $1 and info like $2 limit $3 offset $4
select * from people where id in ($1, $2, 3) or id = any($4)
select * from people where boss between $1 and $2
select array[$1, 2], array[$2]
select upper($1), length($2), $3::date - 1
select generate_series($1, $2)
select * from generate_series(1, $1) g
select sum($1), count($2), max($3::int)
select 1 limit 'a'
select 1 limit true
select 1 limit id from test
select * from test limit id
select 1 limit 1.5
select 1 limit '5' offset 2
select 1 limit (select 2)
select extract(year from now()), substring('abc' from 2 for 1), trim(' a '), position('a' in 'b'), overlay('abc' placing 'x' from 2)
select '1'::regclass, 'test'::regclass, 'int4'::regtype
select 'nosuch'::regclass
select 'a' collate "C", 'a' collate pg_catalog."default"
select 1 collate "C"
select 'a' collate "nosuch"
select 5 operator(pg_catalog.+) 6
select 5 operator(no.+) 6
select 5 ~~~ 6
select @ -5, 5 !, 7
select @ -5, 2 ^ 3, 7 % 2, |/ 4.0
select to_char(now(), 'YYYY'), to_date('2020', 'YYYY'), format('%s', 1), concat(1, 'a', null)
select count(*), count(id), sum(id), avg(id), max(info), min(id), bool_and(id > 1), string_agg(info, ','), array_agg(id) from test
select sum(amount), avg(amount), sum(id), avg(id), stddev(amount) from events
select sum(info) from test
select count(distinct id, info) from test
select count()
select sum(*) from test
select length(*) from test
select length(distinct 'a')
select length('a') over ()
select length('a') filter (where true)
select row_number() over (), rank() over (order by id), sum(id) over (partition by info), lag(id) over w, first_value(info) over w from test window w as (order by id)
select row_number()
select row_number() over w from test
select sum(row_number() over ()) from test
select rank() over (order by id rows between unbounded preceding and current row) from test
select percentile_cont(0.5) within group (order by id) from test
select mode() within group (order by info) from test
select percentile_cont(0.5) from test
select max(id) within group (order by id) from test
