create table l (a int, b text, c numeric);
create table r (a int, b text, c numeric);
insert into l select g % 7, 'l' || g % 3, g from generate_series(1, 30) g;
insert into r select g % 9 + 3, 'l' || g % 4, g * 2 from generate_series(1, 30) g;
insert into l values (null, 'l1', 100), (3, null, 101), (null, null, 102), (50, 'l0', 103), (-1, 'l2', 104);
insert into r values (null, 'l1', 200), (3, null, 201), (null, null, 202), (60, 'l0', 203), (-2, 'l2', 204);
set enable_hashjoin = off;
set enable_nestloop = off;
-- The nodes.
explain (costs off) select * from l join r on l.a = r.a;
explain (costs off) select * from l left join r on l.a = r.a and l.c < r.c;
explain (costs off) select * from l full join r on l.a = r.a and l.b = r.b;
-- Each kind, with duplicates on both sides and NULLs on both.
select l.*, r.* from l join r on l.a = r.a order by 1, 2, 3, 4, 5, 6;
select count(*), sum(l.c), sum(r.c) from l join r on l.a = r.a;
select count(*), sum(l.c), sum(r.c) from l left join r on l.a = r.a;
select count(*), sum(l.c), sum(r.c) from l right join r on l.a = r.a;
select count(*), sum(l.c), sum(r.c) from l full join r on l.a = r.a;
select count(*), sum(c) from l where exists (select 1 from r where r.a = l.a);
select count(*), sum(c) from l where not exists (select 1 from r where r.a = l.a);
select count(*), sum(c) from l where a in (select a from r);
select count(*), sum(c) from l where a not in (select a from r where a is not null);
-- With a condition that is no key: in full and left joins it decides about partners, not about rows.
select l.*, r.* from l left join r on l.a = r.a and l.c > r.c order by 1, 2, 3, 4, 5, 6;
select l.*, r.* from l right join r on l.a = r.a and l.c > r.c order by 1, 2, 3, 4, 5, 6;
select count(*), sum(l.c), sum(r.c) from l left join r on l.a = r.a and l.c + r.c < 0;
select count(*), sum(c) from l where exists (select 1 from r where r.a = l.a and r.c > l.c + 10);
select count(*), sum(c) from l where not exists (select 1 from r where r.a = l.a and r.c > l.c + 10);
select count(*), sum(l.c), sum(r.c) from l full join r on l.a = r.a and l.b = r.b;
select l.*, r.* from l full join r on l.a = r.a and l.b = r.b order by 1, 2, 3, 4, 5, 6;
-- Two keys, expressions as keys, keys of other types.
select l.*, r.c from l join r on l.a = r.a and l.b = r.b order by 1, 2, 3, 4;
select l.*, r.c from l join r on l.a + 1 = r.a * 2 order by 1, 2, 3, 4;
select l.c, r.c from l join r on l.c = r.c order by 1;
select l.b, count(*) from l join r on l.b = r.b group by l.b order by 1;
select l.a, r.a from l join r on l.a::bigint = r.a order by 1, 2 limit 3;
select upper(l.b), count(*) from l left join r on upper(l.b) = upper(r.b) group by 1 order by 1;
-- Empty sides.
select count(*) from l join (select * from r where false) r on l.a = r.a;
select count(*) from l left join (select * from r where a > 1000) r on l.a = r.a;
select count(*) from (select * from l where a > 1000) l full join r on l.a = r.a;
select count(*) from l full join (select * from r where a > 1000) r on l.a = r.a;
select count(*) from (select * from l where a > 1000) l full join (select * from r where a > 1000) r on l.a = r.a;
-- Several joins, and joins that run again.
select count(*), sum(l.c) from l join r on l.a = r.a join l m on m.b = r.b left join r s on s.a = m.a;
select l.a, (select count(*) from r join l m on r.a = m.a where r.c > l.c) as n from l order by l.c limit 12;
select x.a, y.n from l x cross join lateral (select count(*) as n from r join l m on r.a = m.a where r.a = x.a) y order by x.c limit 10;
with recursive c (a, n) as (select 1, 0 union all select r.a, n + 1 from c join r on r.a = c.a + 2 where n < 3) select a, n, count(*) from c group by a, n order by a, n;
-- Orders that indexes give.
create table big (id int primary key, other int, filler text);
create table small (id int, big int references big, note text);
insert into big select g, g % 1000, 'f' || g from generate_series(1, 20000) g;
insert into small select g, g % 20000 + 1, 'n' || g % 10 from generate_series(1, 30000) g;
create index on small (big);
create index on big (other);
analyze big;
analyze small;
select count(*), sum(b.id), min(s.note), max(b.filler) from big b join small s on s.big = b.id;
select count(*), sum(b.id) from big b left join small s on s.big = b.id and s.note = 'n1';
select count(*), sum(b.id), count(s.id) from big b full join small s on s.big = b.other;
select b.id, s.id from big b join small s on s.big = b.id where b.id < 100 order by b.id desc, s.id limit 5;
select count(*) from big b where exists (select 1 from small s where s.big = b.other and s.note = 'n3');
-- More rows of one key than memory is for.
set work_mem = '64kB';
create table wide (k int, t text);
insert into wide select g % 2, repeat(chr(97 + g % 26), 200) from generate_series(1, 1200) g;
select count(*), min(w.t || v.t), max(length(w.t)) from wide w join wide v on w.k = v.k and w.t < v.t;
select count(*) from wide w full join wide v on w.k = v.k + 1;
select count(*) from wide w left join wide v on w.k = v.k and w.t > v.t || 'z';
reset work_mem;
-- The settings.
set enable_mergejoin = off;
set enable_hashjoin = on;
explain (costs off) select count(*) from l join r on l.a = r.a;
select count(*), sum(l.c), sum(r.c) from l full join r on l.a = r.a;
set enable_mergejoin = on;
set enable_hashjoin = off;
begin;
declare merging cursor for select l.c, r.c from l join r on l.a = r.a order by 1, 2;
fetch 3 from merging;
fetch 2 from merging;
rollback;
update l set c = c + 1 from r where r.a = l.a and r.c = 44 returning l.a, l.c, r.c;
delete from l using r where r.a = l.a and l.b = r.b and l.c > 20 returning l.a, l.b;
select l.a from l join r on l.a = r.a order by l.a, l.c, r.c limit 2 for update of l;
-- Types that can be compared for equality, and have no order.
set enable_hashjoin = off;
create table x as select (g % 5)::text::xid as x from generate_series(1, 20) g;
select count(*) from x a join x b on a.x = b.x;
select count(*) from x a left join x b on a.x = b.x and b.x = '3';
select x, count(*) from x group by x order by x::text;
select distinct x from x order by x;
select x from x union select x from x order by x::text::int;
drop table x;
reset enable_hashjoin;
