-- Records against the columns that the caller lists.
create function q1() returns record language plpgsql as $$ begin return (1, 'a'::text, 2.5); end $$;
select * from q1() as (a int, b text, c numeric);
select * from q1() as (a int, b int);
select sum(b), max(c) from q1() as (a int, b int, c bigint);
create table qq as select * from q1() as (a int, b int, c bigint);
select b + 1 from q1() as (a int, b int, c int);
select q1();
create function q2() returns setof record language plpgsql as $$ begin return next (1, 'a'::text); return next row(2, 'b'::text); end $$;
select * from q2() as (a int, b text);
select * from q2() as (a int, b int);
create function q3() returns setof record language plpgsql as $$ begin return query select 1, 'x'::text; return query select g, 'y' || g from generate_series(2, 3) g; end $$;
select * from q3() as (a int, b text);
select * from q3() as (a int, b int);
select * from q3() as (a int);
create function q4(t text) returns setof record language plpgsql as $$ begin return query execute t; end $$;
select * from q4('select 1, 2') as (a int, b int);
select * from q4('select 1::bigint, 2') as (a int, b int);
select * from q4('values (1, null), (3, 4)') as (a int, b int);
select * from q4('select') as (a int);
create function q5(i int) returns record language plpgsql strict as $$ begin return (i, q4_count()); end $$;
create function q4_count() returns int language plpgsql as $$ begin return (select count(*) from q4('select 1, 2') as (a int, b int)); end $$;
select * from q5(3) as (a int, b int);
select * from q5(null) as (a int, b int);
select * from q5(3) as (a int, b text);
create function q6(a out int, b out text) returns setof record language plpgsql as $$ begin a := 1; b := 'p'; return next; return query select 2, 'q'::text; end $$;
select * from q6();
select * from q6() as x (c, d);
create table rows_of (a int, b text);
create function q7() returns record language plpgsql as $$ declare r rows_of; begin r.a := 5; r.b := 'r'; return r; end $$;
select * from q7() as (a int, b text);
select * from q7() as (a int, b varchar);
-- EXECUTE leaves FOUND alone, takes the first row, and runs to its end.
create table an (a int);
insert into an values (1), (2);
do $$ declare n int; c int; begin
  perform 1 where false; execute 'update an set a = a'; raise notice '%', found;
  perform 1; execute 'update an set a = a where false'; raise notice '%', found;
  execute 'update an set a = a + 1 returning a' into n; get diagnostics c = row_count; raise notice '% % %', n, found, c;
  execute 'select a from an order by a desc' into n; get diagnostics c = row_count; raise notice '% %', n, c;
  execute 'select a from an where false' into n; get diagnostics c = row_count; raise notice '% % %', n, found, c;
end $$;
select * from an order by a;
do $$ declare n int; begin execute 'select a from an' into strict n; end $$;
do $$ declare n int; begin execute 'select a from an where false' into strict n; end $$;
do $$ declare n int; begin update an set a = a + 1 returning a into n; end $$;
select * from an order by a;
drop table an, qq, rows_of cascade;
drop table an, rows_of cascade;
drop function q1, q2, q3, q4, q5, q4_count, q6, q7;
-- Parts of jsonb variables.
do $$ declare j jsonb := '{}'; begin
  j['a'] := '1'; j['b']['c'] := to_jsonb('x'::text); j['d'][2] := '[true]'; raise notice '%', j;
  j['d'][2][0] := null; raise notice '% %', j, j['d'][2];
  j := null; j[1] := '5'; raise notice '%', j; j := null; j['k'] := '5'; raise notice '%', j;
end $$;
do $$ declare j jsonb := '{"a": 1}'; begin j['a']['b'] := '1'; end $$;
do $$ declare j jsonb := '{"a": 1}'; begin j[null] := '1'; end $$;
do $$ declare j jsonb := '{"a": 1}'; begin j['a'] := 'no json'; end $$;
