-- Views over temporary tables are temporary, and materialized views over them are refused.
create temp table tt(a int);
create view public.v as select * from tt;
create or replace view public.v2 as select * from tt;
create view v3 as select * from tt;
create materialized view m as select * from tt;
create materialized view m2 as select * from (select 1 from v3) x;
create materialized view if not exists m as select * from tt;
create view pg_temp.v4 as select * from tt;
create temp view v5 as select * from tt;
create view public.v6 as select * from v5;
select relname, relpersistence from pg_class where relname in ('v', 'v2', 'v3', 'v4', 'v5', 'v6', 'm', 'm2') and relnamespace::regnamespace::text like 'pg_temp%' order by 1;
drop table tt cascade;
