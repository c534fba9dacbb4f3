//! The kinds of objects, and the statements that are tried beside each other.

/// A kind of objects, with statements on one object of it.
pub struct Kind {
    pub name: &'static str,
    /// Makes the object.
    pub make: &'static str,
    /// Statements of the first session. Each is tried beside each of `seconds`.
    pub firsts: &'static [&'static str],
    /// Statements of the second session.
    pub seconds: &'static [&'static str],
    /// A query for the object's state.
    pub state: &'static str,
    /// Removes everything that the statements can have left.
    pub clear: &'static [&'static str],
}

pub const KINDS: &[Kind] = &[
    Kind {
        name: "function",
        make: "create function f(n int) returns int language sql as 'select n'",
        firsts: &[
            "drop function f(int)",
            "create or replace function f(n int) returns int language sql as 'select n + 1'",
            "alter function f(int) rename to g",
            "grant execute on function f(int) to other",
        ],
        seconds: &[
            "drop function f(int)",
            "drop function if exists f(int)",
            "drop routine if exists f",
            "create or replace function f(n int) returns int language sql as 'select n + 2'",
            "create function f(n int) returns int language sql as 'select n + 3'",
            "alter function f(int) stable",
            "alter function f(int) rename to g",
            "alter function f(int) owner to other",
            "alter function f(int) set schema elsewhere",
            "comment on function f(int) is 'some'",
            "grant execute on function f(int) to other",
            "revoke execute on function f(int) from public",
        ],
        state: "select proname, prosrc, provolatile, proowner::regrole, pronamespace::regnamespace, proacl::text,
                obj_description(oid, 'pg_proc') from pg_proc where proname in ('f', 'g')",
        clear: &["drop routine if exists f, g, elsewhere.f"],
    },
    Kind {
        name: "enum",
        make: "create type t as enum ('a', 'b')",
        firsts: &[
            "drop type t",
            "alter type t add value 'c'",
            "alter type t rename to u",
            "grant usage on type t to other",
        ],
        seconds: &[
            "drop type t",
            "drop type if exists t",
            "create type t as enum ('z')",
            "alter type t add value 'd'",
            "alter type t rename value 'a' to 'x'",
            "alter type t rename to u",
            "alter type t owner to other",
            "alter type t set schema elsewhere",
            "comment on type t is 'some'",
            "grant usage on type t to other",
            "revoke usage on type t from public",
        ],
        state: "select typname, typowner::regrole, typnamespace::regnamespace, typacl::text, obj_description(t.oid, 'pg_type'),
                (select string_agg(enumlabel, ',' order by enumsortorder) from pg_enum where enumtypid = t.oid)
                from pg_type t where typname in ('t', 'u')",
        clear: &["drop type if exists t, u, elsewhere.t"],
    },
    Kind {
        name: "domain",
        make: "create domain d as int constraint above check (value > 0)",
        firsts: &[
            "drop domain d",
            "alter domain d set default 3",
            "alter domain d rename to e",
            "grant usage on domain d to other",
        ],
        seconds: &[
            "drop domain d",
            "drop domain if exists d",
            "create domain d as text",
            "alter domain d set default 4",
            "alter domain d set not null",
            "alter domain d add constraint below check (value < 100)",
            "alter domain d drop constraint above",
            "alter domain d rename constraint above to over",
            "alter domain d rename to e",
            "alter domain d owner to other",
            "alter domain d set schema elsewhere",
            "comment on domain d is 'some'",
            "grant usage on domain d to other",
        ],
        state: "select typname, typowner::regrole, typnamespace::regnamespace, typacl::text, typnotnull, typdefault,
                obj_description(t.oid, 'pg_type'),
                (select string_agg(conname, ',' order by conname) from pg_constraint where contypid = t.oid)
                from pg_type t where typname in ('d', 'e')",
        clear: &["drop domain if exists d, e, elsewhere.d"],
    },
    Kind {
        name: "composite",
        make: "create type c as (a int)",
        firsts: &["drop type c", "alter type c add attribute b int", "alter type c rename to k"],
        seconds: &[
            "drop type c",
            "drop type if exists c",
            "create type c as (z int)",
            "alter type c add attribute y int",
            "alter type c drop attribute a",
            "alter type c rename attribute a to x",
            "alter type c rename to k",
            "alter type c owner to other",
            "alter type c set schema elsewhere",
            "comment on type c is 'some'",
            "comment on column c.a is 'some'",
            "grant usage on type c to other",
        ],
        state: "select typname, typowner::regrole, typnamespace::regnamespace, typacl::text, obj_description(t.oid, 'pg_type'),
                (select string_agg(attname, ',' order by attnum) from pg_attribute
                 where attrelid = t.typrelid and not attisdropped)
                from pg_type t where typname in ('c', 'k')",
        clear: &["drop type if exists c, k, elsewhere.c"],
    },
    Kind {
        name: "schema",
        make: "create schema n",
        firsts: &[
            "drop schema n",
            "alter schema n rename to m",
            "grant usage on schema n to other",
            "create table n.made_first (a int)",
        ],
        seconds: &[
            "drop schema n",
            "drop schema if exists n",
            "drop schema if exists n cascade",
            "create schema n",
            "create schema if not exists n",
            "alter schema n rename to m",
            "alter schema n owner to other",
            "comment on schema n is 'some'",
            "grant usage on schema n to other",
            "create table n.made (a int)",
            "create function n.made() returns int language sql as 'select 1'",
            "create type n.made as enum ('a')",
            "alter function movable() set schema n",
        ],
        state: "select nspname, nspowner::regrole, nspacl::text, obj_description(n.oid, 'pg_namespace'),
                (select string_agg(relname, ',' order by relname) from pg_class where relnamespace = n.oid and relkind = 'r'),
                (select string_agg(proname, ',' order by proname) from pg_proc where pronamespace = n.oid),
                (select string_agg(typname, ',' order by typname) from pg_type where typnamespace = n.oid)
                from pg_namespace n where nspname in ('n', 'm')",
        clear: &[
            "drop schema if exists n, m cascade",
            "create or replace function movable() returns int language sql as 'select 1'",
        ],
    },
    Kind {
        name: "role",
        make: "create role r",
        firsts: &["drop role r", "alter role r createdb", "alter role r rename to q", "grant other to r"],
        seconds: &[
            "drop role r",
            "drop role if exists r",
            "create role r",
            "alter role r createrole",
            "alter role r rename to q",
            "alter role r set work_mem = '1MB'",
            "comment on role r is 'some'",
            "grant other to r",
            "grant r to other",
            "revoke other from r",
            "grant select on lasting to r",
            "alter table lasting owner to r",
            "drop role member_of_other",
        ],
        state: "select rolname, rolcreatedb, rolcreaterole, rolconfig::text, shobj_description(r.oid, 'pg_authid'),
                (select string_agg(m.roleid::regrole::text, ',') from pg_auth_members m where m.member = r.oid),
                (select string_agg(m.member::regrole::text, ',') from pg_auth_members m where m.roleid = r.oid),
                (select relowner::regrole::text || relacl::text from pg_class where relname = 'lasting')
                from pg_roles r where rolname in ('r', 'q')",
        clear: &[
            "drop table if exists lasting",
            "drop role if exists r",
            "drop role if exists q",
            "drop role if exists member_of_other",
            "create role member_of_other in role other",
            "create table lasting (a int)",
        ],
    },
    Kind {
        name: "table",
        make: "create table w (a int primary key, b int); create trigger g before insert on w for each row execute function fire()",
        firsts: &[
            "drop table w",
            "drop trigger g on w",
            "grant select on w to other",
            "grant select (a) on w to other",
            "comment on table w is 'first'",
        ],
        seconds: &[
            "drop table w",
            "drop table if exists w",
            "grant insert on w to other",
            "revoke select on w from other",
            "grant update (b) on w to other",
            "comment on table w is 'some'",
            "comment on column w.b is 'some'",
            "comment on constraint w_pkey on w is 'some'",
            "comment on trigger g on w is 'some'",
            "drop trigger g on w",
            "drop trigger if exists g on w",
            "alter trigger g on w rename to h",
            "create or replace trigger g before update on w for each row execute function fire()",
            "alter table w disable trigger g",
            "alter table w owner to other",
            "drop function fire cascade",
        ],
        state: "select relname, relacl::text, relowner::regrole, obj_description(c.oid, 'pg_class'), col_description(c.oid, 2),
                (select string_agg(attname::text || attacl::text, ',' order by attnum) from pg_attribute where attrelid = c.oid),
                (select string_agg(tgname || tgtype::text || tgenabled::text || coalesce(obj_description(t.oid, 'pg_trigger'), ''), ',')
                 from pg_trigger t where tgrelid = c.oid),
                (select obj_description(k.oid, 'pg_constraint') from pg_constraint k where k.conrelid = c.oid)
                from pg_class c where relname = 'w'",
        clear: &[
            "drop table if exists w",
            "create or replace function fire() returns trigger language plpgsql as 'begin return new; end'",
        ],
    },
    Kind {
        name: "view",
        make: "create view v as select 1 as a",
        firsts: &["drop view v", "create or replace view v as select 2 as a", "grant select on v to other"],
        seconds: &[
            "drop view v",
            "drop view if exists v",
            "create view v as select 3 as a",
            "create or replace view v as select 4 as a",
            "alter view v rename to x",
            "alter view v owner to other",
            "comment on view v is 'some'",
            "grant insert on v to other",
        ],
        state: "select relname, relacl::text, relowner::regrole, obj_description(oid, 'pg_class'),
                substring(pg_get_viewdef(oid) from '[0-9]')
                from pg_class where relname in ('v', 'x')",
        clear: &["drop view if exists v, x"],
    },
    Kind {
        name: "names in views",
        make: "create table t1 (a int); create table t2 (x int); create table t3 (q int); insert into t1 values (1); \
               insert into t2 values (2); insert into t3 values (3); create type c as (f int); create type e as enum ('l'); \
               create function f() returns int language sql as 'select 4'; \
               create or replace function rows_of_v() returns text language plpgsql as \
               $$ declare r text; begin execute 'select string_agg(v::text, ''; '') from v' into r; return r; exception when others then return sqlerrm; end $$; \
               create view v as select t1.a, t2.x, t3.q, f() as f, 'l'::e as e, row(5)::c as c from t1, t2, t3",
        firsts: &[
            "alter table t1 rename a to b",
            "alter table t1 rename to t4",
            "alter function f() rename to g",
            "alter table t3 drop column q cascade",
            "create or replace view v as select t1.a + 100 as a, 200 as x, 300 as q, 7 as f, 'l'::e as e, row(8)::c as c, f() as z from t1",
            "create view made as select t2.x, f() as f, 'l'::e as e, (row(5)::c).f as c from t2",
            "create materialized view made as select t2.x, f() as f, 'l'::e as e, (row(5)::c).f as c from t2",
        ],
        seconds: &[
            "alter table t2 rename x to y",
            "alter table t2 rename to t5",
            "alter table t3 rename q to r",
            "alter function f() rename to h",
            "alter type e rename to e2",
            "alter type e rename value 'l' to 'm'",
            "alter type c rename attribute f to g cascade",
            "alter table t1 add column n int",
        ],
        state: "select c.relname, pg_get_viewdef(c.oid),
                case c.relname when 'v' then rows_of_v() end
                from pg_class c where relkind in ('v', 'm') and relname in ('v', 'made') order by 1",
        clear: &[
            "drop view if exists v cascade",
            "do $$ begin if to_regclass('made') is null then null; elsif (select relkind from pg_class where relname = 'made') = 'v' \
             then drop view made; else drop materialized view made; end if; end $$",
            "drop table if exists t1, t2, t3, t4, t5 cascade",
            "drop function if exists f, g, h",
            "drop type if exists c, e, e2",
        ],
    },
    Kind {
        name: "names in expressions",
        make: "create function f(int) returns int language sql immutable as 'select $1 + 1'; create type en as enum ('l', 'm'); \
               create function h(int) returns int language sql immutable as 'select $1 + 2';  \
               create table tx (a int, b int default f(h(1)), k en default 'l'::en, check (f(a) > h(0) - 9)); \
               create index t_i on tx ((f(a)), h(b)) where h(a) > f(0) - 9; \
               create domain d as int default f(h(0)) check (f(value) > h(0) - 9); \
               create or replace function rows_of_t() returns text language plpgsql as \
               $$ declare r text; begin execute 'insert into tx (a) values (1)'; execute 'select string_agg(tx::text, ''; '') from tx' into r; \
               delete from tx; return r; exception when others then return sqlerrm; end $$; \
               create function g(n int default f(h(2))) returns int language sql as 'select n'",
        firsts: &[
            "alter function f(int) rename to f2",
            "alter function f(int) set schema elsewhere",
            "alter type en rename to en2",
            "alter type en rename value 'l' to 'n'",
            "alter table tx rename a to a2",
            "create index t_made on tx ((f(a)))",
            "alter table tx add constraint t_made check (h(f(b)) > 0)",
            "alter table tx alter a set default f(5)",
            "create domain d_made as int check (f(value) > 0) default h(1)",
            "create function g_made(n int default f(h(2)), k en default 'l') returns int language sql as 'select n'",
            "create table made (a int default f(1), b en default 'l', g int generated always as (h(a)) stored)",
            "create table made (like tx including all)",
        ],
        seconds: &[
            "alter function f(int) rename to f3",
            "alter function h(int) rename to h2",
            "alter function h(int) set schema elsewhere",
            "alter type en rename to en3",
            "alter type en rename value 'l' to 'o'",
            "alter table tx rename b to b2",
            "create index t_made_2 on tx ((f(a)))",
            "alter table tx add constraint t_made_2 check (f(h(b)) > 0)",
            "create domain d_made_2 as int check (f(value) > 0)",
            "create table made_2 (a int default f(1), b en default 'l')",
            "create table made_2 (like tx including all)",
        ],
        state: "select 'index', pg_get_indexdef(i.indexrelid) from pg_index i join pg_class c on c.oid = i.indrelid where c.relname in ('tx', 'made')
                union all select 'check', pg_get_constraintdef(o.oid) from pg_constraint o
                left join pg_class c on c.oid = o.conrelid left join pg_type d on d.oid = o.contypid
                where o.contype = 'c' and (c.relname in ('tx', 'made', 'made_2') or d.typname in ('d', 'd_made', 'd_made_2'))
                union all select 'default', pg_get_expr(adbin, adrelid) from pg_attrdef join pg_class c on c.oid = adrelid
                where c.relname in ('tx', 'made', 'made_2')
                union all select 'argument', pg_get_function_arguments(oid) from pg_proc where proname in ('g', 'g_made')
                union all select 'rows', rows_of_t() order by 1, 2",
        clear: &[
            "drop table if exists tx, made, made_2 cascade",
            "drop domain if exists d, d_made, d_made_2",
            "drop function if exists g(int), g_made",
            "drop function if exists f(int), f2(int), f3(int), h(int), h2(int), elsewhere.f(int), elsewhere.h(int)",
            "drop type if exists en, en2, en3",
        ],
    },
    Kind {
        name: "what a role owns",
        make: "create role giver; create schema given authorization giver; create table given.t (a int); \
               alter table given.t owner to giver; create function given.f() returns int language sql as 'select 1'; \
               alter function given.f() owner to giver; create type given.e as enum ('a'); alter type given.e owner to giver",
        firsts: &[
            "alter table given.t owner to postgres",
            "alter function given.f() owner to postgres",
            "alter type given.e owner to postgres",
            "alter table given.t rename to t2",
        ],
        seconds: &["reassign owned by giver to other", "drop owned by giver cascade", "drop owned by giver"],
        state: "select relname, relowner::regrole::text from pg_class where relnamespace::regnamespace::text = 'given'
                union all select proname, proowner::regrole::text from pg_proc where pronamespace::regnamespace::text = 'given'
                union all select typname, typowner::regrole::text from pg_type where typnamespace::regnamespace::text = 'given' and typtype = 'e'
                order by 1",
        clear: &["drop schema if exists given cascade", "drop role if exists giver"],
    },
    Kind {
        name: "rows in each other",
        make: "create type c1 as (i int); create type c2 as (i int); create table r1 (i int); create table r2 (i int); \
               create domain over_c2 as c2",
        firsts: &[
            "alter type c1 add attribute x c2",
            "alter type c1 add attribute x c2[]",
            "alter type c1 add attribute x over_c2",
            "alter table r1 add column x r2",
            "alter type c1 add attribute x r1",
        ],
        seconds: &[
            "alter type c2 add attribute y c1",
            "alter type c2 alter attribute i type c1[]",
            "alter table r2 add column y r1",
            "alter table r1 add column y c1",
            "create type c3 as (a c1, b c2)",
        ],
        state: "select c.relname, attname, format_type(atttypid, atttypmod) from pg_attribute join pg_class c on c.oid = attrelid
                where c.relname in ('c1', 'c2', 'c3', 'r1', 'r2') and attnum > 0 and not attisdropped order by 1, attnum",
        clear: &[
            "drop domain if exists over_c2 cascade",
            "drop type if exists c1, c2, c3 cascade",
            "drop table if exists r1, r2 cascade",
        ],
    },
    Kind {
        name: "rows of changed types",
        make: "create type rx as (a int, b text); create table rr (a int, b text); create domain drx as rx; create type xrx as (p rx); \
               create or replace function rows_in_made() returns text language plpgsql as \
               $$ declare r text; begin execute 'select string_agg(q::text, '','') from made' into r; return r; \
               exception when others then return sqlstate; end $$",
        firsts: &[
            "drop type rx cascade",
            "alter type rx drop attribute a",
            "alter type rx add attribute c int",
            "alter table rr drop column a",
        ],
        seconds: &[
            "create table made as select row(null, 'b')::rx as q",
            "create table made as select array[row(null, 'b')::rr] as q",
            "select row(null, 'b')::rx as q into made",
            "create table made (q drx)",
            "create table made (q xrx)",
            "create type made_type as (q xrx[])",
        ],
        state: "select rows_in_made()
                union all select c.relname || ' ' || format_type(atttypid, atttypmod) from pg_attribute join pg_class c on c.oid = attrelid
                where c.relname in ('made', 'made_type') and attnum > 0 and not attisdropped",
        clear: &[
            "drop table if exists made, rr cascade",
            "drop type if exists made_type, xrx, rx cascade",
        ],
    },
    Kind {
        name: "names of truncated tables",
        make: "create table tr (a int); create table trn (a int); insert into tr values (1); insert into trn values (2); \
               create or replace function rows_in(name text) returns text language plpgsql as \
               $$ declare r text; begin execute 'select string_agg(a::text, '','') from ' || name into r; return r; end $$",
        firsts: &[
            "alter table tr rename to t_old; alter table trn rename to tr",
            "alter table tr rename to t_old",
            "drop table tr; alter table trn rename to tr",
        ],
        seconds: &[
            "truncate tr",
            "truncate only tr restart identity cascade",
            "truncate trn, tr",
            "do $$ begin execute 'truncate tr'; end $$",
        ],
        state: "select relname, rows_in(relname) from pg_class where relname in ('tr', 'trn', 't_old') order by 1",
        clear: &["drop table if exists tr, trn, t_old"],
    },
    Kind {
        name: "identity",
        make: "create table counted (a int generated always as identity, b int)",
        firsts: &["select nextval('counted_a_seq')", "alter table counted alter a drop identity", "insert into counted (b) values (1)"],
        seconds: &[
            "select nextval('counted_a_seq')",
            "select last_value from counted_a_seq",
            "alter table counted alter a drop identity",
            "alter table counted alter a drop identity if exists",
        ],
        state: "select attidentity, (select count(*) from pg_class where relname = 'counted_a_seq') from pg_attribute
                where attrelid = 'counted'::regclass and attname = 'a'",
        clear: &["drop table if exists counted"],
    },
    Kind {
        name: "sequence",
        make: "create sequence q",
        firsts: &[
            "drop sequence q",
            "alter sequence q increment 2",
            "alter sequence q restart with 100",
            "grant usage on sequence q to other",
            "select nextval('q')",
        ],
        seconds: &[
            "drop sequence q",
            "drop sequence if exists q",
            "create sequence q",
            "create sequence if not exists q",
            "alter sequence q increment 3",
            "alter sequence if exists q rename to z",
            "alter sequence q restart with 50",
            "comment on sequence q is 'some'",
            "grant select on sequence q to other",
            "select nextval('q')",
            "select setval('q', 7)",
            "select currval('q')",
            "select last_value, is_called from q",
        ],
        state: "select relname, relacl::text, obj_description(oid, 'pg_class'),
                (select seqincrement from pg_sequence where seqrelid = oid) from pg_class where relname in ('q', 'z')",
        clear: &["drop sequence if exists q, z"],
    },
    Kind {
        name: "default privileges",
        make: "alter default privileges grant select on tables to other",
        firsts: &[
            "alter default privileges revoke select on tables from other",
            "alter default privileges grant insert on tables to other",
            "alter default privileges grant usage on types to other",
            "alter role other set work_mem = '1MB'",
            "alter database postgres set work_mem = '1MB'",
        ],
        seconds: &[
            "alter default privileges revoke select on tables from other",
            "alter default privileges grant update on tables to other",
            "alter default privileges revoke usage on types from public",
            "alter role other set work_mem = '2MB'",
            "alter role other set lock_timeout = '2s'",
            "alter role other reset all",
            "alter database postgres set work_mem = '2MB'",
            "alter database postgres reset all",
        ],
        state: "select (select string_agg(defaclobjtype::text || defaclacl::text, ';' order by defaclobjtype) from pg_default_acl),
                (select string_agg(setconfig::text, ';' order by setrole) from pg_db_role_setting)",
        clear: &[
            "alter default privileges revoke all on tables from other",
            "alter default privileges revoke all on types from other",
            "alter default privileges grant usage on types to public",
            "alter role other reset all",
            "alter database postgres reset all",
        ],
    },
    Kind {
        name: "constants of changed columns",
        make: "create table ct (a int, b int); insert into ct values (1, 1); create type cte as enum ('a', 'b'); create table ctt (e cte); \
               create table ctr (r regclass); create table ct1 (a int)",
        firsts: &[
            "alter table ct alter a type text",
            "alter table ct drop a; alter table ct add a text",
            "alter table ct alter a type varchar(1) using null",
            "lock table ctt; alter type cte rename value 'a' to 'c'; alter type cte rename value 'b' to 'a'",
            "lock table ctr; alter table ct1 rename to ct2; create table ct1 (a int)",
        ],
        seconds: &[
            "insert into ct (a) values ('05')",
            "update ct set a = '07'",
            "delete from ct where a = '1'",
            "select b from ct where a = '01'",
            "insert into ctt values ('a')",
            "insert into ctr values ('ct1')",
        ],
        state: "select a::text || coalesce(b, 0) from ct union all select e::text from ctt union all select count(*)::text from ctr, pg_class c
                where c.oid = r and relname = 'ct1'",
        clear: &["drop table if exists ct, ctt, ctr, ct1, ct2", "drop type if exists cte"],
    },
    Kind {
        name: "fields in texts",
        make: "create type fx as (a int, b text); create table fr (a int, b text); create domain fd as fx; \
               create table fo (q fx, qs fx[], d fd, r fr); insert into fo values ('(1,b)', '{\"(2,c)\"}', '(3,d)', '(4,e)'); \
               create function fg() returns fx language sql as 'select q from fo'; \
               create or replace function text_of(query text) returns text language plpgsql as \
               $$ declare r text; begin execute query into r; return r; exception when others then return sqlstate; end $$",
        firsts: &[
            "alter type fx rename attribute b to c",
            "alter type fx drop attribute a",
            "alter table fr rename b to c",
        ],
        seconds: &[
            "create view fv as select (q).b from fo",
            "create view fv as select (qs[1]).b, (d).b as x from fo",
            "create view fv as select b from fg()",
            "create view fv as select (fg()).b",
            "create view fv as select (r).b from fo",
            "create table fm (q fx, check ((q).b <> 'z'))",
            "create index fi on fo (((q).b))",
            "alter table fo add check ((r).b <> 'z')",
            "create domain fdd as fx check ((value).b <> 'z')",
        ],
        state: "select text_of('select fv::text from fv') union all select text_of('insert into fm values (null) returning 1')
                union all select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'fo'::regclass
                union all select text_of('select (null::fdd) is null') union all select text_of('insert into fo (d) values (null) returning 2')",
        clear: &[
            "drop view if exists fv",
            "drop function if exists fg() cascade",
            "drop domain if exists fdd",
            "drop table if exists fm, fo, fr cascade",
            "drop type if exists fx cascade",
        ],
    },
];
