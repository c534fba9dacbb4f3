-- What is volatile is computed as often as in PostgreSQL, wherever a query names it.
create sequence s;
create sequence u;
create table t (a int, b int); insert into t select i, i from generate_series(1, 10) i;
create function n() returns bigint language plpgsql volatile as 'begin return nextval(''u''); end';
create table log (n int);
create function rq() returns setof int language plpgsql as $$ begin insert into log values (1); return query select count(*)::int from log; end $$;
-- Keys of windows are computed once for each row.
select count(distinct r) <= 3 from (select rank() over (order by (random() * 2)::int) r from generate_series(1, 200)) q;
select round(sum(1.0 / c)) <= 4 from (select count(*) over (partition by (random() * 3)::int) c from generate_series(1, 50)) q;
select count(*) over (order by nextval('s') * 0 + a) c, nextval('s') * 0 + a, nextval('s') * 0 + a + 100 from t;
select nextval('s');
select sum(nextval('s') * 0 + a) over (order by nextval('s') * 0 + a) c from t;
select nextval('s');
select row_number() over (partition by nextval('s') * 0 order by a) r, count(*) over (partition by nextval('s') * 0 order by b) from t limit 1;
select nextval('s');
select dense_rank() over (order by (n() % 3)), n() % 3, lag(n() % 3) over (order by (n() % 3)) from t;
select nextval('u');
select b / 4, dense_rank() over (order by n() * 0, b / 4), count(*) from t group by b / 4;
select nextval('u');
select row_number() over w, sum(a) over (w rows 1 preceding) from t window w as (order by n() desc);
select nextval('u');
