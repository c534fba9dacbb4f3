create table t (a int primary key, b text);
insert into t select g, 'x' || g from generate_series(1, 100) g;
-- The structured forms, without what differs from run to run.
explain (costs off, format yaml) select 1;
explain (costs off, format json) select 1;
explain (costs off, format yaml) select * from t where b < 'x' and b <> 'a&b' order by b, a desc;
explain (costs off, format json) select * from t where b < 'x' and b <> 'a&b' order by b, a desc;
explain (costs off, format yaml) insert into t values (1000, 'y');
explain (format yml) select 1;
explain (buffers maybe) select 1;
-- Nothing was used.
explain (analyze, buffers, costs off, timing off, summary off) select 1;
explain (buffers, costs off) select 1;
explain (analyze, buffers, costs off, timing off, summary off) values (1), (2);
-- How many rows conditions took out.
create table removed (id int primary key, k int, v text);
insert into removed select i, i % 10, 'v' || i % 3 from generate_series(1, 100) i;
analyze removed;
explain (analyze, costs off, timing off, summary off) select * from removed where k = 3;
explain (analyze, costs off, timing off, summary off) select * from removed where k >= 0;
explain (analyze, costs off, timing off, summary off) select * from removed where v = 'v1' and k = 7;
explain (analyze, costs off, timing off, summary off) select * from generate_series(1, 10) i where i % 3 = 0;
explain (analyze, costs off, timing off, summary off) update removed set v = v where k = 4;
explain (analyze, costs off, timing off, summary off) delete from removed where k > 100;
explain (analyze, costs off, timing off, summary off, format json) select * from removed where k = 3;
explain (analyze, costs off, timing off, summary off, format yaml) select * from removed where v = 'v1' and k = 7;
explain (costs off, format json) select * from removed where k = 3;
drop table removed;
