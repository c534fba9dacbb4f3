-- Row values in PL/pgSQL: parameters by number, fields, and `x.*`.
create type pair as (a int, b text);
create function by_number(pair) returns text language plpgsql as $$ begin return $1.b || '!'; end $$;
select by_number((1, 'x'));
create function fields(x pair) returns text language plpgsql as $$ begin return ($1).b || x.b || $1.a || (x).a; end $$;
select fields((1, 'x'));
create function spread(x pair) returns text language plpgsql as $$ declare r record; begin select x.* into r; return r; end $$;
select spread((1, 'x'));
create function rows_of(x pair) returns setof pair language plpgsql as $$ begin return query select x.*; return query select $1.*; return query select (x).*; end $$;
select * from rows_of((1, 'x'));
create table kept (a int, b text);
create function keep(x pair) returns void language plpgsql as $$
begin
  insert into kept values (x.*);
  insert into kept select x.*;
  insert into kept select ($1).*;
  insert into kept values ($1.*), (x.a + 1, x.b);
end $$;
select keep((1, 'x'));
table kept;
create function as_row(x kept) returns text language plpgsql as $$ begin return row(x.*)::text || row(x.*, 1)::text; end $$;
select as_row(kept) from kept;
create function of_table() returns text language plpgsql as $$
declare
  r kept;
  t kept%rowtype;
  q record;
begin
  select * into r from kept order by a limit 1;
  q := r;
  t := r;
  return (r.*)::text || row(q.*)::text || (t).b || pg_typeof(r) || pg_typeof(t);
end $$;
select of_table();
create function assigned(pair) returns void language plpgsql as $$ begin $1.b := 'k'; raise notice '%', $1; end $$;
select assigned((1, 'x'));
create function labelled(x pair) returns text language plpgsql as $$ begin return labelled.x.b || (labelled.x).a; end $$;
select labelled((1, 'x'));
create function takes(x pair) returns int language sql as 'select x.a * 10';
create function passes(x pair) returns int language plpgsql as $$ begin return takes(x) + takes(x.*); end $$;
select passes((1, 'x'));
create function of_sql(x pair) returns setof pair language sql as 'select x.*';
select * from of_sql((1, 'x'));
do $$
declare
  r pair;
begin
  for r in select * from (values (1, 'x'), (2, 'y')) v(a, b) loop
    raise notice '% %', row(r.*), (select s.b from (select r.*) s);
  end loop;
end $$;
do $$ declare x pair := (1, 'q'); begin raise notice '%', (select count(*) from (select x.*) s); raise notice '%', x.* is null; raise notice '%', (x).b; end $$;
do $$ declare x pair; begin raise notice '% %', x is null, x; x.a := 4; raise notice '% % %', x is null, x.*, x = (4, null)::pair; end $$;
do $$ declare x pair := (1, 'q'); begin raise notice '%', x.zz; end $$;
create function watch() returns trigger language plpgsql as $$
begin
  raise notice '% % %', row(new.*), (new).b, new is distinct from old;
  insert into kept_too values (new.*);
  insert into kept_too select new.*;
  return new;
end $$;
create table kept_too (a int, b text);
create trigger watch after insert or update on kept for each row execute function watch();
insert into kept values (5, 'y');
update kept set b = 'z' where a = 5;
table kept_too;
