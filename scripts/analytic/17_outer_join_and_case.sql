-- Customers with and without orders, in classes.
SELECT c.segment, count(*) FILTER (WHERE o.n IS NULL) AS without,
       sum(CASE WHEN o.n > 11 THEN 1 ELSE 0 END) AS often, sum(coalesce(o.n, 0)) AS n
FROM customer c LEFT JOIN (SELECT customer_id, count(*) AS n FROM orders WHERE status <> 'r' GROUP BY customer_id) o
  ON o.customer_id = c.id
GROUP BY c.segment ORDER BY c.segment;
