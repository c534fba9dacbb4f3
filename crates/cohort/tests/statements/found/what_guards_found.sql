-- One statement gives a column one type.
create table t (a int, b int, c varchar(3));
alter table t alter a type text, alter a type bigint using a::bigint;
alter table t alter a type text, alter b type text, alter a type text;
alter table t alter a type int, alter a type int;
alter table t alter a type int, alter a type bigint;
alter table t alter c type varchar(4), alter c type varchar(5);
alter table t alter c type varchar(3), alter c type varchar(5);
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0;
create type pair as (x int, y int);
alter type pair alter attribute x type text, alter attribute x type int;
alter type pair alter attribute x type int, alter attribute x type bigint;
alter type pair alter attribute x type text, drop attribute y, alter attribute x type text;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'pair'::regclass and attnum > 0;
-- pg_options_to_table.
select * from pg_options_to_table('{a,NULL}');
select * from pg_options_to_table('{NULL}');
select * from pg_options_to_table(null);
select * from pg_options_to_table('{{a=1,b},{c=d=e,=}}');
-- The type name of JSON numbers.
select '1'::jsonb::bool;
select '"1"'::jsonb::bool;
select 'true'::jsonb::int;
-- COPY into a view fails after the client is asked for rows.
create view v as select * from t;
copy v from stdin;
1	2	3
\.
copy v (a) from stdin;
1
\.
copy v (nothing) from stdin;
create materialized view m as select 1 as x;
copy m from stdin;
1
\.
copy v from stdin with (freeze);
1	2	3
\.
-- Sizes, encodings and buckets.
select pg_size_bytes('2020-01-02');
select pg_size_bytes('1e-2kB'), pg_size_bytes('-1.5e+2 MB'), pg_size_bytes('+1'), pg_size_bytes('1.'), pg_size_bytes('.5kB');
select pg_size_bytes('1+');
select pg_size_bytes('1e');
select pg_size_bytes('1e+');
select pg_size_bytes('1.2.3');
select pg_size_bytes('.');
select i, pg_encoding_to_char(i) from generate_series(-1, 43) i;
select width_bucket(0::numeric, 123456789012345678901234567890, -1, 100), width_bucket(10::numeric, 1e20, -2.5, 100), width_bucket(5.35::numeric, 0.024, 10.06, 5), width_bucket(9.999999999999999999999999999::numeric, 0, 10, 3);
-- Basic and extended regular expressions.
select regexp_substr('', '{1,2}', 1, 1, 'b'), regexp_match('a{1,2}b', 'a{1,2}', 'b');
select regexp_match('aab', 'a\{1,2\}', 'b'), regexp_match('a+b', 'a+b', 'b'), regexp_match('a|b', 'a|b', 'b');
select regexp_match('*a', '*a', 'b'), regexp_match('(a)', '(a)', 'b'), regexp_match('aa', '\(a\)\1', 'b'), regexp_match('x*a', '\(*a\)', 'b'), regexp_match('*a', '^*a', 'b');
select regexp_match('aab', '\{1,2\}', 'b');
select regexp_match('a?', 'a?', 'b'), regexp_match('x^y', 'x^y', 'b'), regexp_match('x$y', 'x$y', 'b'), regexp_match('ab', '\(^a\)b', 'b'), regexp_match('ab', 'a\(b$\)', 'b'), regexp_match('a^', 'a^*', 'b');
select regexp_match('ab cd', '\<cd\>', 'b'), regexp_match('a]b', '[]]', 'b'), regexp_match('a\b', '[\]b', 'b'), regexp_match('d', '\d', 'b'), regexp_match('.', '\.', 'b'), regexp_match('a1', '[[:digit:]]*$', 'b');
select regexp_match('abab', '\(ab*\)*\1', 'b'), regexp_match('a^b', 'a\^b', 'b'), regexp_match('ABC', 'b', 'bi'), regexp_match('abc', '(?i)B', 'b'), regexp_match('a.c', 'a.c', 'bq'), regexp_match('axc', 'a.c', 'qb');
select regexp_match('a', 'a\', 'b');
select regexp_match('a', '\(a', 'b');
select regexp_match('a', 'a\)', 'b');
select regexp_match('d1', '\d', 'e'), regexp_match('a\b', '[\]b', 'e'), regexp_match('a{x', 'a{x', 'e'), regexp_match('aab', 'a{2}', 'e'), regexp_match('ab', '(a|b)+', 'e'), regexp_match('a+', 'a\+', 'e'), regexp_match('ab', 'a\b', 'e');
select regexp_match('a', 'a*?', 'e');
select regexp_match('a', '(?:a)', 'e');
select regexp_match('a', 'a{1}?', 'e');
select regexp_match('aa', '(?b)a\{2\}'), regexp_match('a+', '(?b)a+'), regexp_match('d', '(?e)\d'), regexp_match('a.c', '(?q)a.c'), regexp_match('1', '***:\d', 'b'), regexp_match('a.c', '***=a.c', 'e');
select regexp_replace('a+b a+b', 'a+b', 'x', 'bg'), regexp_count('a|b|c', '|', 1, 'b'), regexp_split_to_array('a+b+c', '+', 'b');
select regexp_match('aab', '(?e)a{2}'), regexp_match('ab', '(?e)(a|b)+'), regexp_match('a{x', '(?e)a{x'), regexp_match('a\b', '(?e)[\]b'), regexp_match('a+', '(?e)a\+');
select regexp_match('a', '(?e)a*?');
select regexp_match('a', '(?e)(?:a)');
select regexp_match('a', '(?e)a{1}?');
-- A parameter that WITHIN GROUP orders by takes the aggregate's type.
prepare w1 as select percentile_cont(0.5) within group (order by $1);
execute w1 (3);
prepare w2 as select percentile_cont($2) within group (order by $1) from generate_series(1, 3);
execute w2 (3, 0.5);
prepare w3 as select percentile_cont(0.5) within group (order by $1 + 1::int), percentile_cont(array[0.5]) within group (order by $2);
execute w3 (1, 2);
prepare w4 as select percentile_disc(0.5) within group (order by $1);
prepare w5 as select rank($1) within group (order by $2);
select name, parameter_types from pg_prepared_statements order by name;
-- The kind of JSON that a function does not take is told before its escapes, unless it is a scalar.
select * from json_array_elements_text('{"a":"\ud800"}');
select * from json_array_elements_text('"\ud800"');
select * from json_array_elements_text('["\ud800"]');
select * from json_each('["\ud800"]');
select * from json_each_text('"\ud800"');
select json_object_keys('["\ud800"]');
select null::bool or null::bool, null::bool and null::bool or false;
explain (costs off, verbose) select (null::bool or g > 1) or null::bool from generate_series(1, 2) g;
-- NULLIF of a row that is cast has the type of the cast.
create type nullif_pair as (x int, y text);
create table nullif_rows (p nullif_pair, v varchar(5));
insert into nullif_rows values ('(1,a)', 'x');
select pg_typeof(nullif(row(1, 'a')::nullif_pair, p)), pg_typeof(nullif(p, '(1,b)'::nullif_pair)), pg_typeof(nullif(p, p)) from nullif_rows;
select (nullif(row(1, 'b')::nullif_pair, p)).y, nullif(row(1, 'a')::nullif_pair, p) is null from nullif_rows;
create table nullif_made as select nullif(row(1, 'b')::nullif_pair, p) as p from nullif_rows;
insert into nullif_made select nullif(row(2, v)::nullif_pair, p) from nullif_rows;
select p, (p).y, pg_typeof(p) from nullif_made;
create view nullif_view as select nullif(row(1, v)::nullif_pair, p) as p from nullif_rows;
select pg_get_viewdef('nullif_view'), p from nullif_view;
drop view nullif_view; drop table nullif_made, nullif_rows; drop type nullif_pair;
-- Columns of one name that differ in their type alone.
select oid::regproc, oid::regprocedure from pg_proc where proname = 'now' order by oid;
select oid::regproc, oid::regproc from pg_proc where proname = 'now' order by oid;
select oid::regproc, oid from pg_proc where proname = 'now' order by oid::regprocedure;
select 'a'::varchar as x, 'a'::text as x order by x;
select relname::text as t, relname::varchar as t from pg_class where relname = 'pg_class' order by t;
select relname::text from pg_class where relname = 'pg_class' group by relname::text;
select distinct on (relname::varchar) relname::text from pg_class where relname = 'pg_class' order by relname::text;
-- Errors of a subquery come before those of what it is compared with.
prepare wgf as select ($1 ->> 'a')::varchar = any (select 'a'::varchar where (select 'x'::text));
prepare wgf as select ($1 ->> 'a') in (select nothing);
prepare wgf as select (1, $1 + 'a'::date + now()) = (select 1, nothing);
prepare wgf as select $1 = any (select $1::int);
execute wgf(1);
select parameter_types from pg_prepared_statements where name = 'wgf';
-- A new primary key finds equal rows before NULLs.
create table wgf_keys (id int);
insert into wgf_keys values (null), (4), (4);
alter table wgf_keys add primary key (id);
delete from wgf_keys where id = 4;
alter table wgf_keys add primary key (id);
drop table wgf_keys;
-- A domain's default is a value of the type below it; a column that keeps its values keeps its foreign keys unchecked.
create domain wgf_pos as int check (value > 0);
create domain wgf_small as wgf_pos check (value < 20);
create table wgf_defaults (id int, k wgf_small);
alter domain wgf_small set default 0;
insert into wgf_defaults default values;
alter domain wgf_small set default 20;
insert into wgf_defaults (id) values (1);
alter domain wgf_small set default 7;
insert into wgf_defaults (id) values (1) returning *;
create table wgf_other (id int primary key);
alter table wgf_defaults add constraint wgf_fk foreign key (id) references wgf_other not valid;
alter table wgf_defaults validate constraint wgf_fk;
insert into wgf_other values (1);
alter table wgf_defaults validate constraint wgf_fk;
alter table wgf_defaults disable trigger all;
insert into wgf_defaults (id) values (2);
alter table wgf_other alter id type int;
alter table wgf_defaults alter id type int;
alter table wgf_other alter id type bigint;
alter table wgf_defaults alter id type int using id + 1;
drop table wgf_defaults, wgf_other;
drop domain wgf_pos cascade;
-- Of several NULLs the first column of the table is told.
create table wgf_nulls (id int primary key, a int not null, b int);
insert into wgf_nulls values (1, 1, 1);
update wgf_nulls set a = null, id = null;
update wgf_nulls set b = null, a = null::int;
update wgf_nulls set (b, a, id) = (select null::int, null::int, null::int);
drop table wgf_nulls;
