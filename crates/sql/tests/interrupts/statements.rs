//! The statements that are interrupted, and the tables that they use. A new kind of work gets a line.

/// A statement that can be run again and again.
pub struct Statement {
    pub text: &'static str,
    /// The SQLSTATE that it ends with if it is not interrupted; `None` if it succeeds.
    pub error: Option<&'static str>,
    /// It runs in a block, which is rolled back.
    pub is_in_block: bool,
    /// Statements that take back what it did otherwise.
    pub after: &'static [&'static str],
    /// It is several statements, which only the simple protocol knows.
    pub is_string: bool,
}

const fn good(text: &'static str) -> Statement {
    Statement { text, error: None, is_in_block: true, after: &[], is_string: false }
}

const fn bad(text: &'static str, error: &'static str) -> Statement {
    Statement { text, error: Some(error), is_in_block: true, after: &[], is_string: false }
}

/// Several statements.
const fn string(text: &'static str) -> Statement {
    Statement { text, error: None, is_in_block: true, after: &[], is_string: true }
}

/// Outside of a block.
const fn alone(text: &'static str, error: Option<&'static str>, after: &'static [&'static str]) -> Statement {
    Statement { text, error, is_in_block: false, after, is_string: false }
}

pub const SCHEMA: &[&str] = &[
    "create function twice(n int) returns int immutable language plpgsql as 'begin for i in 1..3 loop n := n + 0; end loop; return 2 * n; end'",
    "create function inverse(n int) returns int immutable language sql as 'select 100 / n'",
    "create function careful(n int) returns int language plpgsql as '
        begin
            begin
                for i in 1..3 loop n := n + 100 / (2 - i); end loop;
            exception when others then n := n + 1;
            end;
            return n;
        end'",
    "create table numbers (id int primary key, k int, t text)",
    "insert into numbers select i, i % 7, 'text ' || i from generate_series(1, 60) i",
    "create table noted (id int, t text)",
    "create table keyed (id int, t text default 'x')",
    "create unique index keyed_twice on keyed (twice(id))",
    "insert into keyed values (1), (2)",
    "create table checked (id int primary key references numbers, k int check (careful(k) > 0), g int generated always as (id * 2) stored)",
    "insert into checked values (1, 1), (2, 2)",
    "create function note() returns trigger language plpgsql as 'begin insert into noted values (new.id, new.t); return new; end'",
    "create table watched (id int, t text)",
    "create trigger note after insert on watched for each row execute function note()",
    "create view seen as select k, count(*) as n from numbers group by k",
    "create view seen_again as select * from seen where n > 1",
    "create materialized view kept as select k, sum(id) from numbers group by k",
    "create domain small as int check (value < 1000 and length(repeat(value::text, 3)) > 0)",
    "create type pair as (a small, b text)",
    "create sequence counter",
    "create procedure work_off(n int) language plpgsql as 'begin for i in 1..n loop insert into noted values (i, ''x''); end loop; end'",
];

