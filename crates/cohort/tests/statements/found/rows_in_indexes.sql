-- IS NULL and IS NOT NULL ask each field of a row, which neither an index nor a comparison of the row does.
create type pair_of_numbers as (x int, y int);
create table rows_in_indexes (id int, c pair_of_numbers);
insert into rows_in_indexes values (1, (1, null)), (2, (1, 2)), (3, null), (4, (null, null));
insert into rows_in_indexes select g, row(g, g)::pair_of_numbers from generate_series(10, 2000) g;
create index on rows_in_indexes (c);
create index on rows_in_indexes (id) where c is not null;
analyze rows_in_indexes;
set enable_seqscan = off;
select id from rows_in_indexes where c is null order by id;
select id from rows_in_indexes where c is not null and id < 10 order by id;
select id from rows_in_indexes where c = (1, null)::pair_of_numbers order by id;
select id from rows_in_indexes where c > row(0, null)::pair_of_numbers and id < 10 order by id;
select id from rows_in_indexes where c is not null and c > row(0, null)::pair_of_numbers and id < 10 order by id;
reset enable_seqscan;
drop table rows_in_indexes;
drop type pair_of_numbers;
