-- A table made like a catalog has its columns, and their NOT NULL.
create table l (like pg_class);
select attname, atttypid::regtype, atttypmod, attnotnull from pg_attribute where attrelid = 'l'::regclass and attnum > 0 order by attnum;
insert into l select * from pg_class where relname = 'l';
select relname, relkind, relnatts from l;
create table l2 (x int, like pg_catalog.pg_attribute including all, y text);
select attname, atttypid::regtype, attnotnull from pg_attribute where attrelid = 'l2'::regclass and attnum > 0 order by attnum;
create table l3 (like pg_stats);
create table l4 (like pg_tables);
select attname, atttypid::regtype, attnotnull from pg_attribute where attrelid = 'l4'::regclass and attnum > 0 order by attnum;
create table l5 (like pg_no_catalog);
create table l6 (like pg_class, oid int);
-- Which columns of catalogs are NOT NULL.
select relname, attname, attnotnull from pg_attribute join pg_class c on attrelid = c.oid
    where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and attnum > 0 and c.oid < 16384
    and relname in ('pg_class', 'pg_attribute', 'pg_type', 'pg_proc', 'pg_index', 'pg_constraint', 'pg_trigger', 'pg_authid',
        'pg_database', 'pg_depend', 'pg_description', 'pg_namespace', 'pg_rewrite', 'pg_sequence', 'pg_enum')
    and attname !~ '^pg_' order by 1, attnum;
