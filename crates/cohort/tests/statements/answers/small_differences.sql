-- Years that are given twice.
select to_timestamp('1999 99', 'YYYY YY');
select to_timestamp('99 1999', 'YY YYYY');
select to_date('99 99', 'YY YY');
select to_date('9 9', 'Y Y');
select to_date('1999 1999', 'YYYY YYYY'), to_date('2020 01', 'YYYY MM');
-- Sizes keep their scale.
select pg_size_pretty(100.00), pg_size_pretty(0::numeric / 3), pg_size_pretty(10239::numeric(12,4)), pg_size_pretty(10240.00);
select pg_size_pretty(1e20), pg_size_pretty(-5.5), pg_size_pretty(20480::numeric), pg_size_pretty('NaN'::numeric);
-- Intervals out of range: a field, or all of them together.
select '178956971 years'::interval;
select '178956970 years 12 mons'::interval;
select '2147483648 mons'::interval;
select '2147483648 years'::interval;
select '-178956971 years'::interval;
select '1 year 2147483647 mons'::interval;
select 'P178956971Y'::interval;
select '178956970 years 7 mons'::interval, '-178956970 years -8 mons'::interval, '1.5 years ago'::interval, '1.5 decades 3 mons'::interval;
-- Sums of negative zeros.
select sum(x), sum(x) over () from (values ('-0'::float8)) v(x) group by x;
select sum(x), avg(x) from (values ('-0'::float4), ('-0')) v(x);
select sum(x) over (order by x) from (values ('-0'::float4), ('-0'), ('0')) v(x);
-- Names of types: each character beyond ASCII counts as a letter.
create type "é€t" as enum ('a');
select 'é€t'::regtype, to_regtype('é€t'), to_regtype('x€');
drop type "é€t";
-- Names of copied indexes have the columns of INCLUDE.
create table l1 (a int, b int, c int, unique (a, b) include (c));
create index on l1 (a) include (b, c);
create table l2 (like l1 including indexes);
select indexrelid::regclass from pg_index where indrelid = 'l2'::regclass order by 1;
drop table l1, l2;
-- A branch of CASE whose comparison is NULL is not looked at.
create table k (k int);
insert into k values (1);
select case k when null then 1 / 0 else 2 end from k;
select case k when null then 1 / 0 when 1 then 5 end, case k when null then 1 / 0 end from k;
select case 1 when 2 then 1 / 0 else 3 end, case null when 1 then 1 / 0 else 4 end;
select case k + random() when null then 1 / 0 else 2 end from k;
select case k when 5 then 1 / 0 else 2 end from k;
drop table k;
-- A CASE whose operand is a constant, or becomes one.
create table ca (a int);
insert into ca values (1), (2);
select case when case 1 when 2 then true end then 1 / 0 else 5 end;
select case when case null when 1 then true end then 1 / 0 else 5 end;
select coalesce(case 1 when 1 then 4 end, 1 / 0);
select case 1 + 1 when 3 then 1 / 0 else 6 end;
select case 1 + 1 when 1 + 2 then 1 / 0 when 2 then 7 else 1 / 0 end;
select case 'a' || 'b' when 'ab' then 1 else 1 / 0 end;
select case abs(-1) when abs(2) then 1 / 0 else 3 end;
select case case 1 when 1 then 2 end when 3 then 1 / 0 else 6 end;
select case a when case 1 when 1 then 2 end then 'two' else 'one' end from ca order by 1;
select case 1 when a then case a when 1 then 'x' end else case a when 2 then 'y' end end from ca order by 1;
select * from ca where case when case 1 when 2 then true end then 1 / 0 = 1 else a = 1 end;
select case 1 when 1 then 1 else (select 1 / 0) end;
drop table ca;
-- A day of the year beside a month.
select to_date('2020-200 05', 'YYYY-DDD MM'), to_date('2020-200 17', 'YYYY-DDD DD'), to_date('2020-200', 'YYYY-DDD');
select to_date('2020-200 01', 'YYYY-DDD MM'), to_date('2020-32 12', 'YYYY-WW MM');
