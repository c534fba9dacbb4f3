-- What a statement sees stays what it is when functions that it calls catch errors.
create table seen (n int primary key, v int);
insert into seen select i, 0 from generate_series(1, 200) i;
create function catching(x int) returns int language plpgsql as $$ begin
  begin perform 1 / 0; exception when division_by_zero then null; end;
  update seen set v = v + 1 where n = x + 1;
  begin
    update seen set v = v + 1 where n = x + 1;
    perform 1 / 0;
  exception when division_by_zero then
    update seen set v = v + 10 where n = x + 1;
  end;
  return (select v from seen where n = x + 1);
end $$;
set enable_seqscan = off;
select n, v, catching(n) from seen where n <= 5 order by n;
select n, v, catching(n) from seen where n <= 5 order by n;
begin isolation level repeatable read;
select n, v, catching(n) from seen where n <= 5 order by n;
select n, v, catching(n) from seen where n <= 5 order by n;
commit;
begin isolation level serializable;
select n, v, catching(n) from seen where n <= 3 order by n;
commit;
reset enable_seqscan;
select n, v, catching(n), (select sum(v) from seen) from seen where n between 3 and 7 order by n;
create function catching_trigger() returns trigger language plpgsql as $$ begin
  begin
    insert into seen values (new.n, 1), (new.n, 2);
  exception when unique_violation then null;
  end;
  new.v := new.v + (select count(*) from seen where v = -1);
  return new;
end $$;
create trigger catching before update on seen for each row execute function catching_trigger();
set enable_seqscan = off;
update seen set n = n + 1000, v = -1 where n > 0;
select count(*), min(n), max(n), min(v), max(v) from seen;
reset enable_seqscan;
update seen set n = n - 1000;
select count(*), min(n), max(n), min(v), max(v) from seen;
drop trigger catching on seen;
-- A cursor, and what is around its FETCH.
begin;
declare c cursor for select n, v, catching(n) from seen order by n;
fetch 2 from c;
update seen set v = 77;
fetch 2 from c;
select v, count(*) from seen group by v order by v;
commit;
create function fetching() returns text language plpgsql as $$
declare c cursor for select n, v, catching(n) as caught from seen order by n limit 4; r record; said text := '';
begin
  open c;
  loop
    fetch c into r;
    exit when not found;
    said := said || format('%s:%s:%s ', r.n, r.v, r.caught);
    update seen set v = 1000 where n = r.n + 1;
  end loop;
  close c;
  return said;
end $$;
select fetching(), (select sum(v) from seen);
select n, v from seen where n < 8 order by n;
-- Within each other, with errors that come from deeper functions and from statements that have their own snapshots.
create function raising(x int) returns int language plpgsql as $$ begin
  update seen set v = -x where n = 1;
  if x % 2 = 0 then raise exception 'even %', x; end if;
  return (select v from seen where n = 1);
end $$;
create function around(x int) returns text language plpgsql as $$ declare y int; begin
  begin
    begin
      select raising(i) into y from generate_series(x, x) i;
      return 'raised nothing: ' || y;
    exception when division_by_zero then return 'never';
    end;
  exception when raise_exception then
    return sqlerrm || ', ' || (select v from seen where n = 1);
  end;
end $$;
select i, around(i), (select v from seen where n = 1) from generate_series(1, 6) i;
select v from seen where n = 1;
do $$ begin
  for i in 1..3 loop
    begin
      insert into seen values (i, i);
    exception when unique_violation then
      update seen set v = v * 2 where n = i;
    end;
  end loop;
end $$;
select n, v from seen where n < 5 order by n;
create procedure catching_too() language plpgsql as $$ begin
  begin
    insert into seen values (1, 1);
  exception when unique_violation then
    update seen set v = 5 where n = 1;
  end;
  commit;
  begin
    perform 1 / 0;
  exception when division_by_zero then null;
  end;
  update seen set v = v + 1 where n = 1;
  rollback;
end $$;
call catching_too();
select v from seen where n = 1;
drop table seen;
drop function catching, catching_trigger, fetching, raising, around;
drop procedure catching_too;
-- What a block that caught an error has set and defined is undone with it.
set my.own = 'before';
do $$ begin
  begin set work_mem = '7MB'; set my.own = 'within'; perform 1 / 0; exception when division_by_zero then null; end;
  raise notice '% %', current_setting('work_mem'), current_setting('my.own');
  begin set my.own = 'kept'; exception when division_by_zero then null; end;
end $$;
show work_mem;
show my.own;
begin;
set local work_mem = '9MB';
do $$ begin begin set local work_mem = '7MB'; perform 1 / 0; exception when others then null; end; end $$;
show work_mem;
commit;
do $$ begin
  begin create table passing (a int); perform 1 / 0; exception when others then null; end;
  if to_regclass('passing') is null then create table passing (b int); end if;
  insert into passing values (1);
  begin alter table passing add c int; drop table passing; perform 1 / 0; exception when others then null; end;
  raise notice '%', to_regclass('passing');
end $$;
select * from passing;
drop table passing;
