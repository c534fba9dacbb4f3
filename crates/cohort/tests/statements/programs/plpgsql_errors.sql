-- Exceptions: which handler takes what, what it can learn, and what is undone.
create table noted (a int primary key, b text not null);
do $$ begin perform 1 / 0; exception when division_by_zero then raise notice 'caught % %', sqlstate, sqlerrm; end $$;
do $$ begin perform 1 / 0; exception when sqlstate '22012' then raise notice 'by code'; end $$;
do $$ begin perform 1 / 0; exception when data_exception then raise notice 'by class'; end $$;
do $$ begin perform 1 / 0; exception when unique_violation or division_by_zero then raise notice 'one of two'; end $$;
do $$ begin perform 1 / 0; exception when unique_violation then raise notice 'wrong'; end $$;
do $$ begin perform 1 / 0; exception when others then raise notice 'others %', sqlerrm; end $$;
do $$ begin perform 1 / 0; exception when no_such_condition then null; end $$;
do $$ begin begin perform 1 / 0; exception when unique_violation then raise notice 'inner'; end; exception when others then raise notice 'outer'; end $$;
do $$ begin begin perform 1 / 0; exception when others then raise; end; exception when division_by_zero then raise notice 'again %', sqlstate; end $$;
do $$ begin raise; end $$;
do $$ begin begin perform 1 / 0; exception when others then raise exception 'another'; end; exception when others then raise notice '% %', sqlstate, sqlerrm; end $$;
do $$ begin insert into noted values (1, 'kept'); begin insert into noted values (2, 'undone'); insert into noted values (1, 'twice'); exception when unique_violation then raise notice 'undone'; end; end $$;
select * from noted order by a;
do $$
declare m text; d text; h text; s text; c text; t text; sc text; co text; ty text;
begin
  insert into noted values (1, 'again');
exception when unique_violation then
  get stacked diagnostics m = message_text, d = pg_exception_detail, h = pg_exception_hint, s = returned_sqlstate,
    c = constraint_name, t = table_name, sc = schema_name, co = column_name, ty = pg_datatype_name;
  raise notice '% | % | % | % | % | % | % | % | %', m, d, h, s, c, t, sc, co, ty;
end
$$;
do $$
declare m text; co text; t text;
begin
  insert into noted values (3, null);
exception when not_null_violation then
  get stacked diagnostics m = message_text, co = column_name, t = table_name;
  raise notice '% | % | %', m, co, t;
end
$$;
do $$ declare c text; begin perform 1 / 0; exception when others then get stacked diagnostics c = pg_exception_context; raise notice '%', c; end $$;
do $$ declare c text; begin get diagnostics c = pg_context; raise notice '%', c; end $$;
do $$ declare n int; begin insert into noted select g, 'n' from generate_series(10, 14) g; get diagnostics n = row_count; raise notice '% %', n, found; end $$;
do $$ declare n int; begin update noted set b = 'm' where a > 100; get diagnostics n = row_count; raise notice '% %', n, found; end $$;
do $$ declare n int; begin get stacked diagnostics n = row_count; end $$;
do $$ declare m text; begin get stacked diagnostics m = message_text; end $$;
do $$ begin raise exception 'plain'; end $$;
do $$ begin raise exception 'with % and %', 1, null; end $$;
do $$ begin raise exception 'percent %%'; end $$;
do $$ begin raise exception 'too few %'; end $$;
do $$ begin raise exception 'too many', 1; end $$;
do $$ begin raise exception using message = 'by option', detail = 'a detail', hint = 'a hint', errcode = 'U0001'; end $$;
do $$ begin raise exception 'both' using message = 'twice'; end $$;
do $$ begin raise exception 'coded' using errcode = 'unique_violation'; end $$;
do $$ begin raise exception 'coded' using errcode = 'nothing_known'; end $$;
do $$ begin raise unique_violation; end $$;
do $$ begin raise unique_violation using message = 'my own words'; end $$;
do $$ begin raise sqlstate '12345'; end $$;
do $$ begin raise sqlstate '12345' using message = 'with words'; end $$;
do $$ begin raise no_such_condition; end $$;
do $$ begin raise exception 'objects' using column = 'c', constraint = 'k', datatype = 'd', table = 't', schema = 's'; end $$;
do $$ begin raise exception 'null' using detail = null; end $$;
do $$ begin raise warning 'a warning'; end $$;
do $$ begin raise notice 'a notice' using hint = 'with a hint', detail = 'and a detail', errcode = '01000'; end $$;
do $$ begin raise info 'an info'; end $$;
do $$ begin raise log 'a log line'; end $$;
do $$ begin raise debug 'for developers'; end $$;
set client_min_messages = debug1;
do $$ begin raise debug 'for developers'; end $$;
set client_min_messages = warning;
do $$ begin raise notice 'not heard'; raise info 'heard all the same'; raise warning 'heard'; end $$;
set client_min_messages = error;
do $$ begin raise warning 'not heard'; end $$;
reset client_min_messages;
do $$ begin assert 1 = 1; end $$;
do $$ begin assert 1 = 2; end $$;
do $$ begin assert 1 = 2, 'one is not two'; end $$;
do $$ begin assert null; end $$;
do $$ begin begin assert false; exception when others then raise notice 'others do not catch it'; end; end $$;
do $$ begin begin assert false, 'caught'; exception when assert_failure then raise notice 'by name: %', sqlerrm; end; end $$;
do $$ begin raise exception using errcode = 'unique_violation'; exception when sqlstate '23000' then raise notice 'class by code'; end $$;
do $$ begin raise exception using errcode = '23505'; exception when sqlstate '22000' then raise notice 'another class'; end $$;
do $$ begin raise exception using errcode = '23505'; exception when sqlstate '00000' then raise notice 'as others'; end $$;
do $$ begin raise exception using errcode = '57014'; exception when sqlstate '00000' then raise notice 'not a cancel'; end $$;
do $$ begin raise exception using errcode = '57014'; exception when others then raise notice 'not a cancel'; end $$;
do $$ begin raise exception using errcode = '57014'; exception when operator_intervention then raise notice 'a cancel by its class'; end $$;
do $$ begin raise exception using errcode = '40001'; exception when others then raise notice 'a serialization failure'; end $$;
do $$ begin raise exception using errcode = '40P01'; exception when others then raise notice 'a deadlock'; end $$;
do $$ begin raise exception using errcode = '40P01'; exception when transaction_rollback then raise notice 'a deadlock by its class'; end $$;
do $$ begin perform nothing; exception when syntax_error_or_access_rule_violation then raise notice 'a missing column by its class'; end $$;
do $$ begin raise modifying_sql_data_not_permitted; exception when sqlstate '2F000' then raise notice '%', sqlstate; end $$;
do $$ begin raise exception using errcode = '57P01'; exception when others then raise notice 'no real shutdown'; end $$;
set plpgsql.check_asserts = off;
do $$ begin assert false; raise notice 'not checked'; end $$;
reset plpgsql.check_asserts;
create function inner_fails(n int) returns int language plpgsql as $$
begin
  if n = 0 then
    raise exception 'at the bottom' using errcode = 'P0099';
  end if;
  n := n - 1;
  perform inner_fails(n);
  return n;
