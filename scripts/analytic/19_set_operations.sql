-- UNION, EXCEPT and INTERSECT of large sets.
SELECT count(*), sum(id) FROM (
    (SELECT customer_id AS id FROM orders WHERE status = 'o' UNION SELECT customer_id FROM orders WHERE total < 100)
    EXCEPT SELECT id FROM customer WHERE segment = 2
    INTERSECT SELECT customer_id FROM orders WHERE ordered < date '2019-01-01') s;
