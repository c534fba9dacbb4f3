-- ON DELETE SET NULL and SET DEFAULT of some columns of the key.
create table parent (tenant int, id int, primary key (tenant, id));
create table child (k int primary key, tenant int not null default 0, parent int default 9,
  foreign key (tenant, parent) references parent on delete set null (parent));
create table given (k int primary key, tenant int not null default 0, parent int default 9,
  foreign key (tenant, parent) references parent on delete set default (parent) on update cascade);
insert into parent values (1, 1), (1, 2), (2, 1), (1, 9);
insert into child values (1, 1, 1), (2, 1, 2), (3, 2, 1);
insert into given values (1, 1, 1), (2, 1, 2), (3, 2, 1);
delete from given where k = 3;
delete from parent where id = 1;
select * from child order by k;
select * from given order by k;
update parent set id = 3 where id = 2;
select * from child order by k;
update child set parent = null where k = 2;
update parent set id = 3 where id = 2;
select * from given order by k;
delete from parent where id = 9;
delete from parent where id = 3;
create table bad (a int, b int, c int, foreign key (a, b) references parent on delete set null (c));
create table bad (a int, b int, c int, foreign key (a, b) references parent on delete set null (nothing));
create table bad (a int, b int, c int, foreign key (a, b) references parent on update set null (a));
create table bad (a int, b int, c int, foreign key (a, b) references parent on delete cascade (a));
create table both_columns (a int, b int, foreign key (a, b) references parent on delete set null (b, a));
select conrelid::regclass, pg_get_constraintdef(oid), confdelsetcols from pg_constraint where contype = 'f' and confrelid = 'parent'::regclass order by 1::text;
alter table child rename column parent to up;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'child'::regclass and contype = 'f';
insert into both_columns values (1, 9);
delete from parent where tenant = 1 and id = 9;
select * from both_columns;
drop table given, child, both_columns, parent;
