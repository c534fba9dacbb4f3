-- Orders of one customer on days close to each other, found in a narrow range.
SELECT count(*), sum(b.total - a.total)
FROM orders a JOIN orders b ON b.customer_id = a.customer_id AND b.id > a.id AND b.ordered BETWEEN a.ordered AND a.ordered + 30
WHERE a.ordered BETWEEN date '2020-01-01' AND date '2020-12-31';
