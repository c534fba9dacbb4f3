-- Defaults that name the sequence that the same CREATE TABLE makes.
create table one (id serial, k int default nextval('one_id_seq'));
insert into one values (default, default), (default, default);
table one;
create table two (k int default nextval('two_id_seq'), id serial);
insert into two values (default, default);
table two;
create table three (id int generated always as identity, k int default nextval('three_id_seq') + 10);
insert into three default values;
table three;
create table four (k int default nextval('nosuch_seq'));
create table four (id serial, k int default nextval('nosuch_seq'));
create table four (id serial, k int default other.a);
create table four (id serial, k int default id);
select column_name, column_default from information_schema.columns where table_name in ('one', 'two', 'three') and table_schema = current_schema and column_default is not null and column_name = 'k' order by table_name;
drop sequence one_id_seq;
drop table one;
