-- Functions and procedures: SQL and PL/pgSQL.
create function add(a int, b int) returns int language sql as $$ select a + b $$;
select add(1, 2), add(null, 1), add(b => 5, a => 1);
select add('x', 1);
select add(1);
create function add(a int, b int) returns int language sql as $$ select a $$;
create or replace function add(a int, b int) returns int language sql as $$ select a * b $$;
create or replace function add(a int, b int) returns text language sql as $$ select 'x' $$;
select add(3, 4);
create function inc(a int, by int default 1) returns int language sql immutable strict as $$ select a + by $$;
select inc(1), inc(1, 10), inc(null);
create function rows_of(n int) returns setof int language sql as $$ select generate_series(1, n) $$;
select * from rows_of(3);
select rows_of(2);
create function pair(out a int, out b text) language sql as $$ select 1, 'x'::text $$;
select * from pair();
select pair();
create function tab() returns table (k int, v text) language sql as $$ values (1, 'a'), (2, 'b') $$;
select * from tab() where k > 1;
create function nothing() returns void language sql as $$ select 1 $$;
create function p_max(a int, b int) returns int language plpgsql as $$
begin
  if a > b then
    return a;
  elsif a = b then
    return 0;
  else
    return b;
  end if;
end
$$;
select p_max(1, 2), p_max(5, 2), p_max(3, 3);
create function fact(n int) returns numeric language plpgsql as $$
declare
  r numeric := 1;
begin
  for i in 1..n loop
    r := r * i;
  end loop;
  return r;
end
$$;
select fact(0), fact(5), fact(25);
create function fib(n int) returns int language plpgsql as $$
begin
  if n < 2 then return n; end if;
  return fib(n - 1) + fib(n - 2);
end
$$;
select fib(12);
create function loops() returns text language plpgsql as $$
declare
  i int := 0;
  s text := '';
begin
  loop
    i := i + 1;
    continue when i = 2;
    exit when i > 4;
    s := s || i;
  end loop;
  while i > 0 loop
    i := i - 2;
    s := s || 'w';
  end loop;
  for j in reverse 6..2 by 2 loop
    s := s || j;
  end loop;
  foreach i in array array[7, 8] loop
    s := s || i;
  end loop;
  return s;
end
$$;
select loops();
create table log (id serial, msg text);
create function note(m text) returns int language plpgsql as $$
declare
  new_id int;
begin
  insert into log (msg) values (m) returning id into new_id;
  return new_id;
end
$$;
select note('a');
select note('b');
select msg from log order by id;
create function catches(n int) returns text language plpgsql as $$
begin
  insert into log (msg) values ('before');
  perform 1 / n;
  return 'fine';
exception
  when division_by_zero then
    return 'caught ' || sqlstate || ' ' || sqlerrm;
  when others then
    return 'other';
end
$$;
select catches(1);
select catches(0);
select count(*) from log where msg = 'before';
create function raises(k int) returns void language plpgsql as $$
begin
  if k = 1 then raise exception 'plain % and %', k, 'text'; end if;
  if k = 2 then raise exception 'coded' using errcode = '22012'; end if;
  if k = 3 then raise unique_violation using message = 'named'; end if;
  if k = 4 then raise notice 'only a notice'; end if;
  if k = 5 then raise sqlstate 'U0001'; end if;
  if k = 6 then perform 1 / 0; end if;
end
$$;
select raises(1);
select raises(2);
select raises(3);
select raises(4);
select raises(5);
select raises(6);
create function queries() returns text language plpgsql as $$
declare
  r record;
  s text := '';
  n int;
begin
  for r in select id, msg from log order by id loop
    s := s || r.id || r.msg || ';';
  end loop;
  select count(*) into n from log;
  if found then s := s || n; end if;
  update log set msg = 'z' where id = -1;
  if not found then s := s || 'none'; end if;
  get diagnostics n = row_count;
  return s || n;
end
$$;
select queries();
create function strict_one() returns int language plpgsql as $$
declare n int;
begin
  select id into strict n from log;
  return n;
end
$$;
select strict_one();
create function strict_none() returns int language plpgsql as $$
declare n int;
begin
  select id into strict n from log where id = -5;
  return n;
