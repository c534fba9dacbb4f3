-- Checks of domains that call immutable functions of users.
create function is_even(n int) returns boolean language sql immutable as 'select n % 2 = 0';
create domain even as int check (is_even(value));
create domain small as even check (value < 10);
select 2::even, 4::small;
select 1::even;
select 3::small;
select 12::small;
select null::even;
create table uses (e even, s small);
insert into uses values (2, 4);
insert into uses values (3, 4);
insert into uses values (2, 12);
update uses set e = e + 1;
copy uses from stdin;
4	2
\.
copy uses from stdin;
5	2
\.
select * from uses order by 1;
do $$ declare e even := 2; begin e := 4; raise notice '%', e; e := 5; end $$;
create function takes(e even) returns int language sql as 'select e + 1';
select takes(2);
select takes(3);
create function gives(n int) returns even language sql as 'select n';
select gives(4);
select gives(5);
create function gives_pl(n int) returns even language plpgsql as 'begin return n; end';
select gives_pl(4);
select gives_pl(5);
select array[2, 4]::even[];
select array[2, 3]::even[];
select '{2,3}'::even[];
create type holder as (e small, s text);
select '(2,x)'::holder;
select '(3,x)'::holder;
select row(3, 'x')::holder;
select json_populate_record(null::holder, '{"e": 3}');
drop function is_even(int);
alter domain even drop constraint even_check;
select 3::even;
drop function is_even(int);
