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
-- Rows that a join brings several times are changed once, and whole.
create table parts (id int primary key, v int not null, w int check (w > 0));
create table deltas (part int, d int);
insert into parts values (1, 1, 1), (2, 2, 2), (3, 3, 3);
insert into deltas values (1, 10), (1, 10), (2, 30), (1, 10), (2, 30);
update parts set v = v + d from deltas where part = id returning id, v, w;
update parts set v = v + g * 0 + 1 from generate_series(1, 2) g returning *;
update parts set v = p.v + parts.v * 0 from (select max(v) as v from parts) p, deltas returning parts.*;
set enable_hashjoin = off;
set enable_mergejoin = off;
update parts set v = v + d from deltas where part = id returning id, v, w;
update parts set w = w + 1 from deltas, generate_series(1, 3) where part = id;
select * from parts order by id;
create function noting() returns trigger language plpgsql as $$ begin
  raise notice '% % %', tg_op, old, new;
  return case when tg_op = 'DELETE' then old else new end; end $$;
create trigger noting before update or delete on parts for each row execute function noting();
create trigger noting_after after update or delete on parts for each row execute function noting();
update parts set v = v + d from deltas where part = id and id = 2;
delete from parts using deltas where part = id and id = 2;
delete from parts using generate_series(1, 3) where id = 1;
select * from parts order by id;
reset enable_hashjoin;
reset enable_mergejoin;
drop table parts, deltas;
drop function noting;
drop table own, looked, restarted;
drop function looking, at_row;
