-- SET, SHOW, SET CONSTRAINTS, LISTEN and their kin within functions.
create table pk (id int primary key deferrable);
insert into pk values (1), (2);
create function swap() returns void language plpgsql as $$
begin
  set constraints all deferred;
  update pk set id = 3 - id where id = 1;
  update pk set id = 1 where ctid = (select min(ctid) from pk where id = 2);
end $$;
begin;
select swap();
select * from pk order by 1;
commit;
select * from pk order by 1;
create table parent (id int primary key);
insert into parent values (1);
create table child (id int references parent deferrable initially deferred);
create function check_now() returns text language plpgsql as $$ begin set constraints all immediate; return 'checked'; end $$;
begin;
insert into child values (7);
select check_now();
rollback;
begin;
insert into child values (1);
select check_now();
insert into child values (7);
rollback;
create function check_and_catch() returns text language plpgsql as $$
begin
  begin
    set constraints all immediate;
  exception when foreign_key_violation then
    return sqlerrm;
  end;
  return 'none';
end $$;
begin;
insert into child values (7);
select check_and_catch();
insert into parent values (7);
commit;
begin;
insert into child values (8);
select check_and_catch();
commit;
create function undone_check() returns text language plpgsql as $$
begin
  begin
    insert into parent values (9);
    set constraints all immediate;
    raise exception 'undone';
  exception when raise_exception then
    return sqlerrm;
  end;
end $$;
begin;
insert into child values (9);
select undone_check();
commit;
select * from child order by 1;
begin;
insert into child values (9);
savepoint s;
insert into parent values (9);
set constraints all immediate;
rollback to s;
commit;
begin;
insert into child values (10);
savepoint s;
insert into parent values (10);
select check_now();
rollback to s;
commit;
begin;
insert into child values (10);
savepoint s;
savepoint s2;
insert into parent values (10);
select check_now();
release s2;
rollback to s;
insert into parent values (10);
commit;
select * from child order by 1;
create function nosuch() returns text language plpgsql as $$ begin set constraints nosuch deferred; return 'x'; end $$;
select nosuch();
create function characteristics() returns text language plpgsql as $$
begin
  set constraints all immediate;
  set constraints pk_pkey deferred;
  set session characteristics as transaction read only;
  set transaction read only;
  return current_setting('transaction_read_only') || current_setting('default_transaction_read_only');
end $$;
select characteristics();
set session characteristics as transaction read write;
create function resets() returns text language plpgsql as $$ begin set work_mem = '3MB'; set role postgres; set local role none; reset role; set session authorization default; return current_setting('work_mem'); end $$;
select resets();
create function shows() returns text language plpgsql as $$ declare v text; begin show work_mem into v; return v; end $$;
select shows();
do $$ declare v text; begin show work_mem into v; raise notice '%', v; end $$;
do $$ declare v text; begin execute 'show work_mem' into v; raise notice '%', v; end $$;
do $$ begin show work_mem; end $$;
do $$ begin perform set_config('work_mem', '7MB', false); discard all; end $$;
do $$ begin vacuum pk; end $$;
do $$ begin execute 'vacuum'; end $$;
do $$ begin execute 'alter system set work_mem = 1'; end $$;
do $$ begin listen x; notify x, 'payload'; checkpoint; comment on table pk is 'k'; lock table pk; end $$;
select pg_listening_channels();
do $$ begin unlisten x; end $$;
select pg_listening_channels();
create function stable_set() returns text stable language plpgsql as $$ begin set work_mem = '1MB'; return 'x'; end $$;
select stable_set();
reset work_mem;
do $$ begin set work_mem = '3MB'; reset all; raise notice '%', current_setting('work_mem'); end $$;

-- A local value that a function gives another setting than its own stays until the transaction ends
create function sl(v text) returns void language plpgsql security definer set search_path = pg_catalog as
      $$ begin perform set_config('app.user', v, true); end $$;
begin; select sl('alice'); select current_setting('app.user', true); commit;
select current_setting('app.user', true);
create function tz() returns text language plpgsql set search_path = pg_catalog as $$ begin set local timezone = 'Asia/Tokyo'; return current_setting('timezone'); end $$;
create function tz2() returns text language plpgsql set timezone = 'UTC' as $$ begin perform tz(); return current_setting('timezone'); end $$;
create function tz3() returns text language plpgsql set timezone = 'UTC' as $$ begin set timezone = 'Asia/Tokyo'; return current_setting('timezone'); end $$;
create function tz4() returns text language plpgsql set timezone = 'UTC' as $$ begin set timezone = 'Asia/Tokyo'; set local timezone = 'Europe/Paris'; return current_setting('timezone'); end $$;
create function tz5() returns text language plpgsql set timezone = 'UTC' as $$ begin set local timezone = 'Europe/Paris'; return current_setting('timezone'); end $$;
create procedure tzp() language plpgsql set search_path = pg_catalog as $$ begin set local timezone = 'Asia/Tokyo'; end $$;
set timezone = 'America/New_York';
begin; select tz(); show timezone; commit; show timezone;
begin; select tz2(); show timezone; commit; show timezone;
begin; select tz3(); show timezone; commit; show timezone; set timezone = 'America/New_York';
begin; select tz4(); show timezone; commit; show timezone; set timezone = 'America/New_York';
begin; select tz5(); show timezone; commit; show timezone;
begin; call tzp(); show timezone; commit; show timezone;
begin; set local timezone = 'Europe/London'; select tz2(); show timezone; commit; show timezone;
begin; set local timezone = 'Europe/London'; select tz3(); show timezone; rollback; show timezone;
begin; savepoint a; select tz(); show timezone; rollback to a; show timezone; commit; show timezone;
begin; savepoint a; select tz(); release a; show timezone; commit; show timezone;
do $$ begin begin perform tz(); raise exception 'x'; exception when others then raise notice '%', current_setting('timezone'); end; end $$; show timezone;
create function sqf() returns text language sql set search_path = pg_catalog as $$ select set_config('timezone', 'Asia/Tokyo', true) $$;
begin; select sqf(); show timezone; commit; show timezone;
create table tt (a int); create function trg() returns trigger language plpgsql set work_mem = '1MB' as $$ begin set local timezone = 'Asia/Tokyo'; return new; end $$;
create trigger g before insert on tt for each row execute function trg();
begin; insert into tt values (1); show timezone; show work_mem; commit; show timezone;

-- A role that was set for the transaction is kept where a function changes the session's user
create role local_role;
create role local_user;
create function as_local_user() returns text language plpgsql set session_authorization = local_user as $$ begin return current_user; end $$;
begin;
set local role local_role;
select as_local_user();
select current_user, current_setting('role');
rollback;

-- Settings that a function has changed count in its next statement
create function other_dates() returns text language plpgsql as $$ begin set local datestyle = 'SQL, DMY'; return make_date(2020, 2, 1)::text; end $$;
select other_dates();
create function other_bytes() returns text language plpgsql as $$ begin perform set_config('bytea_output', 'escape', true); return '\x41'::bytea::text; end $$;
select other_bytes();
show datestyle;
