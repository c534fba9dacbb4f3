-- Children of a prepared transaction share its fate, but those that were rolled back before.
a: create table t (id int primary key, v int);
a: insert into t values (1, 0), (2, 0), (3, 0);
a: begin;
a: insert into t values (10, 1);
a: savepoint first;
a: insert into t values (11, 1);
a: update t set v = 1 where id = 1;
a: savepoint second;
a: insert into t values (12, 1);
a: update t set v = 1 where id = 2;
a: rollback to second;
a: insert into t values (13, 1);
a: release first;
a: savepoint third;
a: update t set v = 1 where id = 3;
a: prepare transaction 'savepoints';
b: select * from t order by id;
b: select id from t where id = 1 for update nowait;
b: select id from t where id = 2 for update nowait;
b: select id from t where id = 3 for update nowait;
b: rollback to third;
a: commit prepared 'savepoints';
b: select * from t order by id;
a: begin;
a: savepoint first;
a: delete from t where id > 10;
a: release first;
a: savepoint second;
a: delete from t where id < 3;
a: prepare transaction 'savepoints';
a: rollback prepared 'savepoints';
b: select * from t order by id;
-- What a failed child held is free.
a: begin;
a: savepoint s;
a: update t set v = 5 where id = 1;
a: select 1 / 0;
a: rollback to s;
a: prepare transaction 'savepoints';
b: update t set v = 6 where id = 1;
a: commit prepared 'savepoints';
b: select v from t where id = 1;
-- Many of them.
a: create function many(first int, last int) returns int language plpgsql as $$
declare failed int := 0;
begin
  for i in first..last loop
    begin
      insert into t values (i, i);
      if i % 2 = 0 then
        insert into t values (i, i);
      end if;
    exception when unique_violation then
      failed := failed + 1;
    end;
  end loop;
  return failed;
end $$;
a: begin;
a: select many(1001, 1300);
a: prepare transaction 'savepoints';
b: select count(*) from t where id > 1000;
a: commit prepared 'savepoints';
b: select count(*), sum(v) from t where id > 1000;
-- Sequences don't go back.
a: create table numbered (id serial primary key, note text);
a: begin;
a: insert into numbered (note) values ('one'), ('two');
a: prepare transaction 'savepoints';
b: insert into numbered (note) values ('three') returning id;
a: rollback prepared 'savepoints';
a: insert into numbered (note) values ('four') returning id;
a: select * from numbered order by id;
a: select currval('numbered_id_seq');
a: begin;
a: select setval('numbered_id_seq', 50);
a: prepare transaction 'savepoints';
a: rollback prepared 'savepoints';
a: insert into numbered (note) values ('five') returning id;
