-- Running sums and neighbours over a whole table.
SELECT count(*), sum(change), max(running)
FROM (SELECT total - lag(total) OVER w AS change, sum(total) OVER w AS running
      FROM orders WINDOW w AS (PARTITION BY status ORDER BY ordered, id)) r;
