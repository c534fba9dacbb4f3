-- Assignments to fields three and more names deep, of rows that were stored and of those that were not.
create type p as (a int, b text);
create type o as (p p, q p[]);
create type n as (o o, z int);
create table nt (id int primary key, o o);
insert into nt values (1, row(row(1, 'x')::p, array[row(2, 'y')::p])::o), (2, null);
do $$ declare x nt; begin select * into x from nt where id = 1; x.o.p.a := 5; raise notice '%', x; x.o.q[1].a := 6; raise notice '%', x; raise notice '%', x.o; end $$;
do $$ declare x record; begin select * into x from nt where id = 1; x.o.p.a := 5; raise notice '%', x; x.o.q[1].a := 6; raise notice '%', x; end $$;
do $$ declare x nt; begin select * into x from nt where id = 2; x.o.p.a := 5; raise notice '%', x; end $$;
do $$ declare x n; begin x.o.p.a := 5; x.o.p.b := 'deep'; x.z := 3; raise notice '%', x; end $$;
do $$ declare x n; begin x := row((select o from nt where id = 1), 7); x.o.p.a := 5; raise notice '%', x; end $$;
create function deep() returns trigger language plpgsql as $$ begin new.o.p.a := coalesce((new.o).p.a, 0) + 1; return new; end $$;
create trigger deep before insert or update on nt for each row execute function deep();
update nt set id = id + 10 returning *;
insert into nt values (3, row(row(8, 'z'), '{}')) returning *;
drop table nt;
drop function deep;
drop type n, o, p;
