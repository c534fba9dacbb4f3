-- INSTEAD OF triggers: what is done in the place of changes of a view, and what can not be.
create table base (id int primary key, name text, kind int default 3);
create table other (id int, note text);
insert into base values (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
insert into other values (1, 'a'), (2, 'b');
-- A view that is not simple: nothing can be changed without triggers.
create view joined as select b.id, b.name, o.note from base b left join other o on o.id = b.id;
insert into joined values (4, 'four', 'x');
update joined set name = 'x' where id = 1;
delete from joined;
create function say() returns trigger language plpgsql as $$
begin
  raise notice '% % % % on %: old %, new %', tg_name, tg_when, tg_level, tg_op, tg_relname, to_jsonb(old), to_jsonb(new);
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$;
create function write_joined() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into base (id, name) values (new.id, new.name);
    insert into other values (new.id, new.note);
    new.name := upper(new.name);
    return new;
  elsif tg_op = 'UPDATE' then
    update base set name = new.name, id = new.id where id = old.id;
    if not found then return null; end if;
    update other set note = new.note where id = old.id;
    return new;
  end if;
  delete from base where id = old.id;
  if not found then return null; end if;
  return old;
end $$;
-- What can't be.
create trigger bad before insert on joined for each row execute function say();
create trigger bad after update on joined for each row execute function say();
create trigger bad instead of insert on base for each row execute function say();
create trigger bad instead of insert on joined for each statement execute function say();
create trigger bad instead of insert on joined for each row when (new.id > 1) execute function say();
create trigger bad instead of update of name on joined for each row execute function say();
create trigger bad instead of truncate on joined for each statement execute function say();
create trigger bad before truncate on joined for each statement execute function say();
create trigger w_insert instead of insert on joined for each row execute function write_joined();
insert into joined values (4, 'four', 'x');
insert into joined (id) values (5), (6) returning *;
insert into joined (id, name) select id + 10, name from base where id < 3 returning id, name, note is null as none;
update joined set name = 'x' where id = 1;
delete from joined where id = 1;
create trigger w_update instead of update on joined for each row execute function write_joined();
create trigger w_delete instead of delete on joined for each row execute function write_joined();
update joined set name = name || '!', note = 'changed' where id in (1, 2, 3);
update joined set name = 'gone' where id = 77;
update joined j set name = v.column2 from (values (1, 'uno'), (2, 'due')) v where v.column1 = j.id returning j.id, j.name, j.note, v.column2;
update joined set id = id + 100 where id = 3 returning id, name;
delete from joined where id > 100 returning *;
delete from joined j using other o where o.id = j.id and o.note = 'x' returning j.name, o.note;
select * from base order by id;
select * from other order by id, note;
-- BEFORE and AFTER for statements go with them.
create trigger a_before before insert or update or delete on joined for each statement execute function say();
create trigger z_after after insert or update or delete on joined for each statement execute function say();
insert into joined values (20, 'twenty', null), (21, 'twenty-one', 'n');
update joined set note = 'm' where id = 21;
delete from joined where id in (20, 999);
drop trigger a_before on joined;
drop trigger z_after on joined;
-- Two of them: in the order of their names; NULL ends it.
create function skip_odd() returns trigger language plpgsql as $$
begin
  if coalesce(new.id, old.id) % 2 = 1 then return null; end if;
  new.name := 'even';
  return new;
end $$;
create trigger a_skip instead of insert on joined for each row execute function skip_odd();
insert into joined values (31, 'a'), (32, 'b'), (33, 'c') returning *;
select id, name from base where id > 30;
drop trigger a_skip on joined;
-- A view on top of such a view passes its changes on to it.
create view above as select id as number, name as title, upper(note) as loud from joined where id > 1;
insert into above (number, title) values (40, 'forty') returning *;
insert into above (number, loud) values (41, 'X');
update above set title = 'vierzig' where number = 40 returning number, title;
update above set loud = 'X' where number = 40;
delete from above where number in (40, 1) returning number;
create view checked as select id, name from joined where id < 100 with check option;
insert into checked values (500, 'too much');
insert into checked values (60, 'sixty');
update checked set id = 600 where id = 60;
select id from base where id > 50 order by id;
-- WITH, subqueries, RETURNING of more.
with gone as (delete from joined where id = 60 returning *) select id, name from gone;
with fresh as (insert into joined values (61, 'sixty-one', 'q') returning id, name) select * from fresh;
update joined set name = (select max(name) from base) where id = 61 returning (select count(*) > 0 from other), joined.id, joined;
insert into joined values (62, 'b', 'c') on conflict do nothing;
insert into joined values (62, 'b', 'c') on conflict (id) do nothing;
insert into joined (nothing) values (1);
update joined set nothing = 1;
-- Defaults of a view.
alter view joined alter column name set default 'from the view';
insert into joined (id) values (70) returning name;
alter view joined alter column name drop default;
-- One that passes changes on by itself does not, once it has a trigger.
create view plain as select id, name from base where id < 10;
create trigger p instead of update on plain for each row execute function say();
update plain set name = 'p' where id = 1 returning *;
insert into plain values (8, 'eight') returning *;
select id, name from base where id in (1, 8) order by id;
-- What catalogs say.
select tgname, tgtype, tgenabled from pg_trigger where tgrelid = 'joined'::regclass order by 1;
select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'joined'::regclass order by tgname;
select table_name, is_updatable, is_insertable_into, is_trigger_updatable, is_trigger_deletable, is_trigger_insertable_into from information_schema.views where table_name in ('joined', 'plain', 'above') order by 1;
select pg_relation_is_updatable('joined', false), pg_relation_is_updatable('joined', true), pg_relation_is_updatable('plain', true), pg_relation_is_updatable('above', true), pg_relation_is_updatable('above', false);
select trigger_name, event_manipulation, action_timing, action_orientation from information_schema.triggers where event_object_table = 'plain' order by 1, 2;
-- Replacing the view leaves its triggers.
create or replace view plain as select id, name, kind from base where id < 10;
update plain set kind = 9 where id = 2;
drop trigger p on plain;
update plain set kind = 9 where id = 2 returning *;
explain (costs off) insert into joined values (1);
prepare p as update joined set name = $2 where id = $1 returning name;
execute p(61, 'prepared');
execute p(61, 'again');
deallocate p;
create role instead_user;
do $$ begin execute format('grant usage on schema %I to instead_user', current_schema()); end $$;
grant insert on joined to instead_user;
set role instead_user;
insert into joined values (80, 'mine', 'm');
update joined set name = 'x';
reset role;
drop owned by instead_user;
drop role instead_user;
drop function write_joined();
drop function write_joined() cascade;
insert into joined values (90, 'n', 'm');
drop view above, checked, joined, plain;
drop function say();
drop function skip_odd();
drop table base, other;
