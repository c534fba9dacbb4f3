-- EXPLAIN within a function knows its variables.
create table et(a int);
create function ex(v int) returns setof text language plpgsql as
$$ begin return query explain (costs off) select * from et where a = v; end $$;
select * from ex(3);
do $$ declare r record; v int := 4;
begin
  for r in explain (costs off) select * from et where a = v loop raise notice '%', r; end loop;
  explain (costs off) delete from et where a = v into r; raise notice '%', r;
end $$;
do $$ declare r record; v record;
begin
  select 5 as x into v;
  for r in explain (costs off) select * from et where a = v.x loop raise notice '%', r; end loop;
end $$;
