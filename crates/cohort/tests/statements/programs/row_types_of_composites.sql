-- %ROWTYPE and %TYPE of composite types, tables and views.
create type pair as (a int, b text);
create table pairs (x int, y pair);
create view shown as select x, (y).b from pairs;
do $$ declare p pair%rowtype; q pair.b%type; begin p := row(1, 'q'); q := p.b; raise notice '% %', p, q; end $$;
do $$ declare p pairs%rowtype; q pairs.y%type; begin p.x := 1; q.b := 'z'; p.y := q; raise notice '% %', p, q; end $$;
do $$ declare p shown%rowtype; q shown.b%type; begin p.b := 'w'; q := p.b; raise notice '% %', p, q; end $$;
do $$ declare q nope%rowtype; begin end $$;
alter type pair add attribute c int;
do $$ declare p pair%rowtype; begin p.c := 3; raise notice '%', p; end $$;
do $$ declare r pg_namespace%rowtype; q pg_namespace.nspname%type; begin select * into r from pg_namespace where nspname = 'pg_catalog'; q := r.nspname; raise notice '%', q; end $$;
do $$ declare r information_schema.schemata%rowtype; begin r.schema_name := 'x'; raise notice '%', r.schema_name; end $$;
