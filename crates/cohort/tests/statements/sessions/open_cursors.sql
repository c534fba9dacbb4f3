-- What pg_cursors and pg_prepared_statements list.
create table cw (a int, b int);
insert into cw values (1, 1), (2, 2);
begin;
declare c1 cursor for select 1;
declare c2 scroll cursor with hold for select 2;
declare c3 binary no scroll cursor for values (1);
declare c5 cursor for select * from cw order by a;
declare c6 cursor for select * from cw;
declare "C 7" asensitive cursor without hold for select 1 from cw;
declare c8 no scroll cursor for select 1 from cw, cw x;
declare c9 cursor for select * from cw for update;
select name, statement, is_holdable, is_binary, is_scrollable, creation_time = now() from pg_cursors order by name;
commit;
select name, statement, is_holdable, is_binary, is_scrollable, creation_time <= now() from pg_cursors order by name;
fetch from c2;
close all;
create function opens(inout c refcursor, wanted int) language plpgsql as $$
declare
  bound cursor (n int) for select a from cw where a > n;
begin
  open c for select a, b from cw where a = wanted;
  open bound(1);
  c := 'c';
end$$;
begin;
select c from opens('mine', 2);
select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors order by name;
close mine;
select name from pg_cursors order by name;
rollback;
select count(*) from pg_cursors;
prepare p1 as select 1;
prepare p2 (int, text) as select $1, $2 from cw;
prepare p3 as insert into cw values ($1);
select name, statement, parameter_types, from_sql, generic_plans, custom_plans from pg_prepared_statements order by name;
