-- Distinct values within groups.
SELECT status, count(DISTINCT customer_id), count(DISTINCT ordered) FROM orders GROUP BY status ORDER BY status;
