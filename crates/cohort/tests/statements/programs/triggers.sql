-- Triggers: when, in which order, with what, and what they may do to the row.
create table audited (id int primary key, v text, n int default 0);
create table seen (at serial, what text);
create function tell() returns trigger language plpgsql as $$
begin
  raise notice '% % % % on %.% args % old % new %', tg_name, tg_when, tg_level, tg_op, tg_table_schema, tg_table_name, tg_argv, case when tg_op in ('UPDATE', 'DELETE') and tg_level = 'ROW' then old end, case when tg_op in ('INSERT', 'UPDATE') and tg_level = 'ROW' then new end;
  return case tg_op when 'DELETE' then old else new end;
end
$$;
create trigger b_row before insert or update or delete on audited for each row execute function tell('x', 'y');
create trigger a_row after insert or update or delete on audited for each row execute function tell();
create trigger b_statement before insert or update or delete or truncate on audited for each statement execute procedure tell();
create trigger a_statement after insert or update or delete or truncate on audited execute function tell();
insert into audited values (1, 'one'), (2, 'two');
update audited set v = v || '!' where id = 1;
update audited set v = 'none' where false;
delete from audited where id = 2 returning *;
insert into audited select 3, 'three' where false;
insert into audited values (1, 'again') on conflict do nothing;
insert into audited values (1, 'again') on conflict (id) do update set v = excluded.v returning v;
truncate audited;
select count(*) from audited;
alter table audited disable trigger b_row;
insert into audited values (1, 'quiet');
alter table audited disable trigger all;
insert into audited values (2, 'silent');
alter table audited enable trigger a_row;
insert into audited values (3, 'half');
alter table audited enable trigger user;
alter table audited disable trigger nothing;
alter table audited enable always trigger a_row;
alter table audited enable replica trigger b_row;
select tgname, tgenabled, tgtype, tgnargs, encode(tgargs, 'escape'), tgisinternal from pg_trigger where tgrelid = 'audited'::regclass order by tgname;
insert into audited values (4, 'always');
drop trigger b_row on audited;
drop trigger a_row on audited;
drop trigger b_statement on audited;
drop trigger a_statement on audited;
drop trigger a_statement on audited;
drop trigger if exists a_statement on audited;
drop trigger if exists a_statement on nothing;
drop trigger a_statement on nothing;
delete from audited;
-- What a BEFORE trigger does to the row.
create function change_row() returns trigger language plpgsql as $$
begin
  if new.v = 'skip' then
    return null;
  end if;
  new.v := upper(new.v);
  new.n := coalesce(new.n, 0) + 1;
  return new;
