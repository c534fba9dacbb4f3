-- A row that is cast to its type is compared field by field all the same.
create type pair as (a int, b text);
create table pairs (p pair);
insert into pairs values ((1, 'a')), ((2, null));
select row(1, 'a')::pair in (select p from pairs);
select row(1, 'a')::pair in (select row(1, 'a')::pair);
select row(1, 'a')::pair = any (select p from pairs);
select row(1, 'a')::pair not in (select p from pairs);
select row(1, 'a')::pair in (select (p).a, (p).b from pairs);
select row(2, 'a')::pair in (select (p).a, (p).b from pairs);
select row(3, 'a')::pair <> all (select (p).a, (p).b from pairs);
select '(1,a)'::pair in (select p from pairs);
select p in (select p from pairs) from pairs;
select (select p from pairs limit 1) in (select p from pairs);
select row(1, 'a') in (select p from pairs);
select row(1, 'a') in (select 1, 'a');
