-- The plainest scan.
SELECT count(*), count(shipped), min(product_id), max(order_id) FROM line;
