-- A row that comes twice among a statement's own is changed once, whatever the statement calls meanwhile.
create table own (id int primary key, v int);
insert into own select i, i from generate_series(1, 4) i;
create function looking() returns int language plpgsql as $$ begin
  perform count(*) from own; create temp table if not exists looked (i int); insert into looked values (1); return 5; end $$;
update own set v = looking() + g from generate_series(1, 1) g where id = 2;
update own set v = looking() from generate_series(1, 3) g where id = 2;
select * from own where id = 2;
create function at_row() returns trigger language plpgsql as $$ begin
  insert into looked values (new.v); return new; end $$;
create trigger at_row before update on own for each row execute function at_row();
update own set v = 6 from generate_series(1, 3) g where id = 2;
select * from own where id = 2;
delete from own using generate_series(1, 3) g where id = 3;
insert into own values (9, 9), (10, 10) on conflict (id) do update set v = excluded.v;
select * from own order by id;
select count(*) from looked;
-- Sequences that TRUNCATE has begin anew do so if the transaction commits.
create table restarted (id serial primary key, j int generated always as identity, v int);
insert into restarted (v) values (1), (2);
begin;
truncate restarted restart identity;
insert into restarted (v) values (10) returning *;
rollback;
insert into restarted (v) values (3) returning *;
begin;
savepoint s;
truncate restarted restart identity;
rollback to s;
insert into restarted (v) values (4) returning *;
truncate restarted restart identity;
savepoint t;
insert into restarted (v) values (5) returning *;
commit;
insert into restarted (v) values (6) returning *;
truncate restarted continue identity;
insert into restarted (v) values (7) returning *;
drop table own, looked, restarted;
drop function looking, at_row;
