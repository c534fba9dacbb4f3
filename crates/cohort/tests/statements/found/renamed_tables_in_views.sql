-- Views call a table by its new name, unless they give it another one. One whose new name is that of something else in the query goes
-- on being called as it was, by an alias.
create table t(id int, k text);
create view t1 as select t.id, k from t where t.id > 1 and exists (select from t where t.id = k::int);
create view t2v as select t, t.ctid from t order by t.id for update of t;
create view t3 as select s.id from (select t.id from t) s join t on t.id = s.id;
create view t5 as select a.id, t.k from t a, t;
create view t10 as with q as (select t.id from t) select q.id, t.* from q, t;
alter table t rename to t2;
alter table t2 rename column id to ident;
alter table t2 rename to "T x";
select c.relname, pg_get_viewdef(c.oid) from pg_class c where relkind = 'v' and relname ~ '^t\d' and relnamespace = current_schema::regnamespace order by length(relname), relname;
create table q (id int);
create view q1 as select q.id, count(q), count(q.*) from q group by q.id, q.* order by q.*;
create view q2 as select q.id from (select q.id from q) q;
create view q3 as select q.id, r.id as r from q, (select 1 as id) r;
create view q4 as with q as (select 1 as id) select q.id from q;
create view q5 as select q.id, w.id as w from q left join q w using (id);
alter table q rename to r;
select * from q1, q2, q3, q4, q5;
select pg_get_viewdef('q1'), pg_get_viewdef('q4'), pg_get_viewdef('q5');
insert into r values (1);
select * from q1, q2, q3, q4, q5;
alter view q1 rename to q9;
