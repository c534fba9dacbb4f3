-- An expression that is run as a query counts its rows, and names itself in errors of the assignment that it is part of.
create table of_queries (id int primary key, n int);
insert into of_queries values (1, 10), (2, 20);
create domain few_numbers as int[] check (array_length(value, 1) < 4);
do $$
declare i int := 0; n int; s text;
begin
s := format('%s', (select of_queries.n from of_queries where id = 1));
get diagnostics n = row_count;
raise notice '%', n;
s := upper('a');
get diagnostics n = row_count;
raise notice '%', n;
delete from of_queries where false;
get diagnostics n = row_count;
raise notice '%', n;
if exists (select from of_queries) then
get diagnostics n = row_count;
raise notice '% %', n, found;
end if;
i := of_queries.n from of_queries where id = 7;
get diagnostics n = row_count;
raise notice '% %', n, i;
perform 1 from of_queries;
s := 'x' || 1;
get diagnostics n = row_count;
raise notice '%', n;
end $$;
do $$
declare d few_numbers := '{1,2}';
begin
d[4] := (select n from of_queries where id = 1);
end $$;
do $$
declare d few_numbers := '{1,2}';
begin
d[4] := 1;
end $$;
do $$
declare a int[] := '{1,2}';
begin
a[2:4] := array[(select n from of_queries where id = 1), 7];
end $$;
do $$
declare a int[] := '{1,2}';
begin
a[2:4] := array[1, 7];
end $$;
do $$
declare a int[] := '{1,2}';
begin
a[2:1] := array[(select n from of_queries where id = 1), 7];
end $$;
do $$
declare d few_numbers := '{1,2}';
begin
d := array[1, 2, 3, (select n from of_queries where id = 1)];
end $$;
do $$
declare c cursor (low int) for select * from of_queries where id > low; n int;
begin
raise notice '%', found;
open c(7);
get diagnostics n = row_count;
raise notice '% %', found, n;
close c;
for r in c(0) loop
raise notice '% %', r, found;
end loop;
for r in c(9) loop
raise notice '% %', r, found;
end loop;
raise notice '%', found;
end $$;
create procedure of_outputs(a int, inout b int, out c text) language plpgsql as $$ begin b := b + a; c := 'c' || a; end $$;
do $$ declare v numeric := 1; s text; begin call of_outputs(v, v, s); end $$;
do $$ declare v numeric := 1; i int := 2; s text; begin call of_outputs(c => s, b => i, a => v); end $$;
drop procedure of_outputs;
drop domain few_numbers;
drop table of_queries;
