-- Columns of row values: of functions with OUT parameters, of polymorphic types, of subqueries' columns.
create table keyed (item int, n int not null default 1, primary key (item, n));
select (information_schema._pg_expandarray(i.indkey)).n, (information_schema._pg_expandarray(i.indkey)).x from pg_index i where indrelid = 'keyed'::regclass;
select (r.keys).x, (r.keys).n from (select information_schema._pg_expandarray(i.indkey) as keys from pg_index i where indrelid = 'keyed'::regclass) r order by 2;
select a.attname, (r.keys).n from (select information_schema._pg_expandarray(i.indkey) as keys, i.indrelid from pg_index i where indrelid = 'keyed'::regclass) r join pg_attribute a on a.attnum = (r.keys).x and a.attrelid = r.indrelid order by 2;
create function paired(a anyelement, out first anyelement, out both_of anyarray) language sql as 'select a, array[a, a]';
select * from paired(1);
select * from paired('x'::text);
select (paired(2.5)).*;
select (paired(2)).both_of[2];
select p.pair, (p.pair).first + 1 from (select paired(7) as pair) p;
create function rows_of(a anyarray) returns table (item anyelement, place int) language plpgsql as $$ begin for place in 1 .. cardinality(a) loop item := a[place]; rows_of.place := place; return next; end loop; end $$;
select item, pg_typeof(item), place from rows_of(array['a', 'b']);
select item + 1 from rows_of(array[1, 2]);
select (r).item from (select rows_of(array[1.5, 2.5]) as r) s;
select (r).nothing from (select row(1, 'x') as r) s;
select (r).f3 from (select row(1, 'x') as r) s;
select (inner_row.r).f1 from (select s.r from (select row(5, 6) as r) s) inner_row;
drop function rows_of;
drop function paired;
drop table keyed;
-- The type to which a whole row is cast does not name the column.
create table named_row (a int, b text);
insert into named_row values (1, 'x');
select named_row.*::text from named_row;
select cast(named_row.* as text) from named_row;
select (named_row)::text from named_row;
select n.*::text from named_row n;
