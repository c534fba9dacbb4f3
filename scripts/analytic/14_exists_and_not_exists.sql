-- Semi and anti joins.
SELECT count(*), sum(balance) FROM customer c
WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.status = 'r')
  AND NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.total > 9990);
