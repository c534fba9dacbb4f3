-- Wherever a value of a domain comes to be, the domain's constraints hold.
create domain d_few as int[] check (cardinality(value) < 3);
create domain d_first as int[] check (value[1] > 0);
create domain d_req as int not null;
create domain d_pos as int check (value > 0);
create domain d_word as text check (value <> 'bad');
select array[1,2,3]::d_few;
select array[1,2]::d_few;
select array[0,2]::d_first;
select array[null,2]::d_first;
select cast(array[0] as d_first);
select array[]::d_few;
select array[1,2,3,4]::int[]::d_few;
select array['1','2','3']::d_few;
select array[array[1,2],array[3,4]]::d_few;
create domain d_pos_array as d_pos[] check (cardinality(value) < 3);
select array[1,0]::d_pos_array;
select array[1,2,3]::d_pos_array;
select array[1,2]::d_pos_array;
select array[0]::d_pos[];
select array[null]::d_req[];
select array[]::d_req[];
select '{}'::d_req[];
select array[0]::int[]::d_pos[];
select null::d_req;
select (null::int)::d_req;
select row(1)::d_req;
create table few (a d_few, b d_first default array[0]);
insert into few (a) values (array[1,2]);
insert into few values (array[1,2,3], array[1]);
insert into few values (array[1,2,3]::d_few, array[1]);
insert into few values ('{1}', '{1}');
update few set a = array[1,2,3];
update few set a[5] = 1;
update few set a = a || array[7,8,9];
-- COPY.
create table req (a int, r d_req);
copy req from stdin;
1	\N
\.
copy req (a) from stdin;
1
\.
copy req from stdin;
1	2
\.
copy req from stdin (format csv);
1,
\.
copy req from stdin (null '7');
1	7
\.
select * from req;
insert into req (a) values (1);
insert into req values (1, null);
insert into req values (1, default);
insert into req select 1, null;
insert into req select 1, (select 1::d_req where false);
update req set r = null;
update req set r = default;
-- ADD COLUMN.
alter table req add column s d_req;
alter table req add column s d_req default 5;
alter table req add column t d_req default null;
alter table req add column u d_pos default 0;
alter table req add column v d_pos;
select * from req;
create table empty_req (a int);
alter table empty_req add column s d_req;
insert into empty_req values (1);
insert into empty_req values (1, 2);
alter table empty_req add column t d_req;
-- A domain's own DEFAULT, and a column's DEFAULT NULL before it.
create domain d_default as int default 4 not null;
create table defaults (a int, b d_default, c d_default default null, d d_default default 6);
insert into defaults (a) values (1);
insert into defaults (a, c) values (1, 1);
select * from defaults;
create domain d_seven as int default 7;
create table sevens (a int, b d_seven, c d_seven default null);
insert into sevens (a) values (1);
copy sevens (a) from stdin;
2
\.
alter table sevens add column d d_seven, add column e d_seven default null;
select * from sevens;
alter table sevens alter column b set default null;
insert into sevens (a) values (3);
alter table sevens alter column b drop default;
insert into sevens (a) values (4);
select * from sevens order by a;
create table req_default (a int, b d_req default null);
insert into req_default (a) values (1);
insert into req_default values (1, default);
copy req_default (a) from stdin;
1
\.
-- PL/pgSQL.
do $$ declare v d_req; begin raise notice '%', v; end $$;
do $$ declare v d_req := null; begin raise notice '%', v; end $$;
do $$ declare v d_req := 1; begin v := null; end $$;
do $$ declare v d_req := 1; begin select null into v; end $$;
do $$ declare v d_req := 1; begin select 1 where false into v; end $$;
do $$ declare v d_pos; begin v := 0; end $$;
do $$ declare v d_pos := 1; begin v := v - 1; end $$;
do $$ declare v d_few := array[1,2,3]; begin raise notice '%', v; end $$;
do $$ declare v d_few := array[1,2]; begin v := v || 3; end $$;
do $$ declare v d_few; begin v := array[1,2]; raise notice '%', v; v := null; raise notice '%', v; end $$;
do $$ declare r req; begin r.r := null; end $$;
do $$ declare r req; begin r.a := 1; raise notice '%', r; end $$;
do $$ declare r req; begin r := row(1, null); end $$;
do $$ declare r req; begin select 1, null into r; end $$;
do $$ declare r req%rowtype; begin r.v := 0; end $$;
do $$ begin for i in 1..2 loop declare v d_req; begin v := i; end; end loop; end $$;
create function takes(p d_req) returns int language plpgsql as $$ begin p := null; return 1; end $$;
select takes(1);
select takes(null);
create function gives(p int) returns d_pos language plpgsql as $$ begin return p; end $$;
select gives(0), gives(1);
select gives(0);
create function gives_none() returns d_req language plpgsql as $$ begin return null; end $$;
select gives_none();
create function gives_none_sql() returns d_req language sql as 'select null::int';
select gives_none_sql();
create function out_req(out a d_req, out b int) language plpgsql as $$ begin b := 1; end $$;
select out_req();
select * from out_req();
create function next_req() returns setof d_req language plpgsql as $$ begin return next null; end $$;
select * from next_req();
-- Records of JSON.
select * from json_populate_record(null::req, '{"a": 1, "r": null}');
select * from json_populate_record(null::req, '{"a": 1}');
select * from jsonb_populate_record(null::req, '{"a": 1, "r": 2, "s": 3}');
select * from jsonb_populate_record(null::req, '{"a": 1, "r": 2, "s": 3, "u": 0}');
select * from jsonb_populate_record(row(1, 2, 3, 4)::req, '{"a": 1}');
select * from jsonb_to_record('{"a": 1}') as x (a int, b d_req);
select * from jsonb_to_record('{"a": 1, "b": 0}') as x (a int, b d_pos);
select * from json_to_record('{"b": [1,2,3]}') as x (b d_few);
select * from json_to_recordset('[{"b": 1}, {"b": 0}]') as x (b d_pos);
select * from json_populate_recordset(null::req, '[{"a": 1, "r": 2, "s": 3}, {"a": 2, "r": null}]');
create type holder as (x d_req, y d_pos);
select json_populate_record(null::holder, '{"y": 1}');
select json_populate_record(null::holder, '{"x": 1, "y": 0}');
select json_populate_record(null::holder, '{}');
select json_populate_record(null::holder, 'null');
create domain d_holder as holder check ((value).y < 10);
select json_populate_record(null::d_holder, '{"x": 1, "y": 12}');
select json_populate_record(null::d_holder, '{"x": 1, "y": 2}');
select jsonb_populate_recordset(null::d_holder, '[{"x": 1, "y": 12}]');
select row(null, 1)::holder;
select '(,1)'::holder;
select row(1, 0)::holder;
select row(1, 11)::d_holder;
select (row(1, 11)::holder)::d_holder;
select array[row(1, 11)]::d_holder[];
-- Domains that get constraints while columns have their values.
create domain d_plain as int;
create table of_plain (a d_plain);
create table of_arrays (a d_plain[]);
insert into of_plain values (1), (-1), (null);
insert into of_arrays values ('{1,-1}');
alter domain d_plain add check (value > 0);
alter domain d_plain set not null;
drop table of_arrays;
alter domain d_plain add check (value > 0);
alter domain d_plain set not null;
delete from of_plain where a is null or a < 0;
alter domain d_plain add constraint over_zero check (value > 0);
alter domain d_plain set not null;
create domain d_list as int[];
create table of_lists (a d_list);
insert into of_lists values ('{1,2}'), ('{}'), (null);
alter domain d_list add check (cardinality(value) < 2);
alter domain d_list add constraint later check (cardinality(value) < 2) not valid;
alter domain d_list validate constraint later;
delete from of_lists where cardinality(a) > 1;
alter domain d_list validate constraint later;
insert into of_lists values ('{1,2}');
insert into of_lists values (array[1,2]);
create domain d_under as int;
create domain d_over as d_under;
create table of_over (a d_over);
insert into of_over values (-1);
alter domain d_under add check (value > 0);
create type with_under as (x d_under);
create table of_with (a with_under);
alter domain d_under add check (value > -5);
alter domain d_under set not null;
create table of_with_array (a with_under[]);
drop table of_with;
alter domain d_under add check (value > -5);
drop table of_with_array;
alter domain d_under add check (value > -5);
create domain d_of_row as with_under;
create table of_row_domain (a d_of_row);
alter domain d_under add check (value > -6);
drop table of_row_domain;
create domain d_array_over as d_under[];
create table of_array_over (a d_array_over);
alter domain d_under add check (value > -7);
