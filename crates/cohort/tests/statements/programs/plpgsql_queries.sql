-- Statements within functions: INTO, STRICT, dynamic ones, RETURN QUERY, definitions.
create table goods (id int primary key, name text, price numeric(8, 2));
insert into goods values (1, 'pen', 1.5), (2, 'ink', 7), (3, 'desk', 120);
do $$ declare n text; begin select name into n from goods where id = 2; raise notice '% %', n, found; end $$;
do $$ declare n text := 'old'; begin select name into n from goods where id = 99; raise notice '% %', n, found; end $$;
do $$ declare n text; begin select name into strict n from goods where id = 99; end $$;
do $$ declare n text; begin select name into strict n from goods; end $$;
do $$ declare n text; begin select name into n from goods order by id; raise notice '%', n; end $$;
do $$ declare n text; p numeric; begin select name, price into n, p from goods where id = 3; raise notice '% %', n, p; end $$;
do $$ declare n text; p numeric; begin select name into n, p from goods where id = 3; raise notice '% %', n, p; end $$;
do $$ declare n text; begin select name, price into n from goods where id = 3; raise notice '%', n; end $$;
do $$ declare r record; begin select * into r from goods where id = 1; raise notice '% %', r.name, r; end $$;
do $$ declare r record; begin select * into r from goods where id = 99; raise notice '%', r; raise notice '%', r.name; end $$;
do $$ declare r record; begin raise notice '%', r.name; end $$;
do $$ declare r record; begin select 1 as a into r; raise notice '%', r.b; end $$;
do $$ declare r goods; begin raise notice '%', r.name; r.name := 'set'; raise notice '%', r; end $$;
do $$ declare r goods; begin select * into r from goods where id = 1; r.price := r.price * 2; update goods set price = r.price where id = r.id; end $$;
select * from goods order by id;
do $$ declare r goods%rowtype; n goods.name%type; begin select * into r from goods where id = 2; n := r.name; raise notice '%', n; end $$;
do $$ declare n nothing%rowtype; begin null; end $$;
do $$ declare n nothing; begin null; end $$;
do $$ declare p numeric; begin insert into goods values (4, 'lamp', 30) returning price into p; raise notice '%', p; end $$;
do $$ declare p numeric; begin update goods set price = price + 1 where id < 3 returning price into p; end $$;
do $$ declare p numeric; begin update goods set price = price + 1 where id = 1 returning price into strict p; raise notice '%', p; end $$;
do $$ declare p numeric; begin delete from goods where id = 77 returning price into strict p; end $$;
do $$ begin select 1; end $$;
do $$ begin select name from goods; end $$;
do $$ begin perform name from goods; raise notice '%', found; perform 1 where false; raise notice '%', found; end $$;
do $$ begin update goods set price = price where id = 1; raise notice '%', found; delete from goods where id = 1000; raise notice '%', found; end $$;
do $$ declare n int; begin execute 'select count(*) from goods' into n; raise notice '%', n; end $$;
do $$ declare n int; begin execute 'select count(*) from goods where price > $1 and id < $2' into n using 5, 4; raise notice '%', n; end $$;
do $$ declare n text; begin execute format('select name from %I where %I = %L', 'goods', 'id', 2) into n; raise notice '%', n; end $$;
do $$ declare n int; begin execute 'select id from goods where false' into strict n; end $$;
do $$ declare n int; begin execute 'select id from goods' into strict n; end $$;
do $$ begin execute null; end $$;
do $$ begin execute 'select nonsense'; end $$;
do $$ begin execute 'selec 1'; end $$;
do $$ begin execute ''; end $$;
do $$ begin execute 'select 1; select 2'; end $$;
do $$ declare n int; begin execute 'update goods set price = price where id < 3'; get diagnostics n = row_count; raise notice '% %', n, found; end $$;
do $$ begin execute 'insert into goods values ($1, $2, $3)' using 5, 'cup', 4.25; end $$;
do $$ declare r record; begin execute 'select * from goods where id = $1' into r using 5; raise notice '%', r; end $$;
do $$ begin execute 'begin'; end $$;
do $$ begin execute 'commit'; end $$;
do $$ begin create table made_inside (a int); insert into made_inside values (1), (2); raise notice '%', (select count(*) from made_inside); end $$;
select * from made_inside;
do $$ begin drop table made_inside; end $$;
do $$ begin execute 'create temporary table passing (v text)'; execute 'insert into passing values (''x'')'; end $$;
select * from passing;
do $$ begin for i in 1..3 loop drop table if exists again; create temporary table again as select i as n; raise notice '%', (select n from again); end loop; end $$;
do $$ begin alter table goods add column extra int default 7; raise notice '%', (select sum(extra) from goods); end $$;
do $$ begin alter table goods drop column extra; truncate passing; end $$;
select count(*) from passing;
do $$ begin create index on goods (name); comment on table goods is 'from a function'; end $$;
select obj_description('goods'::regclass);
do $$ begin set local work_mem = '5MB'; raise notice '%', current_setting('work_mem'); end $$;
do $$ begin notify something, 'payload'; perform pg_notify('something', 'other'); end $$;
create function all_goods() returns setof goods language plpgsql as $$ begin return query select * from goods order by id; end $$;
select * from all_goods();
select name, price from all_goods() where id = 2;
create function cheap(top numeric) returns table (name text, cost numeric) language plpgsql as $$
begin
  return query select g.name, g.price from goods g where g.price < top order by g.price;
  if not found then
    return query select 'none'::text, null::numeric;
  end if;
