-- WHERE of COPY FROM on columns that are filled with their defaults.
create table cw (a int, b int default 5, c text default 'x' || 'y', g int generated always as (a * 2) stored, n int);
copy cw (a) from stdin where b > 4;
1
2
\.
copy cw (a) from stdin where b > 5;
1
\.
copy cw (a, n) from stdin where c = 'xy' and n is not null;
3	4
5	\N
\.
copy cw (a) from stdin where g > 2;
1
\.
copy cw (a) from stdin where n is null;
7
\.
copy cw (a) from stdin where tableoid > 0;
7
\.
copy cw (a) from stdin where a > (select 1);
7
\.
copy cw (a) from stdin where sum(a) > 1;
7
\.
copy cw (a) from stdin where row_number() over () > 1;
7
\.
copy cw (a) from stdin where generate_series(1, a) > 1;
7
\.
copy cw (a) from stdin where cw.a > 1 and cw.b = 5;
8
\.
copy cw (a) from stdin where cw is not null;
8
\.
copy cw (a) from stdin where nosuch;
8
\.
copy cw (a) from stdin where a;
8
\.
copy cw to stdout where a > 1;
select * from cw order by 1;
create table cwi (id int generated always as identity, s serial, v int default 7, w int);
copy cwi (w, v) from stdin where id > 1 and s < 3;
1	1
2	2
3	3
\.
select * from cwi;
copy cw (a) from stdin where a = 1/(a-1);
1
\.
create function chk(int) returns bool language plpgsql as $$begin return $1 > 1; end$$;
copy cw (a, n) from stdin where chk(b) and chk(n);
100	1
101	2
\.
select a, b from cw where a >= 100;
