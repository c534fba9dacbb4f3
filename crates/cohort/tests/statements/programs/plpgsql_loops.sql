-- Loops of every form, labels, EXIT and CONTINUE, and what each leaves in FOUND.
do $$ begin for i in 1..3 loop raise notice 'i %', i; end loop; end $$;
do $$ begin for i in reverse 3..1 loop raise notice 'i %', i; end loop; end $$;
do $$ begin for i in 1..10 by 4 loop raise notice 'i %', i; end loop; end $$;
do $$ begin for i in reverse 10..1 by 4 loop raise notice 'i %', i; end loop; end $$;
do $$ begin for i in 5..1 loop raise notice 'never'; end loop; raise notice 'found %', found; end $$;
do $$ begin for i in 1..2 by 0 loop null; end loop; end $$;
do $$ begin for i in 1..2 by -1 loop null; end loop; end $$;
do $$ begin for i in null..2 loop null; end loop; end $$;
do $$ begin for i in 1..null loop null; end loop; end $$;
do $$ begin for i in 1..2 by null loop null; end loop; end $$;
do $$ begin for i in 2147483646..2147483647 loop raise notice 'i %', i; end loop; end $$;
do $$ begin for i in 1.4..2.6 loop raise notice 'i %', i; end loop; end $$;
do $$ declare i int := 99; begin for i in 1..2 loop null; end loop; raise notice 'outside %', i; end $$;
do $$ declare n int := 0; begin while n < 3 loop n := n + 1; raise notice 'n %', n; end loop; end $$;
do $$ declare n int := 0; begin while null loop n := n + 1; end loop; raise notice 'n %', n; end $$;
do $$ declare n int := 0; begin loop n := n + 1; exit when n = 4; continue when n % 2 = 1; raise notice 'even %', n; end loop; raise notice 'end %', n; end $$;
do $$ declare n int := 0; begin loop n := n + 1; if n > 2 then exit; end if; end loop; raise notice 'n %', n; end $$;
do $$
begin
  <<outer_loop>>
  for i in 1..3 loop
    for j in 1..3 loop
      continue outer_loop when j = 2;
      exit outer_loop when i = 3;
      raise notice '% %', i, j;
    end loop;
    raise notice 'not reached';
  end loop outer_loop;
end
$$;
do $$
<<whole>>
declare v int := 1;
begin
  <<part>>
  declare v int := 2;
  begin
    raise notice '% %', whole.v, part.v;
    exit part when v = 2;
    raise notice 'not reached';
  end part;
  raise notice 'after %', v;
  exit whole;
  raise notice 'not reached';
end whole
$$;
do $$ begin for i in 1..2 loop declare n int := 10; m int; begin raise notice '% %', n, m; n := n + i; m := i; end; end loop; end $$;
create table pairs (a int, b text);
insert into pairs values (1, 'one'), (2, 'two'), (3, null);
do $$ declare r record; begin for r in select * from pairs order by a loop raise notice '% %', r.a, r.b; end loop; raise notice 'found %', found; end $$;
do $$ declare r pairs; begin for r in select * from pairs order by a desc loop raise notice '%', r; end loop; end $$;
do $$ declare r pairs%rowtype; begin for r in select 7, 'seven' loop raise notice '% %', r.a, r.b; end loop; end $$;
do $$ declare x int; y text; begin for x, y in select a, b from pairs order by a loop raise notice '%/%', x, y; end loop; raise notice 'last %', x; end $$;
do $$ declare r record; begin for r in select * from pairs where false loop null; end loop; raise notice 'found % r %', found, r; end $$;
do $$ declare r record; begin for r in execute 'select a from pairs where a > $1 order by 1' using 1 loop raise notice '%', r.a; end loop; end $$;
do $$ declare r record; begin for r in insert into pairs values (9, 'nine') returning a, b loop raise notice '% %', r.a, r.b; end loop; end $$;
do $$ declare r record; begin for r in update pairs set b = b || '!' where a = 9 returning * loop raise notice '%', r.b; end loop; end $$;
do $$ declare r record; begin for r in delete from pairs where a = 9 returning a loop raise notice '%', r.a; end loop; end $$;
do $$ declare x int; begin foreach x in array array[3, 1, 2] loop raise notice '%', x; end loop; raise notice 'found %', found; end $$;
do $$ declare x int; begin foreach x in array '{}'::int[] loop null; end loop; raise notice 'found %', found; end $$;
do $$ declare x int; begin foreach x in array null::int[] loop null; end loop; end $$;
do $$ declare x int; begin foreach x in array 7 loop null; end loop; end $$;
do $$ declare x int[]; begin foreach x slice 1 in array array[[1, 2], [3, 4]] loop raise notice '%', x; end loop; end $$;
do $$ declare x int; begin foreach x in array array[[1, 2], [3, 4]] loop raise notice '%', x; end loop; end $$;
do $$ declare x int[]; begin foreach x slice 3 in array array[[1, 2], [3, 4]] loop null; end loop; end $$;
do $$ declare x text; y text; begin foreach x, y in array array[row('a', 'b'), row('c', 'd')] loop raise notice '% %', x, y; end loop; end $$;
do $$ begin exit; end $$;
do $$ begin continue; end $$;
do $$ begin exit nowhere; end $$;
do $$ begin <<b>> begin continue b; end; end $$;
do $$ declare n int := 0; begin case n when 0, 1 then raise notice 'small'; when 2 then raise notice 'two'; else raise notice 'big'; end case; end $$;
do $$ declare n int := 5; begin case when n < 3 then raise notice 'less'; when n > 4 then raise notice 'more'; end case; end $$;
do $$ begin case 7 when 1 then null; end case; end $$;
do $$ begin case when false then null; end case; end $$;
do $$ begin case 'x' when 'y' then null; when 'x' then raise notice 'x it is'; end case; end $$;
do $$ begin if null then raise notice 'then'; elsif false then raise notice 'elsif'; else raise notice 'else'; end if; end $$;
do $$ begin if 1 then raise notice 'one'; end if; end $$;
do $$ begin if 'maybe' then null; end if; end $$;
create function evens(top int) returns setof int language plpgsql as $$
begin
  for i in 1..top loop
    continue when i % 2 = 1;
    return next i;
  end loop;
  return;
end
$$;
select * from evens(6);
select array_agg(e) from evens(5) e;
create function nested_total(n int) returns int language plpgsql as $$
declare
  total int := 0;
begin
  <<rows>>
  for i in 1..n loop
    <<cells>>
    for j in 1..n loop
      continue rows when j > i;
      total := total + i * j;
    end loop cells;
  end loop rows;
  return total;
end
$$;
select nested_total(4), nested_total(0);
drop function evens(int), nested_total(int);
drop table pairs;
