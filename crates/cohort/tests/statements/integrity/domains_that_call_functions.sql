-- A domain's check may call any function.
create domain dd as date check (value <= current_date);
select '2020-01-01'::dd;
select '2120-01-01'::dd;
create domain dj as int check (to_jsonb(value) <> '3');
select 3::dj;
select 4::dj;
create domain dn as timestamptz check (value <= now());
select now()::dn is not null;
select (now() + interval '1 day')::dn;
create domain formatted as text check (value <> format('%s', 'x') and to_char(length(value), '9') <> ' 3');
select 'x'::formatted;
select 'abc'::formatted;
select 'ab'::formatted;
create table known (id int primary key);
insert into known values (1), (2);
create function is_known(int) returns bool language plpgsql as $$ begin return exists (select from known where id = $1); end $$;
create domain of_known as int check (is_known(value));
create table refers (k of_known, l of_known[]);
insert into refers values (1, '{1,2}');
insert into refers values (3, null);
insert into refers values (1, '{1,3}');
insert into refers values (1, array[3]);
update refers set k = 7;
copy refers from stdin;
2	{2}
\.
copy refers from stdin;
2	{9}
\.
select * from refers;
prepare insertion(int) as insert into refers values ($1, null);
execute insertion(2);
execute insertion(5);
delete from known where id = 2;
execute insertion(2);
alter domain of_known add check (value + random() > 0);
alter domain of_known add constraint small check (value < 2);
alter domain of_known validate constraint small;
alter domain of_known add constraint bad check (value in (select id from known));
select json_populate_record(null::refers, '{"k": 9}');
select json_populate_record(null::refers, '{"k": 1}');
do $$ declare d of_known := 1; begin d := 4; end $$;
alter function is_known(int) rename to is_there;
insert into refers values (1, null);
insert into refers values (8, null);
drop function is_there(int);
select pg_get_constraintdef(oid) from pg_constraint where contypid = 'of_known'::regtype order by conname collate "C";
-- Calling them takes the right to do so.
create role domain_user;
grant usage on schema domains_that_call_functions to domain_user;
create function is_even(int) returns bool language plpgsql immutable as 'begin return $1 % 2 = 0; end';
create function is_odd(int) returns bool language sql immutable as 'select $1 % 2 = 1';
revoke execute on function is_even(int), is_odd(int) from public;
create domain even as int check (is_even(value));
create domain odd as int check (is_odd(value));
set role domain_user;
select 2::even;
select '2'::even;
select 1::odd;
select '1'::odd;
reset role;
grant execute on function is_even(int), is_odd(int) to domain_user;
set role domain_user;
select 2::even, 1::odd;
select '3'::even;
select '4'::odd;
reset role;
