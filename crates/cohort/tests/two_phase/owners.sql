-- Who may finish what another has prepared.
joe: begin;
joe: select txid_current() > 0;
joe: prepare transaction 'owners';
a: select gid, owner, database from pg_prepared_xacts;
mary: begin;
mary: select txid_current() > 0;
mary: prepare transaction 'owners_2';
a: begin;
a: select txid_current() > 0;
a: prepare transaction 'owners_3';
a: select gid, owner, database from pg_prepared_xacts order by gid;
joe: select gid, owner, database from pg_prepared_xacts order by gid;
joe: commit prepared 'owners_2';
joe: rollback prepared 'owners_2';
joe: commit prepared 'owners_3';
joe: commit prepared 'nobody';
-- A name is taken, whoever asks.
joe: begin;
joe: prepare transaction 'owners_2';
-- A superuser may.
mary: commit prepared 'owners';
joe: commit prepared 'owners';
mary: rollback prepared 'owners_3';
a: rollback prepared 'owners_2';
-- And the owner, in another session as well.
joe: begin;
joe: select txid_current() > 0;
joe: prepare transaction 'owners';
joe leaves
joe: rollback prepared 'owners';
a: select count(*) from pg_prepared_xacts;
