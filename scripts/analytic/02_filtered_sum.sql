-- One number from a filtered scan.
SELECT count(*), sum(price * quantity), avg(price)
FROM line
WHERE shipped >= timestamp '2019-01-01' AND shipped < timestamp '2020-01-01' AND discount BETWEEN 0.02 AND 0.06 AND quantity < 24;
