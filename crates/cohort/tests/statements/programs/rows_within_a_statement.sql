-- A statement changes a type while it holds rows of it, and hands them to functions that see the type as it is then.
create type p as (a int, b int, c int);
create table t (a int, b int, c int);
insert into t values (1, 2, 3);

create function made() returns p language plpgsql as $$ declare r p; begin r.b := 20; r.c := 30; return r; end $$;
create function made_t() returns t language plpgsql as $$ declare r t; begin r.b := 20; r.c := 30; return r; end $$;
create function drops(kind text) returns int language plpgsql as
  $$ begin execute 'alter ' || kind || case when kind like 'type%' then ' drop attribute a' else ' drop column a' end; return 0; end $$;
create function adds() returns int language plpgsql as $$ begin alter type p add attribute a int; return 0; end $$;
create function seen(x p) returns text language plpgsql as $$ begin return x.b || '/' || x.c || x::text; end $$;
create function seen_t(x t) returns text language plpgsql as $$ begin return x.b || '/' || x.c || x::text; end $$;
create function seen_in_array(x p[]) returns text language plpgsql as
  $$ declare r p; begin r := x[1]; return concat_ws('/', x[1].b, (x[1]).c, r.b, r, x[1]); end $$;
create function seen_by_sql(x p) returns int language sql as 'select x.b * 10 + x.c';

select drops('type p'), (made()).b, (made()).c;
select adds();
select (x).b, drops('type p'), seen(x), (x).c from (select row(2, 3, 4)::p as x offset 0) s;
select adds();
select (x[1]).b, drops('type p'), seen_in_array(x), (x[1]).c from (select array[row(2, 3, 4)::p] as x offset 0) s;
select adds();
select drops('type p'), adds(), (x).b, seen(x), seen_by_sql(x) from (select row(2, 3, 4)::p as x offset 0) s;

-- A field that goes and comes again under its name is another one.
do $$ declare r p; s p[]; begin
  r := row(1, 2, 3); s := array[r, r];
  perform drops('type p'), adds();
  raise notice '% % %', r, s, s[1].c;
  r.a := 7;
  raise notice '%', r;
end $$;
-- A change that is rolled back.
do $$ declare r p := row(1, 2, 3); begin
  begin
    alter type p add attribute z int;
    r := row(1, 2, 3, 4);
    raise exception 'back';
  exception when raise_exception then null;
  end;
  raise notice '%', r;
end $$;
-- Several changes at once.
do $$ declare r p := row(1, 2, 3); s p[] := array[row(4, 5, 6)::p]; begin
  alter type p rename attribute b to bb;
  alter type p drop attribute c, add attribute b int, add attribute c text;
  raise notice '% %', r, s;
  s := s || row(7, 8, 9, 'ten')::p;
  raise notice '%', s;
end $$;
drop function seen, seen_in_array, seen_by_sql;

do $$ declare r t; q t[]; begin
  select * into r from t;
  select array_agg(t) into q from t;
  perform drops('table t');
  raise notice '% %', r, q;
  raise notice '% %', r.b, q[1].b;
  raise notice '% % %', seen_t(r), seen_t(q[1]), seen_t(made_t());
end $$;
alter table t add a int;
select drops('table t'), (made_t()).b, seen_t(x), (x).b from (select row(1, 2, 3)::t x offset 0) s;

-- Kept plans go on with the fields that they were made with.
create type ty as (a int, b int, c int);
create table st (id int, r ty);
insert into st values (1, row(1, 2, 3));
create function made_ty() returns ty language sql as $$ select r from st where id = 1 $$;
create function fields() returns text language plpgsql as
  $$ declare x record; begin select r into x from st where id = 1; return concat_ws(' ', x.r, (x.r).c, (x.r).a); end $$;
prepare q(ty) as select ($1).c, ($1).a;
prepare qa(ty[]) as select ($1[1]).c, ($1[1]).a;
prepare qf as select (made_ty()).c;
execute q('(1,2,3)');
execute qa('{"(1,2,3)"}');
execute qf;
select fields();
alter type ty drop attribute b;
alter type ty add attribute b int;
execute q('(1,3,2)');
execute qa('{"(1,3,2)"}');
execute qf;
select fields();
alter type ty rename attribute c to renamed;
execute q('(1,3,2)');
alter type ty drop attribute a;
execute q('(3,2)');
execute qa('{"(3,2)"}');
deallocate all;
drop function made_ty, fields;
drop table st;
drop type ty;

-- Assignments of kept plans go on with their fields, too.
create type k1 as (a int, b int, c int);
create table kt (id int, r k1, ra k1[]);
insert into kt values (1, row(1, 2, 3), array[row(1, 2, 3)::k1]);
create function sets(x k1[]) returns k1[] language plpgsql as $$ begin x[1].a := 99; return x; end $$;
prepare u1 as update kt set r.a = (r).a + 100 where id = 1 returning r;
prepare u2 as update kt set ra[1].a = 77 where id = 1 returning ra;
prepare u3 as insert into kt (id, r.a) values (2, 55) returning r;
execute u1; execute u2; execute u3;
select sets(array[row(1, 2, 3)::k1]);
alter type k1 rename a to aa;
execute u1; execute u2; execute u3;
alter type k1 rename b to a;
execute u1; execute u2; execute u3;
deallocate all;
drop function sets;
drop table kt;
drop type k1;
