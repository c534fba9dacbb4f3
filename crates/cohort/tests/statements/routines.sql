-- Functions in SQL and PL/pgSQL: row variables, results, and what CREATE FUNCTION checks of a body.
create table log (a int, b text);
insert into log values (1, 'one'), (2, 'two');
create function read_rows() returns text language plpgsql as $$
declare
  r log%rowtype;
  s log;
begin
  select * into r from log where a = 2;
  r.a := r.a + 10;
  select * into s from log where a = 1;
  for r in select * from log order by a loop
    s.b := s.b || r.b || r.a;
  end loop;
  return r.a || ' ' || r.b || ' ' || s.b || s.a;
end $$;
select read_rows();
create function give_row(k int) returns log language plpgsql as $$
declare r log%rowtype;
begin
  select * into r from log where a = k;
  return r;
end $$;
select give_row(1), (give_row(2)).b;
select * from give_row(2);
do $$ declare r log%rowtype; begin select a, b into r from log where a = 2; r.nosuch := 1; end $$;
do $$ declare r log%rowtype := row(5, 'five'); begin assert r.a = 5; end $$;
do $$ declare r log%rowtype; begin select * into strict r from log where a = 99; end $$;
do $$ declare r log%rowtype; begin select * into r from log where a = 99; assert r.a is null; end $$;
do $$ declare r nosuch%rowtype; begin null; end $$;
create function on_change() returns trigger language plpgsql as $$
begin
  new.a := 1;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$;
select on_change();
create function nothing() returns void language sql as 'select 1';
select nothing(), nothing() is null;
select * from nothing();
create function nothing_either() returns void language plpgsql as 'begin null; end';
select nothing_either(), nothing_either() is null;
select * from nothing_either();
create function s1() returns int language sql as 'select * from nosuch';
create function s2() returns int language sql as 'select 1, 2';
create function s3() returns int language sql as $$select 'a'::text$$;
create function s4() returns int language sql as $$select 'a'$$;
create function s5() returns int language sql as 'insert into log values (1)';
create function s6() returns int language sql as '';
create function s7() returns trigger language sql as 'select 1';
create function s8(a anyelement) returns anyelement language sql as 'select * from nosuch';
create function s9(a int) returns int language sql as 'select case when a > 1 then a * s9(a - 1) else 1 end';
select s9(5);
create function s10() returns log language sql as 'select 1';
create function s11() returns log language sql as $$select 1, 'x', 3$$;
create function s12() returns log language sql as $$select 'x', 'y'$$;
create function s13() returns log language sql as $$select 1, 'y'$$;
select s13(), (s13()).b;
create function s14(out a bigint, out b text) language sql as $$select 1, 'y'$$;
select s14(), pg_typeof((s14()).a);
create function s15() returns setof record language sql as $$select 1, 'y'$$;
select * from s15() as x(a int, b text);
create function s16() returns table (x bigint, y text) language sql as $$select a, b from log$$;
select * from s16();
create function s17() returns setof log language sql as $$select * from log$$;
select * from s17();
create function s18() returns int language sql as 'selct 1';
create function s19() returns int language sql as 'select nosuch(1)';
create function s20() returns int language sql as 'select $1';
create function s21() returns int language sql as 'select 1/0';
select s21();
create function s22() returns log language sql as $$select l from log l$$;
select * from s22();
create function s23(cstring) returns int language sql as 'select 1';
create function s24() returns bigint language sql as 'select 1';
select s24();
create function s25() returns int language sql as 'select 1; create table zz(a int)';
create function s26() returns int language sql as $$insert into log values (7,'seven') returning a$$;
select s26();
create or replace function s26() returns int language sql as $$select 'x'::text$$;
select s26();
set check_function_bodies = off;
create function s27() returns int language sql as $$select 'x'::text$$;
select s27();
set check_function_bodies = on;
create procedure p1() language sql as 'insert into log values (8)';
call p1();
create procedure p2() language sql as 'insert into nosuch values (8)';
