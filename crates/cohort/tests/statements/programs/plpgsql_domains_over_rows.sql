-- Variables of domains over row types have fields, and each value passes the checks.
create type ct as (a int, b text);
create domain dm as ct check ((value).a > 0 or (value).a is null);
create domain dn as ct not null;
create table tt (x dm);
do $$ declare r dm; begin r.a := 1; r.b := 'q'; insert into tt values (r); raise notice '% % %', r, r.a, r.b; end $$;
do $$ declare r dm; begin r.a := -1; raise notice 'no'; end $$;
do $$ declare r dm := row(1,'x'); begin r.a := -1; raise notice 'no'; exception when check_violation then raise notice 'caught %', r; end $$;
do $$ declare r dm := row(-1,'x'); begin raise notice 'no'; end $$;
do $$ declare r dn; begin raise notice 'no'; end $$;
do $$ declare r dn := row(null,null); begin raise notice '%', r; r := null; end $$;
do $$ declare r dm; begin select 5, 'five' into r; raise notice '%', r; select -5, 'five' into r; end $$;
do $$ declare r dm; begin for r in select g, g::text from generate_series(1,2) g loop raise notice '%', r; end loop; end $$;
do $$ declare r dm; begin for r in select -g, g::text from generate_series(1,2) g loop raise notice '%', r; end loop; end $$;
create function f(p dm) returns dm language plpgsql as $$ begin p.a := p.a - 1; return p; end $$;
select f(row(3,'y')::dm), (f(row(3,'y'))).a;
select f(row(1,'y')::dm);
select f(null);
create function g(inout p dm, out q text) language plpgsql as $$ begin p.a := coalesce(p.a,0) + 1; q := p.b; end $$;
select * from g(row(3,'y')::dm);
do $$ declare r dm; s ct; begin s.a := 7; r := s; raise notice '%', r; s := r; s.a := -4; raise notice '%', s; r := s; end $$;
-- The type of a column.
do $$ declare v tt.x%type; w tt%rowtype; begin v.a := 7; raise notice '%', v; w.x := v; raise notice '%', w;  w.x.a := 9; raise notice '%', w; w.x.a := -9; end $$;
do $$ declare r dm; begin r.c := 4; end $$;
do $$ declare r dm; begin raise notice '%', r.c; end $$;
select * from tt;
alter domain dm add check ((value).b <> 'bad');
do $$ declare r dm; begin r.b := 'bad'; end $$;
-- NOT NULL holds for rows, too.
do $$ declare r ct not null := row(1,2); begin r := null; raise notice 'accepted %', r; end $$;
do $$ declare r record not null := row(1); begin r := null; raise notice 'accepted %', r; end $$;
-- Names.
do $$ declare "ÄÖ" int; ÄÖx int; begin ÄÖx := 1; raise notice '%', ÄÖx; end $$;
do $$ declare record tt%rowtype; begin record.x := row(3, 'k'); raise notice '%', record; end $$;
