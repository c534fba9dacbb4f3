-- The extended protocol, and texts with nothing much in them.
a: create table t (id int primary key);
a extended: begin;
a extended: insert into t values (1);
a extended: prepare transaction 'protocol';
a extended: select gid from pg_prepared_xacts;
a extended: commit prepared 'protocol';
a extended: commit prepared 'protocol';
a extended: rollback prepared 'protocol';
a extended: begin;
a extended: insert into t values (2);
a extended: prepare transaction 'protocol';
a extended: begin;
a extended: commit prepared 'protocol';
a extended: rollback;
a extended: rollback prepared 'protocol';
a extended: prepare transaction 'protocol';
a extended: select gid from pg_prepared_xacts;
a: rollback prepared 'protocol';
a: begin;
a: select 1 / 0;
a extended: prepare transaction 'protocol';
a extended: commit prepared;
a extended: begin;
a extended: insert into t values (3);
a extended: prepare transaction 'protocol';
a: ;
a: commit prepared 'protocol'; ;
a: select * from t order by id;
-- Case and space.
a: Begin Work;
a: PREPARE   TRANSACTION
  'protocol'  ;
a: Rollback /* of what was */ Prepared 'protocol' -- said
;
-- A cursor and a prepared statement.
a: prepare count as select count(*) from t;
a: begin;
a: execute count;
a: insert into t values (4);
a: prepare transaction 'protocol';
a: execute count;
a: commit prepared 'protocol';
a: execute count;
a: deallocate count;
