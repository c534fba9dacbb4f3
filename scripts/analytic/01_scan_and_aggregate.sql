-- A scan of the largest table with a filter, and aggregates of expressions in few groups.
SELECT status, count(*), sum(quantity), sum(l.price * quantity), avg(discount), max(shipped)
FROM orders o JOIN line l ON l.order_id = o.id
WHERE ordered <= date '2023-06-01'
GROUP BY status ORDER BY status;
