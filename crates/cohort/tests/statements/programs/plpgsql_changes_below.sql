-- Types, tables and domains that are changed below a running function: by a function that it calls, and while a loop or a cursor gives rows.
create type o2 as (a int, b int); create table two(x o2); create table tha(x o2[]);
create type o3 as (a text, b int, c int); create table th3(x o3);
create function alt3() returns int language plpgsql as $$ begin execute 'alter type o3 drop attribute a'; return 1; end $$;
do $$ declare v o3 := row('long text',2,3); begin perform alt3(); insert into th3 values (v); end $$;
table th3;
select (x).b, (x).c from th3;
begin;
do $$ declare r record; begin for r in select row(g,g*10)::o2 as x from generate_series(1,3) g loop
  if (r.x).b = 10 then execute 'alter type o2 drop attribute a, add attribute c int'; end if; insert into two values (r.x); end loop; end $$;
table two;
rollback;
begin;
do $$ declare v o2; u o2[] := array[row(1,10),row(2,20),row(3,30)]::o2[]; begin foreach v in array u loop
  if v.b = 10 then execute 'alter type o2 drop attribute a, add attribute c text'; end if; insert into two values (v); end loop; end $$;
table two;
rollback;
begin;
do $$ declare v o2[]; begin for v in select array[row(g,g*10)::o2] from generate_series(1,3) g loop
  if (v[1]).b = 10 then execute 'alter type o2 drop attribute a, add attribute c text'; end if; insert into tha values (v); end loop; end $$;
table tha;
rollback;
begin;
do $$ declare v record; c cursor for select row(g,g*10)::o2 as x from generate_series(1,3) g; begin open c; fetch c into v;
  execute 'alter type o2 drop attribute a, add attribute c text'; loop insert into two values (v.x); fetch c into v; exit when not found; end loop; end $$;
table two;
rollback;
begin;
do $$ declare v o2[]; w o2; begin v := array[row(1,2)::o2]; w := row(1,2);
 execute 'alter type o2 drop attribute b'; execute 'alter type o2 add attribute b int'; insert into tha values (v); insert into two values (w); end $$;
table tha; table two;
rollback;
begin;
create table log(k text, x int, y int); create table p(a int, b int); create table q(b int, a int);
create function tf() returns trigger language plpgsql as $$ begin insert into log select tg_table_name, new.*; return new; end $$;
create trigger tp before insert on p for each row execute function tf(); create trigger tq before insert on q for each row execute function tf();
insert into p values (1,2); insert into q values (1,2); table log;
rollback;
begin;
create domain dm as int check (value > 0); create table td(x dm); create type ct as (p int, q int); create domain cd as ct check ((value).q > 0); create table tcd(x cd);
create function addc() returns int language plpgsql as $$ begin execute 'alter domain dm add check (value < 100)'; execute 'alter domain cd add check ((value).q < 100)'; return 1; end $$;
do $$ declare v dm := 5; c cd := row(5,5); begin perform addc();  
 begin insert into td values (500); exception when others then raise notice '%', sqlerrm; end;
 begin v := 600; exception when others then raise notice '%', sqlerrm; end; insert into td values (v);
 begin insert into tcd values (row(9,900)), ('(9,901)'); exception when others then raise notice '%', sqlerrm; end;
  c.q := 900; insert into tcd values (c); end $$;
