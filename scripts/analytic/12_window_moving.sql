-- A moving average per day.
SELECT ordered, total, avg(total) OVER (ORDER BY ordered ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS average
FROM (SELECT ordered, sum(total) AS total FROM orders GROUP BY ordered) d ORDER BY ordered;
