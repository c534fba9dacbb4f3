-- What the system views tell of prepared transactions.
a: create table t (id int primary key, v int);
a: create table u (id int primary key);
a: insert into t values (1, 0), (2, 0);
a: begin;
a: update t set v = 1 where id = 1;
a: lock table u in share row exclusive mode;
a: select pg_advisory_xact_lock(5);
a: select pg_advisory_xact_lock_shared(6, 7);
a: prepare transaction 'views';
a: select * from pg_prepared_xacts where transaction is null or prepared is null;
a: select gid, prepared <= now(), owner, database, transaction is not null from pg_prepared_xacts;
a: select pg_typeof(transaction), pg_typeof(gid), pg_typeof(prepared), pg_typeof(owner), pg_typeof(database) from pg_prepared_xacts;
a: select locktype, relation::regclass, mode, granted, fastpath from pg_locks where pid is null and relation::regclass::text in ('t', 'u') order by 2, 3;
a: select locktype, mode, granted from pg_locks where pid is null and locktype = 'transactionid';
a: select locktype, classid, objid, objsubid, mode, granted from pg_locks where pid is null and locktype = 'advisory' order by 2;
a: select count(*) from pg_locks l join pg_prepared_xacts p on l.transactionid = p.transaction where l.pid is null;
a: select count(distinct virtualtransaction) from pg_locks where pid is null;
a: select count(*) from pg_stat_activity where state = 'active' and backend_type = 'client backend';
-- Who waits for it is told that nobody's process is in its way.
a: select pg_blocking_pids(pg_backend_pid());
-- A second one.
b: begin;
b: update t set v = 2 where id = 2;
b: prepare transaction 'views_2';
a: select p.gid, l.locktype, l.mode from pg_locks l join pg_prepared_xacts p on l.transactionid = p.transaction order by 1, 2;
a: select count(distinct virtualtransaction) from pg_locks where pid is null;
b: rollback prepared 'views';
a: select gid from pg_prepared_xacts;
a: select locktype, relation::regclass, mode from pg_locks where pid is null and relation::regclass::text in ('t', 'u') order by 2;
b: commit prepared 'views_2';
a: select count(*) from pg_locks where pid is null;
a: select * from t order by id;
-- Its identifier tells its outcome.
a: begin;
a: insert into u values (1);
a: prepare transaction 'views';
a: select pg_xact_status(transaction::text::xid8), txid_status(transaction::text::bigint) from pg_prepared_xacts;
a: create table known as select transaction::text::bigint as id from pg_prepared_xacts;
a: commit prepared 'views';
a: select txid_status(id) from known;
a: begin;
a: insert into u values (2);
a: prepare transaction 'views';
a: update known set id = (select transaction::text::bigint from pg_prepared_xacts);
a: select txid_status(id) from known;
a: rollback prepared 'views';
a: select txid_status(id) from known;
-- Two in one second.
a: begin;
a: prepare transaction 'views';
a: begin;
a: prepare transaction 'views_2';
a: select count(*), count(distinct gid), count(distinct transaction::text) from pg_prepared_xacts;
a: commit prepared 'views';
a: commit prepared 'views_2';
a: select setting, context, vartype, min_val, max_val from pg_settings where name = 'max_prepared_transactions';
