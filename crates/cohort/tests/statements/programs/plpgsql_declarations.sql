-- Types of variables that are made smaller than they were written.
do $$ declare x timestamp(9); begin end $$;
do $$ declare x timestamp(9) := '2020-01-01'; y time(7); z interval(8); w timestamptz(10)[]; v timetz(9); u timestamp(9) with time zone; begin raise notice '%', x; end $$;
do $$ declare x timestamp(6); y interval(3); z numeric(9); w varchar(9); v int[9]; begin end $$;
do $$ declare x interval second(9); begin x := '1.1234567 s'; raise notice '%', x; end $$;
do $$ declare x timestamp(9); y timestamp(9); begin null; declare z time(8); begin null; end; end $$;
do $$ declare c cursor (at timestamp(9)) for select at; begin end $$;
create function f() returns timestamp(9) language plpgsql as $$ declare x time(8); begin return '2020-01-01'; end $$;
select f();
create or replace function f() returns timestamp language plpgsql as $$ declare x constant timestamptz(7) not null := now(); begin return null; end $$;
select f();
do $$ declare x varchar(0); begin end $$;
do $$ declare x numeric(2000, 1); begin end $$;
