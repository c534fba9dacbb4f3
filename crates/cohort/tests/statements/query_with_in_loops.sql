-- WITH inside of what runs more than once: its rows are those of the row or the round around it.
create table outside (a int);
insert into outside values (1), (2), (3);
select a, (with u as materialized (select outside.a as x) select (select x from u)) from outside;
select a, (with u as materialized (select outside.a as x) select 10 + x from u where exists (select from u where x > 1)) from outside;
select a, (with u as materialized (select outside.a as x) select 10 where 2 in (select x from u)) from outside;
select a, (with u as materialized (select outside.a as x) select 10 where 2 not in (select x + 1 from u)) from outside;
select a, (with u as materialized (select outside.a as x), v as materialized (select x * 2 as y from u) select sum(y) + (select max(x) from u) from v) from outside;
select a, (with u as materialized (select outside.a as x) select array(select x + g from u, generate_series(1, 2) g)) from outside;
select a, l.* from outside, lateral (with u as materialized (select outside.a as x) select (select count(*) from u where x > 1) c, (select x from u)) l;
select a, l.* from outside, lateral (with u as materialized (select outside.a as x), w as materialized (select 7 as k) select (select x from u), (select k from w), (with z as materialized (select x + 1 as y from u) select (select y from z))) l;
select a, (with recursive s (m) as (select outside.a union all select m + 1 from s where m < 4) select (select sum(m) from s)) from outside;
select a, (with u as materialized (select outside.a as x) select sum(b.a) from outside b where b.a <= (select x from u)) from outside;
-- In the term of a recursion.
with recursive r (n) as (values (1) union all (with u as (select n from r) select n + 1 from u where n < 5)) select * from r;
with recursive r (n) as (values (1) union all (with u as materialized (select n from r) select n + 1 from u where n < 5)) select * from r;
with recursive r (n) as (values (1) union all (with u as (select n from r) select n + 1 from u where (select max(n) from u) < 5)) select * from r;
with recursive r (n) as (values (1) union all (with u as materialized (select n from r), v as materialized (select n + 1 as m from u) select m from v where (select max(n) from u) < 5)) select * from r;
with recursive r (n) as (values (1) union (with u as materialized (select n from r) select a.n + b.n from u a, u b where a.n < 100)) select * from r;
with recursive r (n) as (values (1) union (with u as materialized (select n from r) select n + 1 from u where 5 not in (select n from u))) select * from r;
with recursive r (n) as (values (1) union (with u as materialized (select n from r) select n + 1 from u where not exists (select from u where n = 4))) select * from r;
with recursive r (n) as (values (1) union all (with recursive s (m) as (select n from r union all select m + 1 from s where m < 3) select m + 1 from s where m < 4)) select * from r order by n;
with recursive r (n) as (values (1) union all (with recursive s (m) as (select n from r union select m + 2 from s where m < 6) select max(m) from s having max(m) < 12 and count(*) > 1)) select * from r;
with recursive r (n) as (select 1 union all (with u as materialized (select n from r) select o.a + u.n from u join outside o on o.a > u.n)) select * from r order by 1;
with recursive r (n) as (select 1 union all (with u as materialized (select n from r), fixed as materialized (select a from outside) select max(u.n) + 1 from u, fixed where fixed.a > u.n having count(*) > 0)) select * from r;
with recursive r (n, way) as (select 1, array[1] union all (with u as materialized (select * from r) select a, way || a from u, outside where a > n)) select way from r order by way;
prepare rounds (int) as with recursive r (n) as (values (1) union all (with u as materialized (select n from r) select n + 1 from u where (select max(n) from u) < $1)) select * from r;
execute rounds (3);
execute rounds (4);
deallocate rounds;
create function rounds(top int) returns setof int language plpgsql as $$
declare found_one int;
begin
    for found_one in with recursive r (n) as (values (1) union all (with u as materialized (select n from r) select n + 1 from u where (select max(n) from u) < top)) select * from r loop
        return next found_one * 10;
    end loop;
end $$;
select rounds(3);
select rounds(2);
drop function rounds;
drop table outside;