end
$$;
select strict_none();
create function dynamic(t text) returns bigint language plpgsql as $$
declare n bigint;
begin
  execute format('select count(*) from %I where id > $1', t) into n using 0;
  return n;
end
$$;
select dynamic('log') > 0;
select dynamic('nosuch');
create function several(n int) returns setof int language plpgsql as $$
begin
  return next 100;
  return query select g from generate_series(1, n) g;
  return;
end
$$;
select * from several(2);
create function noreturn() returns int language plpgsql as $$
begin
  perform 1;
end
$$;
select noreturn();
create function bad_grammar() returns int language plpgsql as $$
begin
  retrun 1;
end
$$;
create function no_such_variable() returns int language plpgsql as $$
begin
  return nosuch;
end
$$;
select no_such_variable();
do $$
begin
  insert into log (msg) values ('from do');
end
$$;
select count(*) from log where msg = 'from do';
do $$ begin raise exception 'out of do'; end $$;
create procedure proc(n int) language plpgsql as $$
begin
  insert into log (msg) values ('p' || n);
end
$$;
call proc(7);
select count(*) from log where msg = 'p7';
call nosuch(1);
select proc(1);
drop function add(int, int), inc;
drop function p_max(text);
select p_max(1, 2);
create function typed(r log) returns text language sql as $$ select r.msg $$;
create function variadic_sum(variadic xs int[]) returns bigint language sql as $$ select sum(x) from unnest(xs) x $$;
select variadic_sum(1, 2, 3), variadic_sum(variadic array[4, 5]);
create function poly(a anyelement) returns anyelement language sql as $$ select a $$;
select poly(1), poly('x'::text);
create function records() returns setof log language plpgsql as $$
declare
  r log;
begin
  for r in select * from log order by id limit 2 loop
    return next r;
  end loop;
  return;
end
$$;
select msg from records();
create function one_record() returns log language plpgsql as $$
declare
  r log;
begin
  select * into r from log order by id limit 1;
  return r;
end
$$;
select (one_record()).msg;
create function odd_returns(x int) returns text language plpgsql as $$
declare
  s text := 'return x;'; -- return x;
begin
  if x = 1 then return s; end if;
  if x = 2 then return null; end if;
  if x = 3 then RETURN /* why */ s
  ; end if;
  return 'x' || s;
end
$$;
select odd_returns(1), odd_returns(2), odd_returns(3), odd_returns(4);

-- Hashes are PostgreSQL's own.
select s, hashtext(s), hashtextextended(s, 0), hashtextextended(s, 42), hashname(s::name), hashbpchar(s::bpchar) from (values (''), ('a'), ('ab'), ('abc'), ('abcd'), ('abcdefgh'), ('abcdefghi'), ('abcdefghijk'), ('abcdefghijkl'), ('abcdefghijklm'), ('abcdefghijklmnopqrstuvwx'), ('Größe  '), (repeat('x', 60))) as t(s);
select n, hashint4(n), hashint2(n::int2), hashint8(n), hashint4extended(n, 7), hashint8extended(n, -7), hashoid(n::int8::oid) from (values (0), (1), (-1), (32767), (-32768)) as t(n);
select n, hashint8(n), hashint8extended(n, 1) from (values (4294967296), (-4294967296), (9223372036854775807), (-9223372036854775807)) as t(n);
select f, hashfloat8(f), hashfloat4(f::float4), hashfloat8extended(f, 5) from (values (0::float8), ('-0'), (1.5), ('NaN'), ('infinity'), (-2e10)) as t(f);
select hashchar('a'), hashchar('\377'), time_hash('12:30'), timestamp_hash('2020-01-01'), interval_hash('1 month'), interval_hash('30 days'), uuid_hash('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
select hash_array('{1,2,3}'::int[]), hash_array('{a,NULL,b}'::text[]), hash_array('{}'::int[]), hash_array_extended('{{1,2},{3,4}}'::int8[], 9);
select hash_record(row(1, 'a'::text)), hash_record(row(1, null::text)), hash_record_extended(row(1::int8, 2.5::float8), 3);
select hashtext(null), hash_array(null::int[]);
select pg_advisory_lock(hashtext('a name')), pg_advisory_unlock(hashtext('a name'));
