//! The probes: expressions that give rows, and places that want a row of a certain type.

/// Definitions that both servers have before the first probe.
pub const DEFINITIONS: &[&str] = &[
    "create domain short as varchar(3) check (value <> 'bad')",
    "create domain positive as int check (value > 0)",
    "create type plain as (a text, b int)",
    "create type limited as (a varchar(2), b numeric(5, 1))",
    "create type checked as (a short, b positive)",
    "create domain limited_domain as limited check ((value).a is distinct from 'no')",
    "create table source (a text, b int)",
    "insert into source values ('x', 2)",
    "create table limited_table (a varchar(2), b numeric(5, 1))",
    "create type nested as (p limited, q int)",
    "create function gives_record(out a text, out b int) language sql as $$ select 'abc', 3 $$",
    "create function gives_any_record() returns record language sql as $$ select 'abc'::text, 3 $$",
    "create function gives_rows() returns table (a text, b int) language sql as $$ select 'abc', 3 $$",
    "create function gives_plain() returns plain language sql as $$ select 'abc'::text, 3 $$",
];

/// The types that are wanted.
pub const TARGETS: &[&str] = &["plain", "limited", "checked", "limited_domain", "limited_table", "source"];

/// The fields of the rows that are given.
pub const FIELDS: &[&str] = &[
    "'x', 2",
    "'abc', 2.77",
    "'no', 1",
    "'bad'::text, -1",
    "null, null",
    "'x'",
    "'x', 2, 3",
    "date '2020-01-01', true",
];

/// An expression that gives a row, and what it is computed from.
pub struct Given {
    /// Where it is.
    pub expression: String,
    /// With `from`, or empty.
    pub from: String,
    /// There is an array around the rows.
    pub is_array: bool,
    /// The expression is the whole row of a subquery or a function.
    pub is_whole_row: bool,
}

/// The ways to give a row that has these fields, and for the type `target` those that name it.
pub fn given(fields: &str, target: &str) -> Vec<Given> {
    let names = ["a", "a, b", "a, b, c"][fields.matches(", ").count().min(2)];
    let mut all = Vec::new();
    let mut one = |expression: &str, from: &str, is_array: bool| {
        let filled = |text: &str| {
            text.replace("ROW", &format!("row({fields})"))
                .replace("FIELDS", fields)
                .replace("NAMES", names)
                .replace("TARGET", target)
        };
        let is_whole_row = ["s", "(s)", "s.*::record"].contains(&expression);
        all.push(Given { expression: filled(expression), from: filled(from), is_array, is_whole_row });
    };
    for expression in [
        "ROW",
        "(select ROW)",
        "(select s from (select FIELDS) s(NAMES))",
        "(select r from (select ROW as r) s)",
        "(with w as (select ROW as r) select r from w)",
        "case when true then ROW end",
        "case when true then ROW else ROW end",
        "coalesce(ROW, ROW)",
        "coalesce(null, ROW)",
        "nullif(ROW, null)",
        "(array[ROW])[1]",
        "(select first_value(ROW) over ())",
        "(select ROW union all select ROW limit 1)",
        "ROW::TARGET",
        "ROW::record",
        "ROW::text",
        "ROW::text::TARGET",
        "coalesce(null::TARGET, ROW)",
        "case when true then ROW::TARGET else ROW end",
    ] {
        one(expression, "", false);
    }
    one("s", "from (select FIELDS) s(NAMES)", false);
    one("s", "from (values (FIELDS)) s(NAMES)", false);
    one("s.*::record", "from (select FIELDS) s(NAMES)", false);
    one("row(s.*)", "from (select FIELDS) s(NAMES)", false);
    one("(s)", "from (select FIELDS offset 0) s(NAMES)", false);
    one("r", "from (select ROW as r) s", false);
    one("s.r", "from (select ROW as r offset 0) s", false);
    one("r", "from (values (ROW)) s(r)", false);
    one("(r)", "from unnest(array[ROW]) s(r)", false);
    for expression in [
        "array[ROW]",
        "array[ROW, ROW]",
        "(select array_agg(s) from (select FIELDS) s(NAMES))",
        "array(select ROW)",
        "array[ROW]::TARGET[]",
        "array[ROW::TARGET]",
        "array[array[ROW]]",
        "array[null, ROW]",
        "array_append(null, ROW)",
        "array_append(null::TARGET[], ROW)",
        "array_fill(ROW, array[1])",
    ] {
        one(expression, "", true);
    }
    all
}

/// The ways to give a row that has the fields of the definitions' functions and tables.
pub fn given_by_definitions() -> Vec<Given> {
    let one = |expression: &str, from: &str, is_array| {
        let is_whole_row = ["g", "j"].contains(&expression);
        Given { expression: expression.into(), from: from.into(), is_array, is_whole_row }
    };
    vec![
        one("gives_record()", "", false),
        one("gives_any_record()", "", false),
        one("gives_plain()", "", false),
        one("g", "from gives_record() g", false),
        one("g", "from gives_rows() g", false),
        one("g", "from gives_any_record() g(a text, b int)", false),
        one("source", "from source", false),
        one("s", "from source s(x, y)", false),
        one("row(s.*)", "from source s", false),
        one("j", "from source s join source t using (a, b) as j", false),
        one("array[gives_record()]", "", true),
        one("(select array_agg(s) from source s)", "", true),
        one("json_populate_record(null::limited, '{\"a\": \"abc\", \"b\": 3}')", "", false),
    ]
}

