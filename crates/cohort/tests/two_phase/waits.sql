-- Who waits for a prepared transaction goes on when it is finished, and learns what came of it.
a: create table t (id int primary key, v int);
a: create table parent (id int primary key);
a: create table child (id int primary key, parent int references parent);
a: insert into t values (1, 0), (2, 0), (3, 0);
a: insert into parent values (1), (2);
-- A row, committed: its newest version counts.
a: begin;
a: update t set v = 5 where id = 1;
a: prepare transaction 'waits';
b waits: update t set v = v * 2 where id = 1 and v < 10 returning v;
c: commit prepared 'waits';
b answers
-- Rolled back: it never was.
a: begin;
a: update t set v = 6 where id = 1;
a: prepare transaction 'waits';
b waits: update t set v = v + 1 where id = 1 returning v;
a: rollback prepared 'waits';
b answers
-- Deleted.
a: begin;
a: delete from t where id = 3;
a: prepare transaction 'waits';
b waits: update t set v = 1 where id = 3;
c: commit prepared 'waits';
b answers
-- Only locked.
a: begin;
a: select id from t where id = 2 for update;
a: prepare transaction 'waits';
b waits: select * from t where id = 2 for share;
c: rollback prepared 'waits';
b answers
-- A snapshot from before.
b: begin isolation level repeatable read;
b: select * from t order by id;
a: begin;
a: update t set v = 9 where id = 2;
a: prepare transaction 'waits';
b waits: update t set v = 8 where id = 2;
c: commit prepared 'waits';
b answers
b: rollback;
b: begin isolation level repeatable read;
b: select * from t order by id;
a: begin;
a: update t set v = 10 where id = 2;
a: prepare transaction 'waits';
b waits: update t set v = 8 where id = 2;
c: rollback prepared 'waits';
b answers
b: rollback;
-- A key.
a: begin;
a: insert into t values (4, 4);
a: prepare transaction 'waits';
b waits: insert into t values (4, 5);
d waits: insert into t values (4, 6) on conflict (id) do update set v = t.v + 100;
c: commit prepared 'waits';
b answers
d answers
a: begin;
a: insert into t values (5, 5);
a: prepare transaction 'waits';
b waits: insert into t values (5, 6) on conflict do nothing;
c: rollback prepared 'waits';
b answers
a: select * from t order by id;
-- A foreign key, both ways.
a: begin;
a: insert into child values (1, 1);
a: delete from parent where id = 2;
a: prepare transaction 'waits';
b waits: delete from parent where id = 1;
d waits: insert into child values (2, 2);
c: commit prepared 'waits';
b answers
d answers
-- A table, several in a queue.
a: begin;
a: lock table t in row exclusive mode;
a: prepare transaction 'waits';
b waits: create index t_v on t (v);
d waits: alter table t add column w int default 1;
c: commit prepared 'waits';
b answers
d answers
a: select * from t order by id;
a: begin;
a: drop table child;
a: prepare transaction 'waits';
b waits: select * from child;
c: commit prepared 'waits';
b answers
a: begin;
a: alter table t drop column w;
a: prepare transaction 'waits';
b waits: select * from t order by id;
c: rollback prepared 'waits';
b answers
-- An advisory lock.
a: begin;
a: select pg_advisory_xact_lock(40);
a: prepare transaction 'waits';
b waits: select pg_advisory_lock(40);
d waits: select pg_advisory_xact_lock_shared(40);
c: rollback prepared 'waits';
b answers
b: select pg_advisory_unlock(40);
d answers
-- One that waits while what it waits for is being prepared.
a: begin;
a: update t set v = 50 where id = 1;
b waits: update t set v = v + 1 where id = 1 returning v;
a: prepare transaction 'waits';
c: commit prepared 'waits';
b answers
-- One that waits for a prepared one and holds what a third one wants; none of them is in a circle.
a: begin;
a: update t set v = 60 where id = 1;
a: prepare transaction 'waits';
b: set deadlock_timeout = '10ms';
b: begin;
b: update t set v = 61 where id = 2;
b waits: update t set v = 61 where id = 1;
d: set deadlock_timeout = '10ms';
d waits: update t set v = 62 where id = 2;
c: select pg_sleep(0.1);
c: select count(*) from pg_locks where not granted and locktype = 'transactionid';
c: commit prepared 'waits';
b answers
b: commit;
d answers
a: select id, v from t order by id;
-- Nobody's process is in the way.
a: begin;
a: update t set v = 70 where id = 1;
a: prepare transaction 'waits';
b: set application_name = 'one that waits';
b waits: update t set v = 71 where id = 1;
c: select pg_blocking_pids(pid), wait_event_type, wait_event from pg_stat_activity where application_name = 'one that waits';
c: rollback prepared 'waits';
b answers
-- A deferrable reader waits until a prepared writer is finished.
a: begin isolation level serializable;
a: select v from t where id = 1;
a: update t set v = 80 where id = 2;
a: prepare transaction 'waits';
b: begin isolation level serializable read only deferrable;
b waits: select v from t where id in (1, 2) order by id;
c: commit prepared 'waits';
b answers
b: commit;
-- VACUUM and a prepared transaction leave each other alone; what it deleted stays until it is finished.
a: begin;
a: delete from t where id = 2;
a: prepare transaction 'waits';
c: vacuum t;
c: select id from t order by id;
a: rollback prepared 'waits';
c: vacuum t;
c: select id from t order by id;
-- A snapshot that is older than its end doesn't see it, whatever vacuum does.
b: begin isolation level repeatable read;
b: select id, v from t order by id;
a: begin;
a: delete from t where id = 2;
a: update t set v = 99 where id = 1;
a: prepare transaction 'waits';
a: commit prepared 'waits';
c: vacuum t;
b: select id, v from t order by id;
b: commit;
b: select id, v from t order by id;