table td; table tcd;
rollback;
create type lengths as (a varchar(2), b numeric(5,1)); create domain ld as lengths check ((value).a is distinct from 'no');
create type deep as (l ld, m ld[]); create table a2(j ld[]); create table a3(j deep); create table a7(j deep[]);
insert into a2(j[1].a) values ('no'); update a2 set j[1].a = 'no';
insert into a2(j[1].a) values ('yo'); update a2 set j[1].a = 'no'; update a2 set j[1].b = 2.77; table a2;
insert into a3(j.l.a) values ('no'); update a3 set j.l.a = 'no'; insert into a3(j.l.a) values ('yo'); update a3 set j.l.a = 'no'; table a3;
insert into a3(j.m[1].a) values ('no'); insert into a7(j[1].l.a) values ('no');insert into a7(j[1].l.a) values ('ok'); table a7;
create table t1 (j lengths);
select g::lengths from (values (1)) v left join (select 'ab'::text p, 1 q) g on true;
select g::lengths from (values (1)) v left join (select 'ab'::text p, 1 q) g on false;
insert into t1 select g from (values (1)) v left join (select 'abc'::text p, 1 q) g on true;
insert into t1 select g from json_to_recordset('[{"a":"x","b":3.55}]') as g(a text, b numeric);
insert into t1 select g from (values (1)) v left join json_to_recordset('[{"a":"x","b":3.55}]') as g(a text, b numeric) on true; table t1;
create domain ia as int[] check (value[1] > 0); create type ti as (arr ia); create table tti(x ti);
insert into tti(x.arr[1]) values (-1); insert into tti(x.arr[1]) values (1); update tti set x.arr[1] = -1; table tti;
create type o4 as (a int, b int);
create function g1() returns o4 language plpgsql as $$ begin execute 'alter type o4 add attribute c int'; return row(1,2,3)::o4; end $$;
do $$ declare x o4; begin x := g1(); raise notice '%', x; end $$;
create table tt(a int, b int); create function altt() returns int language plpgsql as $$ begin execute 'alter table tt add c int'; return 1; end $$;
create function g12() returns int language plpgsql as $$ declare v tt; begin perform altt(); insert into tt values (1,2,3); select * into v from tt; raise notice '%', v; v.c := 4; return 1; end $$;
select g12();
create function mk() returns int language plpgsql as $$ begin execute 'create type nt as (p int)'; execute 'create table ntt(x nt)'; execute 'create domain nd3 as int check (value > 3)'; execute 'create table ntt3(y nd3)'; execute 'create type en as enum (''a'')'; execute 'create table te(y en)'; return 1; end $$;
do $$ declare r record; begin perform mk(); insert into ntt values (row(1)); select * into r from ntt; raise notice '%', r; insert into te values ('a'); select * into r from te; raise notice '%', r; insert into ntt3 values (1); end $$;
create domain dii as int[] check (0 < all(value)); create domain da as varchar(2)[] check (array_length(value,1) < 3);
create type cx as (c da, j dii); create table tx(x cx);
insert into tx(x.j[1]) values (-1); 
insert into tx(x.c[1], x.c[2], x.c[3]) values ('a','b','c'); 
insert into tx(x.c[1], x.c[2]) values ('a','b'); update tx set x.c[1] = 'abc'; table tx;
create type dt as (a date, b int); create function sd() returns dt language sql as $$ select row('2020-01-01', '1') $$; select sd();
create type sw as (a int, b int); create table sws (x sw); insert into sws values (row(1,2));
prepare ps as select (x).a, (x).b from sws; execute ps; alter type sw rename attribute a to t; execute ps; alter type sw rename attribute b to a; execute ps;alter type sw rename attribute t to b; execute ps;
-- Parts of one value of a domain, assigned by one statement.
create type ab as (a int, b int);
create domain lc as ab check ((value).a is not null and (value).b is not null);
create table parts (kk lc);
insert into parts (kk.a, kk.b) values (1, 1);
insert into parts (kk.a) values (1);
create domain ordered as int[] check (value[1] <= value[2]);
create table pairs (x ordered);
insert into pairs values ('{1,2}');
update pairs set x[1] = 5, x[2] = 6;
update pairs set x[1] = 9;
table pairs;
-- A CASE that was written is no whole row of a nullable side.
select (case when k is null then row(5, 6) else g end)::ab from (select 1 a, 2 b) g, (values (null::int), (5)) v(k);
-- Rows on their way to a function when a function beside it changes their type.
create type wide as (a text, b int, n numeric);
create function narrow() returns int language plpgsql as $$ begin execute 'alter type wide drop attribute a'; return 1; end $$;
-- An exception undoes two changes.
create type undone as (a int, b int);
do $$ declare w undone[] := array[row(1, 2)::undone]; begin
  begin execute 'alter type undone drop attribute b'; perform w; execute 'alter type undone add attribute c text'; perform w; raise exception 'x';
  exception when others then null; end;
  raise notice '%', w;
end $$;
-- A domain sees the row as its type is now.
create type seen as (a int, b int);
create domain seen_domain as seen check ((value).b < 100);
do $$ declare v seen_domain := row(1, 2); begin execute 'alter type seen drop attribute a'; v.b := 900; raise notice 'no'; end $$;
-- The last statement changes the type of a result.
create type result_type as (a int, b int);
create function change_result() returns int language plpgsql as $$ begin execute 'alter type result_type drop attribute a'; return 1; end $$;
create function gives_result(out x result_type[]) language plpgsql as $$ begin x := array[row(1, 2)::result_type]; perform change_result(); end $$;
do $$ declare r text; begin r := gives_result()::text; raise notice '%', r; end $$;
