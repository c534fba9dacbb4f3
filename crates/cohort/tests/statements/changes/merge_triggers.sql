-- MERGE: triggers, functions, prepared statements, EXPLAIN, and what a role may do.
create table target (id int primary key, a int, b text);
insert into target values (1, 1, 'x'), (2, 2, 'y'), (9, 9, 'z');
create function tell() returns trigger language plpgsql as $$
begin
    raise notice '% % % % old=% new=%', tg_name, tg_when, tg_level, tg_op, old, new;
    if tg_when = 'BEFORE' and tg_level = 'ROW' then
        if tg_op = 'DELETE' then
            return case when old.b = 'stay' then null else old end;
        end if;
        if new.b = 'stay' then
            return null;
        end if;
        new.b = new.b || '+';
        return new;
    end if;
    return null;
end $$;
create trigger a_statement before insert or update or delete on target for each statement execute function tell();
create trigger b_statement after insert or update or delete on target for each statement execute function tell();
create trigger c_row before insert or update or delete on target for each row execute function tell();
create trigger d_row after insert or update or delete on target for each row execute function tell();
create trigger e_of_b before update of b on target for each statement execute function tell();
create trigger f_of_a after update of a on target for each row execute function tell();
create trigger g_when after update on target for each row when (old.a is distinct from new.a) execute function tell();
merge into target t using (values (1, 'q'), (2, 'stay'), (3, 'stay'), (4, 'n'), (9, 'd')) v (id, b) on t.id = v.id when matched and v.b = 'd' then delete when matched then update set b = v.b when not matched then insert values (v.id, 0, v.b);
select * from target order by id;
merge into target t using (values (1, 'q'), (2, 'a')) v (id, b) on t.id = v.id when matched and v.b = 'a' then update set a = t.a + 1 when matched then update set b = v.b;
merge into target t using (values (1, 'q')) v (id, b) on t.id = v.id + 1000 when matched then delete;
merge into target t using (values (1, 'q')) v (id, b) on t.id = v.id when not matched then insert values (v.id) when matched and false then update set a = 1;
merge into target t using (values (1, 'q')) v (id, b) on t.id = v.id when matched then do nothing;
update target set b = 'stay' where id = 4;
alter table target disable trigger user;
update target set b = 'stay' where id = 4;
alter table target enable trigger user;
merge into target t using (values (4)) v (id) on t.id = v.id when matched then delete;
merge into target t using (values (2), (2)) v (id) on t.id = v.id when matched then update set a = 1;
select * from target order by id;
drop trigger a_statement on target;
drop trigger b_statement on target;
drop trigger c_row on target;
drop trigger d_row on target;
drop trigger e_of_b on target;
drop trigger f_of_a on target;
drop trigger g_when on target;

-- Transition tables.
create function count_rows() returns trigger language plpgsql as $$
declare
    old_rows text := '-';
    new_rows text := '-';
begin
    if tg_op <> 'INSERT' then
        select string_agg(old_one::text, ' ' order by id) into old_rows from old_one;
    end if;
    if tg_op <> 'DELETE' then
        select string_agg(new_one::text, ' ' order by id) into new_rows from new_one;
    end if;
    raise notice '% % old: % new: %', tg_name, tg_op, old_rows, new_rows;
    return null;
end $$;
create trigger of_insert after insert on target referencing new table as new_one for each statement execute function count_rows();
create trigger of_update after update on target referencing old table as old_one new table as new_one for each statement execute function count_rows();
create trigger of_delete after delete on target referencing old table as old_one for each statement execute function count_rows();
merge into target t using (values (1, 'k'), (2, 'l'), (4, 'd'), (5, 'i'), (6, 'j')) v (id, b) on t.id = v.id when matched and v.b = 'd' then delete when matched then update set b = v.b when not matched then insert values (v.id, 0, v.b);
merge into target t using (values (1, 'k')) v (id, b) on t.id = v.id when matched and false then delete when matched then update set b = v.b;
with w as (insert into target values (100, 1, 'w') returning *) merge into target t using w on t.id = 5 when matched then delete when not matched then insert values (w.id + 1, w.a);
drop trigger of_insert on target;
drop trigger of_update on target;
drop trigger of_delete on target;
select * from target order by id;

-- A trigger that changes the same rows.
create function touch() returns trigger language plpgsql as $$ begin update target set b = 'touched' where id = old.id; return case tg_op when 'DELETE' then old else new end; end $$;
create trigger touching before update or delete on target for each row when (pg_trigger_depth() = 0) execute function touch();
merge into target t using (values (1)) v (id) on t.id = v.id when matched then update set a = 7;
merge into target t using (values (1)) v (id) on t.id = v.id when matched then delete;
create or replace function touch() returns trigger language plpgsql as $$ begin update target set b = 'touched' where id > old.id; return case tg_op when 'DELETE' then old else new end; end $$;
merge into target t using (values (1), (2)) v (id) on t.id = v.id when matched then update set a = 7;
merge into target t using (values (1), (2)) v (id) on t.id = v.id when matched then delete;
merge into target t using (values (2), (1)) v (id) on t.id = v.id when matched and v.id = 1 then delete when matched then update set a = 8;
create function insert_more() returns trigger language plpgsql as $$ begin insert into target values (new.id + 1000) on conflict do nothing; return new; end $$;
create trigger more before insert on target for each row when (new.id < 1000) execute function insert_more();
merge into target t using (values (30), (1030)) v (id) on t.id = v.id when not matched then insert values (v.id);
drop trigger touching on target;
drop trigger more on target;

select * from target order by id;

-- Statements within others.
create table source (id int, a int);
insert into source values (1, 100), (50, 500);
do $$
declare
    n int;
    x int := 1;