end
$$;
select inner_fails(2);
create function outer_calls() returns int language plpgsql as $$
declare n int;
begin
  n := inner_fails(0);
  return n;
end
$$;
select outer_calls();
create function outer_performs() returns void language plpgsql as $$
begin
  perform inner_fails(1);
end
$$;
select outer_performs();
create function tells() returns void language plpgsql as $$
begin
  raise notice 'told';
end
$$;
create function calls_tells() returns void language plpgsql as $$
begin
  perform tells();
end
$$;
select calls_tells();
create function catches() returns text language plpgsql as $$
declare
  c text;
begin
  begin
    perform outer_calls();
  exception when sqlstate 'P0099' then
    get stacked diagnostics c = pg_exception_context;
    return c;
  end;
  return 'nothing';
end
$$;
select catches();
create function no_return(n int) returns int language plpgsql as $$ begin if n > 0 then return n; end if; end $$;
select no_return(1);
select no_return(0);
create function bad_cast() returns int language plpgsql as $$ begin return 'seven'; end $$;
select bad_cast();
create function bad_assign() returns int language plpgsql as $$ declare n int; begin n := 'x'; return n; end $$;
select bad_assign();
create function not_null_one() returns int language plpgsql as $$ declare n int not null := 1; begin n := null; return n; end $$;
select not_null_one();
create function constant_one() returns int language plpgsql as $$ declare n constant int := 1; begin n := 2; return n; end $$;
create function constant_ok() returns int language plpgsql as $$ declare n constant int := 41; begin return n + 1; end $$;
select constant_ok();
create function unknown_variable() returns int language plpgsql as $$ begin nothing := 1; return 1; end $$;
create function unknown_column() returns int language plpgsql as $$ begin return nothing; end $$;
select unknown_column();
create function syntax_wrong() returns int language plpgsql as $$ begin select from where; return 1; end $$;
create function missing_semicolon() returns int language plpgsql as $$ begin return 1 end $$;
create function missing_end() returns int language plpgsql as $$ begin return 1; $$;
create function ambiguous_name(a int) returns int language plpgsql as $$ begin return (select a from noted limit 1); end $$;
select ambiguous_name(1);
create function column_wins(a int) returns int language plpgsql as $$
#variable_conflict use_column
begin return (select max(a) from noted); end
$$;
select column_wins(1);
create function variable_wins(a int) returns int language plpgsql as $$
#variable_conflict use_variable
begin return (select max(a) from noted); end
$$;
select variable_wins(1);
create function named_after_function(a int) returns int language plpgsql as $$ begin return (select count(*) from noted where noted.a > named_after_function.a); end $$;
select named_after_function(10);
drop function inner_fails, outer_calls, outer_performs, tells, calls_tells, catches, no_return, bad_cast, bad_assign, not_null_one, constant_ok, unknown_column, ambiguous_name, column_wins, variable_wins, named_after_function;
drop table noted;
