-- Conditions and what is made of them: common factors, ranges, semi joins and anti joins, keys of expressions.
create table p (id int primary key, k int, s text, n numeric);
insert into p select g, g % 50, 's' || g % 20, g / 3.0 from generate_series(1, 1000) g;
create table l (id int, p int, q int, m text);
insert into l select g, g % 1000, g % 30, 'm' || g % 4 from generate_series(1, 3000) g;
create index on l (p);
analyze;

-- A condition that all arms of an OR share becomes a condition of its own.
select count(*), sum(l.q) from p, l where (p.id = l.p and p.s = 's1' and l.q < 10) or (p.id = l.p and p.s = 's2' and l.q >= 20) or (l.p = p.id and p.s = 's3');
select count(*) from p, l where (p.id = l.p and p.s = 's1' and l.q < 10) or (p.id = l.p and p.s = 's2' and l.q >= 20);
select count(*) from p, l where (p.id = l.p and p.s = 's1') or p.id = l.p;
select count(*) from p where (k = 1 and s = 's1') or (k = 1 and s = 's11') or (k = 1 and n > 300);
select count(*) from p where (k = 1 or k is null) and ((k = 1 and n < 100) or (k is null and n < 100));
select count(*) from p left join l on (p.id = l.p and l.q = 1) or (p.id = l.p and l.q = 2) where p.k < 5;
select count(*) from p where not ((k = 1 and s = 's1') or (k = 1 and s = 's11'));

-- EXISTS and NOT EXISTS within each other.
select count(*) from p where exists (select 1 from l where l.p = p.id and not exists (select 1 from p x where x.k = l.q and x.id = l.id));
select count(*) from p where not exists (select 1 from l where l.p = p.id and exists (select 1 from p x where x.id = l.q and exists (select 1 from l y where y.p = x.id and y.q = 3)));
select count(*) from p where exists (select 1 from l join p x on x.id = l.q where l.p = p.id and not exists (select 1 from l y where y.p = x.id and y.m = 'm1'));
select count(*) from p where exists (select 1 from l where l.p = p.id and exists (select 1 from p x where x.id = l.q and x.k < p.k));
select count(*) from p where p.id < 40 and not exists (select 1 from l where l.q = 3 and not exists (select 1 from l y where y.p = p.id and y.m = l.m));
select count(*) from p where exists (select 1 from (select * from l where q > 5) l where l.p = p.id and l.m = 'm2');
select count(*) from p where exists (select 1 from l left join p x on x.id = l.q and x.k = 3 where l.p = p.id and x.id is null);
select count(*) from p where not exists (select 1 from l where l.p = p.id and l.q in (select x.k from p x where x.s = 's3'));
select p.id from p where exists (select 1 from l where l.p = p.id and l.q = (select max(q) from l)) order by 1 limit 5;

-- Keys of expressions that are wider than what they are compared with.
create index on p ((k::bigint));
create index on p ((id::bigint + 1));
create function wide(int) returns bigint language plpgsql immutable as 'begin return $1; end';
create index on p (wide(k));
set enable_seqscan = off;
select count(*) from p where k::bigint = 3;
select count(*) from p where k::bigint between 3 and 5;
select count(*) from p where k::bigint in (3, 4);
select count(*) from p where k::bigint > 47;
select count(*) from p where wide(k) = 3;
select count(*) from p where wide(k) = 3::smallint;
select count(*) from p where id::bigint + 1 = 8;
select count(*) from l where exists (select 1 from p where p.k::bigint = l.id);
select count(*) from l join p on p.k::bigint = l.q where l.id < 20;
reset enable_seqscan;

-- The index of a function that asks for the transaction.
create function asked(int) returns bigint language sql immutable as 'select txid_current() * 0 + $1';
create index on p (asked(k));
select count(*) from p where asked(k) = 3;
insert into p values (2000, 3, 'new', 1);
select count(*) from p where asked(k) = 3;

-- Full joins by equalities of arrays, enums, truth values and rows.
create type state as enum ('new', 'old');
create table g (a int[], b state, c bool, d text[], e date);
insert into g values ('{1}', 'new', true, '{a}', '2024-01-01'), ('{1,2}', 'old', false, '{}', null), (null, null, null, null, null);
select count(*) from g x full join g y on x.a = y.a;
select count(*) from g x full join g y on x.b = y.b;
select count(*) from g x full join g y on x.c = y.c;
select count(*) from g x full join g y on x.d = y.d;
select count(*) from g x full join g y on x.e = y.e;
select count(*) from g x full join g y on row(x.a, x.b) = row(y.a, y.b);
select count(*) from g x join g y on x.a = y.a and x.b = y.b;
select x.b, y.b from g x left join g y on x.b = y.b and y.b <> 'old' order by 1;
