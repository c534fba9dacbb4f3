-- COPY in each form, with its options and errors.
create table c (a int, b text, d date);
copy c from stdin;
1	one	2024-01-01
2	\N	\N
3	tab\there	2024-02-29
4	back\\slash	\N
5		\N
\.
select a, b, length(b), d from c order by a;
copy c to stdout;
copy c (a, b) to stdout;
copy c to stdout (format csv);
copy c to stdout with csv header;
copy c to stdout (format csv, delimiter ';', null 'NULL', quote '''', force_quote *);
copy c to stdout (format csv, force_quote (b));
copy c to stdout (delimiter '|', null '-');
copy (select a, b from c where a < 3 order by a desc) to stdout;
copy (values (1, 'x'), (2, null)) to stdout csv;
copy (insert into c values (9, 'nine', null) returning a, b) to stdout;
copy (delete from c where a = 9 returning *) to stdout;
copy c from stdin (format csv);
10,"quoted, comma",2024-05-05
11,"a ""quote""",
12,,
13,"",
14,"two
lines",2024-06-06
\.
select a, b, b is null as n, d from c where a >= 10 order by a;
copy c from stdin csv header;
a,b,d
20,x,2024-01-01
\.
copy c from stdin (format csv, header match);
a,b,d
21,x,2024-01-01
\.
copy c (b, a) from stdin (delimiter ',');
word,22
\.
copy c from stdin (format csv, force_null (b), force_not_null (d));
23,"",x
\.
copy c (a, b) from stdin (format csv, force_null (b));
23,""
\.
copy c (a, b) from stdin (format csv, force_not_null (b));
24,
\.
copy c (a, b) from stdin (format csv, null 'nil', quote '''');
25,'nil'
26,nil
\.
select a, b, b is null as n from c where a between 20 and 29 order by a;
copy c from stdin;
x	y	2024-01-01
\.
copy c from stdin;
1
\.
copy c from stdin;
1	2	2024-01-01	4
\.
copy c from stdin;
1	2	not a date
\.
copy nothing from stdin;
\.
copy c (nothing) from stdin;
\.
copy c (a, a) from stdin;
\.
copy c to stdout (format nothing);
copy c to stdout (delimiter 'ab');
copy c to stdout (delimiter E'\n');
copy c to stdout (delimiter 'a');
copy c to stdout (nothing true);
copy c to stdout (format csv, format text);
copy c to stdout (quote '"');
copy c to stdout (force_quote *);
copy c to stdout (format csv, escape 'ab');
copy c to stdout (format csv, quote 'ab');
copy c to stdout (format csv, delimiter '"');
copy c to stdout (format binary, delimiter ',');
copy c to stdout (null E'\n');
copy c to stdout (header);
copy c from stdin (force_quote *);
\.
copy c to stdout (freeze);
copy (select 1) from stdin;
copy c to stdout where a > 1;
copy (select 1 as a, null::text as b, true as c) to stdout (format binary);
create table defaults (id serial, v text default 'given', w int generated always as (id * 2) stored);
copy defaults (v) from stdin;
one
two
\.
copy defaults from stdin;
10	ten
\.
select * from defaults order by id;
copy defaults (w) from stdin;
\.
copy defaults to stdout;
create view v as select a from c;
copy v to stdout;
copy v from stdin;
\.
create table limits (a int check (a < 10), b int not null);
copy limits from stdin;
1	1
20	2
\.
copy limits from stdin;
1	\N
\.
select count(*) from limits;
copy c to '/nonexistent/folder/file';
copy c from '/nonexistent/file';
\.
copy c to 'relative';
copy c from stdin (format text);
7	a\nb	\N
8	\x41\102\e	\N
\.
select a, b from c where a in (7, 8) and b ~ '^(a|A)' order by 1;
truncate c;
copy c from stdin;
\.
begin;
copy c from stdin;
1	in a block	\N
\.
rollback;
select count(*) from c;
drop view v;
drop table c, defaults, limits;
-- Rows that a trigger leaves out are not counted.
create table left_out (i int);
create function leaving_out() returns trigger language plpgsql as $$ begin if new.i = 2 then return null; end if; return new; end $$;
create trigger leaving_out before insert on left_out for each row execute function leaving_out();
copy left_out from stdin;
1
2
3
\.
select * from left_out;
drop table left_out;
drop function leaving_out;
-- FORCE_QUOTE names columns that are copied.
create table rt (a int, b int);
insert into rt values (1, 2);
copy rt to stdout (format csv, force_quote (zz));
copy rt to stdout (format csv, force_quote (a, a));
copy rt (a) to stdout (format csv, force_quote (b));
copy rt (a) to stdout (format csv, force_quote (a));
copy (select 1 as x) to stdout (format csv, force_quote (y));
copy (select 1 as x) to stdout (format csv, force_quote (x));
