-- FOUND and ROW_COUNT in PL/pgSQL: utility statements leave FOUND as it is.
create table fu (a int);
create table ft (a int);
insert into ft values (1);
do $$ declare n int; begin
perform 1; truncate fu; get diagnostics n = row_count; raise notice 'truncate % %', found, n;
perform 1; lock table fu; get diagnostics n = row_count; raise notice 'lock % %', found, n;
perform 1; set local work_mem='1MB'; get diagnostics n = row_count; raise notice 'set % %', found, n;
perform 1; create table x1 as select * from ft where false; get diagnostics n = row_count; raise notice 'ctas0 % %', found, n;
perform 1 where false; create table x2 as select * from ft; get diagnostics n = row_count; raise notice 'ctas1 % %', found, n;
perform 1; create materialized view mv as select * from ft; get diagnostics n = row_count; raise notice 'mv % %', found, n;
perform 1; refresh materialized view mv; get diagnostics n = row_count; raise notice 'refresh % %', found, n;
perform 1; do $b$ begin end $b$; get diagnostics n = row_count; raise notice 'do % %', found, n;
perform 1; analyze ft; get diagnostics n = row_count; raise notice 'analyze % %', found, n;
perform 1; execute 'truncate fu'; get diagnostics n = row_count; raise notice 'ex truncate % %', found, n;
perform 1; execute 'update ft set a = 2'; get diagnostics n = row_count; raise notice 'ex upd % %', found, n;
perform 1 where false; execute 'update ft set a = 2'; get diagnostics n = row_count; raise notice 'ex upd % %', found, n;
perform 1; delete from ft where false; get diagnostics n = row_count; raise notice 'delete % %', found, n;
perform 1 where false; comment on table ft is 'x'; get diagnostics n = row_count; raise notice 'comment % %', found, n;
perform 1; notify qf; get diagnostics n = row_count; raise notice 'notify % %', found, n;
perform 1; create temp table cc(a int); insert into cc values (1),(2); get diagnostics n = row_count; raise notice 'ins % %', found, n;
perform 1; drop table cc; get diagnostics n = row_count; raise notice 'drop % %', found, n;
end $$;
create procedure fp() language plpgsql as 'begin end';
do $$ declare n int; begin
perform 1; call fp(); get diagnostics n = row_count; raise notice 'call % %', found, n;
perform 1; set constraints all deferred; get diagnostics n = row_count; raise notice 'constraints % %', found, n;
end $$;