begin
    merge into target t using (values (1), (60)) v (id) on t.id = v.id when matched then update set a = x when not matched then insert values (v.id, x);
    get diagnostics n = row_count;
    raise notice '% %', n, found;
    merge into target t using source s on t.id = -1 when matched then delete;
    get diagnostics n = row_count;
    raise notice '% %', n, found;
    execute 'merge into target t using source s on t.id = s.id when matched and t.a = $1 then delete' using 1;
    get diagnostics n = row_count;
    raise notice '%', n;
end $$;
do $$ declare x int; begin merge into target t using source s on t.id = s.id when matched then delete into x; end $$;
do $$ declare x int; begin execute 'merge into target t using source s on t.id = s.id when matched then delete' into x; end $$;
do $$ declare r record; begin for r in merge into target t using source s on t.id = s.id when matched then delete loop end loop; end $$;
do $$ declare a int; begin merge into target t using source s on t.id = s.id when matched then update set a = a; end $$;
create function merges(wanted int) returns void language sql as $$ merge into target t using source s on t.id = s.id and s.id = wanted when matched then update set a = s.a when not matched then insert values (wanted, s.a) $$;
select merges(50), merges(1);
create function merges_to_int() returns int language sql as $$ merge into target t using source s on t.id = s.id when matched then delete $$;
create function merges_in_vain() returns int immutable language plpgsql as $$ begin merge into target t using source s on t.id = s.id when matched then delete; return 1; end $$;
select merges_in_vain();
create function merges_stable() returns void stable language sql as $$ merge into target t using source s on t.id = s.id when matched then delete $$;
select merges_stable();
prepare m (int, text) as merge into target t using (select $1 as id) s on t.id = s.id when matched and t.b = $2 then delete when matched then update set b = $2 when not matched then insert values ($1, 1, $2);
execute m (70, 'a');
execute m (70, 'b');
execute m (70, 'b');
execute m (70, 'b');
execute m ('x', 'b');
prepare n as merge into target t using (select $1 as id) s on t.id = $2 when matched and $3 then update set a = $4, b = $5;
select parameter_types from pg_prepared_statements where name = 'n';
select * from target order by id;
begin read only;
merge into target t using source s on t.id = -1 when matched then delete;
rollback;
begin read only;
merge into target t using source s on t.id = s.id when matched then do nothing;
rollback;
begin read only;
merge into target t using source s on t.id = s.id when not matched then insert values (1);
rollback;
declare c cursor for merge into target t using source s on t.id = s.id when matched then delete;
create view v as merge into target t using source s on t.id = s.id when matched then delete;

-- EXPLAIN.
explain (costs off) merge into target t using (values (1), (2)) v (id) on t.id = v.id when not matched then insert values (v.id);
explain (costs off) merge into target using (values (1), (2)) v (id) on target.id = v.id when matched then delete;
explain (costs off) merge into target t using (select 1 as id) v on t.id = v.id when matched then do nothing;
explain (costs off, analyze, timing off, summary off) merge into target t using (values (1), (50), (71), (72), (73)) v (id) on t.id = v.id when matched and t.id = 1 then delete when matched then update set a = t.a + 1 when not matched and v.id > 71 then insert values (v.id);
explain (costs off, analyze, timing off, summary off) merge into target t using (values (1001)) v (id) on t.id = v.id when matched and false then delete;
explain (costs off) merge into nowhere t using source s on t.id = s.id when matched then delete;

-- Privileges.
create role merges_rows;
create table own (id int, a int, b int);
insert into own values (1, 1, 1);
create table other (id int, a int);
insert into other values (1, 1), (2, 2);
create table hidden (id int);
grant select on other to merges_rows;
set role merges_rows;
merge into own using other on own.id = other.id when matched then do nothing;
merge into own using other on true when matched then do nothing;
merge into own using other on false when not matched then insert values (other.id);
reset role;
grant insert on own to merges_rows;
set role merges_rows;
merge into own using other on false when not matched then insert values (other.id);
merge into own using other on false when matched then do nothing when not matched then insert values (other.id);
merge into own using other on own.id = other.id when not matched then insert values (other.id);
reset role;
grant select (id) on own to merges_rows;
set role merges_rows;
merge into own using other on true when matched then do nothing;
merge into own using other on own.id = other.id when not matched then insert values (other.id);
merge into own using other on own.id = other.id when matched and own.a = 1 then do nothing;
merge into own using other on own.id = other.id and other.id = 100 when matched then update set a = 1;
reset role;
grant update (a) on own to merges_rows;
set role merges_rows;
merge into own using other on own.id = other.id and other.id = 100 when matched then update set a = 1;
merge into own using other on own.id = other.id and other.id = 100 when matched then update set a = own.a;
merge into own using other on own.id = other.id and other.id = 100 when matched then update set b = 1;
merge into own using other on own.id = other.id and other.id = 100 when matched then delete;
reset role;
grant delete on own to merges_rows;
revoke insert on own from merges_rows;
grant insert (id) on own to merges_rows;
set role merges_rows;
merge into own using other on own.id = other.id and other.id = 100 when matched then delete;
merge into own using other on own.id = other.id when not matched then insert (id) values (other.id);
merge into own using other on own.id = other.id when not matched then insert (id, a) values (other.id, 1);
merge into own using other on own.id = other.id when not matched then insert default values;
merge into own using hidden on own.id = hidden.id when matched then delete;
merge into own using other on own.id = other.id and exists (select from hidden) when matched then delete;
with w as (select * from hidden) merge into own using w on own.id = w.id when matched then delete;
reset role;
drop owned by merges_rows;
drop role merges_rows;
