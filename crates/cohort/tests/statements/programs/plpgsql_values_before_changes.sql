-- Variables that keep the value that they got before their row type changed.
create type c as (a int, b text, z int);
create table t (id int, c c);
-- The change is undone: the value has all its fields again.
do $$ declare v c := row(1, 'x', 2); begin
  begin execute 'alter type c drop attribute a'; raise notice '%', v; raise exception 'back';
  exception when others then raise notice '%', v; end;
  insert into t values (1, v);
end $$;
do $$ declare v c := row(1, 'x', 2); begin
  begin execute 'alter type c drop attribute a'; v.z := 3; raise notice '%', v; raise exception 'back';
  exception when others then v.b := 'y'; raise notice '%', v; end;
  insert into t values (2, v);
end $$;
do $$ declare v c := row(1, 'x', 2); begin
  begin execute 'alter type c add attribute n int'; raise notice '%', v; raise exception 'back';
  exception when others then raise notice '%', v; end;
  insert into t values (3, v);
end $$;
do $$ declare v c := row(1, 'x', 2); begin
  begin execute 'alter type c rename attribute b to y; alter type c drop attribute z'; raise exception 'back';
  exception when others then raise notice '%', v; end;
  insert into t values (4, v);
end $$;
create procedure undone() language plpgsql as $$ declare v c := row(1, 'x', 2); begin
  execute 'alter type c drop attribute a'; raise notice '%', v; rollback; raise notice '%', v; insert into t values (5, v);
end $$;
call undone();
select * from t order by id;
-- Fields that the row was made with can be read and assigned.
do $$ declare v c := row(1, 'x', 2); w c; begin
  execute 'alter type c drop attribute a'; raise notice '% %', v.a, v;
  v.z := 4; raise notice '%', v;
  w := v; raise notice '% %', w, w.b;
  insert into t values (6, v), (7, w);
end $$;
do $$ declare v c := row('x', 2); w c; begin
  execute 'alter type c add attribute n int'; v.b := 'y'; raise notice '%', v;
  select v.* into w; w.n := 6; raise notice '% %', w, w.n; insert into t values (8, v), (9, w);
end $$;
create function given() returns c language plpgsql as $$ declare v c := row('x', 2, 3); begin execute 'alter type c add attribute m int'; return v; end $$;
select given();
create function put_out(out v c) language plpgsql as $$ begin v := row('x', 2, 3, 4); execute 'alter type c add attribute l int'; end $$;
select put_out();
select * from t order by id;
-- A field of the same name or type is not one that is gone.
drop function given, put_out;
drop procedure undone;
drop table t;
drop type c;
create type c as (a int, b int);
create table t (id int, c c);
do $$ declare v c := row(1, 2); begin execute 'alter type c drop attribute a, add attribute a int'; insert into t values (1, v); raise notice '% %', v, v.a; end $$;
select *, (c).* from t order by id;
do $$ declare v c := row(1, 2); begin execute 'alter type c drop attribute b, add attribute z int'; insert into t values (2, v); raise notice '%', v; end $$;
select *, (c).* from t order by id;
-- A renamed field that is not the last one.
do $$ declare v c := row(1, 2); begin execute 'alter type c rename attribute a to y'; insert into t values (3, v); raise notice '%', v; end $$;
select *, (c).* from t order by id;
drop table t;
drop type c;
