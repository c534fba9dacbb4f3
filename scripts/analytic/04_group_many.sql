-- Many groups.
SELECT customer_id, count(*) AS n, sum(total) AS total
FROM orders GROUP BY customer_id HAVING count(*) > 10 ORDER BY total DESC, customer_id LIMIT 20;
