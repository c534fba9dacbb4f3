-- A key that MATCH FULL does not want, let in by NOT VALID, is checked whatever an update changes.
create table p (a int, b int, primary key (a, b));
create table c (id int, a int, b int);
insert into c values (5, 1, null), (6, null, null), (7, 3, 4);
alter table c add constraint fk foreign key (a, b) references p match full not valid;
update c set id = 50 where id = 5;
update c set id = 60 where id = 6;
update c set id = 70 where id = 7;
update c set a = null where id = 5;
select * from c order by id;
alter table c validate constraint fk;
drop table c, p;
