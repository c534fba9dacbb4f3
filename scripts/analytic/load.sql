-- About 4.1 million rows in four tables, the same on every server: nothing here is random.
DROP TABLE IF EXISTS line, orders, customer, product;
CREATE TABLE customer (
    id int PRIMARY KEY, name text NOT NULL, region text NOT NULL, segment int NOT NULL, balance numeric(12, 2) NOT NULL);
CREATE TABLE product (
    id int PRIMARY KEY, name text NOT NULL, category text NOT NULL, price numeric(10, 2) NOT NULL, weight float8);
CREATE TABLE orders (
    id int PRIMARY KEY, customer_id int NOT NULL, ordered date NOT NULL, status char(1) NOT NULL, total float8 NOT NULL);
CREATE TABLE line (
    order_id int NOT NULL, number int NOT NULL, product_id int NOT NULL, quantity int NOT NULL,
    price numeric(10, 2) NOT NULL, discount float8 NOT NULL, shipped timestamp, note text,
    PRIMARY KEY (order_id, number));

INSERT INTO customer
SELECT i, 'customer ' || i, (ARRAY['north', 'east', 'south', 'west', 'center'])[i * 7919 % 5 + 1], i * 31 % 8,
       (i * 104729::bigint % 2000000 - 500000) / 100.0
FROM generate_series(1, 100000) i;
INSERT INTO product
SELECT i, 'product ' || i, 'category ' || i % 50, (i * 7907::bigint % 100000 + 100) / 100.0,
       CASE WHEN i % 10 = 0 THEN NULL ELSE i * 13 % 1000 / 10.0 END
FROM generate_series(1, 10000) i;
INSERT INTO orders
SELECT i, (i * 48271::bigint % 2147483647 % 90000 + 1)::int, date '2018-01-01' + (i * 16807::bigint % 2147483647 % 2190)::int,
       (ARRAY['o', 'p', 's', 'd', 'r'])[i * 69621::bigint % 2147483647 % 5 + 1], (i * 39373::bigint % 2147483647 % 1000000) / 100.0
FROM generate_series(1, 1000000) i;
INSERT INTO line
SELECT (i + 2) / 3, i % 3, (i * 40692::bigint % 2147483399 % 10000 + 1)::int, (i * 7::bigint % 50 + 1)::int,
       (i * 7907::bigint % 100000 + 100) / 100.0, i * 13::bigint % 11 / 100.0,
       CASE WHEN i % 20 = 0 THEN NULL ELSE timestamp '2018-01-01' + (i * 30269::bigint % 189216000) * interval '1 second' END,
       'note ' || i * 69621::bigint % 2147483647 % 1000
FROM generate_series(1, 3000000) i;
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_ordered ON orders (ordered);
CREATE INDEX line_product ON line (product_id);
VACUUM ANALYZE;
