-- Values of two types are joined by the equality of the two.
set timezone = 'Europe/Paris';
create table d (k date);
create table ts (k timestamp);
create table tz (k timestamptz);
insert into d values ('2020-01-01'), ('2020-06-01'), ('infinity'), ('4714-11-24 BC'), ('300000-01-01'), (null);
insert into ts values ('2020-01-01'), ('2020-06-01 12:00'), ('infinity'), ('-infinity'), ('4714-11-24 BC'), (null);
insert into tz values ('2020-01-01'), ('2020-06-01 00:00+02'), ('infinity'), ('4714-11-24 12:00 BC'), (null);
select d.k, ts.k from d full join ts on d.k = ts.k order by 1, 2;
select d.k, tz.k from d full join tz on d.k = tz.k order by 1, 2;
select ts.k, tz.k from ts full join tz on ts.k = tz.k order by 1, 2;
select tz.k, ts.k from tz full join ts on tz.k = ts.k order by 1, 2;
select k from d full join ts using (k) order by 1;
select count(*) from d join tz on tz.k = d.k;
select count(*) from d left join ts on ts.k = d.k;
select d.k from d where exists (select from tz where tz.k = d.k) order by 1;
select d.k from d where not exists (select from ts where ts.k = d.k) order by 1;
select a.x, b.y from (values (1.5::float4), (0.1), ('nan'), (2)) a(x) full join (values (1.5::float8), (0.1), ('nan'), (3)) b(y) on a.x = b.y order by 1, 2;
select a.x, b.y from (values (1::float4), (2), (16777217)) a(x) full join (values (1), (3), (16777217)) b(y) on a.x = b.y order by 1, 2;
select a.x, b.y from (values (1::float4), (0.1)) a(x) full join (values (1::numeric), (0.1)) b(y) on a.x = b.y order by 1, 2;
select a.x, b.y from (values ('a'::name), ('b')) a(x) full join (values ('a'::text), ('c'), ('a ')) b(y) on a.x = b.y order by 1, 2;
select a.x, b.y from (values ('a'::name), ('b')) a(x) full join (values ('a'::varchar(3)), ('c')) b(y) on a.x = b.y order by 1, 2;
-- Values beyond the range lie before all others on the one side, and behind them on the other.
select timestamp '4714-11-24 00:00 BC' < timestamptz '2024-01-01', date '4714-11-24 BC' < timestamptz '2024-01-01', date '4714-11-24 BC' >= timestamptz '2000-01-01';
select date '4714-11-24 BC' > timestamptz '-infinity', date '300000-01-01' > timestamp '294276-12-31', date '300000-01-01' < timestamp 'infinity';
-- The largest power, as the largest exponential.
select 1234.5 ^ 1234.5;
select 12345.678 ^ 12345.678;
select 2.5::numeric ^ 300000.5;
select 0.4::numeric ^ 300000.5;
select round(1.5::numeric ^ 1000.5, 10);
