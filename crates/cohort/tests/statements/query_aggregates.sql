-- Grouping and aggregates: what may be grouped, every common aggregate, FILTER, DISTINCT, ORDER BY, ordered sets.
CREATE TABLE s (id int PRIMARY KEY, g text, h int, x int, f float8, n numeric(8, 2), b bool, t text, d date, i interval);
INSERT INTO s VALUES
    (1, 'a', 1, 10, 1.5, 1.50, true, 'one', '2024-01-01', '1 day'),
    (2, 'a', 1, 20, 2.5, 2.50, false, 'two', '2024-01-02', '2 days'),
    (3, 'a', 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 'b', 2, 30, 3.5, 3.25, true, 'four', '2024-02-01', '1 month'),
    (5, 'b', 3, 30, -1.0, -1.00, true, 'five', '2023-12-31', '-1 hour'),
    (6, NULL, 3, 5, 0.0, 0.00, false, '', '2024-01-01', '0');
CREATE TABLE empty (x int, t text);
-- The aggregates of each type, over all rows and over none.
SELECT count(*), count(x), count(g), count(DISTINCT g) FROM s;
SELECT sum(x), sum(f), sum(n), sum(i), sum(x::bigint), sum(x::smallint), sum(f::real) FROM s;
SELECT avg(x), avg(f), avg(n), avg(i), avg(x::bigint) FROM s;
SELECT min(x), max(x), min(t), max(t), min(d), max(d), min(n), max(f), min(i), max(i) FROM s;
SELECT bool_and(b), bool_or(b), every(b) FROM s;
SELECT bit_and(x), bit_or(x), bit_xor(x) FROM s;
SELECT stddev(x), stddev_pop(x), stddev_samp(x), variance(x), var_pop(x), var_samp(x) FROM s;
SELECT stddev(f), var_pop(f), stddev(n), var_samp(n) FROM s;
SELECT corr(f, x), covar_pop(f, x), covar_samp(f, x) FROM s;
SELECT regr_count(f, x), regr_avgx(f, x), regr_avgy(f, x), regr_sxx(f, x), regr_sxy(f, x), regr_syy(f, x) FROM s;
SELECT regr_slope(x, h), regr_intercept(x, h), regr_r2(x, h) FROM s;
SELECT count(*), count(x), sum(x), avg(x), min(x), max(t), string_agg(t, ','), array_agg(x), bool_and(x > 1), bit_or(x) FROM empty;
SELECT stddev(x), var_pop(x), json_agg(x), jsonb_object_agg(t, x) FROM empty;
SELECT stddev(x), stddev_pop(x) FROM s WHERE id = 1;
SELECT sum(x) FROM s WHERE x IS NULL;
SELECT string_agg(t, ',' ORDER BY t), string_agg(t, '' ORDER BY id DESC), string_agg(t, NULL ORDER BY id) FROM s;
SELECT string_agg(t, g || ':' ORDER BY id) FROM s;
SELECT array_agg(x ORDER BY x NULLS FIRST), array_agg(x ORDER BY x DESC), array_agg(DISTINCT h ORDER BY h DESC) FROM s;
SELECT array_agg(ARRAY[h, id] ORDER BY id) FROM s WHERE id < 4;
SELECT json_agg(x ORDER BY id), jsonb_agg(t ORDER BY id) FROM s;
SELECT json_object_agg(id, x ORDER BY id), jsonb_object_agg(id, t) FROM s WHERE id < 3;
SELECT max(ARRAY[x, h]), min(ARRAY[h]) FROM s;
SELECT sum(DISTINCT x), avg(DISTINCT x), count(DISTINCT x), count(DISTINCT (g, h)) FROM s;
SELECT string_agg(DISTINCT g, ',' ORDER BY g DESC) FROM s;
SELECT sum(ALL x) FROM s;
-- FILTER.
SELECT count(*) FILTER (WHERE x > 10), sum(x) FILTER (WHERE b), count(*) FILTER (WHERE NULL) FROM s;
SELECT g, count(*) FILTER (WHERE h > 1), array_agg(id ORDER BY id) FILTER (WHERE x IS NOT NULL) FROM s GROUP BY g ORDER BY g;
SELECT sum(x) FILTER (WHERE x > (SELECT avg(x) FROM s)) FROM s;
SELECT count(DISTINCT h) FILTER (WHERE id > 2) FROM s;
SELECT count(*) FILTER (WHERE g = 'a') * 100 / count(*) AS share FROM s;
-- GROUP BY: columns, expressions, numbers, names, several, none, the primary key.
SELECT g, count(*) FROM s GROUP BY g ORDER BY g;
SELECT g, h, count(*) FROM s GROUP BY g, h ORDER BY 1, 2;
SELECT h % 2, count(*) FROM s GROUP BY h % 2 ORDER BY 1;
SELECT h % 2 AS odd, sum(x) FROM s GROUP BY odd ORDER BY odd;
SELECT h + 1, count(*) FROM s GROUP BY 1 ORDER BY 1;
SELECT upper(g), count(*) FROM s GROUP BY upper(g) ORDER BY 1;
SELECT upper(g) || '!' FROM s GROUP BY upper(g) ORDER BY 1;
SELECT g FROM s GROUP BY g HAVING count(*) > 1 ORDER BY g;
SELECT g, sum(x) FROM s GROUP BY g HAVING sum(x) > 30 AND g IS NOT NULL ORDER BY 1;
SELECT count(*) FROM s HAVING count(*) > 100;
SELECT 1 FROM s HAVING true;
SELECT count(*) FROM s GROUP BY () ORDER BY 1;
SELECT id, g, x FROM s GROUP BY id ORDER BY id LIMIT 2;
SELECT s.id, s.t, count(*) FROM s JOIN s o ON o.h = s.h GROUP BY s.id ORDER BY 1;
SELECT g, count(*) FROM s WHERE false GROUP BY g;
SELECT max(c) FROM (SELECT count(*) AS c FROM s GROUP BY g) q;
SELECT g, x FROM s GROUP BY g, x ORDER BY g, x;
SELECT DISTINCT count(*) FROM s GROUP BY g ORDER BY 1;
SELECT b, count(*) FROM s GROUP BY b ORDER BY b NULLS FIRST;
SELECT n, count(*) FROM (VALUES (1.0), (1.00), (2)) v (n) GROUP BY n ORDER BY n;
SELECT f, count(*) FROM (VALUES ('NaN'::float8), ('NaN'), (0.0), (-0.0)) v (f) GROUP BY f ORDER BY f;
SELECT i, count(*) FROM (VALUES (interval '1 day'), (interval '24 hours')) v (i) GROUP BY i;
SELECT ROW(g, h), count(*) FROM s GROUP BY ROW(g, h) ORDER BY 1 LIMIT 2;
SELECT ARRAY[h], count(*) FROM s GROUP BY 1 ORDER BY 1;
SELECT CASE WHEN x > 15 THEN 'high' ELSE 'low' END AS class, count(*) FROM s GROUP BY class ORDER BY class;
SELECT date_trunc('month', d) AS m, count(*) FROM s GROUP BY m ORDER BY m;
SELECT sum(x) + count(*) * 2, sum(x + h), max(x) - min(x) FROM s;
SELECT g, sum(x) FROM s GROUP BY g ORDER BY sum(x) DESC NULLS LAST;
SELECT g FROM s GROUP BY g ORDER BY max(id) DESC;
SELECT coalesce(g, '-') AS c, count(*) FROM s GROUP BY c ORDER BY count(*) DESC, c;
SELECT count(*) FROM s, generate_series(1, 3);
-- Ordered-set and hypothetical-set aggregates.
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM s;
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY f), percentile_cont(0) WITHIN GROUP (ORDER BY f DESC) FROM s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i) FROM s;
SELECT mode() WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY h DESC) FROM s;
SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM s GROUP BY g ORDER BY g;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE x < 30) FROM s;
SELECT percentile_cont(NULL) WITHIN GROUP (ORDER BY x) FROM s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x) FROM empty;
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) FROM s;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM s;
SELECT mode() WITHIN GROUP (ORDER BY x, h) FROM s;
SELECT percentile_cont(0.5) FROM s;
SELECT sum(x) WITHIN GROUP (ORDER BY x) FROM s;
-- Of an outer query.
SELECT (SELECT count(*) FROM empty WHERE s.x > 1) FROM s WHERE id = 1;
SELECT (SELECT sum(s.x) FROM empty) FROM s;
SELECT g, (SELECT string_agg(t, ',') FROM (VALUES (s.g)) v (t)) FROM s GROUP BY g ORDER BY g;
SELECT (SELECT max(s.x + e.x) FROM empty e) FROM s WHERE id = 1;
-- What may not be written.
SELECT g, x FROM s GROUP BY g;
SELECT g, count(*) FROM s;
SELECT s.g FROM s GROUP BY h;
SELECT * FROM s GROUP BY g;
SELECT id + x FROM s GROUP BY x;
SELECT count(*) FROM s ORDER BY x;
SELECT g FROM s GROUP BY g ORDER BY x;
SELECT g FROM s GROUP BY g HAVING x > 1;
SELECT g FROM s WHERE count(*) > 1;
SELECT sum(sum(x)) FROM s;
SELECT sum(count(*)) FROM s GROUP BY g;
SELECT count(*) FROM s GROUP BY count(*);
SELECT g FROM s GROUP BY 2;
SELECT g FROM s GROUP BY 0;
SELECT g FROM s GROUP BY nothing;
SELECT g, h AS g FROM s GROUP BY g;
SELECT count(*) FROM s JOIN empty ON sum(s.x) = 1;
SELECT sum(g) FROM s;
SELECT sum() FROM s;
SELECT count() FROM s;
SELECT sum(x, x) FROM s;
SELECT sum(*) FROM s;
SELECT nothing(x) FROM s;
SELECT count(DISTINCT *) FROM s;
SELECT string_agg(DISTINCT t, ',' ORDER BY id) FROM s;
SELECT lower(DISTINCT g) FROM s;
SELECT lower(g ORDER BY g) FROM s;
SELECT lower(g) FILTER (WHERE true) FROM s;
SELECT (SELECT x FROM s o WHERE o.id = s.id) FROM s GROUP BY g;
SELECT g, (SELECT count(*) FROM empty e WHERE e.x = s.x) FROM s GROUP BY g;
SELECT avg(d) FROM s;
SELECT max(b) FROM s;
SELECT '{}'::json FROM s GROUP BY 1;
INSERT INTO empty VALUES (count(*), 'x');
UPDATE s SET x = sum(x);
DELETE FROM s WHERE sum(x) > 1;
SELECT array_agg(ARRAY[x] ORDER BY id) FROM (VALUES (1, 1), (2, NULL)) v (id, x);
SELECT array_agg(a) FROM (VALUES (ARRAY[1]), (ARRAY[1, 2])) v (a);
-- Many groups and many values.
SELECT count(*), sum(c), max(m) FROM (SELECT i % 5000 AS k, count(*) AS c, max(i) AS m FROM generate_series(1, 20000) i GROUP BY k) q;
SELECT count(*), min(c) FROM (SELECT 'key ' || i % 3000 AS k, count(*) AS c FROM generate_series(1, 20000) i GROUP BY 1) q;
SELECT length(string_agg(i::text, ',' ORDER BY i DESC)), array_length(array_agg(i), 1), count(DISTINCT i % 777) FROM generate_series(1, 20000) i;
DROP TABLE s, empty;
