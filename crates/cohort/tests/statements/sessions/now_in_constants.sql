-- 'now' in a constant is the time of the transaction that runs the statement, however often the text comes.
create table nic (a timestamptz, b timestamptz);
insert into nic values ('now', now()) returning a = b;
select pg_sleep(0.01)::text;
insert into nic values ('now', now()) returning a = b;
select pg_sleep(0.01)::text;
insert into nic values ('now', now()) returning a = b;
begin;
insert into nic values ('now', now()) returning a = b;
select pg_sleep(0.01)::text;
insert into nic values ('now', now()) returning a = b;
commit;
create function nic_f() returns boolean language sql as $$ insert into nic values ('now', now()) returning a = b $$;
select nic_f();
select pg_sleep(0.01)::text;
select nic_f();
select count(*), count(*) filter (where a = b) from nic;
drop function nic_f();
drop table nic;
