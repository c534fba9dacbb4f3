-- A check may name the row of the table that is being made.
create table k (a int, b int, check (k is not null));
insert into k values (1, 2);
insert into k values (null, null);
create table m (like k including all);
insert into m values (null, null);
alter table k rename to k2;
insert into k2 values (null, 1);
