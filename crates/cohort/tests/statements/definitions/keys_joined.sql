-- Keys on the same columns share an index, whatever storage parameters each asks for.
create table t (c int unique with (fillfactor=70), primary key (c));
create table t1 (c int unique with (fillfactor=70), unique (c) with (fillfactor=80), constraint nn unique (c));
create table t2 (c int unique, primary key (c) with (fillfactor=70));
create table t3 (c int unique deferrable, primary key (c) with (fillfactor=70));
create table t4 (c int unique nulls not distinct, unique (c));
create table t5 (c int, d int, unique (c) include (d), unique (c), unique (c) include (d) with (fillfactor=50));
select pg_get_indexdef(indexrelid), pg_get_constraintdef(c.oid), conname from pg_index join pg_constraint c on conindid = indexrelid
    where conrelid in ('t'::regclass, 't1'::regclass, 't2'::regclass, 't3'::regclass, 't4'::regclass, 't5'::regclass) order by 1, 2;
-- An index may contain values of domains in text, where the text of the type under them never changes.
create domain d1 as int check (value > 0);
create domain d2 as date;
create table u (a int);
create index on u ((length((null::d1)::text)));
create index on u ((length((a::d1)::text)));
create index on u ((length(('2020-01-01'::d2)::text)));
create type c as (a int, b date);
create index on u ((length((null::c)::text)));
create index on u ((length(row(1, null)::c::text)));
create function sf(int) returns int language sql stable strict as 'select 1';
create index on u (sf(null));
create index on u (sf(a));
create index on u ((a + sf(length(null::c::text))));
