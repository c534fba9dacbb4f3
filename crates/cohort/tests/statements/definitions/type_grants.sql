-- Privileges of types whose names need quotes.
create domain "D 1" as int;
create type "E1" as enum ('a');
create type "C1" as (a int);
create role type_grants_role;
grant usage on domain "D 1" to type_grants_role;
grant usage on type "E1", "C1" to type_grants_role;
revoke all on domain "D 1" from public;
grant usage on domain "E1" to type_grants_role;
grant usage on domain int4 to type_grants_role;
grant usage on type "D 1" to type_grants_role;
grant usage on type int to type_grants_role;
grant usage on type nosuch."X" to type_grants_role;
grant usage on type "Xy" to type_grants_role;
grant usage on type postgres.d_type_grants."E1" to type_grants_role;
select typname, typacl from pg_type where typnamespace = 'd_type_grants'::regnamespace order by 1;
drop domain "D 1";
drop type "E1", "C1";
drop role type_grants_role;
-- A domain whose default is nothing but NULL has none.
create domain n1 as text default null;
create domain n2 as varchar(20) default null;
create domain n3 as int default null::int;
create domain n4 as numeric(3,2) default null;
create domain n5 as char(3) default null;
create domain n6 as text default null::varchar;
create domain n7 as text collate "C" default null;
create domain n8 as int default (null);
create domain n9 as n1 default null;
create domain n10 as int default 5;
create domain n11 as n10 default null;
create domain n12 as interval day default null;
create domain n13 as int default null default 5;
select typname, typdefault, typdefaultbin is null from pg_type
    where typname ~ '^n[0-9]' and typnamespace = 'd_type_grants'::regnamespace order by 1;
alter domain n10 set default null;
alter domain n2 set default null;
alter domain n1 set default 'x';
alter domain n1 set default null::text;
create table tt (a n11, b n10);
insert into tt default values;
select * from tt;
select typname, typdefault, typdefaultbin is null from pg_type
    where typname ~ '^n[0-9]' and typnamespace = 'd_type_grants'::regnamespace order by 1;
