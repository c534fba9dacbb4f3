-- Functions that a statement calls for its rows may not change the table below it.
create table uc (a int check (a <> 1), b text);
insert into uc values (2, 'x');
create index uc_index on uc (b);
create function uc_does(text) returns bool language plpgsql as $$ begin if $1 is not null then execute $1; end if; return true; end $$;
create table uc_what (id int primary key, sql text);
create function uc_when(n int) returns bool language plpgsql as $$ begin return uc_does((select sql from uc_what where id = n)); end $$;
insert into uc_what values (100, 'alter table uc add check (a < 50)'), (101, 'alter table uc alter b type int using length(b)'),
  (102, 'truncate uc'), (103, 'drop table uc'), (104, 'drop index uc_index'), (105, 'create index on uc (a)');
create function uc_trigger() returns trigger language plpgsql as 'begin return new; end';
create trigger uc_before before insert or update on uc for each row when (uc_when(new.a)) execute function uc_trigger();
insert into uc values (100, 'z');
insert into uc values (101, 'z');
insert into uc values (102, 'z');
insert into uc values (103, 'z');
insert into uc values (104, 'z');
insert into uc values (105, 'z');
update uc set a = 100;
update uc set a = 3;
drop trigger uc_before on uc;
create trigger uc_after after insert on uc for each row when (uc_when(new.a)) execute function uc_trigger();
insert into uc values (102, 'z');
insert into uc values (103, 'z');
insert into uc values (7, 'seven');
drop trigger uc_after on uc;
copy uc from stdin where uc_does('truncate uc');
5	five
\.
copy uc from stdin where uc_does('alter table uc add check (a < 5)');
5	five
\.
copy uc from stdin where uc_does('drop table uc');
5	five
\.
copy uc from stdin where uc_does('drop index uc_index');
5	five
\.
copy uc from stdin where a > 5;
5	five
6	six
\.
select * from uc order by a;
begin;
declare c cursor for select * from uc;
fetch c;
drop index uc_index;
commit;
