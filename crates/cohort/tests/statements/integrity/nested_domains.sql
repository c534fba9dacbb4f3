-- Errors name the domain that a value is for, whichever domain below it has the constraint.
create domain d_pos as int check (value > 0);
create domain d_small as d_pos constraint small check (value < 20);
create domain d_tiny as d_small not null;
select '0'::d_small, 1;
select '0'::d_tiny;
select '20'::d_tiny;
select 0::d_tiny;
select null::d_tiny;
create table t (a int, b d_small, c d_tiny);
copy t from stdin;
1	0	1
\.
copy t from stdin;
1	1	20
\.
copy t from stdin;
1	1	\N
\.
insert into t values (1, '0', 1);
insert into t values (1, 1, '0');
select * from jsonb_to_record('{"v": 0}') as r (v d_small);
select * from jsonb_to_record('{"v": "0"}') as r (v d_small);
select '{0}'::d_small[];
select '(0)'::t;
select '(1,0,1)'::t;
select '(1,,)'::t;
-- Checks that look into a value.
create type pair as (x int, y d_pos);
create domain d_pair as pair check ((value).x is distinct from 7);
select '(7,1)'::d_pair;
select '(6,1)'::d_pair;
select '(6,0)'::d_pair;
select '{"(7,1)"}'::d_pair[];
select '{"(6,1)"}'::d_pair[];
create domain d_first as int[] check (value[1] is distinct from 9);
select '{9}'::d_first;
select '{8}'::d_first;
select '{"{9}"}'::d_first[];
create domain d_sorted as int[] check (value[1] <= all (value));
select '{1,2,3}'::d_sorted;
select '{3,2}'::d_sorted;
create domain d_case as text check (case when value = 'a' then false else length(value) > 1 end);
select 'a'::d_case;
select 'b'::d_case;
select 'bb'::d_case;
-- Arrays of domains.
create domain d_req as int not null;
select '{1,null}'::d_req[];
select '{1,NULL}'::d_req[];
select '{{1,2},{3,null}}'::d_req[];
select array[1,null]::d_req[];
create domain d_few as int[] check (cardinality(value) < 3);
select array[array[1]::d_few]::d_few[];
select array[array[1]::d_few];
select array[array[1,2]::d_few, array[3]::d_few];
select array[array[1,2,3]::d_few];
select (array[array[1]::d_few])[1];
select array['{1}'::d_few, '{1,2,3}'];
select array[array[1],array[2]]::d_few[];
select pg_typeof(array[array[1]::d_few]);
-- NOT VALID.
create domain d_late as int;
create table of_late (a d_late);
insert into of_late values (-1);
alter domain d_late add constraint positive check (value > 0) not valid;
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where contypid = 'd_late'::regtype;
insert into of_late values (-2);
alter domain d_late add constraint small check (value < 10);
alter domain d_late validate constraint positive;
update of_late set a = 1;
alter domain d_late validate constraint positive;
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where contypid = 'd_late'::regtype order by 1;
create table late_arrays (a d_late[]);
alter domain d_late validate constraint positive;
alter domain d_late add constraint one check (value = 1);
alter domain d_late add constraint one check (value = 1) not valid;
alter domain d_late validate constraint one;
drop table late_arrays;
alter domain d_late validate constraint one;
-- A column's default that can't be computed is told of when it is made.
create table empty (a int);
alter table empty add column b d_pos default 0;
alter table empty add column b int default 1 / (select 0);
alter table empty add column b int default 1 / 0;
alter table empty add column b d_pos;
alter table empty add column c d_req;
alter table empty add column d d_req default null;
create table wrong (a nosuch[]);
select '1'::nosuch[];
select null::nosuchschema.t[];
select null::public.nosuch[];
