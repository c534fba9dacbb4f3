-- Transition tables: the rows of a statement, read by the functions of its AFTER triggers.
create table t (id int primary key, v text, n int);
create table log (seq serial, what text);
create function totals() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into log (what) select 'insert ' || count(*) || ' ' || string_agg(v, ',' order by id) from fresh;
  elsif tg_op = 'DELETE' then
    insert into log (what) select 'delete ' || count(*) || ' ' || coalesce(string_agg(v, ',' order by id), 'none') from gone;
  else
    insert into log (what)
      select 'update ' || o.id || ': ' || o.v || ' -> ' || n.v from gone o join fresh n using (id) order by o.id;
  end if;
  return null;
end $$;
create trigger bad before insert on t referencing new table as fresh for each statement execute function totals();
create trigger bad after insert on t referencing old table as gone for each statement execute function totals();
create trigger bad after delete on t referencing new table as gone for each statement execute function totals();
create trigger bad after insert or update on t referencing new table as fresh for each statement execute function totals();
create trigger bad after update of v on t referencing new table as fresh for each statement execute function totals();
create trigger bad after truncate on t referencing old table as gone for each statement execute function totals();
create trigger bad after update on t referencing new table as x old table as x for each statement execute function totals();
create trigger bad after update on t referencing new table as x new table as y for each statement execute function totals();
create trigger bad after update on t referencing old row as x for each row execute function totals();
create trigger t_insert after insert on t referencing new table as fresh for each statement execute function totals();
create trigger t_update after update on t referencing old table as gone new table as fresh for each statement execute function totals();
create trigger t_delete after delete on t referencing old table as gone for each statement execute function totals();
insert into t values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);
insert into t select 4, 'd' where false;
update t set v = v || v where id > 1;
update t set v = 'none' where id > 100;
delete from t where id = 2;
delete from t where id = 2;
copy t from stdin;
10	x	1
11	y	2
\.
insert into t values (1, 'again', 1), (5, 'five', 5) on conflict (id) do update set v = excluded.v;
insert into t values (1, 'no', 1), (6, 'six', 6) on conflict do nothing;
select what from log order by seq;
truncate log;
-- For each row, all rows of the statement can be read.
create function each_row() returns trigger language plpgsql as $$
declare
  c int;
  r record;
begin
  select count(*) into c from changed;
  raise notice 'row %: of %, the sum of all %', new.id, c, (select sum(n) from changed);
  for r in select * from changed order by id loop
    raise notice '  %', r;
  end loop;
  return new;
end $$;
create trigger t_row after update on t referencing new table as changed for each row execute function each_row();
update t set n = n * 10 where id in (1, 3);
drop trigger t_row on t;
-- EXECUTE, variables, cursors and whole rows.
create function dynamic() returns trigger language plpgsql as $$
declare
  c int;
  words text[];
  k cursor for select f.id from fresh f order by id desc;
begin
  execute 'select count(*) from fresh where id >= $1' into c using 3;
  select array_agg(f::text order by id) into words from fresh f;
  raise notice 'counted %, rows %', c, words;
  for r in k loop
    raise notice 'cursor at %', r.id;
  end loop;
  perform 1 from fresh, fresh again where fresh.id = again.id;
  raise notice 'found %', found;
  create temp table kept as select * from fresh;
  return null;
end $$;
create trigger t_dynamic after update on t referencing new table as fresh for each statement execute function dynamic();
update t set n = 0 where id > 2;
select * from kept order by id;
drop table kept;
drop trigger t_dynamic on t;
-- The rows can't be changed, and belong to the trigger's function alone.
create function change_it() returns trigger language plpgsql as $$
begin
  delete from fresh;
  return null;
end $$;
create trigger t_change after update on t referencing new table as fresh for each statement execute function change_it();
update t set n = 0 where id > 2;
drop trigger t_change on t;
create function below() returns bigint language sql as $$ select count(*) from log $$;
create function calls_below() returns trigger language plpgsql as $$
begin
  raise notice 'below %', below();
  perform other_below();
  return null;
end $$;
create function other_below() returns int language plpgsql as $$ begin return (select count(*) from fresh); end $$;
create trigger t_below after update on t referencing new table as fresh for each statement execute function calls_below();
update t set n = 0 where id > 2;
drop trigger t_below on t;
-- A table of the name is hidden.
create table fresh (hidden int);
insert into t values (30, 'hidden', 1);
select what from log order by seq desc limit 1;
drop table fresh;
-- One function for two tables, and after a change of the table.
create table u (id bigint, v text, extra text);
create trigger u_insert after insert on u referencing new table as fresh for each statement execute function totals();
insert into u values (1, 'u', 'x');
insert into t values (31, 't', 1);
insert into u values (2, 'uu', 'x');
alter table t drop column n;
insert into t values (32, 'dropped');
alter table t add column m int default 7;
insert into t values (33, 'added');
select what from log order by seq desc limit 5;
-- Nested: what a trigger inserts has its own.
create function chain() returns trigger language plpgsql as $$
begin
  insert into u select id, v || '+', 'chained' from fresh where id < 1000;
  raise notice 'still % here', (select count(*) from fresh);
  return null;
end $$;
create trigger t_chain after insert on t referencing new table as fresh for each statement execute function chain();
insert into t values (50, 'p'), (51, 'q');
select what from log order by seq desc limit 2;
-- Foreign keys' cascades fire them too.
create table child (id int, t int references t on delete cascade);
create function gone_children() returns trigger language plpgsql as $$
begin
  raise notice 'gone children %', (select count(*) from gone);
  return null;
end $$;
create trigger c after delete on child referencing old table as gone for each statement execute function gone_children();
insert into child values (1, 50), (2, 50), (3, 51);
delete from t where id = 50;
select tgname, tgoldtable, tgnewtable from pg_trigger where tgrelid = 't'::regclass and not tgisinternal order by 1;
select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 't'::regclass and not tgisinternal order by tgname;
select trigger_name, action_reference_old_table, action_reference_new_table from information_schema.triggers where event_object_table = 't' order by 1;
create view w as select * from t;
create trigger bad after insert on w referencing new table as fresh for each statement execute function totals();
drop view w;
drop table child, t, u, log;
drop function totals(), each_row(), dynamic(), change_it(), below(), calls_below(), other_below(), chain(), gone_children();
