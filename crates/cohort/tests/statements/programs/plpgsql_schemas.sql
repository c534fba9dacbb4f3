-- Types of schemas that the search path doesn't have.
create schema app;
create type app.m as enum ('a', 'b');
create type app.pair as (x int, y app.m);
create table app.t (a int, e app.m);
create domain app.small as int check (value < 10);
create schema "Odd name";
create type "Odd name"."Type" as enum ('o');
create function declares() returns text language plpgsql as $$
declare
  x app.m := 'a'; y constant app.m := 'b'; z app.m[] = '{a,b}';
  p app.pair; r app.t; s app.small not null := 3; o "Odd name"."Type" default 'o'; c app.t.e%type; w app.t%rowtype;
begin
  p := row(1, x); r.e := y; c := 'b'; w.a := 7;
  return concat_ws(' ', x, y, z, p, r, s, o, c, w);
end $$;
select declares();
create function gives() returns app.m language plpgsql as $$ begin return 'a'; end $$;
create function gives_rows() returns setof app.t language plpgsql as $$ begin return query select 1, 'a'::app.m; end $$;
create function takes(x app.m, out y app.small, inout z app.m[]) language plpgsql as $$ begin y := 4; z := z || x; end $$;
create function gives_table(n int) returns table (a app.m, b "Odd name"."Type") language plpgsql as $$ begin a := 'b'; b := 'o'; return next; end $$;
create procedure does(x app.m) language plpgsql as $$ begin raise notice 'does %', x; end $$;
select gives(), takes('a', '{b}');
select * from gives_rows();
select * from gives_table(1);
call does('b');
do $$ declare v app.m := 'a'; begin raise notice '%', v; end $$;
do $$ declare v app.small := 11; begin null; end $$;
do $$ declare v app.nothing; begin null; end $$;
do $$ declare v nowhere.m; begin null; end $$;
create function fails() returns int language plpgsql as $$ declare x app.m; begin x : = 1; end $$;
create function fails() returns int language plpgsql as $$ declare x app.m; begin if x then return 1; end $$;
drop schema app cascade;
drop schema "Odd name" cascade;
