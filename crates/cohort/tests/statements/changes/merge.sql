-- MERGE: its clauses, its errors, and what it does to rows.
create table target (id int primary key, a int, b text default 'none');
create table source (id int, a int, b text);
insert into target values (1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three');
insert into source values (1, 10, 'ten'), (3, 30, 'thirty'), (5, 50, 'fifty'), (null, 0, 'nothing');

-- One clause after the other.
begin;
merge into target using source on target.id = source.id when matched then update set a = source.a;
select * from target order by id;
merge into target t using source s on t.id = s.id when matched and s.a > 10 then delete;
select * from target order by id;
merge into target t using source s on t.id = s.id when not matched and s.id is not null then insert values (s.id, s.a, s.b);
select * from target order by id;
rollback;
begin;
merge into target as t using source as s on t.id = s.id
when matched and t.a = 1 then update set a = s.a + t.a, b = t.b || s.b
when matched then delete
when not matched and s.id is null then do nothing
when not matched then insert (b, id) values (s.b, s.id);
select * from target order by id;
merge into only target t using source s on t.id = s.id when matched then do nothing when not matched then do nothing;
merge into target t using source s on t.id = s.id when not matched and s.id > 100 then insert default values;
merge into target * using source s on target.id = s.id when matched then update set b = default;
select * from target order by id;
rollback;
-- The first clause that a row meets counts.
begin;
merge into target t using source s on t.id = s.id
when matched and t.id = 1 then do nothing
when not matched and s.id = 5 then do nothing
when matched and t.id in (1, 3) then update set a = -1
when not matched then do nothing;
select * from target order by id;
rollback;
-- A condition that is NULL.
merge into target t using source s on t.id = s.id when matched and null then delete when not matched and null then insert values (9);
merge into target t using source s on null when matched then delete;
merge into target t using source s on t.id = s.id and s.a > 1000 when matched then delete;

-- Sources of all kinds.
begin;
merge into target t using (values (1, 'x'), (7, 'y')) v (id, b) on t.id = v.id when matched then update set b = v.b when not matched then insert (id, b) values (v.id, v.b);
merge into target t using (select id, max(a) as a from source group by id) s on t.id = s.id when matched then update set a = s.a;
merge into target t using generate_series(7, 8) as g (n) on t.id = g.n when matched then update set a = g.n when not matched then insert values (g.n, g.n);
merge into target t using source s join (values (3), (5)) v (id) using (id) on t.id = v.id when matched then update set a = s.a * 2 when not matched then insert values (s.id, s.a);
merge into target t using source s left join (values (3, 'v')) v (id, w) on s.id = v.id on t.id = s.id when matched then update set b = v.w;
merge into target t using target o on t.id = o.id + 1 when matched then update set b = o.b when not matched then insert values (o.id + 100, o.a);
with w as (select 2 as id) merge into target t using w on t.id = w.id when matched then delete;
with w as (delete from source where id = 5 returning *) merge into target t using w on t.id = w.id when not matched then insert values (w.id + 500, w.a, w.b) when matched then update set b = 'of with';
with w as (select 3 as id) merge into target t using source s on t.id = s.id when matched and s.id in (select id from w) then delete;
select * from target order by id;
select * from source order by id;
create view shown as select id, a from source where id is not null;
merge into target t using shown s on t.id = s.id when matched then update set a = s.a when not matched then insert values (s.id, s.a);
merge into target t using lateral (select 1 as id) s on t.id = s.id when matched then delete;
merge into target t using pg_class c on t.b = c.relname when matched then delete;
select * from target order by id;
rollback;

-- Expressions.
begin;
merge into target t using source s on t.id = s.id when matched then update set (a, b) = (select x.a + 1, x.b from source x where x.id = t.id);
select * from target order by id;
merge into target t using source s on t.id = s.id when matched then update set (b, a) = row (default, s.a);
merge into target t using source s on t.id = s.id when matched then update set (b, a) = (s.b, t.a), id = t.id + 10;
select * from target order by id;
merge into target t using source s on t.id = s.id and exists (select from target x where x.id = t.id) when matched and (select count(*) from source x where x.a >= s.a) > 2 then delete;
merge into target t using source s on t.id = s.id when not matched and not exists (select from target where id = s.id) and s.id > 0 then insert values (s.id, (select count(*) from target), (select max(b) from source));
select * from target order by id;
merge into target t using source s on t.id = s.id when matched and t.tableoid = 'target'::regclass then update set b = t.ctid is not null;
merge into target t using source s on t.id = s.id when matched and s is not null and t.* is not null then update set b = t::text;
select * from target order by id;
rollback;
merge into target t using source s on t.id = s.id when not matched and s.id > 4 then insert (id, a, b) values (s.*);
select * from target order by id;
delete from target where id = 5;

-- One row a second time.
merge into target t using (values (1), (1)) v (id) on t.id = v.id when matched then update set a = 5;
merge into target t using (values (1), (1)) v (id) on t.id = v.id when matched then delete;
merge into target t using (values (1, 1), (1, 2)) v (id, n) on t.id = v.id when matched and v.n = 1 then update set a = 5 when matched then do nothing;
merge into target t using (values (8), (8)) v (id) on t.id = v.id when not matched then insert values (v.id);
create function changes_target(wanted int) returns int language plpgsql as $$ begin update target set b = b || '!' where id = wanted; return wanted; end $$;
merge into target t using (values (1)) v (id) on t.id = v.id when matched then update set a = changes_target(1);
merge into target t using (values (1)) v (id) on t.id = v.id when matched and changes_target(2) = 2 then update set a = 6;
select * from target order by id;

-- What is no table.
create view above as select * from target;
create materialized view kept as select * from target;
create sequence counter;
create type pair as (x int, y int);
merge into above using source s on above.id = s.id when matched then delete;
merge into kept using source s on kept.id = s.id when matched then delete;
merge into counter using source s on true when matched then delete;
merge into pair using source s on true when matched then delete;
merge into target_pkey using source s on true when matched then delete;
merge into nowhere using source s on true when matched then delete;
merge into nowhere.target using source s on true when matched then delete;
merge into target using nowhere on true when matched then delete;
merge into target using kept on target.id = kept.id when matched then do nothing;

-- Names.
merge into target using target on true when matched then delete;
merge into target t using source t on true when matched then delete;
merge into source using target source on true when matched then delete;
merge into target using (source join (values (1)) v (n) on true) target on true when matched then delete;
merge into target t using (select * from source where a = t.a) s on true when matched then delete;
merge into target t using (select * from source where a = target.a) s on true when matched then delete;
merge into target using lateral (select target.id) s on true when matched then delete;
merge into target t using source s on t.id = s.id when not matched then insert values (t.id);
merge into target t using source s on t.id = s.id when not matched and t.a = 1 then insert values (s.id);
merge into target t using source s on t.id = s.id when not matched and a = 1 then do nothing;
merge into target t using source s on t.id = s.id when matched and a = 1 then do nothing;
merge into target t using source s on target.id = s.id when matched then delete;
merge into target t using source s on t.id = s.id when matched and s.nothing = 1 then delete;
merge into target t using source s on t.id = s.idd when matched then delete;
merge into target t using source s on id = 1 when matched then delete;
merge into target t using source s on t.id = s.id when matched and t.ctid is null then delete;
merge into target t using source s on t.id = s.id when matched and s.xmin is null then delete;
merge into target t using source s on t.id = s.id when not matched and cmax is null then do nothing;
merge into target t using source s on t.id = s.id when matched and (select t.ctid) is null then do nothing;

-- Clauses.
merge into target t using source s on t.id = s.id when matched then delete when matched then do nothing;
merge into target t using source s on t.id = s.id when not matched then do nothing when matched then delete when not matched and s.id = 1 then do nothing;
merge into nowhere t using source s on t.id = s.id when matched then delete when matched then do nothing;
with recursive r as (select 1 as id) merge into target t using r on t.id = r.id when matched then delete;
with m as (merge into target t using source s on t.id = s.id when matched then delete) select 1;
copy (merge into target t using source s on t.id = s.id when matched then delete) to stdout;
merge into target t using source s on t.id = s.id;
merge into target t using source s on t.id = s.id when matched then delete returning *;
merge into target t using source s on t.id = s.id when not matched by source then delete;
merge into target t using source s on t.id = s.id when matched then delete when not matched by target then do nothing returning t.id;
merge into target t using source s on t.id = s.id when not matched then delete;
merge into target t using source s on t.id = s.id when not matched then update set a = 1;
merge into target t using source s on t.id = s.id when matched then insert values (1);
merge into target t using source s on t.id = s.id when not matched then insert values (1), (2);
merge into target t using source s on t.id = s.id when not matched then insert select 1;
merge into target t using source s on t.id = s.id when not matched then insert (id) default values;
merge into target t (x, y) using source s on true when matched then delete;
merge target t using source s on true when matched then delete;
merge into target t using source s when matched then delete;
merge into target t using source s, source x on true when matched then delete;
merge into target t using source s on true when matched then delete where t.id = 1;

-- Expressions that do not fit.
merge into target t using source s on t.id = s.id when matched and s.a then delete;
merge into target t using source s on t.id = s.id when matched and count(*) > 1 then delete;
merge into target t using source s on t.id = s.id when matched and row_number() over () > 1 then delete;
merge into target t using source s on t.id = s.id when matched and generate_series(1, 2) > 1 then delete;
merge into target t using source s on count(*) > 1 when matched then delete;
merge into target t using source s on generate_series(1, 2) = 1 when matched then delete;
merge into target t using source s on t.id = s.id when matched then update set a = count(*);
merge into target t using source s on t.id = s.id when matched then update set a = generate_series(1, 2);
merge into target t using source s on t.id = s.id when matched then update set a = 'x';
merge into target t using source s on t.id = s.id when matched then update set a = s.b;
merge into target t using source s on t.id = s.id when matched then update set a = s;
merge into target t using source s on t.id = s.id when matched then update set a = 1, a = 2;
merge into target t using source s on t.id = s.id when matched then update set nothing = 1;
merge into target t using source s on t.id = s.id when matched then update set t.a = 1;
merge into target t using source s on t.id = s.id when matched then update set ctid = null;
merge into target t using source s on t.id = s.id when matched then update set (a, b) = (1, 2, 3);
merge into target t using source s on t.id = s.id when matched then update set (a, b) = (t.*);
merge into target t using source s on t.id = s.id when matched then update set (a, b) = (select 1);
merge into target t using source s on t.id = s.id when not matched then insert values (count(*));
merge into target t using source s on t.id = s.id when not matched then insert values (generate_series(1, 2));
merge into target t using source s on t.id = s.id when not matched then insert values (1, 2, 'x', 4);
merge into target t using source s on t.id = s.id when not matched then insert (id, a) values (1);
merge into target t using source s on t.id = s.id when not matched then insert (id) values (1, 2);
merge into target t using source s on t.id = s.id when not matched then insert (id) values (s.*);
merge into target t using source s on t.id = s.id when not matched then insert (id, id) values (1, 2);
merge into target t using source s on t.id = s.id when not matched then insert (id, nothing) values (1, 2);
merge into target t using source s on t.id = s.id when not matched then insert (t.id) values (1);
merge into target t using source s on t.id = s.id when not matched then insert values ('x'::text, 1);
merge into target t using source s on t.id = s.id when not matched then insert values ('x', 1);

-- Defaults, identities, generated columns, domains, arrays and rows.
create domain small as int check (value < 100);
create table rich (
    id int generated always as identity primary key,
    v small not null,
    w int generated always as (v * 2) stored,
    d text default 'd' || 1,
    n int generated by default as identity (start 50),
    l int[],
    p pair
);
merge into rich using (values (1), (2)) x (v) on false when not matched then insert (v) values (x.v);
merge into rich using (values (3)) x (v) on false when not matched then insert values (10, x.v);
merge into rich using (values (3)) x (v) on false when not matched then insert overriding system value values (10, x.v);
merge into rich using (values (4)) x (v) on false when not matched then insert overriding user value values (11, x.v, default, default, 12);
merge into rich using (values (4)) x (v) on false when not matched then insert (v, w) values (x.v, 1);
merge into rich using (values (5)) x (v) on false when not matched then insert (v, w, d, l[2], p.x, p.y, l[3]) values (x.v, default, default, 1, 2, 3, 4);
merge into rich using (values (5)) x (v) on false when not matched then insert default values;
merge into rich using (values (500)) x (v) on false when not matched then insert (v) values (x.v);
select * from rich order by id;
merge into rich r using (values (1), (2)) x (v) on r.v = x.v when matched then update set v = r.v + 10, w = default, d = default, id = default, l[1] = x.v, p.y = r.v;
select * from rich order by id;
merge into rich r using (values (5)) x (v) on r.v = x.v when matched then update set id = 5;
merge into rich r using (values (5)) x (v) on r.v = x.v when matched then update set w = 5;
merge into rich r using (values (5)) x (v) on r.v = x.v when matched then update set v = null;
merge into rich r using (values (5)) x (v) on r.v = x.v when matched then update set v = 100;
update rich set v = null where v = 5;
update rich set v = null where v = 5 returning *;
merge into rich r using (values (5)) x (v) on r.v = x.v when matched then update set l[1] = default;

-- Constraints and keys.
create table parent (id int primary key);
create table child (id int primary key, parent int references parent on delete cascade on update cascade, n int check (n > 0), unique (n));
insert into parent values (1), (2);
merge into child c using (values (1, 1, 1), (2, 2, 2)) v (id, parent, n) on c.id = v.id when not matched then insert values (v.id, v.parent, v.n);
merge into child c using (values (3, 9, 3)) v (id, parent, n) on c.id = v.id when not matched then insert values (v.id, v.parent, v.n);
merge into child c using (values (3, 1, -3)) v (id, parent, n) on c.id = v.id when not matched then insert values (v.id, v.parent, v.n);
merge into child c using (values (1, 2)) v (id, n) on c.id = v.id when matched then update set n = v.n;
merge into child c using (values (1, 0)) v (id, n) on c.id = v.id when matched then update set n = v.n;
merge into parent p using (values (1), (3)) v (id) on p.id = v.id when matched then update set id = p.id + 10 when not matched then insert values (v.id);
select * from child order by id;
merge into parent p using (values (11)) v (id) on p.id = v.id when matched then delete;
select * from child order by id;
alter table child drop constraint child_parent_fkey, add foreign key (parent) references parent;
merge into parent p using (values (2)) v (id) on p.id = v.id when matched then delete;

-- A large one.
create table large (id int primary key, v int);
insert into large select i, 0 from generate_series(1, 2000) i;
merge into large l using (select i, i % 7 as r from generate_series(1001, 3000) i) s on l.id = s.i when matched and s.r = 0 then delete when matched then update set v = s.r when not matched and s.r < 3 then insert values (s.i, s.r);
select count(*), sum(id), sum(v) from large;
merge into large l using (select i from generate_series(1, 4000) i) s on l.id = s.i when matched and l.v = 0 then delete when not matched then insert values (s.i, -1);
select count(*), sum(id), sum(v) from large;
