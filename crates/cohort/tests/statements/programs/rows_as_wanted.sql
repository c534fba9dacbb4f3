-- Loops over queries, OPEN and FETCH ask a query for rows as they need them: what it calls sees what was done meanwhile, and rows that nobody
-- wants are not computed.
create table t(a int, b text);
insert into t select g, 'b'||g from generate_series(1,30) g;
create table log(n int);
create function says(n int) returns int language plpgsql as $$ begin raise notice 'says %', n; return n; end $$;
-- endless
do $$ declare r record; begin for r in with recursive n(i) as (select 1 union all select i+1 from n) select i from n loop exit when r.i>3; end loop; raise notice 'ok'; end $$;
do $$ declare r record; c refcursor; begin open c for with recursive n(i) as (select 1 union all select i+1 from n) select i from n; fetch c into r; raise notice '%',r; end $$;
do $$ declare r record; c cursor for select x.a from t x,t y,t z,t w,t v; begin open c; fetch c into r; raise notice 'ok'; end $$;
-- return inside
create function first_of() returns int language plpgsql as $$ declare r record; begin for r in select says(a) s from t order by a loop return r.s; end loop; end $$;
select first_of();
select name from pg_cursors;
begin;
select first_of();
select name from pg_cursors;
alter table t add column c int;
rollback;
-- notices and contexts
do $$ declare r record; c cursor for select says(a) from t order by a; begin
 open c;
 fetch c into r;
 move c;
 fetch absolute 4 from c into r;
 close c;
 for r in c loop
   exit;
 end loop;
end $$;
-- snapshot of loop
do $$ declare r record; n int := 0; begin for r in select a from t where a < 4 order by a loop insert into t values (r.a - 100); update t set b = b || '!' where a = 2; delete from t where a = 3; n := n + 1; raise notice '% %', r.a, (select b from t where a = 2); end loop; raise notice '%', n; end $$;
do $$ declare c cursor for select a, b from t where a < 6 order by a; r record; begin open c; update t set b = 'new'; insert into t values (0, 'zero'); loop fetch c into r; exit when not found; raise notice '%', r; end loop; end $$;
-- exceptions undo the opening
do $$ declare c refcursor; r record; begin begin open c for select a from t; raise exception 'x'; exception when others then raise notice '%', c; end; fetch c into r; end $$;
do $$ declare c refcursor; r record; begin open c for select a from t order by a; fetch c into r; raise notice '%', r; begin fetch c into r; raise notice '%', r; raise exception 'x'; exception when others then null; end; fetch c into r; raise notice '%', r; end $$;
do $$ declare r record; begin for r in select a from t where a > 0 order by a loop begin raise notice '%', r.a; if r.a = 4 then perform 1/0; end if; exception when others then raise notice 'caught'; end; exit when r.a > 5; end loop; end $$;
-- nested loops, recursion
do $$ declare r record; s record; begin for r in select a from t where a between 1 and 2 order by a loop for s in select a from t where a between r.a and r.a + 1 order by a loop raise notice '% %', r.a, s.a; end loop; end loop; end $$;
create function rec(n int) returns int language plpgsql as $$ declare r record; s int := 0; begin if n = 0 then return 1; end if; for r in select rec(n - 1) v from t where a in (1, 2) loop s := s + r.v; end loop; return s; end $$;
select rec(4);
-- refcursors returned
create function opens(c refcursor) returns refcursor language plpgsql as $$ begin open c for select says(a) from t where a > 0 order by a; return c; end $$;
begin;
select opens('mine');
fetch 2 from mine;
move 1 from mine;
fetch next from mine;
select name, statement, is_scrollable from pg_cursors;
commit;
begin;
select opens('mine');
savepoint s;
fetch 1 from mine;
rollback to s;
fetch 1 from mine;
rollback;
-- current of
create table u(id int primary key, v int);
insert into u select g, 0 from generate_series(1, 5) g;
do $$ declare c cursor for select * from u order by id for update; begin for r in c loop if r.id % 2 = 0 then update u set v = r.id where current of c; else delete from u where current of c; end if; end loop; end $$;
select * from u order by id;
do $$ declare c cursor for select * from u; r record; begin open c; fetch c into r; update u set v = 9 where current of c; fetch c into r; fetch c into r; update u set v = 10 where current of c; end $$;
do $$ declare c cursor for select * from u; begin for r in c loop update u set v = v + 1 where current of c; commit; update u set v = v + 1 where current of c; end loop; end $$;
do $$ declare c cursor for select * from u for update; begin for r in c loop update u set v = v + 1 where current of c; end loop; end $$;
select * from u order by id;
-- commits
do $$ declare r record; begin for r in select says(a) x from t where a between 1 and 4 order by a loop raise notice 'body %', r.x; if r.x = 2 then commit; end if; end loop; end $$;
do $$ declare r record; begin for r in select says(a) x from t where a between 1 and 4 order by a loop raise notice 'body %', r.x; if r.x = 2 then rollback; end if; end loop; end $$;
do $$ declare r record; begin for r in select 1/(3-a) x from t where a between 1 and 4 order by a loop raise notice 'body %', r.x;
 commit;
