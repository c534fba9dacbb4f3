-- Deferrable unique and primary keys: looked at when the statement or the transaction ends.
create table t (k int primary key deferrable initially immediate, v text, u int unique deferrable initially deferred);
insert into t values (1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
update t set k = k + 1;
select * from t order by k;
update t set k = 4 where k = 2;
insert into t values (5, 'x', 9), (5, 'y', 10);
insert into t values (4, 'again', 11);
-- At the statement's end, not while it runs.
update t set k = 10 - k;
select k from t order by k;
-- At the end of the transaction.
begin;
insert into t values (20, 'a', 1);
select count(*) from t where u = 1;
select v from t where u = 1 order by v;
commit;
begin;
insert into t values (20, 'a', 1);
update t set u = 30 where k = 20;
commit;
begin;
insert into t values (21, 'b', 1);
delete from t where k = 21;
commit;
begin;
set constraints t_u_key immediate;
insert into t values (22, 'c', 1);
rollback;
begin;
insert into t values (22, 'c', 1);
set constraints all immediate;
rollback;
begin;
insert into t values (22, 'c', 1);
set constraints t_u_key immediate;
rollback;
begin;
set constraints all deferred;
insert into t values (20, 'dup', 40);
select count(*) from t where k = 20;
update t set k = 23 where v = 'dup';
commit;
begin;
set constraints t_pkey deferred;
insert into t values (20, 'dup', 41);
commit;
-- Savepoints take back what was to be looked at.
begin;
savepoint s;
insert into t values (24, 'x', 1);
rollback to s;
commit;
begin;
insert into t values (24, 'x', 1);
savepoint s;
delete from t where k = 24;
rollback to s;
commit;
begin;
insert into t values (24, 'x', 1);
savepoint s;
update t set u = 50 where k = 24;
release s;
commit;
select * from t order by k;
-- Swapping two.
update t set k = case k when 20 then 23 else 20 end where k in (20, 23);
update t set u = case u when 30 then 40 else 30 end where u in (30, 40);
select k, u from t order by k;
-- NULLs.
insert into t values (60, 'n', null), (61, 'n', null);
-- What can't be done with them.
insert into t values (20, 'c', 1) on conflict (k) do nothing;
insert into t values (20, 'c', 1) on conflict (u) do update set v = 'x';
insert into t values (20, 'c', 1) on conflict on constraint t_pkey do nothing;
insert into t values (20, 'c', 1) on conflict do nothing;
create table child (t int references t);
create table child (t int references t (u));
create table child (t int references t (v));
select k, max(v) from t group by k order by k limit 1;
select k, v from t group by k order by k limit 1;
set constraints nothing deferred;
begin;
set constraints nothing deferred;
rollback;
alter table t alter constraint t_pkey not deferrable;
-- Definitions.
create table d (a int, b int, constraint d_ab unique (a, b) deferrable, c int unique not deferrable, e int unique initially deferred);
select conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'd'::regclass order by 1;
select indexrelid::regclass, indisunique, indimmediate from pg_index where indrelid = 'd'::regclass order by 1;
create table e (like d including all);
select conname, contype, condeferrable, condeferred from pg_constraint where conrelid = 'e'::regclass order by 1;
insert into e values (1, 1, 1, 1), (1, 1, 2, 2);
begin;
insert into e values (1, 1, 1, 1), (1, 2, 2, 1);
commit;
select constraint_name, is_deferrable, initially_deferred from information_schema.table_constraints where table_name = 'd' and constraint_type = 'UNIQUE' order by 1;
alter table d add constraint d_b unique (b) deferrable initially deferred;
alter table d add constraint bad unique (b) not deferrable initially deferred;
create unique index d_index on d (a);
alter table d add constraint d_a unique using index d_index deferrable;
insert into d values (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3);
update d set a = a + 1, b = b + 1, e = e + 1;
update d set c = c + 1;
alter table d drop constraint d_a;
insert into d values (2, 9, 9, 9);
select * from d order by a, b;
insert into d values (7, 7, 7, 7), (8, 7, 8, 8);
alter table d add primary key (a) deferrable;
delete from d where c = 9;
alter table d add primary key (a) deferrable;
update d set a = a + 1;
begin;
set constraints d_pkey deferred;
update d set a = 2;
select * from d where a = 2 order by b;
update d set a = b;
commit;
select a from d order by a;
-- COPY looks at its end.
copy d from stdin;
30	30	30	30
30	31	31	31
\.
-- Composite, text, joins over doubled keys.
create table p (a text, b int, primary key (a, b) deferrable initially deferred, n int);
begin;
insert into p values ('x', 1, 1), ('x', 2, 2), ('x', 1, 3);
select * from p where a = 'x' and b = 1 order by n;
select count(*) from p join p q using (a, b) where p.a = 'x';
update p set n = n * 10 where a = 'x' and b = 1;
delete from p where n = 30;
commit;
select count(*) from p;
insert into p values ('x', 1, 1) on conflict do nothing;
insert into p values ('x', 1, 5);
select * from p order by b;
drop table t, d, e, p;
