-- A domain whose check uses the domain can be created. Using it fails with 54001.
create domain d as int;
alter domain d add check (value <> length((null::d)::text));
select null::d;
select 3::d;
select '3'::d;
create table of_d (a d);
insert into of_d values (3);
insert into of_d values ('3');
insert into of_d values (null);
copy of_d from stdin;
1
\.
select * from of_d;
select array[3]::d[];
create type pair as (x d, y int);
select row(3, 4)::pair;
create table of_ints (a int);
insert into of_ints values (3);
select a::d from of_ints;
select (a::text)::d from of_ints;
alter table of_ints alter a type d;
-- Two domains that ask for each other.
create domain one as int;
create domain other as int check (value::one is not null);
alter domain one add check (value::other is not null);
select 3::one;
select 3::other;
select '3'::other;
-- Functions that take the domain.
create domain e as int;
create function asks(x e) returns bool language sql immutable as 'select $1 is not null';
alter domain e add check (asks(value));
select 3::e;
-- The server goes on.
select 1;
-- A check may name the domain that is being created.
create domain named_itself as int default 1 check (value > 0) constraint other check (value <> length((null::named_itself)::text) or value is null);
select conname, pg_get_constraintdef(oid) from pg_constraint where contypid = 'named_itself'::regtype order by conname;
create domain named_wrong as int check (value > 0) check (value <> 'x'::no_such_type);
create domain named_wrong as int check (value > 0) unique;
select count(*) from pg_type where typname = 'named_wrong';
drop domain named_itself;
