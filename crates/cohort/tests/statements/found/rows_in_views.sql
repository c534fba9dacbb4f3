-- A row as a whole, and IN, in the texts of views.
create table w(a int, b text);
create view w1 as select w from w;
create view w2 as select count(w) c, count(w.*) d from w;
create view w3 as select w, row(w, 1) r, w::text t from w order by w;
create view w4 as select s, s.x from (select a x from w) s;
create view w5 as select x.a from w x where x.a = any (select 1) and x.a = some (select 2) and x.a in (select 3) and x.a <> all (select 4) and x.a <> any (select 5);
create view w6 as select l, r from w l left join w r on l.a = r.a;
create view w7 as select l, r.*::text from w l left join (select a from w) r on l.a = r.a group by l, r.*;
create view w8 as select distinct on (w) w from w order by w;
create view w9 as select w is null n, w = w e, (w).a from w where exists (select w);
create view w10 as select j from (w join w x using (a)) as j;
create view w11 as select g from generate_series(1,2) g;
create view w12 as select v from (values (1, 2)) v(x, y);
create view w13 as with c as (select 1 z) select c, c.* from c;
create view w14 as select coalesce(w, null::w) from w union all select w from w;
create view w15 as select array(select w from w), array_agg(w) from w group by w.a;
select c.relname, pg_get_viewdef(c.oid), pg_get_viewdef(c.oid, true) from pg_class c where relkind = 'v' and relname ~ '^w\d' and relnamespace = current_schema::regnamespace order by length(relname), relname;
