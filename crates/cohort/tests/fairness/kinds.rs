//! The kinds of long work.

/// Statements that take long, or are run again and again.
pub struct Kind {
    pub name: &'static str,
    /// Run once before, one by one.
    pub before: &'static [&'static str],
    /// Run one by one until cancelled. One that begins with `2000 times: ` is so many in one text.
    pub statements: &'static [&'static str],
    /// Run one by one after, whatever became of the others.
    pub after: &'static [&'static str],
}

const fn work(name: &'static str, statements: &'static [&'static str]) -> Kind {
    Kind { name, before: &[], statements, after: &[] }
}

/// Tables that all kinds may use.
pub const TABLES: &[&str] = &[
    "create table big (id int primary key, k int, t text, n numeric)",
    "insert into big select i, (i::bigint * 7919) % 10007, md5(i::text), i / 7.0 from generate_series(1, 40000) i",
    "create table small as select * from big where id <= 2000",
    "create table parent (id int primary key)",
    "create table child (parent int references parent on delete cascade)",
    "create index on child (parent)",
    "insert into parent select generate_series(1, 5000)",
    "insert into child select (i % 5000) + 1 from generate_series(1, 20000) i",
    "create materialized view seen as select k, count(*) from big group by k",
    "create function fib(n int) returns int language plpgsql as
     'begin if n < 2 then return n; end if; return fib(n - 1) + fib(n - 2); end'",
    "create function by_sql(n int) returns bigint language sql volatile as
     'select count(*) from small where id < n'",
    "create function slow_key(n int) returns int language plpgsql immutable as
     'begin for i in 1..200 loop n := (n * 31 + i) % 65521; end loop; return n; end'",
    "create table noted (id int, t text)",
    "create function note() returns trigger language plpgsql as 'begin new.t := new.t || ''!''; return new; end'",
    "create type pair as (a int, b text)",
    "create type mood as enum ('sad', 'ok', 'happy')",
    "create trigger note before insert on noted for each row execute function note()",
    "create function endless(n int) returns int language plpgsql as 'begin return endless(n + 1); end'",
    "create function endless_sql(n int) returns int language sql volatile as 'select 1'",
    "create or replace function endless_sql(n int) returns int language sql volatile as 'select endless_sql(n + 1)'",
    "create table endless (i int)",
    "create function insert_more() returns trigger language plpgsql as
     'begin insert into endless values (1); return null; end'",
    "create trigger more after insert on endless for each statement execute function insert_more()",
    "create table endless_rows (i int)",
    "create function insert_row() returns trigger language plpgsql as
     'begin begin insert into endless_rows values (1); exception when unique_violation then null; end; return null; end'",
    "create trigger more after insert on endless_rows for each row execute function insert_row()",
];

pub const KINDS: &[Kind] = &[
    work("plpgsql recursion", &["select fib(40)"]),
    work("endless recursion of a function", &["select endless(1)"]),
    work("endless recursion of a function in SQL", &["select endless_sql(1)"]),
    work("endless recursion of a trigger", &["insert into endless values (1)"]),
    work("endless recursion of a trigger for rows", &["insert into endless_rows values (1)"]),
    work("plpgsql loop", &["do 'declare i int := 0; begin loop i := i + 1; end loop; end'"]),
    work(
        "plpgsql while",
        &["do 'declare s text := $$$$; begin while length(s) < 100000000 loop s := s || $$xy$$; end loop; end'"],
    ),
    work("plpgsql array growing", &["do 'declare a int[]; begin for i in 1..1000000 loop a := a || i; end loop; end'"]),
    work(
        "plpgsql array grown at once",
        &[
            "do 'declare a int[]; begin loop a := array[1]; a[5000000] := 1; a := array[1]; a[-5000000] := 1; end loop; end'",
        ],
    ),
    work(
        "plpgsql elements of a large array",
        &[
            "do 'declare a int[] := array_fill(1, array[3000000]); b int[]; begin for i in 1..2000 loop b := a; b[i] := i; end loop; end'",
        ],
    ),
    work("plpgsql foreach", &["do 'declare x int; begin foreach x in array array_fill(1, array[3000000]) loop end loop; end'"]),
    work(
        "plpgsql queries",
        &["do 'declare n int; begin loop select count(*) into n from small where id < 50; end loop; end'"],
    ),
    work(
        "plpgsql cursor loop",
        &["do 'declare r record; begin loop for r in select * from big loop null; end loop; end loop; end'"],
    ),
    work(
        "plpgsql exceptions",
        &["do 'begin loop begin perform 1 / 0; exception when others then null; end; end loop; end'"],
    ),
    work("plpgsql dynamic", &["do 'begin loop execute $$select count(*) from small where id < 50$$; end loop; end'"]),
    work("plpgsql nothing", &["do 'begin loop null; end loop; end'"]),
    work("sql function", &["select sum(by_sql(i % 2000)) from generate_series(1, 1000000) i"]),
    work("series", &["select count(*) from generate_series(1, 1000000000)"]),
    work("series of numerics", &["select count(*) from generate_series(1.0, 1000000000.0)"]),
    work("series in a select list", &["select max(g) from (select generate_series(1, 1000000000) g) s"]),
    work("cross join", &["select count(*) from big a, big b where a.k + b.k = -1"]),
    work("nested loop without a match", &["select count(*) from big a, big b where a.t || b.t = 'x'"]),
    work("hash join", &["select count(*) from big a join big b on a.k % 10 = b.k % 10"]),
    Kind {
        name: "merge join",
        before: &["set enable_hashjoin = off", "set enable_nestloop = off"],
        statements: &["select count(*) from big a join big b on a.k / 100 = b.k / 100"],
        after: &[],
    },
    work("lateral", &["select count(*) from big a, lateral (select count(*) from small b where b.k < a.k) s"]),
    work("correlated subquery", &["select sum((select count(*) from small b where b.k < a.k)) from big a"]),
    work("exists", &["select count(*) from big a where not exists (select from small b where b.k * 2 + 1 = a.k * 2)"]),
    Kind {
        name: "sort of integers",
        before: &["set work_mem = '1GB'"],
        statements: &["select (i * 7919::bigint) % 1000003 from generate_series(1, 400000) i order by 1 offset 399999"],
        after: &[],
    },
    Kind {
        name: "sort of texts",
        before: &["set work_mem = '1GB'"],
        statements: &[
            "select 'the same beginning of all' || i % 99991 from generate_series(1, 200000) i order by 1 offset 199999",
        ],
        after: &[],
    },
    Kind {
        name: "sort of numerics",
        before: &["set work_mem = '1GB'"],
        statements: &["select (i % 9973) ^ 7.5 from generate_series(1, 200000) i order by 1, i offset 199999"],
        after: &[],
    },
    work("sort in files", &["select md5(i::text) from generate_series(1, 400000) i order by 1 offset 399999"]),
    work(
        "sort of large texts in files",
        &["select count(*) from (select i || repeat('x', 3000000) t from generate_series(1, 100) i order by 1 offset 0) s"],
    ),
    work(
        "slices of an array",
        &[
            "do 'declare y int[]; begin loop foreach y slice 1 in array array_fill(0, array[1, 8000000]) loop null; end loop; end loop; end'",
        ],
    ),
    work(
        "window frame",
        &[
            "select max(s) from (select sum(i) over (order by i rows between 500 preceding and current row) s from generate_series(1, 100000) i) t",
        ],
    ),
    work(
        "window over one partition",
        &["select max(r) from (select rank() over (order by i % 100), i from generate_series(1, 300000) i) t(r)"],
    ),
    work("group by", &["select count(*) from (select i % 99991 from generate_series(1, 10000000) i group by 1) s"]),
    work("distinct aggregate", &["select count(distinct i % 99991) from generate_series(1, 10000000) i"]),
    work("ordered aggregate", &["select length(string_agg(t, ',' order by t)) from big"]),
    work("array_agg", &["select cardinality(array_agg(i)) from generate_series(1, 3000000) i"]),
    work(
        "percentile",
        &["select percentile_cont(0.5) within group (order by i % 1000) from generate_series(1, 400000) i"],
    ),
    work(
        "many percentiles",
        &[
            "select cardinality(percentile_cont(array_fill(0.5::float8, array[300000])) within group (order by i)) from generate_series(1, 1000) i",
        ],
    ),
    work(
        "recursive query",
        &["with recursive r(i) as (select 1 union all select i + 1 from r where i < 100000000) select count(*) from r"],
    ),
    work(
        "recursive distinct query",
        &["with recursive r(i) as (select 1 union select (i * 7 + 1) % 10000019 from r) select count(*) from r"],
    ),
    work(
        "except",
        &["select i from generate_series(1, 3000000) i except select i * 2 from generate_series(1, 3000000) i"],
    ),
    work(
        "unnest",
        &[
            "select count(*) from (select array_agg(i) a from generate_series(1, 100000) i) s, unnest(a) x, unnest(a) y where x = -y",
        ],
    ),
    work(
        "long regular expressions",
        &["select count(*) from generate_series(1, 100000) i where repeat('ab', 200000) || i ~ '(a|b)*c$'"],
    ),
    work("long plain patterns", &["select repeat('a', 30000) ~ repeat('a', 30000)"]),
    work(
        "groups of regular expressions",
        &[
            "select count(*) from generate_series(1, 1000) i, regexp_matches(repeat('abcd', 20000) || i, '((a|ab)(c|bcd))+', 'g')",
        ],
    ),
    work(
        "backtracking",
        &[r"select count(*) from generate_series(1, 100000) i where repeat('a', 1000) || i ~ '^(a|aa)+x\1$'"],
    ),
    work(
        "bounds beside look-ahead",
        &["select count(*) from generate_series(1, 100000) i where md5(i::text) ~ '(?!x{2})ab1'"],
    ),
    work(
        "look-ahead that looks at many states",
        &[
            "select count(*) from generate_series(1, 10000) i where repeat('ab', 150) || i ~ '(?=(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)c)x'",
        ],
    ),
    work("many matches of back-references", &[r"select length(regexp_replace(repeat('é', 100000), '(é)\1', 'x', 'g'))"]),
    work("replacement", &["select length(regexp_replace(repeat('abc', 1000000), '[a-b]+', 'x', 'g'))"]),
    work("like", &["select repeat('a', 2000000) like '%' || repeat('a', 2000) || 'b%'"]),
    work("ilike", &["select repeat('A', 2000000) ilike '%' || repeat('a', 2000) || 'b%'"]),
    work("texts of megabytes", &["select length(upper(replace(reverse(repeat('xyé', 3000000)), 'x', 'zz')))"]),
    work("hashes", &["select md5(repeat('x', 30000000)), sha256(repeat('x', 30000000)::bytea)"]),
    // Large results of small arguments.
    work("repeat", &["select length(repeat('x', 200000000))"]),
    work("lpad", &["select length(lpad('x', 200000000, 'yz'))"]),
    work("format", &["select length(format('%200000000s', 'x'))"]),
    work("growing replace", &["select length(replace(repeat('x', 30000), 'x', repeat('y', 6000)))"]),
    work("growing regexp_replace", &["select length(regexp_replace(repeat('x', 30000), 'x', repeat('y', 6000), 'g'))"]),
    work("concat", &["select length(concat(variadic array_fill(repeat('x', 20000), array[10000])))"]),
    work("array_to_string", &["select length(array_to_string(array_fill(repeat('x', 20000), array[10000]), ','))"]),
    work("array_fill", &["select cardinality(array_fill(1, array[10000000]))"]),
    work("string_agg", &["select length(string_agg(repeat('x', 60000), '')) from generate_series(1, 5000)"]),
    work("json_agg", &["select length(json_agg(repeat('x', 60000))::text) from generate_series(1, 5000)"]),
    work("jsonb_object_agg", &["select jsonb_object_agg(i, i) is null from generate_series(1, 1000000) i"]),
    work("split", &["select cardinality(string_to_array(repeat('ab,', 3000000), ','))"]),
    work("string_to_table", &["select count(*) from string_to_table(repeat('ab,', 3000000), ',')"]),
    work(
        "a large string in jsonb",
        &[
            "select length(('\"' || repeat('x', 20000000) || '\"')::jsonb::text)",
            "select length(to_jsonb(repeat(E'\n\"', 5000000))::text)",
        ],
    ),
    work(
        "a large string in json",
        &[
            "select length(to_json(repeat('x', 20000000))::text)",
            "select length(json_build_object('a', repeat('x', 20000000))::text)",
        ],
    ),
    Kind {
        name: "parts of json",
        before: &[
            "create temp table documents as select json_object_agg(i, i) j, jsonb_object_agg(i, i) b, jsonb_agg(i) a from generate_series(1, 300000) i",
        ],
        statements: &[
            "select count(*) from documents, json_each_text(j)",
            "select count(*) from documents, jsonb_each(b)",
            "select count(*) from documents, jsonb_array_elements_text(a)",
        ],
        after: &[],
    },
    work("a large text in an error", &["select repeat('x', 20000000)::int"]),
    work(
        "a large text in a notice",
        &["do 'declare t text := repeat($$x$$, 20000000); begin loop raise notice $$%$$, t; end loop; end'"],
    ),
    work(
        "a large text in a handled error",
        &[
            "do 'declare t text := repeat($$x$$, 20000000); begin loop begin raise exception $$%$$, t; exception when others then null; end; end loop; end'",
        ],
    ),
    work(
        "long names",
        &[
            "do 'begin perform repeat($$x.$$, 3000000)::regtype; exception when syntax_error then end'",
            "do 'begin perform repeat($$x.$$, 3000000)::regproc; exception when invalid_name or syntax_error then end'",
            "do 'begin perform repeat($$x$$, 20000000)::regproc; exception when undefined_function then end'",
            "do 'begin perform ($$f($$ || repeat($$int,$$, 3000000) || $$int)$$)::regprocedure; exception when too_many_arguments then end'",
        ],
    ),
    work(
        "jsonb",
        &[
            "select count(*) from generate_series(1, 100000) i where (select jsonb_agg(x) from generate_series(1, 20000) x) @> '[-1]'",
        ],
    ),
    work(
        "json text",
        &["select count(*) from jsonb_array_elements(('[' || repeat('{\"a\": [1, 2, 3]}, ', 500000) || '1]')::jsonb)"],
    ),
    work("json object", &["select length(jsonb_object_agg(i::text, i)::text) from generate_series(1, 300000) i"]),
    work("factorial", &["select length(factorial(30000)::text)"]),
    work("power of numerics", &["select length((7::numeric ^ 100000)::text)"]),
    work(
        "roots of numerics",
        &["select sum(sqrt(i::numeric(500, 400)) + ln(i::numeric(500, 400))) from generate_series(1, 100000) i"],
    ),
    work(
        "products of numerics",
        &[
            "select count(*) from (select factorial(9000) f offset 0) s, generate_series(1, 10000) i where f * f / (f + i) = 1",
        ],
    ),
    work(
        "date arithmetic",
        &[
            "select max(to_char(timestamp '2000-01-01' + i * interval '1 hour', 'Day, DD Month YYYY')) from generate_series(1, 100000000) i",
        ],
    ),
    Kind {
        name: "create index",
        before: &[],
        statements: &["create index made on big (k)", "drop index made"],
        after: &["drop index if exists made"],
    },
    Kind {
        name: "create index on texts",
        before: &[],
        statements: &["create index made on big (t)", "drop index made"],
        after: &["drop index if exists made"],
    },
    Kind {
        name: "create index on a function",
        before: &[],
        statements: &["create index made on big (slow_key(k))", "drop index made"],
        after: &["drop index if exists made"],
    },
    Kind {
        name: "create unique index",
        before: &[],
        statements: &["create unique index made on big (t, k)", "drop index made"],
        after: &["drop index if exists made"],
    },
    work("reindex", &["reindex table big"]),
    work("translation", &["select length(translate(repeat('b', 100000), repeat('a', 100000), ''))"]),
    Kind {
        name: "grant on a long list",
        before: &[],
        statements: &["do $$ begin execute (select 'grant select on ' || string_agg('big', ', ') || ' to public'
            from generate_series(1, 20000)); end $$"],
        after: &["revoke select on big from public"],
    },
    Kind { name: "vacuum", before: &[], statements: &["update big set k = k + 1", "vacuum big"], after: &[] },
    work("analyze", &["analyze big"]),
    Kind {
        name: "update",
        before: &[],
        statements: &["begin", "update big set k = k + 1", "rollback"],
        after: &["rollback"],
    },
    Kind { name: "delete", before: &[], statements: &["begin", "delete from big", "rollback"], after: &["rollback"] },
    Kind {
        name: "insert",
        before: &[],
        statements: &["begin", "insert into small select * from big", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "insert with a trigger",
        before: &[],
        statements: &["begin", "insert into noted select id, t from big", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "upsert",
        before: &[],
        statements: &["insert into big select * from big on conflict (id) do update set k = excluded.k"],
        after: &[],
    },
    Kind {
        name: "merge",
        before: &[],
        statements: &[
            "merge into big b using (select id + 1000 as id, k from big) s on b.id = s.id \
             when matched then update set k = s.k when not matched and s.k < 0 then insert (id, k) values (s.id, s.k)",
        ],
        after: &[],
    },
    Kind {
        name: "large values",
        before: &["create temp table large (t text)"],
        statements: &[
            "insert into large select repeat(md5(i::text), 100000) from generate_series(1, 10) i",
            "select sum(length(t)) from large",
            "truncate large",
        ],
        after: &[],
    },
    Kind {
        name: "large values that don't shrink",
        before: &["create temp table large (t text)"],
        statements: &[
            "insert into large select string_agg(md5(i::text), '') from generate_series(1, 200000) i",
            "select sum(length(t)) from large",
            "truncate large",
        ],
        after: &[],
    },
    Kind {
        name: "check of a constraint",
        before: &[],
        statements: &[
            "alter table big add constraint made check (length(t) + slow_key(k) > 0)",
            "alter table big drop constraint made",
        ],
        after: &["alter table big drop constraint if exists made"],
    },
    Kind {
        name: "check of a foreign key",
        before: &["create temp table pointing as select i % 5000 + 1 p from generate_series(1, 100000) i"],
        statements: &[
            "create temp table if not exists pointed as select i p from generate_series(1, 5000) i",
            "alter table pointed add primary key (p)",
            "alter table pointing add constraint made foreign key (p) references pointed",
            "drop table pointed cascade",
        ],
        after: &["drop table if exists pointed cascade"],
    },
    Kind {
        name: "rewrite of a table",
        before: &["create temp table shaped as select * from big"],
        statements: &["alter table shaped alter column k type bigint", "alter table shaped alter column k type int"],
        after: &[],
    },
    Kind {
        name: "cascade",
        before: &[],
        statements: &["begin", "delete from parent", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "create table as",
        before: &[],
        statements: &[
            "create temp table made as select a.*, b.k as l from big a join small b using (k)",
            "drop table made",
        ],
        after: &["drop table if exists made"],
    },
    work("refresh of a view", &["refresh materialized view seen"]),
    work("explain analyze", &["explain analyze select count(*) from big a, big b where a.k + b.k = -1"]),
    Kind {
        name: "copy in",
        before: &["create temp table copied (id int primary key, t text)"],
        statements: &["truncate copied", "copy copied from stdin"],
        after: &[],
    },
    work("copy out", &["copy (select i, md5(i::text) from generate_series(1, 10000000) i) to stdout"]),
    work("checkpoint", &["update small set k = k + 1", "checkpoint"]),
    work("savepoints", &["begin", "savepoint a", "update small set k = k + 1", "rollback to a", "rollback"]),
    work(
        "nested bounds in a short text",
        &["select count(*) from generate_series(1, 1000) i where repeat('a', 60000) || i ~ '((a{1,130}){1,130})+b'"],
    ),
    work("nested bounds in a large text", &["select repeat('a', 20000000) ~ '((a{1,130}){1,130})+b'"]),
    work(
        "groups of nested bounds",
        &[
            "select count(*) from generate_series(1, 1000) i, regexp_matches(repeat('a', 60000) || i, '((a{1,60}){1,60})+(b|1)')",
        ],
    ),
    work(
        "bounds of words",
        &[
            r"select count(*) from generate_series(1, 1000) i where repeat('aé ', 20000) || i ~ '(\y(\w{1,6}\s?){1,6}\y)+b'",
        ],
    ),
    work(
        "look-ahead",
        &["select count(*) from generate_series(1, 10000) i where repeat('a', 60000) || i ~ 'a(?=a*b)'"],
    ),
    work("like with many wildcards", &["select repeat('ab', 250000) like repeat('%a_', 1000) || 'c%'"]),
    work(
        "arrays of long texts",
        &[
            "select count(*) from (select array_agg(t || i) a, array_agg(t || -i) b from (select repeat('x', 1000) t) s, generate_series(1, 15000) i) s, generate_series(1, 1000) where a && b or a @> b or a <@ b",
        ],
    ),
    work(
        "arrays of one long text",
        &[
            "select count(*) from (select array_fill(repeat('x', 10000), array[16000]) a, array_fill(repeat('x', 9999) || 'y', array[16000]) b offset 0) s, generate_series(1, 1000) where a && b or a @> b or a <@ b or array_position(a, b[1]) = 1",
        ],
    ),
    work(
        "comparison of arrays",
        &[
            "select count(*) from (select array_fill(repeat('x', 10000), array[16000]) || 'a'::text a, array_fill(repeat('x', 10000), array[16000]) || 'b'::text b offset 0) s, generate_series(1, 1000) where a = b or a > b",
        ],
    ),
    work(
        "groups of arrays",
        &[
            "select count(*) from (select array_fill(repeat('x', 10000), array[1000]) a from generate_series(1, 1000) i group by 1) s",
        ],
    ),
    work(
        "arrays in arrays of jsonb",
        &[
            "select count(*) from (select jsonb_agg(i) a, jsonb_agg(i order by i desc) || '[-1]' b from generate_series(1, 8000) i) s, generate_series(1, 100) where a @> b",
        ],
    ),
    work(
        "keys in jsonb",
        &[
            "select count(*) from (select jsonb_agg(i::text) j, array_agg(i::text order by i desc) || 'x' k from generate_series(1, 15000) i) s, generate_series(1, 100) where j ?& k or j - k = j or not j ?| array_fill(-1::text, array[15000])",
        ],
    ),
    work(
        "deep jsonb",
        &[
            "select count(*) from (select (repeat('{\"a\":', 900) || '[' || repeat('1,', 100000) || '1]' || repeat('}', 900))::jsonb j, array_fill('a'::text, array[900]) p offset 0) s, generate_series(1, 100) where jsonb_set(j, p || '5'::text, '2') = j",
        ],
    ),
    work(
        "deep json",
        &[
            "select count(*) from (select (repeat('{\"a\":', 900) || '[' || repeat('1,', 100000) || '1]' || repeat('}', 900))::json j, array_fill('a'::text, array[900]) p offset 0) s, generate_series(1, 100) where (j #> p)::text = '' or json_strip_nulls(j)::text = ''",
        ],
    ),
    work(
        "trimming by a long set",
        &[
            "select length(btrim(repeat('z', 400000), (select string_agg(chr(i + 1000), '') from generate_series(1, 20000) i) || 'z'))",
        ],
    ),
    work(
        "trimming of bytes",
        &["select length(btrim(repeat('z', 400000)::bytea, (repeat('a', 400000) || 'z')::bytea))"],
    ),
    work("position of bytes", &["select position((repeat('a', 200000) || 'b')::bytea in repeat('a', 400000)::bytea)"]),
    work(
        "common divisors",
        &[
            "select count(*) from (select factorial(1600) f offset 0) s, generate_series(1, 1000) i where gcd(f + i, f - 7) = 0",
        ],
    ),
    work("a large row from text", &["select ('(1,' || repeat('x', 20000000) || ')')::pair"]),
    work("rows from text", &["select cardinality(('{' || repeat('\"(1,a)\",', 500000) || '\"(1,a)\"}')::pair[])"]),
    work(
        "rows to text",
        &["select length((select array_agg(row(i, 'a b')::pair) from generate_series(1, 300000) i)::text)"],
    ),
    work("a large label", &["select repeat('x', 4000000)::mood"]),
    work("labels from text", &["select cardinality(('{' || repeat('happy,', 1000000) || 'sad}')::mood[])"]),
    work(
        "a long list",
        &[
            "do 'declare n int; begin loop execute $$select count(*) from small where id in ($$ || (select string_agg(i::text, $$,$$) from generate_series(1, 5000) i) || $$)$$ into n; end loop; end'",
        ],
    ),
    work("arrays to the client", &["select array_agg(i), array_agg(i::text) from generate_series(1, 200000) i"]),
    work("rows to the client", &["select row(b, b, row(b, 1)), jsonb_build_array(b.t, b.k) from big b"]),
    work("planning of a large join", &[PLANNED]),
    work(
        "planning of many arms",
        &[
            "do 'begin loop execute $$explain $$ || (select string_agg($$select k + $$ || i || $$ from big where id = $$ || i, $$ union all $$) from generate_series(1, 400) i); end loop; end'",
        ],
    ),
    Kind {
        name: "notifications to a listener",
        before: &["listen channel"],
        statements: &["do 'begin for i in 1 .. 100000 loop perform pg_notify($$channel$$, i::text); end loop; end'"],
        after: &["unlisten *"],
    },
    work(
        "many notifications",
        &["do 'begin for i in 1 .. 30000 loop perform pg_notify($$channel$$, i::text); end loop; end'"],
    ),
    Kind {
        name: "drop of chained views",
        before: &["do 'begin execute $$create temp view chained1 as select 1 as a$$;
            for i in 2 .. 200 loop
                execute format($$create temp view chained%s as select a from chained%s$$, i, i - 1);
            end loop; end'"],
        statements: &["begin", "drop view chained1 cascade", "rollback"],
        after: &["rollback"],
    },
    Kind {
        name: "plans of chained views",
        before: &["do 'begin execute $$create temp view chained1 as select 1 as a$$;
            for i in 2 .. 300 loop
                execute format($$create temp view chained%s as select a from chained%s$$, i, i - 1);
            end loop; end'"],
        statements: &["do 'begin loop execute $$explain select * from chained300 a, chained299 b$$; end loop; end'"],
        after: &[],
    },
    Kind {
        name: "caught errors",
        before: &[],
        statements: &["do 'begin loop begin insert into parent values (1); exception when others then null; end; end loop; end'"],
        after: &[],
    },
    Kind {
        name: "many definitions in a text",
        before: &["create temp table commented (i int)"],
        statements: &["2000 times: comment on table commented is 'a comment'"],
        after: &[],
    },
    Kind {
        name: "a table with many checks",
        before: &[],
        statements: &[
            "do 'begin execute $$create temp table checked (a int$$ || repeat($$, check (a > 0)$$, 600) || $$)$$; end'",
            "drop table checked",
        ],
        after: &["drop table if exists checked"],
    },
    Kind {
        name: "an enum of many labels",
        before: &[],
        statements: &[
            "begin",
            "do 'begin execute $$create type labels as enum ($$
                || (select string_agg(quote_literal(i), $$, $$) from generate_series(1, 15000) i) || $$)$$; end'",
            "rollback",
        ],
        after: &["rollback"],
    },
    work(
        "rows in rows",
        &[
            "do 'begin execute $$select length($$ || repeat($$row($$, 24) || $$''\"''$$ || repeat($$)$$, 24) || $$::text)$$; end'",
        ],
    ),
    Kind {
        name: "large stored arrays",
        before: &["create temp table arrays as select array_fill(1, array[2000000]) a"],
        statements: &["select cardinality(a) from arrays"],
        after: &[],
    },
    work(
        "large arrays as arguments",
        &["select num_nulls(variadic a) from (select array_fill(1, array[2000000]) a offset 0) s"],
    ),
    work(
        "slices of large arrays",
        &["select cardinality(a[2:2999999]) from (select array_fill(1, array[3000000]) a offset 0) s"],
    ),
    work("bytes to the client", &["select convert_to(repeat('x', 30000000), 'UTF8')"]),
    work(
        "many aggregates",
        &[
            "do 'begin execute (select $$select $$ || string_agg($$sum(k + $$ || i || $$)$$, $$, $$) || $$ from small$$ from generate_series(1, 1600) i); end'",
        ],
    ),
    work(
        "backtracking with costly steps",
        &[r"select repeat('ab', 1000) ~ '((?:a|b)*)(?!(?:a|b|[c-z]\w)*\w{200}d)\1\1\1c'"],
    ),
    Kind {
        name: "few states in a large text",
        before: &["create temp table mixed as select string_agg(chr(32 + (i * 5011) % 55000), '') t from generate_series(1, 400000) i"],
        statements: &[r"select t ~ '\w......[\x01-\x1f]' from mixed"],
        after: &[],
    },
    work(
        "many sort keys",
        &[
            "do 'begin execute (select $$select k from small order by $$ || string_agg($$k + $$ || i, $$, $$) from generate_series(1, 20000) i);
            exception when too_many_columns then end'",
        ],
    ),
    work(
        "many groups",
        &[
            "do 'begin execute (select $$select from small group by $$ || string_agg($$k + $$ || i, $$, $$) from generate_series(1, 20000) i);
            exception when too_many_columns then end'",
        ],
    ),
    work(
        "many windows",
        &[
            "do 'begin execute (select $$select $$ || string_agg($$sum(k) over (order by k + $$ || i || $$)$$, $$ + $$) || $$ from small$$ from generate_series(1, 6000) i); end'",
        ],
    ),
    work(
        "many named windows",
        &[
            "do 'begin execute (select $$select from small window $$ || string_agg($$w$$ || i || $$ as (order by k)$$, $$, $$) from generate_series(1, 20000) i); end'",
        ],
    ),
];

const PLANNED: &str = "do '
    declare
        names text := (select string_agg($$big b$$ || i, $$, $$) from generate_series(1, 40) i);
        conditions text := (select string_agg($$b$$ || i || $$.id = b$$ || i + 1 || $$.k$$, $$ and $$) from generate_series(1, 39) i);
    begin
        loop
            execute $$explain select count(*) from $$ || names || $$ where $$ || conditions;
        end loop;
    end'";