end loop; end $$;
do $$ declare r record; s record; begin for r in select a from t where a between 1 and 2 order by a loop for s in select a from t where a between 1 and 3 order by a loop raise notice '% %', r.a, s.a; insert into log values (s.a); commit; end loop; end loop; end $$;
do $$ declare c cursor for select a from t where a between 1 and 4 order by a; begin for r in c loop raise notice '%', r.a; commit; raise notice '%', (select array_agg(name||is_holdable||is_scrollable) from pg_cursors); end loop; raise notice '%', (select array_agg(name) from pg_cursors); end $$;
do $$ declare r record; begin for r in select a from t where a between 1 and 3 order by a loop commit; perform 1/(r.a - 2); end loop; end $$;
select name from pg_cursors;
do $$ declare r record; begin for r in select a from t where a between 1 and 3 order by a loop commit; alter table t add column if not exists d int; end loop; end $$;
do $$ declare r record; begin for r in select a from t where a between 1 and 3 order by a loop alter table t add column if not exists e int; end loop; end $$;
do $$ declare r record; begin for r in select a from t where a between 1 and 3 order by a loop truncate t; end loop; end $$;
do $$ declare c cursor for select a from t order by a; begin for r in c loop close c; end loop; end $$;
do $$ declare c cursor for select a from t where a > 0 order by a; x int; begin for r in c loop fetch c into x; raise notice '% %', r.a, x; exit when r.a > 6; end loop; end $$;
-- scroll
do $$ declare c scroll cursor for select says(a) a from t where a between 1 and 4 order by a; x int; begin open c; fetch c into x; fetch c into x; fetch prior from c into x; raise notice '%', x; fetch last from c into x; raise notice '%', x; fetch first from c into x; raise notice '%', x; end $$;
do $$ declare c no scroll cursor for select a from t where a between 1 and 4 order by a; x int; begin open c; fetch c into x; fetch prior from c into x; end $$;
do $$ declare c cursor for select a from t where a between 1 and 4 order by a; x int; begin open c; fetch c into x; fetch c into x; fetch prior from c into x; raise notice '%', x; end $$;
-- empty & found
do $$ declare r record; begin r := row(1); for r in select a, b from t where a > 1000 loop null; end loop; raise notice '% %', found, r; end $$;
do $$ declare x int := 5; begin for x in select a from t where a > 1000 loop null; end loop; raise notice '% %', found, x; end $$;
-- errors of assignment
do $$ declare x int; begin for x in select b from t where a > 0 loop
null; end loop; end $$;
-- returning order
do $$ declare r record; begin for r in insert into log select a from t where a between 1 and 3 returning says(n) x loop raise notice 'body %', r.x; end loop; end $$;
do $$ declare c refcursor; x int; begin open c for insert into log values (50), (51) returning says(n); raise notice 'opened'; fetch c into x; raise notice 'x %', x; fetch c into x; raise notice 'x %', x; fetch c into x; raise notice 'x %', x; end $$;
do $$ declare c refcursor; x int; begin open c for insert into log values (60) returning n; end $$;
select count(*) from log where n = 60;
do $$ declare c refcursor; x int; begin open c for with w as (insert into log values (70), (71) returning n) select says(n) from w; raise notice 'opened'; insert into log values (1); fetch c into x; raise notice 'x %', x; raise notice '%', (select count(*) from log where n >= 70); end $$;
-- in stable functions
create function stable_one() returns int stable language plpgsql as $$ declare r record; begin for r in insert into log values (1) returning n loop null; end loop; return 1; end $$;
select stable_one();
create function stable_two() returns int stable language plpgsql as $$ declare c cursor for insert into log values (1) returning n; begin open c; return 1; end $$;
create function stable_three() returns text stable language plpgsql as $$ declare r record; o text := ''; begin for r in select n from log where n > 69 order by n loop o := o || r.n; end loop; return o; end $$;
select stable_three();
-- triggers with transition tables
create function tr() returns trigger language plpgsql as $$ declare r record; c refcursor; begin for r in select n from fresh order by n loop raise notice 'fresh %', r.n; if r.n > 0 then insert into log values (-r.n); end if; end loop; open c for select n from fresh; fetch c into r; raise notice 'c %', r; return null; end $$;
create trigger tr after insert on log referencing new table as fresh for each statement execute function tr();
insert into log values (3), (4);
create function tr2() returns trigger language plpgsql as $$ declare c refcursor := 'kept'; begin open c for select n from fresh order by n; return null; end $$;
create trigger tr2 after insert on log referencing new table as fresh for each statement execute function tr2();
drop trigger tr on log;
begin;
insert into log values (5), (6);
rollback;
