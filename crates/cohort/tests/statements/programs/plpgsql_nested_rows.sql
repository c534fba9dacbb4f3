-- Rows within rows, and arrays of rows, in PL/pgSQL.
create table leaf (id int, w int);
create type branch as (a int, b leaf);
create type tree as (n int, c branch);
create function nested(x branch) returns text language plpgsql as $$
declare
  y branch := x;
  z leaf;
begin
  z := y.b;
  y.b.w := 77;
  raise notice '% % %', z, y, (y.b).w;
  y.b.id := (y.b).w + 1;
  return (x.b).id::text || (y).b.w || y;
end $$;
select nested((1, (2, 3)));
select nested(row(1, row(2, 3)::leaf)::branch);
select nested(null);
do $$ declare t tree := (1, (2, (3, 4))); begin t.c.a := 8; raise notice '%', t; end $$;
do $$ declare t branch; begin t.b := (5, 6); raise notice '%', t; t.b := null; t.b.id := 1; raise notice '%', t; end $$;
create function total(x leaf[]) returns int language plpgsql as $$
declare
  e leaf;
  s int := 0;
begin
  foreach e in array x loop
    s := s + e.w;
  end loop;
  return s + (x[1]).w;
end $$;
insert into leaf values (1, 10), (2, 20);
select total(array(select leaf from leaf order by id));
create function leaves() returns leaf[] language plpgsql as $$ declare l leaf[]; begin select array_agg(leaf order by id) into l from leaf; l[3] := (7, 8); return l; end $$;
select leaves();
select total(leaves());
create function each_leaf(variadic x leaf[]) returns setof leaf language plpgsql as $$ begin return query select u.* from unnest(x) u; end $$;
select * from each_leaf((1, 2), (3, 4));
create type mood as enum ('a', 'b');
create function moods(x mood[], out y mood[]) language plpgsql as $$ begin y := x || 'b'::mood; end $$;
select moods('{a}');
create function moods_of() returns table (m mood[], l leaf[]) language plpgsql as $$ begin m := '{b}'; l := leaves(); return next; end $$;
select * from moods_of();
