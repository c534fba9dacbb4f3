-- Products that sell more than their category's average.
WITH sold AS (SELECT product_id, sum(quantity) AS quantity FROM line GROUP BY product_id)
SELECT p.category, count(*), sum(s.quantity)
FROM product p JOIN sold s ON s.product_id = p.id
WHERE s.quantity > (SELECT avg(quantity) FROM sold) AND p.id IN (SELECT product_id FROM line WHERE discount > 0.09)
GROUP BY p.category ORDER BY p.category;
