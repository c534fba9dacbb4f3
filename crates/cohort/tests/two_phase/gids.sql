-- Identifiers: their length, duplicates, unknown ones, their use again.
a: create table t (id int primary key, v int);
a: insert into t values (1, 0);
a: begin;
a: update t set v = 1 where id = 1;
a: prepare transaction 'gids_1';
a: select * from t;
a: select gid from pg_prepared_xacts;
a: commit prepared 'gids_1';
a: select * from t;
a: commit prepared 'gids_1';
a: rollback prepared 'gids_1';
-- The same one again, after a commit and after a rollback.
a: begin;
a: update t set v = 2 where id = 1;
a: prepare transaction 'gids_1';
a: rollback prepared 'gids_1';
a: select * from t;
a: rollback prepared 'gids_1';
a: begin;
a: update t set v = 3 where id = 1;
a: prepare transaction 'gids_1';
-- Taken: what comes second is rolled back.
b: begin;
b: insert into t values (2, 2);
b: prepare transaction 'gids_1';
b: select * from t;
b: rollback;
b: select gid from pg_prepared_xacts;
b: commit prepared 'gids_1';
b: select * from t;
-- 199 bytes are the most.
a: begin;
a: insert into t values (3, 3);
a: prepare transaction '1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789';
a: select length(gid) from pg_prepared_xacts;
a: commit prepared '1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789';
a: begin;
a: insert into t values (4, 4);
a: prepare transaction '12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890';
a: select * from t order by id;
a: rollback;
a: commit prepared '12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890';
a: rollback prepared '12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890';
-- Bytes, not characters: a hundred of two bytes each are too many.
a: begin;
a: prepare transaction 'éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé';
a: rollback;
a: begin;
a: insert into t values (5, 5);
a: prepare transaction 'éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééa';
a: select length(gid), octet_length(gid) from pg_prepared_xacts;
a: rollback prepared 'éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééa';
-- The empty one is one.
a: begin;
a: insert into t values (6, 6);
a: prepare transaction '';
a: select gid = '' from pg_prepared_xacts;
a: begin;
a: prepare transaction '';
a: commit prepared '';
a: select * from t order by id;
-- Letters and their case count, quotes are doubled.
a: begin;
a: prepare transaction 'Gids';
a: begin;
a: prepare transaction 'gids';
a: begin;
a: prepare transaction 'it''s "one" \ of them';
a: select gid from pg_prepared_xacts order by gid collate "C";
a: commit prepared 'GIDS';
a: commit prepared 'Gids';
a: rollback prepared 'gids';
a: commit prepared 'it''s "one" \ of them';
-- Words that the grammar doesn't take.
a: prepare transaction gids;
a: prepare transaction;
a: commit prepared gids;
a: rollback prepared $1;
a: commit prepared 'gids' and chain;
a: begin;
a: prepare transaction 'gids' and chain;
a: rollback;
a: begin;
a: prepare transaction E'back\\slash';
a: commit prepared $$back\slash$$;
-- Nothing at all.
a: commit prepared 'nobody';
a: rollback prepared 'nobody';
