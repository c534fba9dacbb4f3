-- Where the statements may stand.
a: create table t (id int primary key);
-- Outside of a block there is nothing to prepare.
a: prepare transaction 'blocks';
a: select * from pg_prepared_xacts;
-- In a failed one neither: it is rolled back.
a: begin;
a: insert into t values (1);
a: select 1 / 0;
a: prepare transaction 'blocks';
a: select * from t;
a: begin;
a: insert into t values (1);
a: savepoint s;
a: select 1 / 0;
a: prepare transaction 'blocks';
a: select * from pg_prepared_xacts;
-- One that did nothing, and one that only read, can be prepared.
a: begin;
a: prepare transaction 'blocks';
a: select gid from pg_prepared_xacts;
a: commit prepared 'blocks';
a: begin read only;
a: select * from t;
a: insert into t values (1);
a: prepare transaction 'blocks';
a: begin read only;
a: select * from t;
a: prepare transaction 'blocks';
a: rollback prepared 'blocks';
a: start transaction isolation level repeatable read, read only;
a: select * from t;
a: prepare transaction 'blocks';
a: commit prepared 'blocks';
-- Finishing is not for blocks, not even failed ones or those a text makes of itself.
a: begin;
a: insert into t values (1);
a: prepare transaction 'blocks';
a: begin;
a: commit prepared 'blocks';
a: rollback prepared 'blocks';
a: rollback;
a: begin;
a: rollback prepared 'blocks';
a: select 1;
a: prepare transaction 'blocks';
a: savepoint s;
a: insert into t values (2); commit prepared 'blocks';
a: commit prepared 'blocks'; insert into t values (2);
a: select * from t;
a: select gid from pg_prepared_xacts;
a: begin; commit prepared 'blocks'; commit;
a: rollback;
a: commit prepared 'nobody'; select 1;
a: commit prepared 'blocks';
a: select * from t;
-- A block in one text, and the texts around it.
a: begin; insert into t values (3); prepare transaction 'blocks';
a: select * from t;
a: commit prepared 'blocks';
a: begin; insert into t values (4); prepare transaction 'blocks'; select count(*) from t;
a: rollback prepared 'blocks';
-- A text's own block can be prepared: with a warning.
a: insert into t values (5); prepare transaction 'blocks';
a: select * from t order by id;
a: commit prepared 'blocks';
a: select 1; prepare transaction 'blocks'; select 2;
a: rollback prepared 'blocks';
a: select 1; prepare transaction 'blocks'; select 1 / 0;
a: rollback prepared 'blocks';
a: begin; insert into t values (6); prepare transaction 'blocks'; insert into t values (7); select 1 / 0;
a: select * from t order by id;
a: commit prepared 'blocks';
a: select * from t order by id;
a: begin; insert into t values (8); prepare transaction 'blocks'; commit prepared 'blocks';
a: begin; insert into t values (9); prepare transaction 'blocks'; begin; insert into t values (10); commit;
a: rollback prepared 'blocks';
a: select * from t order by id;
a: rollback prepared 'blocks';
-- Afterwards the session has no block.
a: begin;
a: insert into t values (11);
a: prepare transaction 'blocks';
a: commit;
a: rollback;
a: savepoint s;
a: insert into t values (12);
a: rollback prepared 'blocks';
-- The statements by which a block is said to end may have other words.
a: start transaction;
a: insert into t values (13);
a: prepare transaction 'blocks';
a: commit prepared 'blocks';
-- Routines don't do this.
a: create function f() returns int language sql as $$ commit prepared 'blocks'; select 1 $$;
a: select f();
a: do $$ begin prepare transaction 'blocks'; end $$;
a: do $$ begin commit prepared 'blocks'; end $$;
a: do $$ begin execute 'prepare transaction ''blocks'''; end $$;
a: do $$ begin execute 'rollback prepared ''blocks'''; end $$;
a: begin;
a: do $$ begin prepare transaction 'blocks'; end $$;
a: prepare transaction 'blocks';
a: explain prepare transaction 'blocks';
a: prepare p as prepare transaction 'blocks';
a: select * from pg_prepared_xacts;
-- Settings of the transaction go, those of the session stay.
a: set lock_timeout = '1s';
a: begin isolation level serializable read only;
a: set local lock_timeout = '2s';
a: set statement_timeout = '3s';
a: select 1;
a: show lock_timeout;
a: prepare transaction 'blocks';
a: show lock_timeout;
a: show statement_timeout;
a: show transaction_isolation;
a: show transaction_read_only;
a: rollback prepared 'blocks';
a: show statement_timeout;
a: reset statement_timeout;
a: reset lock_timeout;
-- It can be told to be unconcerned about the disk, which PREPARE is not.
a: set synchronous_commit = off;
a: begin;
a: insert into t values (14);
a: prepare transaction 'blocks';
a: commit prepared 'blocks';
a: begin;
a: insert into t values (15);
a: prepare transaction 'blocks';
a: rollback prepared 'blocks';
a: reset synchronous_commit;
a: select * from t order by id;
-- It is prepared at one moment, of its transaction's clock.
a: begin;
a: create table clock as select transaction_timestamp() as begun;
a: select pg_sleep(0.01);
a: prepare transaction 'blocks';
a: select prepared > now() - interval '1 minute', prepared <= now() from pg_prepared_xacts;
a: commit prepared 'blocks';
a: select begun < now() from clock;
-- A session that prepared may leave.
b: begin;
b: insert into t values (16);
b: prepare transaction 'blocks';
b leaves
a: select * from t where id = 16;
c: commit prepared 'blocks';
a: select * from t where id = 16;
