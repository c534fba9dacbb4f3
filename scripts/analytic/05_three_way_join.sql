-- A star: facts joined with two smaller tables.
SELECT c.region, p.category, count(*), sum(l.quantity)
FROM line l JOIN orders o ON o.id = l.order_id JOIN customer c ON c.id = o.customer_id JOIN product p ON p.id = l.product_id
WHERE p.weight > 50 AND c.segment = 3
GROUP BY c.region, p.category ORDER BY c.region, p.category;
