-- How many rows a loop over a query asks for at once, what an error's context names, and which statements are no cursor's.
create table t(a int);
insert into t select generate_series(1,50);
create table log(n int);
create function cnt(int) returns int language plpgsql volatile as $$ begin raise notice 'cnt %', $1; return (select count(*) from log); end $$;
do $$ declare r record; begin for r in select 1/(3-a) q from t loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; begin for r in execute 'select 1/(3-a) q from t' loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; c cursor for select 1/(1-a) q from t; begin open c;
fetch c into r; end $$;
do $$ declare r record; c cursor for select 1/(1-a) q from t; begin
for r in c loop null;
end loop; end $$;
do $$ declare r record; begin for r in select cnt(a) q from t where a<3 loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; c cursor for select cnt(1); begin open c;
 fetch c into r;
move next from c;end $$;
do $$ declare r record; begin for r in insert into t values (1) returning 1/(a-1) loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; begin for r in insert into t values (1) returning cnt(3) loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; begin for r in execute 'insert into t values (1)' loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; begin for r in execute 'create table x9(a int)' loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; begin for r in execute 'select 1; select 2' loop
 insert into log values(1);
end loop; end $$;
do $$ declare r record; begin for r in explain (costs off) select 1 loop
 raise notice '%', r;
end loop; end $$;
do $$ declare r record; begin for r in explain (costs off) select 1 loop
 commit;
end loop; end $$;
do $$ declare r record; begin for r in with x as (insert into log values (2) returning *) select * from x loop
 commit;
end loop; end $$;
do $$ declare r record; c refcursor; begin open c for with x as (insert into log values (2) returning *) select * from x;  raise notice '%', (select count(*) from log where n=2);
fetch c into r; raise notice '%', (select count(*) from log where n=2); end $$;
do $$ declare r record; c refcursor; begin open c for insert into log values (3) returning *;  raise notice '%', (select count(*) from log where n=3);
fetch c into r; raise notice '%', (select count(*) from log where n=3); end $$;
do $$ declare r record; c refcursor; begin open c for execute 'insert into log values (3) returning *';  raise notice '%', (select count(*) from log where n=3);
fetch c into r; raise notice '%', (select count(*) from log where n=3); end $$;
do $$ declare r record; c refcursor; begin open c for execute 'insert into log values (3)';   end $$;
do $$ declare r record; c refcursor; begin open c scroll for select * from t for update;   end $$;
do $$ declare r record; begin for r in select a from t where a<4 loop
  raise notice '%', (select array_agg(row(statement,is_holdable,is_scrollable)) from pg_cursors);
exit; end loop; end $$;
do $$ declare r record; begin for r in select a from t where a<4 loop
  alter table t add column b int;
end loop; end $$;
do $$ declare n int := 3;
begin
 while 1/n>=0 loop
n := n-1;
end loop;
 end $$;
create function pre() returns text language plpgsql as $$ declare r record;
o text := '';
begin delete from log;
for r in select cnt2(a) c from t where a<=30 order by a loop
insert into log values (1);
o := o||' '||r.c;
end loop;
return o;
 end $$;
create function cnt2(int) returns int language plpgsql volatile as $$ begin return (select count(*) from log);
 end $$;
select pre();
create function pre2() returns text language plpgsql as $$ declare r record;
o text := '';
begin delete from log;
for r in select cnt2(a) c from (select generate_series(1,80) a) b loop
insert into log values (1);
o := o||' '||r.c;
end loop;
return o;
 end $$;
select pre2();
do $$ begin perform pre2();
raise notice '%', pre2();
 end $$;
create procedure prp() language plpgsql as $$ declare r record;
o text := '';
begin delete from log;
for r in select cnt2(a) c from (select generate_series(1,13) a) b loop
insert into log values (1);
o := o||' '||r.c;
end loop;
raise notice '%', o;
 end $$;
call prp();
begin; call prp(); commit;
do $$ begin begin call prp();
exception when others then null;
end;
 end $$;
do $$ begin call prp();
 end $$;
create function stab() returns text stable language plpgsql as $$ declare r record;
o text := '';
begin for r in select cnt2(a) c from (select generate_series(1,13) a) b loop o := o||' '||r.c;
end loop;
return o;
 end $$;
create function insst() returns text language plpgsql as $$ begin insert into log values (1);
return stab();
 end $$;
select insst();
