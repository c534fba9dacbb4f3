-- Everything that a statement changes is changed, though its caller wants one row.
create table counted (a int);
create function one_of_cte() returns int language sql as 'with i as (insert into counted select generate_series(1,3) returning 1) select 1';
select one_of_cte();
select count(*) from counted;
create function one_read_of_cte() returns int language sql as 'with i as (insert into counted select generate_series(1,3) returning a) select a from i order by a';
select one_read_of_cte();
select count(*) from counted;
do $$ declare v int; begin
  with i as (insert into counted select generate_series(1,3) returning a) select 7 into v from generate_series(1,9);
  raise notice '%', v;
end $$;
select count(*) from counted;
do $$ declare r record; begin
  for r in insert into counted select generate_series(1,5) returning a loop exit; end loop;
end $$;
select count(*) from counted;
do $$ declare r record; begin
  for r in with i as (insert into counted select generate_series(1,25) returning a) select a from i loop exit when r.a = 2; end loop;
end $$;
select count(*) from counted;
do $$ declare r record; begin
  for r in execute 'with i as (delete from counted returning a) select 1 as a from generate_series(1,30)' loop exit; end loop;
end $$;
select count(*) from counted;
create function set_of_cte() returns setof int language sql as 'with i as (insert into counted select generate_series(1,3) returning 1) select g from generate_series(1,5) g';
select set_of_cte() limit 1;
select count(*) from counted;
select * from set_of_cte() limit 1;
select count(*) from counted;
