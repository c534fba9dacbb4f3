-- A whole table sorted by text and number, read to a place in its middle.
SELECT note, order_id, number FROM line ORDER BY note, price DESC, order_id, number OFFSET 1500000 LIMIT 5;
