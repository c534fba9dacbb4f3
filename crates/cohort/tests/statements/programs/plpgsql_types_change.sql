-- Variables of row types whose types change while they are there.
create type c as (a int, b text);
create table t (id int, c c);
create table r (x int, y text);
-- A variable that is assigned after the change.
do $$ declare v c; begin execute 'alter type c add attribute n int'; v := row(1, 'q', 3); insert into t values (1, v); end $$;
select * from t;
do $$ declare v c; begin execute 'alter type c add attribute m int'; select (t.c).* from t into v; insert into t values (2, v); raise notice '%', v; end $$;
do $$ declare v c; begin execute 'alter type c add attribute k int'; v := null; v.b := 'q'; v.k := 7; insert into t values (3, v); end $$;
do $$ declare v c; begin execute 'alter type c add attribute l int'; v.l := 3; insert into t values (4, v); raise notice '%', v.l; end $$;
select * from t order by id;
-- One that has a value from before.
do $$ declare v c := row(1, 'w', 3); begin execute 'alter type c drop attribute a'; insert into t values (5, v); raise notice '%', v; end $$;
do $$ declare v c := row('x', 3); begin execute 'alter type c add attribute p text'; insert into t values (6, v); raise notice '%', v; end $$;
do $$ declare v c := row('x', 3); begin execute 'alter type c drop attribute m, add attribute o date'; v.b := 'new'; insert into t values (7, v); end $$;
select * from t order by id;
-- Rows of tables.
do $$ declare v r; begin execute 'insert into r values (1, ''one''); alter table r add z int default 4'; select * from r into v; raise notice '% %', v, v.z; v.z := 9; insert into r values (v.*); end $$;
do $$ declare v r%rowtype; begin select * into v from r limit 1; execute 'alter table r drop column x'; select * into v from r where z = 9; raise notice '% %', v, v.z; end $$;
select * from r order by z;
do $$ declare v record; begin for v in select * from r order by z loop raise notice '%', v; end loop; execute 'alter table r add w int'; for v in select * from r order by z loop raise notice '%', v; end loop; end $$;
-- Parameters and results.
create function f(v c) returns c language plpgsql as $$ begin execute 'alter type c add attribute q int'; v := null; v.q := 3; return v; end $$;
select f(null);
create function g() returns c language plpgsql as $$ declare v c; begin execute 'alter type c add attribute s int'; v := row('b', 1, 2, 3, 'p', null, 5, 6); return v; end $$;
select g();
-- Loops that commit.
create table s (id int, c c);
create procedure p() language plpgsql as $$
declare v c; begin
  for i in 1..4 loop
    v.b := 'round ' || i;
    insert into s values (i, v);
    commit;
    if i = 2 then execute 'alter type c add attribute u int'; commit; end if;
    v := null;
  end loop;
end $$;
call p();
select id, (c).b, (c).u from s order by id;
-- A change that is undone.
do $$ declare v c; begin
  begin execute 'alter type c add attribute undone int'; v := null; v.undone := 1; raise notice '%', v.undone; raise exception 'back';
  exception when others then v := null; v.b := 'after'; insert into s values (9, v); end;
end $$;
select id, c from s where id = 9;
-- Domains and rows within rows.
create type outer_type as (i int, c c);
create table n (o outer_type);
do $$ declare v outer_type; begin execute 'alter type c add attribute deep int'; v := null; v.c.deep := 8; insert into n values (v); raise notice '%', v; end $$;
select (o).c.deep from n;
-- A loop and a cursor go on with the rows of their query, after a column of the type is gone.
create table looped (id int, a int, b text, c int);
insert into looped select i, i * 10, 'b' || i, i * 100 from generate_series(1, 4) i;
create procedure loop_and_drop() language plpgsql as $$ declare v looped; begin for v in select * from looped order by id loop if v.id = 2 then alter table looped drop column b; end if; raise notice '% %', v.id, v.c; commit; end loop; end $$;
call loop_and_drop();
create type counted as (id int, b int, c int);
create function counts() returns setof counted language sql as 'select 1, 2, 3 union all select 4, 5, 6 union all select 7, 8, 9';
do $$ declare v counted; begin for v in select * from counts() loop if v.id = 1 then execute 'alter type counted drop attribute b'; end if; raise notice '% %', v.id, v.c; end loop; end $$;
create table fetched (id int, b int, c int);
insert into fetched values (1, 20, 300), (2, 21, 301), (3, 22, 302);
create table kept_c (id int, c int);
create procedure loop_and_commit() language plpgsql as $$ declare v fetched; begin for v in select * from fetched order by id loop insert into kept_c values (v.id, v.c); commit; if v.id = 1 then execute 'alter table fetched drop column b'; commit; end if; end loop; end $$;
call loop_and_commit();
select * from kept_c order by id;
-- A query after the change gives a row as the type is now, whatever earlier columns it would fit.
create type g2 as (a int, b int, c int);
create table keep (a int, b int, c int);
do $$ declare r g2; begin r := row(7, 8, 9); execute 'alter type g2 drop attribute a, add attribute d int'; select 1 as a, 2 as b, 3 as c into r; raise notice '%', r; insert into keep select r.b, r.c, r.d; end $$;
select * from keep;
create type g3 as (a int, b int);
do $$ declare r g3; begin execute 'alter type g3 alter attribute a type bigint'; r := row(1, 2); raise notice '%', r; end $$;
create table g9 (a int, b int);
insert into g9 values (1, 2);
do $$ declare r g9; begin execute 'alter table g9 alter a type bigint'; r := row(3, 4); insert into g9 values (r.*); select 7, 8 into r; insert into g9 select (r).*; raise notice '%', r; end $$;
select * from g9 order by a;
