-- COPY FROM ... WHERE: only rows that meet the condition are stored.
create table copied (id int primary key, word text, n numeric default 7);
copy copied (id, word) from stdin where id > 2;
1	one
2	two
3	three
4	\N
\.
copy copied (id, word) from stdin with (format csv) where word is not null and length(word) > 3;
5,five
6,six
7,
\.
copy copied from stdin where n > 1.5;
8	eight	1
9	nine	2
10	ten	\N
\.
select * from copied order by id;
copy copied from stdin where id;
\.
copy copied from stdin where nothing > 1;
\.
copy copied from stdin where id in (select 1);
\.
copy copied from stdin where sum(id) > 1;
\.
copy copied from stdin where row_number() over () > 1;
\.
copy copied from stdin where generate_series(1, 2) > 1;
\.
copy copied to stdout where id > 1;
copy copied (id, word) from stdin where 1 / (id - 20) > 0;
20	zero
\.
copy copied (id, word) from stdin where id = 21;
20	x	y
\.
create function short(text) returns boolean language plpgsql as $$ begin return length($1) < 4; end $$;
copy copied (id, word) from stdin where short(word);
30	abc
31	abcd
\.
select count(*) from copied;
drop table copied;
drop function short;
