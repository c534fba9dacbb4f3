-- MERGE on tables of all kinds, with sources of all kinds.
create table worn (gone int, id int primary key, also_gone text default 'x', a int default 5, b text);
insert into worn values (1, 1, 'x', 1, 'one'), (2, 2, 'x', 2, 'two');
alter table worn drop gone;
alter table worn drop also_gone;
alter table worn add c int default 9;
merge into worn w using (values (1, 'm'), (3, 'n')) v (id, b) on w.id = v.id when matched then update set b = v.b || w.c when not matched then insert (id, b) values (v.id, v.b);
select * from worn order by id;
merge into worn w using (values (1), (4)) v (id) on w.id = v.id when matched then update set b = w::text when not matched then insert values (v.id, 1, 'b', 2);
merge into worn w using (values (1), (5)) v (id) on w.id = v.id when matched then update set (a, b, c) = (select x.a + 1, x::text, count(*) over () from worn x where x.id = w.id) when not matched then insert values (v.id, default, default, default);
select * from worn order by id;
merge into worn w using worn x on w.id = x.id + 1 when matched then update set a = x.a when not matched then insert values (x.id + 10, x.a, x.b, x.c);
select * from worn order by id;
merge into worn using (select x.id, y.b from worn x full join worn y on x.id = y.id + 2) s on worn.id = s.id and s.b is null when matched then delete;
select * from worn order by id;

create temp table passing (id int, v numeric(6, 2));
merge into passing p using (values (1, 1.005), (2, 2.5)) s (id, v) on p.id = s.id when not matched then insert values (s.id, s.v);
merge into passing p using (values (1, 1.005), (2, 2.5)) s (id, v) on p.id = s.id when matched then update set v = p.v * s.v;
select * from passing order by id;
begin read only;
merge into passing p using (values (1)) s (id) on p.id = s.id when matched then delete;
rollback;
merge into pg_temp.passing p using (values (1)) s (id) on p.id = s.id when matched then delete;
select * from passing order by id;

-- Keys: partial, of expressions, deferrable.
create table keyed (id int, k int, t text, constraint k_once unique (k) deferrable);
create unique index on keyed (id) where t is null;
create unique index on keyed (lower(t));
insert into keyed values (1, 1, null), (1, 2, 'x'), (2, 3, null);
merge into keyed using (values (1), (2)) v (id) on keyed.id = v.id when matched then update set k = 4 - keyed.k;
merge into keyed using (values (1, 'X')) v (id, t) on keyed.id = v.id and keyed.t is null when matched then update set t = v.t;
merge into keyed using (values (2)) v (id) on keyed.id = v.id + 1 when not matched then insert values (v.id, 7);
merge into keyed using (values (3)) v (id) on keyed.id = v.id when not matched then insert values (v.id, 3);
begin;
set constraints k_once deferred;
merge into keyed using (values (3)) v (id) on keyed.id = v.id when not matched then insert values (v.id, 3);
merge into keyed using (values (2)) v (id) on keyed.id = v.id when matched then update set k = 30;
commit;
select * from keyed order by k;

-- A table without rows, and one without columns.
create table bare (id int);
merge into bare using bare b on bare.id = b.id when matched then delete when not matched then insert values (1);
merge into bare using (values (1), (1)) v (id) on bare.id = v.id when matched then delete when not matched then insert values (v.id);
select * from bare;
create table nothing ();
merge into nothing using (values (1), (2)) v (id) on true when not matched then insert default values;
merge into nothing using (values (1)) v (id) on true when matched then delete;
select count(*) from nothing;
merge into nothing using (values (1)) v (id) on true when not matched then insert values (1);

-- Sources.
create view both as select b.id, w.b from bare b join worn w on w.id = b.id;
merge into bare using both on bare.id = both.id when matched then delete;
select * from bare;
merge into worn w using (select 1 as id union all select 4 union all select 77) u on w.id = u.id when matched then update set c = u.id when not matched then insert (id) values (u.id);
merge into worn w using (select distinct on (b) id, b from worn order by b, id) d on w.id = d.id when matched and d.b is null then delete;
merge into worn w using unnest(array[1, 77], array['p', 'q']) u (id, b) on w.id = u.id when matched then update set b = u.b;
merge into worn w using json_to_recordset('[{"id": 1, "b": "js"}, {"id": 80, "b": "on"}]') j (id int, b text) on w.id = j.id when matched then update set b = j.b when not matched then insert (id, b) values (j.id, j.b);
merge into worn w using rows from (generate_series(1, 2), generate_series(80, 82)) with ordinality r (x, y, n) on w.id = r.y when matched then update set a = r.x, c = r.n when not matched and r.n = 2 then insert (id, a) values (r.y, r.x);
with recursive_not as (select 1 as id), second as (select id + 79 as id from recursive_not) merge into worn w using second s on w.id = s.id when matched then update set b = (select id::text from recursive_not);
select * from worn order by id;
merge into worn w using (select id, row_number() over (order by id) as n from worn) r on w.id = r.id when matched and r.n > 3 then delete when matched then update set a = r.n;
select * from worn order by id;
merge into worn w using (values (1, null), (null, 'x')) v (id, b) on w.id = v.id or v.id is null and w.b = v.b when matched then update set b = v.b when not matched then insert (id, b) values (90, v.b);
select * from worn order by id;
merge into worn w using (values (1)) v (id) on w.id < 100 when matched then update set c = w.id;
merge into worn w using (values (1), (2)) v (id) on w.id < 100 when matched and v.id = 2 and w.id <> 90 then delete;
select id, c from worn order by id;

-- Volatile expressions are computed once for a row, and only for actions that are taken.
create sequence ticks;
create table ticked (id int, n bigint default nextval('ticks'));
insert into ticked values (1), (2);
merge into ticked t using (values (1), (3)) v (id) on t.id = v.id when matched then update set n = nextval('ticks') when not matched then insert (id) values (v.id);
merge into ticked t using (values (1), (3)) v (id) on t.id = v.id when matched then do nothing when not matched then insert (id) values (v.id);
merge into ticked t using (select v, nextval('ticks') as n from generate_series(1, 2) v) s on t.id = s.v when matched and s.n > 0 then update set n = s.n;
select * from ticked order by id;
select last_value from ticks;
create function says(what text) returns boolean language plpgsql as $$ begin raise notice '%', what; return true; end $$;
merge into ticked t using (values (1), (9)) v (id) on t.id = v.id
when matched and says('first ' || v.id) and v.id > 1 then delete
when matched and says('second ' || v.id) then do nothing
when not matched and says('third ' || v.id) then insert values (v.id, case when says('value') then 1 end);

-- What a savepoint takes back.
begin;
savepoint a;
merge into ticked t using (values (1), (10)) v (id) on t.id = v.id when matched then delete when not matched then insert values (v.id, 0);
merge into ticked t using (values (10)) v (id) on t.id = v.id when matched then update set n = t.n + 1;
rollback to a;
merge into ticked t using (values (2)) v (id) on t.id = v.id when matched then update set n = -1;
merge into ticked t using (values (2)) v (id) on t.id = v.id when matched then update set n = t.n - 1;
commit;
select id, n from ticked where n < 0;
begin isolation level serializable;
merge into ticked t using (values (2), (20)) v (id) on t.id = v.id when matched then update set n = t.n - 1 when not matched then insert values (v.id, -20);
commit;
select id, n from ticked where n < 0 order by id;
