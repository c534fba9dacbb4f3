-- RETURN QUERY, what functions that are not volatile may not run, and where errors are noticed.
create table t(a int);
insert into t values(1),(2),(3);
create function rq(x text) returns setof int language plpgsql as $$ begin return query execute x; end $$;
select * from rq('select 1; select 2');
select * from rq('insert into t values(9); select 2');
select * from rq('insert into t values(9)');
select * from rq('');
select * from rq(';');
select * from rq('create table zz(a int)');
select * from rq('insert into t values(9) returning a');
select * from rq('begin');
select * from rq('select 1; commit');
select * from rq('show timezone');
select * from rq('explain select 1');
select * from rq('select 1 into zz');
select * from rq('values(1),(2)');
select * from rq('bogus');
select * from rq(null);
select * from rq('update t set a=1; delete from t');
create function rl() returns void language plpgsql as $$ declare r record; begin
for r in select * from t for update loop
raise notice '%', r;
end loop; end $$;
begin transaction read only;
select rl();
rollback;
create or replace function rl2() returns void language plpgsql as $$ declare r record; c cursor for select * from t for update; begin
open c;
raise notice 'open';
fetch c into r;
raise notice '%', r;
end $$;
begin transaction read only;
select rl2();
rollback;
create or replace function rl3() returns void language plpgsql as $$ declare r record; begin
for r in execute 'select * from t for share' loop
raise notice '%', r;
end loop; end $$;
begin transaction read only;
select rl3();
rollback;
create or replace function rl4() returns void language plpgsql as $$ declare r record; c cursor for select * from t for update; begin
for x in c loop
raise notice '%', x;
end loop; end $$;
begin transaction read only;
select rl4();
rollback;
create or replace function rl5() returns setof t language plpgsql as $$  begin
return query select * from t for update;
end $$;
begin transaction read only;
select rl5();
rollback;
create or replace function rl6() returns void language plpgsql as $$ begin
perform * from t for update;
end $$;
begin transaction read only;
select rl6();
rollback;
begin transaction read only;
declare c cursor for select * from t for update;
fetch c;
rollback;
create or replace function st(k int) returns void stable language plpgsql as $$ declare r record; begin
if k=1 then for r in select * from t for update loop end loop; end if;
if k=2 then perform * from t for update; end if;
if k=3 then select * into r from t for update; end if;
if k=4 then execute 'select * from t for update'; end if;
if k=5 then for r in execute 'select * from t for update' loop end loop; end if;
if k=6 then call cc(1); end if;
if k=7 then create table q(a int); end if;
if k=8 then execute 'create table q(a int)'; end if;
if k=9 then k := (with x as (select * from t for update) select a from x); end if;
if k=10 then do $x$ begin end $x$; end if;
if k=11 then execute 'call cc(1)'; end if;
if k=12 then show timezone; end if;
if k=13 then execute 'show timezone'; end if;
if k=14 then explain select 1; end if;
if k=15 then commit; end if;
if k=16 then set timezone='UTC'; end if;
if k=17 then lock table t; end if;
if k=18 then for r in insert into t values(1) returning a loop end loop; end if;
if k=19 then call cc(r.zz); end if;
if k=20 then call ccno(1); end if;
if k=21 then call cc(1,2); end if;
end $$;
create procedure cc(a int) language plpgsql as $$ begin raise notice 'cc'; end $$;
select st(1);
select st(2);
select st(3);
select st(4);
select st(5);
select st(6);
select st(7);
select st(8);
select st(9);
select st(10);
select st(11);
select st(12);
select st(13);
select st(14);
select st(15);
select st(16);
select st(17);
select st(18);
select st(19);
select st(20);
select st(21);
create function asserts(what text) returns void language plpgsql as $$ begin
assert 1 = 2, what;
end $$;
select asserts(null);
select asserts('so');
create function labelled() returns void language plpgsql as $$
begin
<<outer_loop>>
for i in 1..2 loop
null;
end loop;
<<inner_loop>>
foreach i in array null::int[] loop
null;
end loop;
end $$;
select labelled();
do $$
declare i int;
begin
<<here>>
while 1 / 0 > 0 loop
null;
end loop;
end $$;
do $$
declare r record;
begin
if r.n < 3 then
null;
end if;
end $$;
do $$
declare r record;
begin
perform coalesce(1, r.n);
end $$;
do $$
declare r record;
begin
r := row(1, 2);
raise notice '%', r.f1;
raise notice '%', upper(r.f3);
end $$;
do $$
declare p no_such_type; j int;
begin
select b, c into j, a from t;
end $$;
do $$
begin
declare j no_such_type;
begin
get diagnostics j = row_count;
end;
end $$;
create function given() returns setof int language plpgsql as $$ begin
return query insert into t values (1);
end $$;
select given();
create or replace function given() returns setof int language plpgsql as $$ begin
return query create table u (a int);
end $$;
select given();
create or replace function given() returns setof int language plpgsql as $$ begin
return query select 1, 2;
end $$;
select given();
create or replace function given() returns setof int language plpgsql as $$ declare n int; begin
return query execute 'select 1 union all select $1; select 4' using 3;
get diagnostics n = row_count;
raise notice '% %', n, found;
return query execute 'select 5 where false; select 4 where false';
get diagnostics n = row_count;
raise notice '% %', n, found;
end $$;
select given();
drop procedure cc;
drop table t cascade;
create domain small_number as int check (value < 10);
create type of_colours as enum ('red', 'blue');
do $$
declare n small_number; m int; c of_colours; r small_number := 3;
begin
select 1, 2, 'red' into n, m, c;
raise notice '% % %', n, m, c;
get diagnostics n = row_count;
<<inner_block>>
declare m small_number := 4;
begin
select 'blue', 7 into c, m;
raise notice '% % %', n, m, c;
select 70, 8 into m, n;
end inner_block;
end $$;
drop type of_colours;
drop domain small_number;
