-- A scalar subquery that reads the outer row, by an index.
SELECT c.region, sum((SELECT count(*) FROM orders o WHERE o.customer_id = c.id AND o.total > 5000)) AS large
FROM customer c GROUP BY c.region ORDER BY c.region;
