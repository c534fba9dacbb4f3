-- Tables without columns, or with generated ones alone.
create table t0();
copy t0 from stdin;



\.
select count(*) from t0;
copy t0 from stdin;
x
\.
create table g0(a int generated always as (1) stored);
copy g0 from stdin;


\.
table g0;
copy t0 to stdout;
copy t0 to stdout (format csv);
copy t0 from stdin (format csv);

\.
select count(*) from t0;
