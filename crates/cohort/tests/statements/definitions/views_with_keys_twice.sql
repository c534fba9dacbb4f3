-- A key of DISTINCT ON may come again in ORDER BY.
create table t (a int, b text);
insert into t values (1, 'x'), (2, 'x'), (3, 'y');
create view v1 as select distinct on (b) b, a, b as b2 from t order by 1, 2, 3;
create view v2 as select distinct on (b) b, a, b as b2 from t order by b, a, 3;
create view v3 as select distinct on (b) b, a from t order by b, a, b;
create view v4 as select distinct on (lower(b)) lower(b), a, lower(b) as b2 from t order by 1, 2, 3;
create view v5 as select distinct on (1) b, a, b as b2 from t order by 1, 2, 3;
create view v6 as select distinct on (b, a) b, a from t order by b, a desc, b desc, a;
create view v7 as select distinct on (b) b, a from t order by a, b;
create view v8 as select distinct on (a, b) b, a from t order by a;
alter table t rename b to c;
select * from v1; select * from v2; select * from v3; select * from v4; select * from v5; select * from v6;
select pg_get_viewdef('v1'::regclass), pg_get_viewdef('v4'::regclass);
