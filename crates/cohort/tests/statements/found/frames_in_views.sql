-- The text of a view has the frames of its windows: a view that is made from the text gives the same rows.
create table framed (id int, g int);
insert into framed select n, n % 3 from generate_series(1, 9) n;
create view frames_first as
    select id, sum(id) over (order by id rows 1 preceding) a, sum(id) over (w rows between current row and 2 following) b,
        sum(id) over w c, count(*) over (partition by g order by id groups between 1 preceding and current row exclude ties) d
    from framed window w as (order by id);
do $$ begin execute 'create view frames_again as ' || pg_get_viewdef('frames_first'::regclass); end $$;
select * from frames_first order by id;
select * from frames_again order by id;
drop view frames_first, frames_again;
drop table framed;
