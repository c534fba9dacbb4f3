-- How many there may be, and none at all.
a: show max_prepared_transactions;
a: set max_prepared_transactions = 3;
restart max_prepared_transactions=2
a: create table t (id int primary key);
a: begin;
a: insert into t values (1);
a: prepare transaction 'limits';
a: begin;
a: prepare transaction 'limits_2';
a: begin;
a: insert into t values (3);
a: prepare transaction 'limits_3';
a: select * from t;
-- A name in use comes first.
a: begin;
a: prepare transaction 'limits';
a: rollback prepared 'limits_2';
a: begin;
a: insert into t values (3);
a: prepare transaction 'limits_3';
a: commit prepared 'limits';
a: commit prepared 'limits_3';
a: select * from t order by id;
restart max_prepared_transactions=0
a: begin;
a: insert into t values (4);
a: prepare transaction 'limits';
a: select * from t order by id;
a: begin;
a: insert into t values (4);
a: prepare transaction '12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890';
a: prepare transaction 'limits';
a: begin;
a: select 1 / 0;
a: prepare transaction 'limits';
a: begin;
a: create temp table mine (id int);
a: prepare transaction 'limits';
a: commit prepared 'limits';
a: rollback prepared 'limits';
a: begin;
a: commit prepared 'limits';
a: rollback;
a: select * from pg_prepared_xacts;
restart
a: begin;
a: insert into t values (5);
a: prepare transaction 'limits';
a: commit prepared 'limits';
a: select * from t order by id;