/// The statements that put a given row where one of the type `target` is wanted.
pub fn places(given: &Given, target: &str) -> Vec<String> {
    let Given { expression, from, is_array, is_whole_row } = given;
    let wanted = format!("{target}{}", if *is_array { "[]" } else { "" });
    let select = format!("select {expression} {from}");
    let table = format!("create table t (k int, j {wanted}); ");
    let mut all = vec![
        format!("{table}insert into t select 1, {expression} {from}; select j::text from t"),
        format!(
            "{table}insert into t values (1); update t set j = s.r from (select {expression} as r {from}) s; select j::text from t"
        ),
        format!("select ({expression})::{wanted}::text {from}"),
        format!(
            "create function takes(x {wanted}) returns text language sql as $$ select x::text $$; select takes({expression}) {from}"
        ),
        format!(
            "create function takes(x {wanted}, y int default 1) returns text language plpgsql as $$ begin return x::text; end $$; select takes({expression}) {from}"
        ),
        format!(
            "create function gives() returns {wanted} language plpgsql as $$ begin return ({select}); end $$; select gives()::text"
        ),
        format!(
            "create function gives() returns setof {wanted} language plpgsql as $$ begin return query {select}; end $$; select g::text from gives() g"
        ),
        format!(
            "create function gives() returns text language plpgsql as $$ declare v {wanted}; begin v := ({select}); return v::text; end $$; select gives()"
        ),
        format!(
            "create function gives() returns text language plpgsql as $$ declare v {wanted}; begin {select} into v; return v::text; end $$; select gives()"
        ),
        format!("select coalesce({expression}, null::{wanted})::text {from}"),
        format!("select case when true then null::{wanted} else {expression} end::text {from}"),
        format!("select array[null::{wanted}, {expression}]::text {from}"),
        format!("select null::{wanted} union all {select}"),
        format!("select ({expression} = null::{wanted})::text {from}"),
        format!("select ({expression} in (null::{wanted}, null))::text {from}"),
        format!(
            "select 1 where exists (select 1 {from} where {})",
            if from.is_empty() { format!("{expression} is distinct from null::{wanted}") } else { "true".into() }
        ),
        format!(
            "create table n (j nested, l {wanted}); insert into n (j) select row({expression}, 1) {from}; select j::text from n"
        ),
    ];
    // PostgreSQL 15 crashes when such a function returns the whole row of a subquery or function.
    if !is_whole_row {
        all.extend([
            format!("create function gives() returns {wanted} language sql as $$ {select} $$; select gives()::text"),
            format!("create function gives() returns setof {wanted} language sql as $$ {select} $$; select g::text from gives() g"),
        ]);
    }
    if from.is_empty() {
        all.extend([
            format!("{table}insert into t values (1, {expression}); select j::text from t"),
            format!("{table}insert into t values (1, {expression}), (2, null); select j::text from t"),
            format!("{table}insert into t values (1); update t set j = {expression}; select j::text from t"),
            format!("{table}insert into t values (1); update t set (k, j) = (select 2, {expression}); select j::text from t"),
            format!("create table t (k int primary key, j {wanted}); insert into t values (1); insert into t values (1) on conflict (k) do update set j = {expression}; select j::text from t"),
            format!("create table t (k int, j {wanted} default {expression}); insert into t values (1); select j::text from t"),
            format!("{table}insert into t values (1); alter table t alter j set default {expression}; insert into t values (2); select j::text from t"),
            format!("{table}insert into t values (1, null); alter table t alter j type {wanted} using {expression}; select j::text from t"),
            format!("create function gives() returns {wanted} language plpgsql as $$ begin return {expression}; end $$; select gives()::text"),
            format!("create function gives() returns text language plpgsql as $$ declare v {wanted} := {expression}; begin return v::text; end $$; select gives()"),
            format!("create function gives() returns {wanted} language plpgsql as $$ declare v record; begin v := {expression}; return v; end $$; select gives()::text"),
            format!("{table}do $$ declare v record; begin v := {expression}; insert into t values (1, v); end $$; select j::text from t"),
            format!("{table}do $$ declare v record; begin select {expression} as x into v; insert into t values (1, v.x); end $$; select j::text from t"),
            format!("{table}do $$ declare v record; w {wanted}; begin v := {expression}; w := v; insert into t values (1, w); end $$; select j::text from t"),
            format!("{table}do $$ declare v t; begin v.j := {expression}; insert into t values (v.*); end $$; select j::text from t"),
            format!("{table}create function sets() returns trigger language plpgsql as $$ begin new.j := {expression}; return new; end $$; create trigger sets before insert on t for each row execute function sets(); insert into t values (1); select j::text from t"),
            format!("create view v as select {expression} as j; {table}insert into t select 1, j from v; select j::text from t"),
            format!("{table}prepare p as insert into t values ($1, {expression}); execute p (1); deallocate p; select j::text from t"),
        ]);
    }
    all
}

/// All probes, in an order that does not change.
pub fn all() -> Vec<String> {
    let mut all = Vec::new();
    for target in TARGETS {
        let of_fields = FIELDS.iter().flat_map(|fields| given(fields, target));
        for given in of_fields.chain(given_by_definitions()) {
            all.extend(places(&given, target));
        }
    }
    all
}
