prepare p(int) as select $1; execute p(fixed(1))
prepare p(int) as select $1; execute p(f(1))
prepare p(int) as select $1; execute p(closed.fixed(1))
prepare p(int) as select $1; explain execute p(fixed(1))
prepare p(int) as select $1; create temporary table made as execute p(fixed(1))
prepare p(text) as select $1; execute p(pg_reload_conf()::text)
prepare p(text) as select $1; execute p(pg_stat_reset()::text)
call takes(fixed(1))
call takes(closed.fixed(1))
call takes(pg_reload_conf()::int)
call takes_more(1, f(2))
do $$ begin call takes(fixed(1)); end $$
do $$ begin perform fixed(1); end $$
do $$ declare a int := fixed(1); begin end $$
create temporary table x (a int); insert into x values (1); alter table x add b int default fixed(1)
create temporary table x (a int); insert into x values (1); alter table x add b int default f(1)
create temporary table x (a int); insert into x values (1); alter table x add b int generated always as (fixed(a)) stored
create temporary table x (a int); insert into x values (1); alter table x add check (fixed(a) >= 0)
create temporary table x (a int); insert into x values (1); alter table x add constraint c check (fixed(a) >= 0) not valid
create temporary table x (a int); insert into x values (1); alter table x add constraint c check (fixed(a) >= 0) not valid; alter table x validate constraint c
create temporary table x (a int); insert into x values (1); alter table x alter a type bigint using fixed(a)
create temporary table x (a int); insert into x values (1); create index on x (fixed(a))
create temporary table x (a int); insert into x values (1); create index on x (a) where fixed(a) > 0
create temporary table x (a int); insert into x values (1); create unique index on x ((fixed(a) + 1))
create temporary table x (a int); insert into x values (1); alter table x add b text default pg_stat_reset()::text
create temporary table x (a int default fixed(1))
create temporary table x (a int default fixed(1)); insert into x default values
create temporary table x (a int, check (fixed(a) >= 0)); insert into x values (1)
create temporary table x (a int); alter table x alter a set default fixed(1)
select case when false then fixed(1) end is null
copy t from stdin where f(id) > 0
create temporary table own (a int); copy own from stdin where f(a) > 0
create temporary table own (a int, b int default f(1)); copy own (a) from stdin
create temporary table own (a int, b int default f(1)); copy own (a) from stdin where b > 0
