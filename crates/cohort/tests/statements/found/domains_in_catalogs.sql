-- A domain's row in pg_type has the properties of its base type, user-defined ones included; a column's row has those of its type.
create type e as enum ('a', 'b');
create type c as (a int);
create domain de as e default 'a' check (value is not null or 1 = 1);
create domain de2 as de;
create domain dea as e[];
create domain dda as de[];
create domain ddda as dda;
create domain dc as c;
create domain dca as c[];
create domain dt as varchar(4);
create domain da as int[];
create domain dvc as varchar(3)[];
create domain dvc2 as dvc;
create domain dn as numeric(4, 2);
create domain dnm as name;
create domain du as uuid;
create domain dv as int2vector;
create domain dj as jsonb;
create domain diy as interval year to month;
create table t (a int, b int[], e e, es e[], c c, cs c[], de de, de2 de2, dea dea, dda dda, dc dc, dca dca, dt dt, da da, dn dn, des de[], dcs dc[]);
alter table t add added_de de, add added_dda dda, add added_es e[];
create view v as select * from t;
create materialized view mv as select * from t;
select typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim, typsubscript, typelem::regtype, typarray::regtype, typinput, typoutput, typreceive, typsend, typmodin, typmodout, typanalyze, typalign, typstorage, typbasetype::regtype, typtypmod, typndims, typcollation
    from pg_type where typnamespace = current_schema()::regnamespace order by typname collate "C";
select relname, attname, attlen, attbyval, attalign, attstorage, attndims, atttypmod, format_type(atttypid, atttypmod)
    from pg_attribute join pg_class r on r.oid = attrelid where relnamespace = current_schema()::regnamespace and attnum > 0 order by relname collate "C", attnum;
select proname, provolatile from pg_proc where proname in ('domain_in', 'domain_recv', 'enum_in', 'enum_out', 'enum_recv', 'enum_send') order by 1;
select typname from pg_type where typinput = 'domain_in'::regproc and typnamespace = current_schema()::regnamespace order by typname collate "C";
