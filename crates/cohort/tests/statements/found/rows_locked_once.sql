-- A common table expression that locks rows, itself or in what it reads, runs once.
create table jobs (id int primary key, st text);
insert into jobs select g, 'new' from generate_series(1, 6) g;
create view waiting as select * from jobs where st = 'new';
create view next_job as select id from jobs order by id limit 1 for update skip locked;
begin;
with j as (select id from waiting order by id limit 1 for update skip locked) update jobs set st = 'run' where exists (select from j where j.id = jobs.id) returning id;
rollback;
begin;
with j as (select id from waiting order by id limit 2 for no key update skip locked) delete from jobs where exists (select from j where j.id = jobs.id);
rollback;
begin;
with j as not materialized (select id from waiting order by id limit 2 for update) delete from jobs where (select count(*) from j where j.id = jobs.id) = 1;
rollback;
begin;
with j as (select * from (select id from jobs order by id limit 1 for update skip locked) q) update jobs set st = 'run' where exists (select from j where j.id = jobs.id) returning id;
rollback;
begin;
with j as (select id from next_job) update jobs set st = 'run' where exists (select from j where j.id = jobs.id) returning id;
rollback;
create function take() returns setof int language sql as $$
    with j as (select id from waiting order by id limit 1 for update skip locked) update jobs set st = 'run' where exists (select from j where j.id = jobs.id) returning id
$$;
begin;
select take();
rollback;
-- EXISTS over a query that locks rows runs the query once, too.
begin;
select id from jobs where exists (select from next_job where next_job.id = jobs.id);
rollback;
-- A FOR UPDATE of EXISTS needs a transaction that may write, also over a view.
begin transaction read only;
select * from jobs where exists (select from waiting where waiting.id = jobs.id for update);
rollback;
begin;
declare c cursor for select * from jobs where exists (select from waiting where waiting.id = jobs.id for update);
fetch 2 from c;
update jobs set st = 'run' where current of c returning id;
rollback;
-- An outer join that WHERE makes an inner one has no nullable side.
create table lines (id int primary key, job int);
insert into lines values (1, 1), (2, 2), (3, null);
create view shown_lines as select * from lines;
select j.id from jobs j left join lines l on l.job = j.id where l.id > 0 order by 1 for update;
select j.id from jobs j left join lines l on l.job = j.id where l.id = 1 for update of l;
select j.id from lines l right join jobs j on l.job = j.id where l.id is not null order by 1 for share;
select j.id from jobs j full join lines l on l.job = j.id where j.id = 1 and l.id = 1 for update;
select j.id from jobs j full join lines l on l.job = j.id where j.id = 1 for update of j;
select j.id from jobs j left join lines l on l.job = j.id join jobs k on k.id = l.job order by 1 for update;
select j.id from jobs j left join shown_lines l on l.job = j.id where l.id > 0 order by 1 for update;
select j.id from jobs j left join lines l on l.job = j.id for update;
select j.id from jobs j left join lines l on l.job = j.id for no key update of l;
select j.id from jobs j full join lines l on l.job = j.id where l.id = 1 for key share of j;
-- A view or subquery on the nullable side is as bad as a table, if it has rows to lock.
select j.id from jobs j left join shown_lines l on l.job = j.id for update;
select j.id from jobs j left join shown_lines l on l.job = j.id for share of l;
select j.id from shown_lines l right join jobs j on l.job = j.id for update;
select j.id from jobs j left join (select * from lines) l on l.job = j.id for update;
select j.id from jobs j left join (select * from lines limit 1) l on l.job = j.id for update;
select j.id from jobs j left join (select 1 as job) l on l.job = j.id order by 1 for update;
select j.id from jobs j left join (values (1), (2)) l(job) on l.job = j.id order by 1 for update;
select j.id from jobs j left join generate_series(1, 2) l(job) on l.job = j.id order by 1 for update;
select j.id from jobs j left join shown_lines l on l.job = j.id order by 1 for update of j;
create view outer_lines as select j.id, l.id as line from jobs j left join lines l on l.job = j.id;
select id from outer_lines order by 1 for update;
select id from outer_lines where line = 1 for update;