end
$$;
select * from cheap(10);
select * from cheap(0);
create function twice_over() returns setof int language plpgsql as $$
begin
  return query select 1;
  return next 2;
  return query execute 'select $1 + 1' using 2;
end
$$;
select * from twice_over();
create function wrong_shape() returns setof goods language plpgsql as $$ begin return query select 1, 'two'; end $$;
select * from wrong_shape();
create function wrong_type() returns setof int language plpgsql as $$ begin return query select 'x'::text; end $$;
select * from wrong_type();
create function next_rows() returns setof goods language plpgsql as $$
declare r goods;
begin
  for r in select * from goods order by id desc loop
    r.name := upper(r.name);
    return next r;
  end loop;
end
$$;
select * from next_rows();
create function outs(a int, out b int, out c text) language plpgsql as $$ begin b := a * 2; c := 'is ' || a; end $$;
select outs(4);
select * from outs(4);
select (outs(5)).c;
create function one_out(a int, out b int) language plpgsql as $$ begin b := a + 1; end $$;
select one_out(1), b from one_out(2) b;
create function inouts(inout a int, inout b int) language plpgsql as $$ begin select b, a into a, b; end $$;
select * from inouts(1, 2);
create function out_rows(n int, out i int, out square int) returns setof record language plpgsql as $$
begin
  for k in 1..n loop
    i := k; square := k * k;
    return next;
  end loop;
end
$$;
select * from out_rows(3);
create function a_record() returns record language plpgsql as $$ declare r record; begin select 1, 'x'::text into r; return r; end $$;
select * from a_record() as t (a int, b text);
select a_record();
select * from a_record();
create function one_row(n int) returns goods language plpgsql as $$ declare r goods; begin select * into r from goods where id = n; return r; end $$;
select * from one_row(2);
select one_row(2), (one_row(1)).name;
select * from one_row(99);
create function null_row() returns goods language plpgsql as $$ begin return null; end $$;
select * from null_row();
create function made_row() returns goods language plpgsql as $$ begin return (10, 'made', 1.25)::goods; end $$;
select * from made_row();
create function nothing_at_all() returns void language plpgsql as $$ begin return; end $$;
select nothing_at_all();
create function with_default(a int, b int default 10, c text default 'c') returns text language plpgsql as $$ begin return a || '-' || b || '-' || c; end $$;
select with_default(1), with_default(1, 2), with_default(1, 2, 'x'), with_default(1, c => 'named'), with_default(c := 'z', a := 3);
create function summed(variadic n int[]) returns int language plpgsql as $$ declare t int := 0; x int; begin foreach x in array n loop t := t + x; end loop; return t; end $$;
select summed(1), summed(1, 2, 3), summed(variadic array[4, 5]), summed(variadic '{}');
create function same(a anyelement) returns anyelement language plpgsql as $$ begin return a; end $$;
select same(1), same('x'::text), same(1.5), same(array[1, 2]);
create function larger(a anyelement, b anyelement) returns anyelement language plpgsql as $$ begin return case when a > b then a else b end; end $$;
select larger(1, 2), larger('a'::text, 'b'), larger(1.5, 1);
create function first_of(a anyarray) returns anyelement language plpgsql as $$ begin return a[1]; end $$;
select first_of(array[7, 8]), first_of(array['x', 'y']);
create function strict_one(a int) returns int language plpgsql strict as $$ begin raise notice 'called'; return a; end $$;
select strict_one(1), strict_one(null);
create function in_path() returns text language plpgsql set search_path = pg_catalog as $$ begin return current_setting('search_path'); end $$;
select in_path(), current_setting('search_path');
create function stable_one() returns int language plpgsql stable as $$ begin return (select count(*) from goods); end $$;
select stable_one();
create function stable_writes() returns void language plpgsql stable as $$ begin insert into goods values (50, 'x', 1); end $$;
select stable_writes();
drop function all_goods, cheap, twice_over, wrong_shape, wrong_type, next_rows, outs, one_out, inouts, out_rows, a_record, one_row, null_row, made_row, nothing_at_all, with_default, summed, same, larger, first_of, strict_one, in_path, stable_one, stable_writes;
drop table goods;
drop table passing, again;
