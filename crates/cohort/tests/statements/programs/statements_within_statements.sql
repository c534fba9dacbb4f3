-- DO, CALL and EXPLAIN ANALYZE within a statement leave the checks of that statement to its end.
create table self(i int primary key, r int references self);
create procedure nothing() language sql as 'select 1';
create function calls_nothing() returns int language sql as $$ call nothing(); select 1 $$;
create function runs_do() returns trigger language plpgsql as $$ begin execute 'do ''begin null; end'''; return new; end $$;
create function runs_explain() returns trigger language plpgsql as
$$ declare r record; begin explain (analyze, costs off, timing off, summary off) select 1 into r; return new; end $$;
create function runs_call() returns trigger language plpgsql as $$ begin perform calls_nothing(); return new; end $$;
create trigger a before insert on self for each row execute function runs_do();
insert into self values (1, 2), (2, null);
drop trigger a on self;
create trigger a before insert on self for each row execute function runs_explain();
insert into self values (3, 4), (4, null);
drop trigger a on self;
create trigger a before insert on self for each row execute function runs_call();
insert into self values (5, 6), (6, null);
insert into self values (7, 8);
select * from self order by i;
-- A statement's end leaves earlier deferred checks alone.
create table later(i int references self deferrable initially deferred);
begin;
insert into later values (100);
insert into later values (1);
do $$ begin insert into later values (2); end $$;
set constraints all immediate;
rollback;
begin;
insert into later values (100);
insert into self values (100, null);
delete from later where i = 1;
commit;
select * from later;
