-- COPY on the edges of its formats.
create table c (a int, b text, d text);
copy c from stdin with (format csv, force_not_null (b), null 'x');
1,x,x
2,,
3,"x","x"
\.
copy c from stdin with (format csv, force_not_null (b, d), null '');
4,,
5,"",""
\.
copy c from stdin with (format csv, force_null (b), null 'x');
6,"x","x"
7,x,x
\.
copy c from stdin with (format csv, force_null (b), force_not_null (b), null 'x');
8,"x",y
9,x,y
\.
copy c from stdin with (format csv, force_not_null (nope));
\.
copy c (a, b) from stdin with (format csv, force_not_null (d));
\.
copy c from stdin with (format csv, force_not_null (b, b));
\.
copy c from stdin with (force_not_null (b));
\.
copy c to stdout with (format csv, force_not_null (b));
copy c to stdout with (format csv, force_quote (b), null 'x');
copy c to stdout with (format csv, force_quote *);
copy c from stdin with (format csv);
10
\.
copy c from stdin with (format csv);
10,x
\.
copy c from stdin with (format csv);

\.
copy c from stdin with (format csv);
10,x,y,z
\.
copy c from stdin with (format csv);
10,"x
y",z
\.
copy c from stdin with (format csv);
11,"x
\.
copy c from stdin with (format csv);
x,y,z
\.
copy c from stdin with (format csv, header);
a,b,d
12,h,h
\.
copy c from stdin with (format csv, header match);
a,b,d
13,h,h
\.
copy c from stdin with (format csv, header match);
a,b
14,h,h
\.
copy c from stdin with (format csv, header match);
a,b,e
14,h,h
\.
copy c from stdin;
15
\.
copy c from stdin;
15	x
\.
copy c from stdin;

\.
copy c from stdin;
15	x	y	z
\.
copy c from stdin;
15	\N	a\tb\\c\x41\101
\.
copy c from stdin with (delimiter '|', null 'NULL');
16|NULL|\NULL
\.
copy c from stdin with (format csv, quote '''', escape '\', delimiter ';');
17;'a\'b';'c;d'
\.
copy c from stdin with (format csv, null 'a');
18,"a",a
\.
copy c from stdin with (format csv, delimiter 'ab');
\.
copy c from stdin with (format csv, quote 'ab');
\.
copy c from stdin with (format csv, delimiter '"');
\.
copy c from stdin with (format csv, null '"');
\.
copy c from stdin with (format csv, delimiter ',', null 'a,b');
\.
copy c from stdin with (delimiter 'a');
\.
copy c from stdin with (delimiter '\');
\.
copy c from stdin with (quote '"');
\.
copy c from stdin with (header 3);
\.
copy c from stdin with (null e'a\nb');
\.
select * from c order by a, b, d;
copy c to stdout with (format csv);
copy (select 1, null, '', 'a"b', e'a\nb', '\.') to stdout with (format csv);
copy (select '\.') to stdout with (format csv);
copy (select 1, null, '', e'a\tb', e'a\nb', '\N') to stdout;
copy (select 'a' as x, 'b' as "Y z") to stdout with (format csv, header);
copy (select 'a' as x, 'b' as "Y z") to stdout with (header);
-- Domains over composites.
create type pair as (x int, y text);
create domain positive_pair as pair check ((value).x > 0);
create domain some_pair as pair not null;
create table paired (id int, p positive_pair, s some_pair);
copy paired from stdin;
1	(1,a)	(1,b)
2	\N	(2,)
\.
copy paired from stdin;
3	(0,a)	(1,b)
\.
copy paired from stdin;
3	(x,a)	(1,b)
\.
copy paired from stdin;
3	1	(1,b)
\.
copy paired from stdin;
3	(1,a,b)	(1,b)
\.
copy paired from stdin with (format csv);
4,"(4,""a b"")","(4,)"
\.
create domain in_domain as positive_pair check ((value).y <> 'no');
create table deep_paired (d in_domain, a positive_pair[]);
copy deep_paired from stdin;
(1,yes)	{"(1,a)","(2,b)"}
\.
copy deep_paired from stdin;
(1,no)	{}
\.
copy deep_paired from stdin;
(1,yes)	{"(1,a)","(-2,b)"}
\.
select * from deep_paired;
