-- A session that asks a sequence waits for the prepared transaction that changes it.
a: create sequence s;
a: create sequence t;
a: create table n (id serial primary key, v int);
b: select nextval('s'), nextval('t');
a: begin;
a: alter sequence s restart with 100;
a: prepare transaction 'sequences';
b waits: select nextval('s');
c: select nextval('t');
c: select last_value, is_called from s;
c: commit prepared 'sequences';
b answers
b: select nextval('s');
-- Rolled back.
a: begin;
a: alter sequence s restart with 200;
a: prepare transaction 'sequences';
b waits: select setval('s', 150);
c: rollback prepared 'sequences';
b answers
b: select nextval('s');
-- The value that a session got last is told after the wait, too.
a: begin;
a: alter sequence s increment by 10;
a: prepare transaction 'sequences';
b waits: select currval('s');
d waits: select pg_sequence_last_value('s'::regclass);
c: commit prepared 'sequences';
b answers
d answers
b: select nextval('s');
a: begin;
a: alter sequence s increment by 1;
a: prepare transaction 'sequences';
b waits: select lastval();
c: rollback prepared 'sequences';
b answers
-- A lock is kept through restarts of the server, whether by a crash or not.
a: begin;
a: alter sequence s restart with 300;
a: alter sequence t restart with 400;
a: prepare transaction 'sequences';
crash
b waits: select nextval('s');
d waits: select nextval('t');
c: commit prepared 'sequences';
b answers
d answers
a: begin;
a: alter sequence s restart with 500;
a: prepare transaction 'sequences';
a: checkpoint;
restart
b waits: select nextval('s');
c: rollback prepared 'sequences';
b answers
b: select nextval('s') > 300;
-- The sequence of a table that is emptied.
a: insert into n (v) values (1), (2), (3);
a: begin;
a: truncate n restart identity;
a: prepare transaction 'sequences';
b waits: select nextval('n_id_seq');
c: commit prepared 'sequences';
b answers
b: select currval('n_id_seq');
a: insert into n (v) values (4) returning id;
a: begin;
a: truncate n restart identity;
a: prepare transaction 'sequences';
b waits: select nextval('n_id_seq');
c: rollback prepared 'sequences';
b answers
-- A change waits for a transaction that has taken a value, a prepared one too.
a: begin;
a: select nextval('s') > 0;
a: prepare transaction 'sequences';
b: select nextval('s') > 0;
b waits: alter sequence s restart with 600;
d waits: drop sequence t, s;
c: commit prepared 'sequences';
b answers
d answers
b: select nextval('s');
-- Dropped, and not after all.
a: create sequence u;
a: begin;
a: drop sequence u;
a: prepare transaction 'sequences';
b waits: select nextval('u');
c: rollback prepared 'sequences';
b answers
-- One that is made.
a: begin;
a: create sequence w;
a: select nextval('w');
a: prepare transaction 'sequences';
b: select nextval('w');
c: commit prepared 'sequences';
b: select nextval('w') > 1;
a: drop sequence u, w;
-- Values that were taken by a definition that is undone.
a: create sequence x;
a: select setval('x', 10);
a: begin;
a: alter sequence x increment -1;
a: select nextval('x'), nextval('x');
a: prepare transaction 'sequences';
b waits: select nextval('x') > 10;
c: rollback prepared 'sequences';
b answers
a: drop sequence x;
