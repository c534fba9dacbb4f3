-- Triggers of a COPY's statement are called once, before the first line is read and behind the last one.
create table t (a int primary key, b int check (b > 0));
create function said() returns trigger language plpgsql as $$ begin raise notice '% % % %', tg_name, tg_when, tg_level, tg_op; return new; end $$;
create trigger a_before before insert on t for each statement execute function said();
create trigger b_after after insert on t for each statement execute function said();
copy t from stdin;
\.
copy t from stdin;
1	1
2	2
\.
copy t from stdin;
x	1
\.
copy t from stdin;
3
\.
copy t from stdin;
4	4
5	x
\.
copy t from stdin where b > 5;
6	1
\.
copy t (a) from stdin;
7
\.
create function rows_seen() returns trigger language plpgsql as $$ begin raise notice '% rows', (select count(*) from fresh); return null; end $$;
create trigger d_seen after insert on t referencing new table as fresh for each statement execute function rows_seen();
copy t from stdin;
10	1
11	1
12	1
\.
copy t from stdin;
\.
select * from t order by a;
