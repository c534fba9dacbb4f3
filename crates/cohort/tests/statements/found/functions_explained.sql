create function f(int) returns setof int language plpgsql as 'begin return next 1; end';
explain (verbose, costs off) select * from f(1);
explain (verbose, costs off) select * from f(1) g(x) where x > 1;
explain (verbose, costs off) select * from generate_series(1, 3) g(x) where x > 1;
explain (verbose, costs off) select * from rows from (generate_series(1, 3), generate_series(1, 4)) with ordinality g(x) where x > 1;
explain (verbose, costs off, format json) select * from generate_series(1, 3) g(x) where x > 1;
explain (costs off, format json) select * from f(2);
