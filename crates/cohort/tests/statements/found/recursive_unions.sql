-- Recursive UNION compares rows.
with recursive r (n, j) as (select 1, '1'::json union select n + 1, j from r where n < 3) select * from r;
