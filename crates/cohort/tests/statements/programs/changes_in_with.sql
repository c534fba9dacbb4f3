-- Changes of one table by several parts of one statement: its statement triggers are called once, for all of it.
create table t (id int primary key, v int);
create table sink (id int);
create function once() returns trigger language plpgsql as $$
declare
  n int := -1;
  m int := -1;
begin
  if tg_when = 'AFTER' then
    if tg_op in ('INSERT', 'UPDATE') then select count(*) into n from new_rows; end if;
    if tg_op in ('DELETE', 'UPDATE') then select count(*) into m from old_rows; end if;
  end if;
  raise notice '% % % new % old %', tg_name, tg_op, tg_when, n, m;
  return null;
end $$;
create function each() returns trigger language plpgsql as $$ begin raise notice '% % % % %', tg_name, tg_op, tg_when, new, old; return coalesce(new, old); end $$;
create trigger bi before insert on t for each statement execute function once();
create trigger bu before update on t for each statement execute function once();
create trigger bd before delete on t for each statement execute function once();
create trigger ai after insert on t referencing new table as new_rows for each statement execute function once();
create trigger au after update on t referencing new table as new_rows old table as old_rows for each statement execute function once();
create trigger ad after delete on t referencing old table as old_rows for each statement execute function once();
create trigger r after insert or update or delete on t for each row execute function each();
with a as (insert into t values (1, 1), (2, 2) returning id), b as (insert into t values (3, 3)) insert into sink select id from a;
with a as (update t set v = 10 where id = 1 returning id), b as (update t set v = 20 where id = 2 returning id) insert into sink select a.id + b.id from a, b;
with a as (update t set v = 11 where id = 1 returning id) update t set v = 21 where id = 2;
with a as (insert into t values (4, 4)) update t set v = 12 where id = 1;
with a as (delete from t where id = 3) insert into t values (5, 5), (6, 6);
with a as (delete from t where id = 4), b as (delete from t where id = 5) delete from t where id = 6;
with a as (insert into t values (7, 7)) insert into t values (8, 8);
with a as (insert into t values (9, 9)) insert into t values (1, 1) on conflict (id) do update set v = 100;
with a as (insert into t values (10, 9)) insert into t values (1, 1) on conflict (id) do nothing;
with a as (update t set v = 0 where false), b as (update t set v = 1 where false) insert into sink values (1);
create table c (id int references t on delete cascade on update cascade);
create trigger cu after update on c referencing new table as new_rows old table as old_rows for each statement execute function once();
create trigger cd after delete on c referencing old table as old_rows for each statement execute function once();
create trigger cr after insert or update or delete on c for each row execute function each();
insert into c values (1), (2), (2);
with a as (update t set id = 22 where id = 2) insert into c values (8);
table c;
create table log (what text);
create function logs() returns trigger language plpgsql as $$ begin insert into t values (100 + new.id, 0); return new; end $$;
create trigger logs before insert on t for each row when (new.id < 100) execute function logs();
with a as (insert into t values (40, 1)) insert into t values (41, 1);
select id from t where id >= 40 order by id;
