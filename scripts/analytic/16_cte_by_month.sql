-- Sums by month with the month before beside them.
WITH months AS (
    SELECT date_trunc('month', ordered) AS month, count(*) AS n, sum(total) AS total FROM orders GROUP BY 1)
SELECT a.month, a.n, a.total, a.total - b.total AS change
FROM months a LEFT JOIN months b ON b.month = a.month - interval '1 month' ORDER BY a.month;
