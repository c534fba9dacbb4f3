-- Window functions: all of them, all kinds of frames, named windows, and what goes wrong.
CREATE TABLE w (id int PRIMARY KEY, g text, x int, f float8, n numeric, d date, ts timestamp);
INSERT INTO w VALUES
    (1, 'a', 10, 1.5, 1.10, '2024-01-01', '2024-01-01 10:00'),
    (2, 'a', 20, 2.5, 2.20, '2024-01-02', '2024-01-01 11:00'),
    (3, 'a', 20, 3.5, 2.20, '2024-01-02', '2024-01-01 11:30'),
    (4, 'a', 30, 4.5, 3.30, '2024-01-05', '2024-01-02 10:00'),
    (5, 'b', 5, 0.5, 0.50, '2024-02-01', '2024-02-01 00:00'),
    (6, 'b', NULL, NULL, NULL, NULL, NULL),
    (7, 'b', 7, 7.5, 0.70, '2024-02-03', '2024-02-03 00:00'),
    (8, NULL, 1, 9.5, 9.90, '2024-03-01', '2024-03-01 12:00');
-- Numbers and ranks.
SELECT id, row_number() OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, row_number() OVER (PARTITION BY g ORDER BY x, id) FROM w ORDER BY id;
SELECT id, rank() OVER (PARTITION BY g ORDER BY x), dense_rank() OVER (PARTITION BY g ORDER BY x) FROM w ORDER BY id;
SELECT id, rank() OVER (ORDER BY x DESC NULLS LAST), dense_rank() OVER (ORDER BY x DESC) FROM w ORDER BY id;
SELECT id, percent_rank() OVER (ORDER BY x), cume_dist() OVER (ORDER BY x) FROM w ORDER BY id;
SELECT id, percent_rank() OVER (PARTITION BY g ORDER BY x), cume_dist() OVER (PARTITION BY g ORDER BY x) FROM w ORDER BY id;
SELECT id, ntile(3) OVER (ORDER BY id), ntile(2) OVER (PARTITION BY g ORDER BY id), ntile(100) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, ntile(NULL) OVER (ORDER BY id) FROM w ORDER BY id LIMIT 2;
SELECT id, rank() OVER () FROM w ORDER BY id;
-- Neighbours.
SELECT id, lag(x) OVER (ORDER BY id), lead(x) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, lag(x, 2) OVER (ORDER BY id), lead(x, 2) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, lag(x, 1, -1) OVER (PARTITION BY g ORDER BY id), lead(x, 1, -1) OVER (PARTITION BY g ORDER BY id) FROM w ORDER BY id;
SELECT id, lag(x, 0) OVER (ORDER BY id), lag(x, -1) OVER (ORDER BY id), lag(x, NULL) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, lag(g, id) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, lag(x, 1, x) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, lag(n, 1, 0) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, lead(g, 1, 'end') OVER (ORDER BY id) FROM w ORDER BY id;
-- First, last and nth values depend on the frame.
SELECT id, first_value(x) OVER (PARTITION BY g ORDER BY id), last_value(x) OVER (PARTITION BY g ORDER BY id) FROM w ORDER BY id;
SELECT id, last_value(x) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM w ORDER BY id;
SELECT id, nth_value(x, 2) OVER (ORDER BY id), nth_value(x, 2) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM w ORDER BY id;
SELECT id, nth_value(x, 100) OVER (ORDER BY id), nth_value(x, NULL) OVER (ORDER BY id) FROM w ORDER BY id LIMIT 2;
SELECT id, first_value(id) OVER (ORDER BY x), last_value(id) OVER (ORDER BY x, id) FROM w ORDER BY id;
-- Aggregates over windows without order, with order (peers count), and over partitions.
SELECT id, sum(x) OVER () FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY x) FROM w ORDER BY id;
SELECT id, sum(x) OVER (PARTITION BY g) FROM w ORDER BY id;
SELECT id, sum(x) OVER (PARTITION BY g ORDER BY x) FROM w ORDER BY id;
SELECT id, count(*) OVER (PARTITION BY g ORDER BY x), count(x) OVER (PARTITION BY g) FROM w ORDER BY id;
SELECT id, avg(x) OVER (PARTITION BY g), min(x) OVER (PARTITION BY g ORDER BY id), max(x) OVER (PARTITION BY g ORDER BY id DESC) FROM w ORDER BY id;
SELECT id, string_agg(g, ',') OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, array_agg(x) OVER (PARTITION BY g ORDER BY id) FROM w ORDER BY id;
SELECT id, count(*) FILTER (WHERE x > 10) OVER (PARTITION BY g) FROM w ORDER BY id;
SELECT id, sum(x) FILTER (WHERE id % 2 = 0) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, bool_and(x > 5) OVER (ORDER BY id), bool_or(x IS NULL) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, sum(n) OVER (ORDER BY id), avg(n) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, sum(f) OVER (ORDER BY id) FROM w ORDER BY id;
SELECT id, variance(x) OVER (PARTITION BY g), stddev_pop(x) OVER (PARTITION BY g) FROM w ORDER BY id;
-- Frames of rows.
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY id ROWS 2 PRECEDING) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) FROM w ORDER BY id;
SELECT id, count(*) OVER (ORDER BY id ROWS CURRENT ROW) FROM w ORDER BY id;
SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN 0 PRECEDING AND 0 FOLLOWING) FROM w ORDER BY id;
SELECT id, array_agg(id) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) FROM w ORDER BY id;
SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN (SELECT 1) PRECEDING AND 1 + 1 FOLLOWING) FROM w ORDER BY id;
SELECT id, array_agg(id) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM (SELECT id FROM w ORDER BY id) q ORDER BY id;
-- Frames of groups of peers.
SELECT id, count(*) OVER (ORDER BY x GROUPS CURRENT ROW) FROM w ORDER BY id;
SELECT id, count(*) OVER q, sum(id) OVER q, min(x) OVER q FROM w WINDOW q AS (ORDER BY x GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) ORDER BY x, id;
SELECT id, sum(x) OVER (ORDER BY x GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM w ORDER BY x, id;
SELECT id, sum(x) OVER (ORDER BY x GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM w ORDER BY x, id;
SELECT id, sum(x) OVER (PARTITION BY g ORDER BY x GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) FROM w ORDER BY id;
-- Frames of values, in every type they may have, ascending and descending, and around NULLs.
SELECT id, sum(x) OVER (ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY x RANGE CURRENT ROW) FROM w ORDER BY id;
SELECT id, sum(x) OVER (ORDER BY x RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM w ORDER BY id;
SELECT id, array_agg(x) OVER (ORDER BY x RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM w ORDER BY x, id;
SELECT id, array_agg(x) OVER (ORDER BY x DESC RANGE BETWEEN 5 PRECEDING AND 10 FOLLOWING) FROM w ORDER BY x DESC, id;
SELECT id, array_agg(x) OVER (ORDER BY x NULLS FIRST RANGE BETWEEN 10 PRECEDING AND 1 PRECEDING) FROM w ORDER BY x NULLS FIRST, id;
SELECT id, count(*) OVER (ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING) FROM w ORDER BY x, id;
SELECT id, count(*) OVER (ORDER BY x RANGE BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING) FROM w ORDER BY x, id;
SELECT id, count(*) OVER (ORDER BY f RANGE BETWEEN 1.0 PRECEDING AND 1.0 FOLLOWING) FROM w ORDER BY f;
SELECT id, sum(n) OVER (ORDER BY n RANGE BETWEEN 1.1 PRECEDING AND CURRENT ROW) FROM w ORDER BY n, id;
SELECT id, count(*) OVER (ORDER BY d RANGE BETWEEN '1 day' PRECEDING AND '3 days' FOLLOWING) FROM w ORDER BY d, id;
SELECT id, count(*) OVER (ORDER BY d DESC RANGE BETWEEN interval '1 month' PRECEDING AND interval '0' FOLLOWING) FROM w ORDER BY d DESC, id;
SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN '1 hour' PRECEDING AND CURRENT ROW) FROM w ORDER BY ts;
SELECT id, count(*) OVER (ORDER BY ts::timestamptz RANGE '1 day' PRECEDING) FROM w ORDER BY ts;
SELECT id, count(*) OVER (ORDER BY ts::time RANGE BETWEEN '30 minutes' PRECEDING AND '30 minutes' FOLLOWING) FROM w ORDER BY ts::time, id;
SELECT i, count(*) OVER (ORDER BY i RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING) FROM (VALUES (2147483647), (2147483640), (-2147483648)) v (i) ORDER BY i;
-- Exclusion.
SELECT id, sum(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM w ORDER BY id;
SELECT id, count(*) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) FROM w ORDER BY id;
SELECT id, count(*) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) FROM w ORDER BY id;
SELECT id, count(*) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE NO OTHERS) FROM w ORDER BY id;
SELECT id, first_value(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM w ORDER BY id;
SELECT id, last_value(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW), nth_value(id, 2) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM w ORDER BY id;
SELECT id, array_agg(x) OVER (ORDER BY x GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM w ORDER BY x, id;
-- Named windows, and windows built on others.
SELECT id, sum(x) OVER a, count(*) OVER a FROM w WINDOW a AS (PARTITION BY g ORDER BY id) ORDER BY id;
SELECT id, sum(x) OVER (a ORDER BY id) FROM w WINDOW a AS (PARTITION BY g) ORDER BY id;
SELECT id, sum(x) OVER (a ROWS 1 PRECEDING) FROM w WINDOW a AS (PARTITION BY g ORDER BY id) ORDER BY id;
SELECT id, rank() OVER b FROM w WINDOW a AS (PARTITION BY g), b AS (a ORDER BY x) ORDER BY id;
SELECT id, sum(x) OVER a, sum(x) OVER b FROM w WINDOW a AS (ORDER BY id), b AS (ORDER BY id DESC) ORDER BY id;
-- Over grouped rows, in expressions, in ORDER BY, with DISTINCT and LIMIT, and below another query.
SELECT g, sum(x), sum(sum(x)) OVER (ORDER BY g) FROM w GROUP BY g ORDER BY g;
SELECT g, rank() OVER (ORDER BY count(*) DESC) FROM w GROUP BY g ORDER BY 2, 1;
SELECT g, count(*) * 100 / sum(count(*)) OVER () AS share FROM w GROUP BY g ORDER BY g;
SELECT id, x - lag(x, 1, 0) OVER (ORDER BY id) + 1 FROM w ORDER BY id;
SELECT id FROM w ORDER BY row_number() OVER (ORDER BY x DESC NULLS LAST, id);
SELECT DISTINCT g, count(*) OVER (PARTITION BY g) FROM w ORDER BY g;
SELECT id, row_number() OVER (ORDER BY id DESC) FROM w ORDER BY id LIMIT 3;
SELECT * FROM (SELECT id, rank() OVER (PARTITION BY g ORDER BY x DESC) AS r FROM w) q WHERE r = 1 ORDER BY id;
SELECT id, CASE WHEN row_number() OVER (ORDER BY id) < 3 THEN 'first' ELSE 'later' END FROM w ORDER BY id;
SELECT sum(r) FROM (SELECT row_number() OVER () AS r FROM w) q;
SELECT count(*) OVER () FROM w WHERE false;
SELECT row_number() OVER (), v FROM (VALUES ('x'), ('y')) q (v) ORDER BY 2;
SELECT id, (SELECT row_number() OVER (ORDER BY w.id)) FROM w ORDER BY id LIMIT 2;
-- What may not be written.
SELECT row_number() FROM w;
SELECT id FROM w WHERE row_number() OVER () = 1;
SELECT g FROM w GROUP BY row_number() OVER ();
SELECT g FROM w GROUP BY g HAVING row_number() OVER () = 1;
SELECT sum(row_number() OVER ()) FROM w;
SELECT sum(sum(x) OVER ()) OVER () FROM w;
SELECT rank() OVER (ORDER BY rank() OVER ()) FROM w;
SELECT sum(x) OVER nothing FROM w;
SELECT sum(x) OVER (a PARTITION BY g) FROM w WINDOW a AS (ORDER BY id);
SELECT sum(x) OVER (a ORDER BY g) FROM w WINDOW a AS (ORDER BY id);
SELECT sum(x) OVER (a ROWS 1 PRECEDING) FROM w WINDOW a AS (ORDER BY id ROWS 2 PRECEDING);
SELECT 1 FROM w WINDOW a AS (ORDER BY id), a AS (ORDER BY x);
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS -1 PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS NULL PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS x PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id ROWS 'a' PRECEDING) FROM w;
SELECT sum(x) OVER (GROUPS 1 PRECEDING) FROM w;
SELECT sum(x) OVER (RANGE 1 PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id, x RANGE 1 PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY id RANGE -1 PRECEDING) FROM w;
SELECT sum(x) OVER (ORDER BY d RANGE '-1 day' PRECEDING) FROM w;
SELECT ntile(0) OVER (ORDER BY id) FROM w;
SELECT nth_value(x, 0) OVER (ORDER BY id) FROM w;
SELECT count(DISTINCT x) OVER () FROM w;
SELECT array_agg(x ORDER BY x) OVER () FROM w;
SELECT row_number() FILTER (WHERE true) OVER () FROM w;
SELECT lower(g) OVER () FROM w;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER () FROM w;
SELECT generate_series(1, 2) OVER () FROM w;
UPDATE w SET x = row_number() OVER ();
INSERT INTO w (id) VALUES (row_number() OVER ());
DROP TABLE w;
-- A select list has at most 1664 entries, with what only ORDER BY, GROUP BY and DISTINCT ON need.
create table lengths (x int);
create function longest(before text, item text, after text, count int) returns text language plpgsql as $$
begin
  execute before || (select string_agg(replace(item, '#', i::text), ', ') from generate_series(1, count) i) || after;
  return 'ok';
exception when others then
  return sqlstate || ' ' || sqlerrm;
end $$;
select longest('select ', '#', '', 1664), longest('select ', '#', '', 1665);
select longest('select x from lengths order by ', 'x + #', '', 1663), longest('select x from lengths order by ', 'x + #', '', 1664);
select longest('select x from lengths group by x, ', 'x + #', '', 1663), longest('select x from lengths group by x, ', 'x + #', '', 1664);
select longest('select from lengths group by ', 'x + 1', '', 2000), longest('select from lengths order by ', 'x + 1', '', 2000);
select longest('select distinct on (', 'x + #', ') x from lengths', 1663), longest('select distinct on (', 'x + #', ') x from lengths', 1664);