end
$$;
create trigger changes before insert or update on audited for each row execute function change_row();
insert into audited values (1, 'a'), (2, 'skip'), (3, 'c') returning *;
update audited set v = 'b' where id = 1 returning *;
update audited set v = 'skip' returning *;
select * from audited order by id;
create function keep_old() returns trigger language plpgsql as $$ begin if tg_op = 'DELETE' and old.id = 1 then return null; end if; return old; end $$;
create trigger keeps before delete on audited for each row execute function keep_old();
delete from audited;
select * from audited;
create trigger keeps_update before update on audited for each row execute function keep_old();
update audited set v = 'ignored' returning *;
drop trigger keeps on audited;
drop trigger keeps_update on audited;
drop trigger changes on audited;
truncate audited;
-- WHEN and UPDATE OF.
insert into audited values (1, 'a', 1), (2, 'b', 2);
create trigger on_change after update on audited for each row when (old.v is distinct from new.v) execute function tell();
update audited set v = v, n = 5 where id = 1;
update audited set v = 'changed' where id = 1;
drop trigger on_change on audited;
create trigger of_columns after update of v on audited for each row execute function tell();
update audited set n = 6 where id = 1;
update audited set v = v where id = 1;
drop trigger of_columns on audited;
create trigger of_both after update of v, n or insert on audited for each row when (new.n > 10) execute function tell('q''uote');
insert into audited values (3, 'c', 11), (4, 'd', 9);
update audited set n = n + 10 where id in (1, 3);
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'of_both';
select pg_get_triggerdef(oid, true) from pg_trigger where tgname = 'of_both';
alter table audited drop column n;
alter trigger of_both on audited rename to renamed;
alter trigger of_both on audited rename to other;
alter trigger renamed on audited rename to renamed;
comment on trigger renamed on audited is 'a comment';
comment on trigger nothing on audited is 'a comment';
select obj_description(oid, 'pg_trigger') from pg_trigger where tgname = 'renamed';
drop function tell();
create or replace trigger renamed after insert on audited for each row execute function tell('replaced');
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'renamed';
drop trigger renamed on audited;
-- What is refused.
create trigger wrong before insert on nothing for each row execute function tell();
create trigger wrong before insert on audited for each row execute function nothing();
create function no_trigger() returns int language sql as 'select 1';
create trigger wrong before insert on audited for each row execute function no_trigger();
create trigger wrong instead of insert on audited for each row execute function tell();
create trigger wrong before truncate on audited for each row execute function tell();
create trigger wrong before update of nothing on audited for each row execute function tell();
create trigger wrong before update of v, v on audited for each row execute function tell();
create trigger wrong before insert on audited for each row when (old.v = 'x') execute function tell();
create trigger wrong before delete on audited for each row when (new.v = 'x') execute function tell();
create trigger wrong before insert on audited for each statement when (new.v = 'x') execute function tell();
create trigger wrong before insert on audited for each row when (new.nothing = 'x') execute function tell();
create trigger wrong before insert on audited for each row when (new.v) execute function tell();
create trigger wrong before insert on audited for each row when ((select true)) execute function tell();
create trigger twice before insert on audited for each row execute function tell();
create trigger twice before insert on audited for each row execute function tell();
drop trigger twice on audited;
select tell();
create function trigger_with_argument(a int) returns trigger language plpgsql as $$ begin return new; end $$;
create function returns_wrong() returns trigger language plpgsql as $$ begin return row(1, 2, 3, 4, 5); end $$;
create trigger returns_wrong before insert on audited for each row execute function returns_wrong();
insert into audited values (9, 'x');
drop trigger returns_wrong on audited;
create function no_return_here() returns trigger language plpgsql as $$ begin null; end $$;
create trigger no_return before insert on audited for each row execute function no_return_here();
insert into audited values (9, 'x');
drop trigger no_return on audited;
create function reads_missing() returns trigger language plpgsql as $$ begin raise notice '%', old.v; return new; end $$;
create trigger reads_missing before insert on audited for each row execute function reads_missing();
insert into audited values (9, 'x');
drop trigger reads_missing on audited;
create function unknown_field() returns trigger language plpgsql as $$ begin new.nothing := 1; return new; end $$;
create trigger unknown_field before insert on audited for each row execute function unknown_field();
insert into audited values (9, 'x');
drop trigger unknown_field on audited;
-- Triggers that change tables, their order, and errors.
create function log_it() returns trigger language plpgsql as $$ begin insert into seen (what) values (tg_name || ' ' || tg_op || ' ' || coalesce(new.id, old.id)); return null; end $$;
create trigger z_last after insert or delete or update on audited for each row execute function log_it();
create trigger a_first after insert or delete or update on audited for each row execute function log_it();
insert into audited values (20, 'x'), (21, 'y');
update audited set v = 'z' where id = 20;
delete from audited where id = 21;
select what from seen order by at;
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no % of %', lower(tg_op), old.id using hint = 'leave it'; end $$;
create trigger refuses before delete on audited for each row execute function refuse();
delete from audited where id = 20;
select count(*) from audited where id = 20;
truncate seen;
create function chain() returns trigger language plpgsql as $$ begin if new.id < 33 then insert into audited values (new.id + 1, 'chained at depth ' || pg_trigger_depth()); end if; return new; end $$;
create trigger chains after insert on audited for each row execute function chain();
insert into audited values (30, 'start');
select id, v from audited where id >= 30 order by id;
select pg_trigger_depth();
drop trigger chains on audited;
-- Constraint triggers.
create constraint trigger later after insert on audited deferrable initially deferred for each row execute function tell();
begin;
insert into audited values (40, 'deferred');
select 'still nothing' as note;
commit;
begin;
insert into audited values (41, 'deferred');
set constraints later immediate;
insert into audited values (42, 'at once');
commit;
begin;
insert into audited values (43, 'rolled back');
rollback;
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'later';
create constraint trigger wrong before insert on audited for each row execute function tell();
create constraint trigger wrong after insert on audited for each statement execute function tell();
drop trigger later on audited;
-- Foreign keys and triggers.
create table child (id int primary key, parent int references audited on delete cascade on update cascade);
insert into child values (1, 40), (2, 41);
drop trigger refuses on audited;
delete from audited where id = 40;
update audited set id = 410 where id = 41;
select * from child;
-- Copying in.
create trigger on_copy before insert on child for each row execute function tell();
create trigger on_copy_after after insert on child for each row execute function tell();
copy child from stdin;
5	410
6	\N
\.
drop table child;
-- Views.
create view shown as select id, v from audited where id > 100;
create trigger wrong before insert on shown for each row execute function tell();
create trigger wrong after update on shown for each row execute function tell();
drop view shown;
create function trg_stable() returns trigger language sql as 'select null';
drop function tell() cascade;
drop table audited, seen cascade;
drop function change_row, keep_old, no_trigger, returns_wrong, no_return_here, reads_missing, unknown_field, log_it, refuse, chain;
