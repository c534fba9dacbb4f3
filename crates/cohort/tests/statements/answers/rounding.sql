-- Rounding to a scale that leaves out 19 digits, the number of digits that fit into 64 bits.
select round(0.5/10, 1), (5/100.0)::numeric(5,1), round(1/17.0, 1), round(7::numeric/100, 1);
select round(avg(x), 1), avg(x)::numeric(4,1), avg(x) from (values (0.05), (0.07), (0.06)) v(x);
create table line (net numeric(10,2), share numeric(10,1));
insert into line select 0.5/10, 0.5/10 returning *;
select (0.8000000000000000000)::int, 0.9223372036854775807::int8, round(0.7::numeric(20,19)), (0.6::numeric(38,19))::numeric(5,0);
select round(x/1000000, 5) from (values (5::numeric), (9), (-9)) v(x);
create table whole (x numeric(20,19), r int generated always as (round(x)::int) stored, check (round(x) = 1));
insert into whole values (0.9) returning *;
select 3 % round(0.9::numeric(19,19));
do $$ declare t numeric(6,1); begin t := 5/100.0; raise notice '%', t; end $$;
-- Floats whose very shortest text lies half-way to a neighbour.
select 18446744073709552::float8, 18014398509481992::float8, 92233720368547810::float8, 67108872::float4, 33554448::float4;
select to_json(18446744073709552::float8), (33554448::float4)::text, 9007199254740993::float8, 1e22::float8, 1e23::float8, 5e-324::float8;
