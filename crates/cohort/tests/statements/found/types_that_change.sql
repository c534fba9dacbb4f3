-- The text of an empty array names its type.
create type pair as (a numeric);
create type letter as enum ('q');
create table arrays (b bigint, c pair[] default array[]::pair[] check (c is distinct from array[null]::pair[]), e letter[] default array[]::letter[]);
create index on arrays ((b)) where c < array[]::pair[];
create index on arrays ((e < array[]::letter[]));
create view empty as select array[]::pair[] as x, null::pair[] as y, '{}'::pair[] as z, array[]::letter[] as e;
create domain pairs as pair[] check (value < array[row(9)]::pair[] or value = array[]::pair[]) default array[]::pair[];
create domain letters as letter[] check (value < '{q}'::letter[] or value = array[]::letter[]) default array[]::letter[];
alter type pair rename to couple;
alter type letter rename to sign;
insert into arrays default values returning *;
select * from empty;
select '{}'::pairs, '{}'::letters;
create schema elsewhere;
alter type couple set schema elsewhere;
alter type sign set schema elsewhere;
insert into arrays default values returning *;
select * from empty;
select '{}'::pairs, '{}'::letters;
alter schema elsewhere rename to other_place;
insert into arrays default values returning *;
select * from empty;
select '{}'::pairs, '{}'::letters;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'arrays'::regclass order by 1;
-- Indexes of tables whose dropped columns have types that are gone.
create type gone as (c date);
create table gone_row (a int, b text);
create table had (id int, b gone, r gone_row, list gone[], d text);
insert into had values (1, row('2020-01-01'), row(1, 'a'), array[row('2020-01-02')::gone], 'x'), (2, null, null, null, 'y');
create index on had ((d || id));
drop type gone cascade;
drop table gone_row cascade;
create index on had ((id + 1)) where d <> 'y';
update had set d = 'z' where id = 2;
create unique index on had ((lower(d)));
insert into had values (3, 'Z');
reindex table had;
select * from had order by id;
-- Columns that get another type: first whether the values can be cast, then what depends on the column.
create table cast_first (a numeric, b text default 'x', c date);
create view cast_first_view as select * from cast_first;
alter table cast_first alter a type boolean;
alter table cast_first alter b type int using 3;
alter table cast_first alter c type text;
alter table cast_first alter c type cast_first;
alter table cast_first alter c type cast_first[] using null;
-- RETURNING has columns.
create table no_columns ();
insert into no_columns default values returning *;
delete from no_columns returning *;
insert into no_columns default values returning 1;
-- Defaults that are NULL.
create table null_defaults (a numeric(6,2) default null::numeric(6,2), b int default null::int, c char(3) default null::char(3), d text default null::varchar(3), e interval day default null::interval day, f timestamp(3) default null::timestamp(3), g numeric default null::numeric(6,2));
select attname, atthasdef, pg_get_expr(adbin, adrelid) from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum where attrelid = 'null_defaults'::regclass and attnum > 0 order by attnum;
-- Indexes of casts are called by the outermost one.
create domain whole as int;
create table named_by_casts (b bigint, d text);
create index on named_by_casts (((1::int)::whole));
create index on named_by_casts ((('1'::text)::varchar(3)));
create index on named_by_casts ((b::int::whole));
create index on named_by_casts ((case when b = 1 then 2 else 1::smallint end));
create index on named_by_casts ((case when b = 1 then '' else d end));
create index on named_by_casts ((('{1}'::int[])[1]));
select indexrelid::regclass from pg_index where indrelid = 'named_by_casts'::regclass order by indexrelid;
-- A column of a domain that restricts nothing needs no value in rows that other tables store.
create domain free as int;
create domain freer as free;
create domain limited as int check (value > 0);
create domain filled as int default 7;
create table stored_row (a int);
create table storing (r stored_row);
insert into storing values (row(1));
insert into stored_row values (1);
alter table stored_row add column b freer;
alter table stored_row add column c limited;
alter table stored_row add column d filled;
alter table stored_row add column e int default 3;
select * from storing, stored_row;
-- An index's expression must be immutable with the column's new type, too.
create table volatile_by_type (a int, b text);
create index on volatile_by_type ((b::text));
create index on volatile_by_type (a) where lower(b::text) <> '';
alter table volatile_by_type alter b type timestamptz using null;
alter table volatile_by_type alter b type varchar(7);
drop index volatile_by_type_b_idx;
alter table volatile_by_type alter b type timestamptz using null;
-- Arrays of domains over arrays.
create domain numbers as integer[];
select array[3]::numbers = any (array[array[3]::numbers]), array[3]::numbers = any ('{"{3}"}'::numbers[]), array[3] = any ('{"{3}","{4}"}'::numbers[]);
select array[3]::numbers <> all ('{"{3}","{4}"}'::numbers[]), array[3]::numbers in (array[3]::numbers, array[4]::numbers), array[5]::numbers not in (array[3]::numbers, array[4]::numbers);
select x from (values (array[1]::numbers), (array[2, 3]::numbers), (null)) v(x) where x = any ('{"{1}",NULL}'::numbers[]) or x in (array[2, 3]::numbers);