pub const STATEMENTS: &[Statement] = &[
    good("select * from numbers"),
    good("select id from numbers where k = 3 and t like '%1%' order by t desc"),
    good("select count(*), k from numbers group by k having count(*) > 2 order by 1, 2"),
    good("select a.id from numbers a join numbers b on a.id = b.k left join numbers c on c.id = b.id where a.t < 'u'"),
    good(
        "select a.id from numbers a where exists (select from numbers b where b.k = a.id) and id in (select k from numbers)",
    ),
    good("with recursive r(i) as (select 1 union all select i + 1 from r where i < 20) select sum(i) from r"),
    good("select distinct k from numbers union select id from numbers except select 3 intersect all select 4"),
    good("select string_agg(t, ',' order by t desc), array_agg(id), json_agg(numbers) from numbers"),
    good("select t ~ '^(t|e)+x', regexp_replace(t, '[a-z]', 'x', 'g'), regexp_split_to_array(t, 'x') from numbers"),
    good(
        "select jsonb_build_object('a', array[1, 2, 3], 'b', t) @> '{\"a\": [1]}', jsonb_array_elements('[1, 2]') from numbers",
    ),
    good("select * from generate_series(1, 30) i, lateral (select i * 2 as j) d, unnest(array[1, 2]) u"),
    good("select twice(id), careful(id), inverse(id) from numbers where id < 4"),
    bad("select inverse(0)", "22012"),
    bad("select inverse(k) from numbers", "22012"),
    bad("select '12x'::int + id from numbers", "22P02"),
    bad("select inverse('zero'::int)", "22P02"),
    good("select careful(1), careful(2)"),
    good("select (row(1, 'x')::pair).a, 5::small, '{1,2}'::int[]"),
    bad("select 5000::small", "23514"),
    good("select * from seen_again, kept"),
    good("explain select * from seen_again s join kept on kept.k = s.k"),
    good("explain analyze select * from numbers order by t"),
    good("insert into numbers select i, i, 't' from generate_series(100, 120) i"),
    good("insert into numbers values (1, 1, 'x') on conflict (id) do update set k = excluded.k returning *"),
    bad("insert into numbers values (200, 1, 'x'), (1, 1, 'x')", "23505"),
    bad("insert into keyed values (3), (1)", "23505"),
    bad("update keyed set id = 2 where id = 1", "23505"),
    bad("insert into checked values (3, 1), (3000, 1)", "23503"),
    good("insert into checked select id, id from numbers where id between 10 and 14"),
    bad("insert into numbers (id) values (null)", "23502"),
    good("insert into watched select id, t from numbers where id < 5"),
    good("update numbers set t = t || 'x' where k = 2 returning twice(id)"),
    good("delete from numbers where id > 50"),
    good(
        "merge into numbers n using generate_series(45, 60) i on n.id = i when matched and i > 50 then delete \
         when matched then update set t = 'm' || twice(i) when not matched then insert values (i, i, 'new')",
    ),
    bad(
        "merge into keyed k using (values (1), (1)) v (id) on k.id = v.id when matched then update set t = 'x'",
        "21000",
    ),
    bad("delete from numbers where id < 3", "23503"),
    good("copy noted from stdin"),
    bad("copy keyed (id, t) from stdin where id < 0 or careful(id) / 0 > 1", "22012"),
    good("copy (select * from numbers order by t) to stdout"),
    good("truncate numbers cascade"),
    good("create table made as select *, careful(k) from numbers"),
    good("create index on numbers (t, twice(k))"),
    bad("create unique index on numbers (twice(k))", "23505"),
    bad("alter table numbers add check (careful(id) < 20)", "23514"),
    good("alter table numbers alter t type varchar using t || 'x', add column n int default 3"),
    good("alter table numbers rename column t to text"),
    bad("alter table noted add foreign key (id) references keyed (id)", "42830"),
    good("alter table watched add foreign key (id) references numbers"),
    good("create view view_of_views as select * from seen_again natural join seen"),
    bad("drop table numbers", "2BP01"),
    good("drop table numbers cascade"),
    good("drop view seen cascade"),
    good("refresh materialized view kept"),
    good("analyze numbers"),
    good("reindex table numbers"),
    alone("vacuum analyze numbers", None, &[]),
    alone("create index concurrently later on numbers (k)", None, &["drop index if exists later"]),
    alone("insert into noted select 1, t from numbers", None, &["delete from noted"]),
    alone("call work_off(20)", None, &["delete from noted"]),
    good("do $$ begin perform id from numbers; insert into noted select id, t from numbers; end $$"),
    good(
        "do $$ begin
        begin insert into numbers values (1); exception when unique_violation then null; end;
        begin insert into keyed values (1); exception when others then null; end;
        begin perform 1 / (id - 5) from numbers; exception when division_by_zero or assert_failure then perform 1; end;
    end $$",
    ),
    good(
        "do $$ declare r record; c cursor for select * from numbers; begin
        for r in c loop continue when r.k = 1; end loop;
        for r in execute 'select * from numbers where id = $1' using 3 loop raise notice '%', r.t; end loop;
        for r in select * from kept order by sum loop r.k := r.k + 1; end loop;
    end $$",
    ),
    good(
        "do $$ begin for i in 1..5 loop execute format('create temp table t%s (id int)', i); end loop; drop table t1, t2; end $$",
    ),
    bad("do $$ begin assert careful(1) > 1000, 'small'; exception when others then null; end $$", "P0004"),
    good("declare c cursor for select * from numbers order by t"),
    good(
        "select obj_description(oid), pg_get_viewdef(oid), relname::regclass from pg_class where relname like 'seen%'",
    ),
    good("select table_name, column_name from information_schema.columns where table_name = 'numbers'"),
    good(
        "select pg_get_functiondef(oid), pg_get_function_arguments(oid) from pg_proc where proname in ('twice', 'careful')",
    ),
    good(
        "select pg_get_indexdef(indexrelid), pg_get_constraintdef(c.oid) from pg_index join pg_constraint c on conindid = indexrelid",
    ),
    good("grant select on all tables in schema public to public"),
    good("comment on table numbers is 'of all kinds'"),
    bad("select * from numbers where missing = 1", "42703"),
    bad("select id from numbers group by k", "42803"),
    string("savepoint one; insert into numbers values (300); rollback to one; release one"),
    string("deallocate all; prepare p as select * from numbers where id = $1; execute p(3); deallocate all"),
];
