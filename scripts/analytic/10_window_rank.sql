-- The best orders of each customer.
SELECT count(*), sum(total), max(place)
FROM (SELECT customer_id, total, row_number() OVER (PARTITION BY customer_id ORDER BY total DESC, id) AS place FROM orders) r
WHERE place <= 3;
