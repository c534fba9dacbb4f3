-- A prepared transaction keeps no lock on another session's temporary table: that session could not end.
a: create temp table of_a (x int);
b: begin;
b: do $$ begin execute (select format('lock table %I.%I in access share mode', nspname, relname) from pg_class c join pg_namespace n on n.oid = relnamespace where relname = 'of_a'); end $$;
b: prepare transaction 'others_temporary';
b: select count(*) from pg_prepared_xacts where gid = 'others_temporary';
a leaves
b: do $$ begin for i in 1..200 loop exit when not exists (select from pg_class where relname = 'of_a'); perform pg_sleep(0.05), pg_stat_clear_snapshot(); end loop; end $$;
b: select count(*) from pg_class where relname = 'of_a';
