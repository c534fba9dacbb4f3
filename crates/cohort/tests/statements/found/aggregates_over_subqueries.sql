-- A subquery within an aggregate's arguments sees rows, whatever is grouped by.
create table a (id int primary key, c0 char, c2 text);
insert into a values (1, 'a', 'x'), (2, null, 'y');
create table b (id int primary key, c0 text, c1 text);
insert into b values (1, 'a', 'a'), (2, 'a', 'b');
create table c (id int primary key, c1 text);
insert into c values (1, 'a');
select (a.c0::text), b.c1, min(1) filter (where b.c0 in (select b.c1 from c)),
    row_number() over (order by (a.c0::text), b.c1, min(1) filter (where b.c0 in (select b.c1 from c)))
from b cross join a group by a.c0::text, b.c1 order by 1, 2;
select b.c1 || 'x', b.c1, min(b.id + (select length(b.c1))) from b group by b.c1 || 'x', b.c1
order by min(b.id + (select length(b.c1)));
select b.c1 || 'x', (select max(b.c1 || c.c1) from c), (select b.c1 || 'x') from b group by b.c1 || 'x' having max(b.id) > 0 order by 1;
-- An aggregate of this query within a subquery of what is grouped by.
create table ga (a int);
create table gb (a int);
select count(*), (select max(ga.a) from gb) from ga group by 2;
select (select max(ga.a) from gb) from ga group by 1;
select (select max(gb.a) from gb) from ga group by 1;
select (select max(ga.a) from gb) as m from ga group by m;
