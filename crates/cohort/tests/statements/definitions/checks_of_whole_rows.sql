-- A check may name the row of the table that is being made.
create table wholes (a int, b int, check (wholes is not null));
insert into wholes values (1, 2);
insert into wholes values (null, null);
alter table wholes rename to wholes_2;
insert into wholes_2 values (null, 1);
