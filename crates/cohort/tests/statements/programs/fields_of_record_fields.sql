-- Fields of a composite field of NEW, of records and of rows are assigned.
create type plf_c as (k int, z text);
create table plf_t (id int, c plf_c, l plf_c[]);
create function plf_tg() returns trigger language plpgsql as $$ begin new.c.z := 'tg'; new.c.k := (new.c).k + 1; return new; end $$;
create trigger plf_x before insert or update on plf_t for each row execute function plf_tg();
insert into plf_t values (1, row(1, 'a')), (2, null), (3, '(5,q)');
select * from plf_t order by 1;
update plf_t set id = id + 10;
select * from plf_t order by 1;
do $$ declare r record; s plf_t; begin select * into r from plf_t where id = 11; r.c.z := 'rec'; r.c.k := 77; raise notice '%', r; insert into plf_t values (20, r.c); s := r; s.c.z := 'row'; raise notice '%', s; end $$;
do $$ declare r record; begin for r in select * from plf_t order by id loop r.c.z := r.id::text; raise notice '% %', r.c, (r.c).z; end loop; end $$;
select * from plf_t order by 1;
