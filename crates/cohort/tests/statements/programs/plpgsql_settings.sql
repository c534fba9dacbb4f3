-- The settings of PL/pgSQL.
create table t (id int);
insert into t values (1);
do $$ begin end $$;
show plpgsql.variable_conflict;
set plpgsql.variable_conflict = use_column;
create function by_column(id int) returns int language plpgsql as $$ begin return (select max(t.id) from t where t.id = id); end $$;
select by_column(7);
set plpgsql.variable_conflict = use_variable;
create function by_variable(id int) returns int language plpgsql as $$ begin return (select count(*) from t where id = 7); end $$;
select by_variable(7), by_variable(1);
create function by_directive(id int) returns int language plpgsql as
  $$ #variable_conflict use_column
  begin return (select count(*) from t where id = 7); end $$;
select by_directive(7);
reset plpgsql.variable_conflict;
do $$ declare id int := 1; begin perform 1 from t where id = 1; end $$;
set plpgsql.variable_conflict = foo;
set plpgsql.check_asserts = off;
do $$ begin assert false; raise notice 'passed over'; end $$;
set plpgsql.check_asserts = on;
do $$ begin assert false, 'checked'; end $$;
set plpgsql.check_asserts = perhaps;
create function with_setting(id int) returns int language plpgsql set plpgsql.variable_conflict = use_column as
  $$ begin return (select max(t.id) from t where t.id = id); end $$;
select with_setting(9);
drop function by_column, by_variable, by_directive, with_setting;
drop table t;
