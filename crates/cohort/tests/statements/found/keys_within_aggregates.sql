-- An aggregate with DISTINCT is ordered by an argument, also where the argument is cast to what the function takes.
create table c1(a char(3), i int);
insert into c1 values ('b', 2), ('a', 1), ('a', 1);
select string_agg(distinct a, '/' order by a) from c1;
select string_agg(distinct a, '/' order by a desc) from c1;
select string_agg(distinct a, '/' order by i) from c1;
select string_agg(a, '/' order by a desc) from c1;
select corr(distinct i, i order by i) from c1;
select string_agg(distinct relname, ',' order by relname) from pg_class where relname in ('c1', 'pg_class');
select string_agg(distinct a::text, '/' order by a) from c1;
select string_agg(distinct a::text, '/' order by a::text) from c1;
