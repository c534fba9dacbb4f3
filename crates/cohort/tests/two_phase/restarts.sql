-- A prepared transaction outlives the server, in order and by a crash, with all that it holds.
a: create table t (id int primary key, v int);
a: create table parent (id int primary key);
a: create table gone (id int);
a: create table child (id int primary key, parent int references parent);
a: insert into t select g, 0 from generate_series(1, 20) g;
a: insert into parent values (1), (2);
a: begin;
a: update t set v = 1 where id = 1;
a: savepoint s;
a: update t set v = 1 where id = 2;
a: rollback to s;
a: savepoint s;
a: update t set v = 1 where id = 3;
a: delete from t where id = 4;
a: insert into t values (100, 1);
a: select id from t where id = 5 for update;
a: insert into child values (1, 1);
a: lock table parent in share mode;
a: select pg_advisory_xact_lock(5);
a: prepare transaction 'restarts';
joe: begin;
joe: select txid_current() > 0;
joe: prepare transaction 'restarts_2';
a: begin;
a: create table made (id int primary key);
a: insert into made values (1);
a: drop table gone;
a: prepare transaction 'restarts_3';
b: begin;
b: update t set v = 2 where id = 6;
crash
a: select gid, owner, database, prepared < now() from pg_prepared_xacts order by gid;
a: select relation::regclass, mode, granted, fastpath from pg_locks where pid is null and locktype = 'relation' and relation::regclass::text in ('t', 'parent') order by 1, 2;
a: select locktype, classid, objid, objsubid, mode from pg_locks where pid is null and locktype = 'advisory';
a: select p.gid, l.locktype, l.mode from pg_locks l join pg_prepared_xacts p on l.transactionid = p.transaction order by 1, 2;
b: set lock_timeout = '50ms';
b: select id from t where id = 1 for update nowait;
b: select id from t where id = 2 for update nowait;
b: select id from t where id = 3 for update nowait;
b: select id from t where id = 4 for key share nowait;
b: select id from t where id = 6 for update nowait;
b: insert into t values (100, 2);
b: insert into parent values (3);
b: select count(*) from gone;
b: select count(*) from child;
b: select pg_try_advisory_lock(5);
b: select * from made;
b: create table made (id int);
b: select count(*), sum(v) from t;
a: begin;
a: prepare transaction 'restarts';
joe: commit prepared 'restarts_3';
a: rollback prepared 'restarts_3';
a: select * from made;
a: select count(*) from gone;
restart
b: set lock_timeout = '50ms';
b: select gid, owner from pg_prepared_xacts order by gid;
b: select id from t where id = 1 for update nowait;
b: insert into parent values (3);
b: select id from t where id = 7 for update nowait;
joe: rollback prepared 'restarts_2';
mary: commit prepared 'restarts';
b: select * from t where v = 1 or id = 4 order by id;
b: select * from child;
b: insert into parent values (3);
b: select pg_try_advisory_lock(5);
b: select count(*) from pg_locks where pid is null;
crash
a: select gid from pg_prepared_xacts;
a: select * from t where v = 1 order by id;
-- One after a checkpoint, one before; both go on after a crash.
a: begin;
a: update t set v = 8 where id = 8;
a: prepare transaction 'restarts';
a: checkpoint;
a: begin;
a: update t set v = 9 where id = 9;
a: prepare transaction 'restarts_2';
crash
a: select gid from pg_prepared_xacts order by gid;
b: select id from t where id in (8, 9) order by id for update skip locked;
a: commit prepared 'restarts';
a: checkpoint;
crash
a: select gid from pg_prepared_xacts order by gid;
a: rollback prepared 'restarts_2';
crash
a: select gid from pg_prepared_xacts order by gid;
a: commit prepared 'restarts_2';
a: select id, v from t where id in (8, 9) order by id;
-- Serializable, across a crash: nobody may make a cycle with it.
a: begin isolation level serializable;
a: select sum(v) from t where id in (10, 11);
a: update t set v = 5 where id = 10;
a: prepare transaction 'restarts';
crash
b: begin isolation level serializable;
b: select sum(v) from t where id in (10, 11);
b: update t set v = 6 where id = 11;
b: commit;
b: rollback;
a: commit prepared 'restarts';
b: begin isolation level serializable;
b: select sum(v) from t where id in (10, 11);
b: update t set v = 6 where id = 11;
b: commit;
