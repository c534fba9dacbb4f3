-- A table made like a catalog has its columns. PostgreSQL's catalogs have NOT NULL besides, which Cohort's lack.
create table l (like pg_class);
select attname, atttypid::regtype, atttypmod from pg_attribute where attrelid = 'l'::regclass and attnum > 0 order by attnum;
insert into l select * from pg_class where relname = 'l';
select relname, relkind, relnatts from l;
create table l2 (x int, like pg_catalog.pg_attribute including all, y text);
select attname, atttypid::regtype from pg_attribute where attrelid = 'l2'::regclass and attnum > 0 order by attnum;
create table l3 (like pg_stats);
create table l4 (like pg_tables);
select attname, atttypid::regtype from pg_attribute where attrelid = 'l4'::regclass and attnum > 0 order by attnum;
create table l5 (like pg_no_catalog);
create table l6 (like pg_class, oid int);
