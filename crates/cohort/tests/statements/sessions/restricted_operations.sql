-- Statements within maintenance of a materialized view and of an index, which functions of their owner's could use against a superuser.
create table tried(number int, statement text);
insert into tried values
  (1, 'prepare p as select 2'), (2, 'deallocate p'), (3, 'deallocate all'), (4, 'discard plans'), (5, 'discard sequences'),
  (6, 'discard temp'), (7, 'listen c'), (8, 'unlisten c'), (9, 'unlisten *'), (11, 'declare d cursor for select 1'),
  (12, 'declare d cursor with hold for select 1'), (13, 'create temp table made(a int)'), (14, 'set role postgres'), (15, 'reset role'),
  (16, 'set session authorization postgres'), (17, 'reset session authorization'), (18, 'set local role postgres'),
  (19, 'select set_config(''role'', ''postgres'', false)'), (21, 'set constraints all deferred'),
  (22, 'notify c'), (23, 'lock table tried'), (24, 'set transaction isolation level serializable'),
  (25, 'set transaction deferrable'), (26, 'select set_config(''transaction_read_only'', ''off'', false)'), (27, 'load ''plpgsql'''),
  (28, 'show search_path'), (29, 'create view pg_temp.v as select 1'), (30, 'select 1');
create temp table kept(i int);
insert into kept values (1);
prepare p as select 1 as one;
create function try(place text) returns int language plpgsql as $$
declare t record; answer text;
begin
  for t in select * from tried order by number loop
    begin
      execute t.statement;
      answer := 'done';
    exception when others then answer := sqlstate || ' ' || sqlerrm;
    end;
    raise notice '% %: % %', place, t.number, t.statement, answer;
  end loop;
  return 1;
end $$;
create function try_index(int) returns int language plpgsql immutable as $$ begin perform try('index'); return $1; end $$;
create materialized view mv as select try('view');
execute p;
select * from kept;
create table t(i int);
insert into t values (1);
create index on t(try_index(i));
execute p;
select * from kept;
insert into t values (2);
execute p;
refresh materialized view mv;
execute p;
select * from kept;
create function only_read() returns int language plpgsql as $$ begin set transaction read only; return 1; end $$;
create function only_read_index(int) returns int language plpgsql immutable as $$ begin perform only_read(); return $1; end $$;
create table s(i int);
insert into s values (1);
create index on s(only_read_index(i));
