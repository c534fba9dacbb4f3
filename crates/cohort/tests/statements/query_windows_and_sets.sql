-- Set-returning functions beside and within window functions.
select sum(generate_series(1, 3)) over ();
select first_value(generate_series(1, 3)) over ();
select generate_series(1, 2), sum(x) over (), x from (values (1), (2)) v(x);
select generate_series(1, sum(x) over ()) from (values (1), (2)) v(x);
select generate_series(1, row_number() over ()) from (values (1), (2)) v(x);
select sum(x) filter (where generate_series(1, 2) > 1) over () from (values (1), (2)) v(x);
select sum(generate_series(1, 2)) from (values (1)) v(x);
select lag(x, generate_series(1, 2)) over () from (values (1), (2)) v(x);
select sum(coalesce(x, 1) + abs(generate_series(1, 2))) over () from (values (1), (2)) v(x);
select sum((select generate_series(1, 1))) over ();
select sum(x) over (rows between generate_series(1, 2) preceding and current row) from (values (1), (2)) v(x);
select rank() over (order by x), generate_series(1, x) from (values (1), (2)) v(x) order by 2, 1;
select rank() over (order by count(*)), generate_series(1, count(*)) from (values (1), (2)) v(x);
select count(generate_series(1, 2)) over (order by 1);
select coalesce(sum(x) over (), generate_series(1, 2)) from (values (1)) v(x);
