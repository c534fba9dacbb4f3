-- Statements in PL/pgSQL that give rows for nobody.
create table o (a int, b int);
do $$ begin insert into o values (1, 1) returning a; end $$;
do $$ begin update o set a = 1 returning a; end $$;
do $$ begin delete from o returning a; end $$;
do $$ begin with x as (select 1) insert into o values (1, 1) returning a; end $$;
do $$ begin with x as (select * from o for update) select * from x; end $$;
do $$ begin select 1; end $$;
do $$ begin select from o; end $$;
do $$ begin values (1); end $$;
do $$ begin table o; end $$;
do $$ begin (select 1); end $$;
do $$ begin show timezone; end $$;
do $$ begin explain select 1; end $$;
do $$ begin execute 'insert into o values (2, 2) returning a'; execute 'select 1'; end $$;
do $$ begin insert into o values (3, 3); perform 1; call nothing(); end $$;
do $$ declare x int; begin insert into o values (4, 4) returning a into x; raise notice '%', x; end $$;
select * from o;
drop table o;
