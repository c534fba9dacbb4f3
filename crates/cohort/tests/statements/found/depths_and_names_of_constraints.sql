-- The actions of foreign keys count in pg_trigger_depth().
create table dq (id int primary key, x int references dq on delete cascade on update cascade);
insert into dq values (1, null), (2, 1), (3, 2);
create function dq_trigger() returns trigger language plpgsql as $$ begin
  raise notice '% % %', tg_op, old.id, pg_trigger_depth(); return case tg_op when 'DELETE' then old else new end; end $$;
create trigger dq_before before delete or update on dq for each row execute function dq_trigger();
create trigger dq_first after delete on dq for each row when (pg_trigger_depth() < 2) execute function dq_trigger();
update dq set id = 10 where id = 1;
delete from dq where id = 10;
select * from dq;

-- SET CONSTRAINTS looks for a name in the schemas of the search path, and takes those of the first that has it.
create schema dn_a;
create schema dn_b;
create table dn_a.p (i int primary key);
create table dn_a.c (i int constraint dn_key references dn_a.p deferrable);
create table dn_a.d (i int constraint dn_key references dn_a.p deferrable);
create table dn_b.c (i int constraint dn_key references dn_a.p deferrable, j int constraint dn_only references dn_a.p deferrable);
begin;
set constraints dn_key deferred;
rollback;
begin;
set local search_path to dn_a, dn_b;
set constraints dn_key, dn_only deferred;
insert into dn_a.c values (1);
insert into dn_a.d values (1);
insert into dn_b.c values (null, 2);
savepoint a;
insert into dn_b.c values (1, null);
rollback to a;
set constraints dn_only immediate;
rollback to a;
set constraints dn_b.dn_key deferred;
insert into dn_b.c values (1, null);
set constraints nowhere.dn_key deferred;
rollback to a;
set constraints dn_b.dn_nothing deferred;
rollback;
drop schema dn_a, dn_b cascade;
