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
