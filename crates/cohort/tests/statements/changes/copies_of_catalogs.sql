-- COPY reads catalogs as other tables.
copy pg_language (lanname, lanpltrusted) to stdout with (header, format csv);
copy pg_catalog.pg_language (lanname) to stdout;
copy pg_am (nosuch) to stdout;
copy pg_am (amname, amname) to stdout;
copy pg_tables to stdout;
copy pg_stat_activity to stdout;
copy information_schema.tables to stdout;
copy nosuch.pg_am to stdout;
copy pg_catalog.nosuch to stdout;
create sequence cc_seq;
copy cc_seq to stdout;
create table pg_language (a int);
copy pg_language (lanname) to stdout;
create role cc_plain;
set role cc_plain;
copy pg_authid to stdout;
copy pg_language (lanname) to stdout (format csv, force_quote *);
reset role;
drop role cc_plain;
-- TRUNCATE of a table that is named twice.
create table tr (a int);
create table trb (a int);
create function tr_tell() returns trigger language plpgsql as $$ begin raise notice '% % % %', tg_table_name, tg_name, tg_op, tg_when; return null; end $$;
create trigger tt before truncate on tr execute function tr_tell();
create trigger tt2 after truncate on tr execute function tr_tell();
create trigger tt before truncate on trb execute function tr_tell();
truncate tr, trb, tr;
truncate trb, only tr, tr, trb;
