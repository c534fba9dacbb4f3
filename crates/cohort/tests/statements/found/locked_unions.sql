-- FOR UPDATE of a view locks rows of the tables that its query reads, if there are such.
create table tu(a int, b int);
insert into tu values (1, 2);
create view u as select a from tu union all select b from tu;
create view vu as select * from u;
select * from u for update;
select * from vu for share;
select * from tu, u for update;
select * from (select * from u) s for update;
select * from (select a from tu union select b from tu) s for update;
create view gs as select generate_series(1, 2);
select * from gs for update;
create view ga as select a, count(*) from tu group by a;
select * from ga for update;
create materialized view mv as select * from tu;
create view vmv as select * from mv;
select * from vmv for update;
select * from mv for update;
