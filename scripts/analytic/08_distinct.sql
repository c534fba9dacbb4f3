-- Distinct pairs, counted.
SELECT count(*) FROM (SELECT DISTINCT product_id, quantity FROM line) d;
