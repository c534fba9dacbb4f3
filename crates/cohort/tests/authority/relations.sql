select * from t
select id from t
select count(*) from t
select * from v
select * from m
select * from ref
select * from secret
select last_value from seq
select nextval('seq')
select currval('seq')
select nextval('seq'), lastval()
select setval('seq', 5)
select * from closed.hidden
select closed.hidden_f()
select 'a'::closed.hidden_type
insert into t values (3, 'three', 3)
insert into t (id) values (4)
insert into t values (3, 'three', 3) returning v
insert into t values (1, 'x', 1) on conflict (id) do update set v = excluded.v
insert into v values (5, 'five', 5)
update t set v = 'x'
update t set v = 'x' where id = 1
update t set v = v || 'x'
update v set v = 'x'
delete from t where id = 9
delete from t
delete from v where id = 9
merge into t using (values (9)) s (id) on t.id = s.id when matched then delete
merge into t using (values (9)) s (id) on t.id = s.id when matched then update set v = 'x'
merge into t using (values (9)) s (id) on false when not matched then insert values (9, 'nine', 9)
merge into t using (values (9)) s (id) on false when not matched then do nothing
merge into t using (values (9)) s (id) on false when not matched then insert (id) values (9)
truncate t cascade
truncate t
lock table t in access share mode
lock table t in row share mode
lock table t in row exclusive mode
lock table t in share mode
lock table t in access exclusive mode
lock table v in access share mode
lock table v in access exclusive mode
lock table t
lock table m in access share mode
lock table seq
lock table pg_class in access share mode
lock table pg_authid in access share mode
lock table pg_class in access exclusive mode
select * from t for update
select * from t for share
copy t to stdout
copy (select * from t) to stdout
copy t (id) to stdout
copy v to stdout
copy t to '/tmp/authority_out'
copy t from '/nonexistent/authority'
copy t from program 'true'
copy t to program 'true'
table pg_authid
select rolname from pg_authid limit 0
select count(*) >= 0 from pg_shadow
select count(*) > 0 from pg_roles
select rolpassword from pg_roles where rolname = 'owner'
select count(*) >= 0 from pg_statistic
select count(*) >= 0 from pg_stats where tablename = 't'
select count(*) >= 0 from pg_user_mapping
select count(*) >= 0 from pg_hba_file_rules
select count(*) >= 0 from pg_file_settings
select count(*) >= 0 from pg_config
select count(*) >= 0 from pg_shmem_allocations
select count(*) >= 0 from pg_backend_memory_contexts
select count(*) >= 0 from pg_largeobject
select count(*) >= 0 from pg_subscription
select count(*) >= 0 from pg_stat_wal
select count(*) >= 0 from pg_prepared_xacts
select count(*) >= 0 from pg_locks
insert into pg_class select * from pg_class
update pg_class set relname = 'x'
delete from pg_class
delete from pg_authid
update pg_authid set rolsuper = true
truncate pg_class
create table new_t (a int)
create table s.new_t (a int)
create table closed.new_t (a int)
create table pg_catalog.new_t (a int)
create table information_schema.new_t (a int)
create table new_t (a int references t)
create table new_t (like t)
create table new_t as select * from t
create table new_t (a mood)
create table new_t (a mood[])
create table new_t (a dom)
create table new_t (a pair)
create table new_t of pair
create table new_t (a t)
create table new_t (a int default f(1))
create table new_t (a int default nextval('seq'))
create table new_t (a int check (f(a) > 0))
select * into new_t from t
create view new_v as select * from t
create view new_v as select * from t; select * from new_v
create view s.new_v as select 1
create or replace view v as select * from t
create or replace view v as select id, v, w from t where id > 1
create materialized view new_m as select * from t
create materialized view m as select 1
refresh materialized view m
create index on t (v)
create index on t (f(id))
create index on m (v)
create unique index on t (w)
create sequence new_seq
create sequence s.new_seq
create sequence new_seq owned by t.w
alter sequence seq restart
alter sequence seq owned by t.w
alter sequence seq rename to seq_2
alter sequence seq owner to stranger
alter sequence seq owner to current_user
alter sequence seq set schema s
drop sequence seq
create trigger new_trg before insert on t for each row execute function trg()
create trigger new_trg instead of insert on v for each row execute function trg()
create or replace trigger t_trg before insert on t for each row execute function trg()
alter trigger t_trg on t rename to t_trg_2
drop trigger t_trg on t
alter table t disable trigger t_trg
alter table t disable trigger all
alter table t add column x int
alter table t add column x mood
alter table t add column x dom
alter table t add column x int default f(1)
alter table t drop column w
alter table t alter column w type bigint
alter table t alter column w type mood using null
alter table t alter column w set default 5
alter table t alter column w set not null
alter table t alter column v set statistics 10
alter table t add check (w > 0)
alter table t add constraint fk foreign key (w) references t
alter table ref add foreign key (id) references t
create temp table referring (a int); insert into referring values (null); alter table referring add foreign key (a) references pk
create temp table referring (a int); insert into referring values (5); alter table referring add foreign key (a) references pk
create temp table referring (a int); alter table referring add constraint c foreign key (a) references pk not valid; alter table referring validate constraint c
alter table t drop constraint t_pkey cascade
alter table t rename to t_2
alter table t rename column w to w2
alter table t set schema s
alter table t set schema closed
alter table t owner to stranger
alter table t owner to current_user
alter table t owner to member
alter table t owner to power
alter table t set (fillfactor = 50)
alter table t set unlogged
alter table t cluster on t_pkey
alter table t enable row level security
alter table t replica identity full
alter view v owner to current_user
alter view v rename to v_2
alter view v set (security_barrier)
alter view v alter column w set default 1
alter materialized view m rename to m_2
alter materialized view m owner to stranger
alter index t_v rename to t_v_2
alter index t_v set (fillfactor = 50)
alter table missing add column x int
drop table t cascade
drop table t
drop table secret
drop table if exists missing
drop view v
drop materialized view m
drop index t_v
drop table closed.hidden
drop table pg_class
comment on table t is 'x'
comment on column t.id is 'x'
comment on view v is 'x'
comment on index t_v is 'x'
comment on constraint t_pkey on t is 'x'
comment on trigger t_trg on t is 'x'
comment on sequence seq is 'x'
grant select on t to stranger
grant all on t to stranger
grant select (id) on t to stranger
grant select on t to stranger with grant option
grant select on t to public
revoke select on t from grantee
revoke all on t from public
grant select on secret to stranger
grant usage on sequence seq to stranger
grant select on all tables in schema public to stranger
grant select on pg_authid to stranger
reindex table t
reindex index t_v
reindex schema public
!reindex database postgres
!reindex system postgres
analyze t
analyze pg_class
analyze
!vacuum t
!vacuum pg_authid
cluster t using t_pkey
explain select * from t
explain analyze select * from t
prepare q as select * from t; execute q
declare c cursor for select * from t; fetch all from c
values (f(1))
table secret
with x as (delete from t where id = 9 returning *) select * from x
select has_table_privilege('t', 'select'), has_table_privilege('secret', 'select'), has_sequence_privilege('seq', 'usage'), has_schema_privilege('closed', 'usage'), has_schema_privilege('public', 'create'), has_database_privilege('postgres', 'create'), has_type_privilege('mood', 'usage'), has_function_privilege('f(int)', 'execute')
select pg_relation_size('t') > 0
create rule r as on insert to t do nothing
create policy pol on t
create statistics st on id, w from t
