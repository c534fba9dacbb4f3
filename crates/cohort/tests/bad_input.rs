//! Bad input from clients: statements nested beyond all bounds, too many columns, wrong parameters, values too large for the memory.
//! The answer is an error with PostgreSQL's code, or the result. The server never ends.
// invariants: row 26

mod common;

use std::path::Path;

use common::Server;
use common::wire::Session;
use postgres::types::Type;

/// How deep statements are nested here.
const DEPTHS: [usize; 6] = [100, 250, 500, 1000, 3000, 10_000];

/// The outcome of a statement: the code of its error, or "ok".
fn outcome(session: &mut Session, statement: &str) -> String {
    let answer = session.simple(statement);
    let shown = &statement[..statement.len().min(60)];
    assert!(!answer.contains("the connection is closed"), "the connection broke at {shown}");
    match answer.split_once("ERROR ") {
        Some((_, error)) => error[..5].to_owned(),
        None => "ok".to_owned(),
    }
}

/// A server, and a session that lives through all that another one does.
fn with_server(work: impl FnOnce(&mut Session)) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let socket = server.socket();
    let connect = |socket: &Path| Session::connect(socket, "postgres");
    let (mut session, mut other) = (connect(&socket), connect(&socket));
    other.simple("create table kept (id int primary key)");
    other.simple("begin; insert into kept values (1)");
    work(&mut session);
    assert_eq!(outcome(&mut session, "select 1"), "ok");
    assert_eq!(outcome(&mut other, "commit"), "ok");
    assert!(session.simple("select count(*) from kept").contains("row 1\n"));
    server.stop();
}

#[test]
fn functions_that_call_each_other_twice_are_not_inlined_without_end() {
    with_server(|session| {
        session.simple(
            "create function f0(int) returns int language sql immutable as 'select $1 + 1';
             create function t0() returns setof int language sql stable as 'select 1';
             create function twice(int) returns int language sql immutable as
             'select case when $1 > 0 then $1 when $1 < 0 then -1 else $1 end'",
        );
        for level in 1..60 {
            let below = level - 1;
            let made = session.simple(&format!(
                "create function f{level}(int) returns int language sql immutable as 'select f{below}($1) + f{below}($1)';
                 create function t{level}() returns setof int language sql stable as
                 'select a.* from t{below}() a, t{below}() b'"
            ));
            assert!(!made.contains("ERROR"), "{made}");
        }
        assert_eq!(outcome(session, "explain select f59(i) from generate_series(1, 2) i"), "ok");
        assert_eq!(outcome(session, "explain select * from t59()"), "ok");
        assert!(session.simple("select f9(i) from generate_series(1, 2) i").contains("row 1024\nrow 1536\n"));
        assert!(session.simple("select count(*) from t9()").contains("row 1\n"));
        // An argument that is used several times at each level.
        let nested = format!("select {}i{} from generate_series(-1, 1) i", "twice(".repeat(40), ")".repeat(40));
        let answer = session.simple(&nested);
        assert!(answer.contains("row -1\nrow 0\nrow 1\n"), "{answer}");
    });
}

/// Statements nested `depth` deep.
fn nested_statements(depth: usize) -> Vec<String> {
    let nested = |before: &str, middle: &str, after: &str| {
        format!("select {}{middle}{}", before.repeat(depth), after.repeat(depth))
    };
    let chain = |first: &str, next: &str| format!("{first}{}", next.repeat(depth));
    vec![
        nested("(", "1", ")"),
        nested("case when true then ", "1", " end"),
        nested("(select ", "1", ")"),
        nested("array[", "1", "]"),
        nested("row(", "1", ")"),
        nested("abs(", "1", ")"),
        nested("coalesce(", "1", ")"),
        nested("not ", "true", ""),
        nested("- ", "1", ""),
        chain("select 1", " union select 1"),
        chain("select 1", "+1"),
        chain("select true", " and true"),
        chain("select 'a'", "||'a'"),
        chain("select 1", "::int"),
        chain("select 1", " is null"),
        chain("select array[1]", "[1]"),
        format!("{}select 1{}", "(".repeat(depth), ")".repeat(depth)),
        format!("select * from {}pg_class{}", "(select * from ".repeat(depth), ") a".repeat(depth)),
        format!("select 1 where 1 in {}(1){}", "(select 1 where 1 in ".repeat(depth), ")".repeat(depth)),
        format!("create or replace view deep as select {}1{}", "(".repeat(depth), ")".repeat(depth)),
        format!("select '{}'::jsonb", "[".repeat(depth)),
        format!("select '{}{}'::json", "[".repeat(depth), "]".repeat(depth)),
        format!("select '{}'::int[]", "{".repeat(depth)),
        format!("select 'a' ~ '{}a{}'", "(".repeat(depth), ")".repeat(depth)),
        format!("do $$ begin {}null; {}end $$", "begin ".repeat(depth), "end; ".repeat(depth)),
        format!("do $$ begin {}null; {}end $$", "if true then ".repeat(depth), "end if; ".repeat(depth)),
        format!("do $$ begin {}null; {}end $$", "loop ".repeat(depth), "exit; end loop; ".repeat(depth)),
        format!("select 'a' ~ '{}a{}'", "(?:".repeat(depth), ")?".repeat(depth)),
        format!("select 'a' ~ '{}a{}'", "(?=".repeat(depth), ")".repeat(depth)),
        format!("select 'a' ~ '{}'", "(a|".repeat(depth)),
    ]
}

#[test]
fn statements_nested_however_deep_work_or_are_refused() {
    with_server(|session| {
        for depth in DEPTHS {
            for statement in nested_statements(depth) {
                let found = outcome(session, &statement);
                // Too deep a statement; too deep a value of its type; too deep a program.
                let expected = ["ok", "54001", "54000", "22P02", "2201B", "42601", "42804"];
                assert!(expected.contains(&found.as_str()), "{found} for {depth} times {}", &statement[..60]);
            }
        }
        // The grammar accepts a sum of this length, but its tree is too deep for the code that walks it.
        let sum = format!("select 1{}", "+1".repeat(10_000));
        assert_eq!(outcome(session, &sum), "54001");
    });
}

#[test]
fn more_columns_than_there_may_be_are_refused() {
    let list = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(",");
    let columns = |count| list(count, &|number| format!("c{number} int"));
    let numbers = |count| list(count, &|number| number.to_string());
    let named = |count| list(count, &|number| format!("{number} as c{number}"));
    with_server(|session| {
        for (statement, expected) in [
            (format!("create table t ({})", columns(1601)), "54011"),
            (format!("create table t ({})", columns(1600)), "ok"),
            ("alter table t add column more int".to_owned(), "54011"),
            ("insert into t (c1599) values (7)".to_owned(), "ok"),
            (format!("create type y as ({})", columns(1601)), "54011"),
            (format!("create view v as select {}", named(1601)), "54011"),
            (format!("create table u as select {}", named(1601)), "54011"),
            (format!("select {}", numbers(1665)), "54011"),
            (format!("select {}", numbers(1664)), "ok"),
            (format!("select row({}) is null", numbers(1665)), "54011"),
            (format!("create function f({}) returns int language sql as 'select 1'", columns(101)), "54023"),
        ] {
            assert_eq!(outcome(session, &statement), expected, "{}", &statement[..40.min(statement.len())]);
        }
        assert!(session.simple("select c1599 from t").contains("row 7\n"));
    });
}

#[test]
fn values_that_no_memory_holds_are_refused() {
    with_server(|session| {
        for (statement, expected) in [
            ("select repeat('x', 1073741825)", "54000"),
            ("select repeat(repeat('x', 1000000), 1000000)", "54000"),
            ("select length(repeat('x', 600000000) || repeat('x', 600000000))", "54000"),
            ("select lpad('x', 2147483647)", "54000"),
            ("select string_agg(repeat('x', 100000000), '') from generate_series(1, 1000000000)", "54000"),
            ("select array_agg(repeat('x', 100000000)) from generate_series(1, 1000000000)", "54000"),
            ("select jsonb_agg(repeat('x', 100000000)) from generate_series(1, 1000000000)", "54000"),
            ("select array_fill(1, array[1000000000])", "54000"),
            ("select '[1:2000000000]={1}'::int[]", "22P02"),
            ("select length(replace(repeat('x', 1000000), 'x', repeat('y', 1000000)))", "54000"),
            ("select length(regexp_replace(repeat('x', 100000), 'x', repeat('y', 100000), 'g'))", "54000"),
            ("select length(regexp_replace(repeat('x', 100000), '.*', repeat('\\&', 100000)))", "54000"),
            ("select concat(variadic array_fill(repeat('x', 1000000), array[100000]))", "54000"),
            ("select concat_ws(repeat('x', 1000000), variadic array_fill('x'::text, array[100000]))", "54000"),
            ("select format(repeat('%1$s', 100000), repeat('x', 1000000))", "54000"),
            ("select array_to_string(array_fill(1, array[100000]), repeat('x', 1000000))", "54000"),
            (
                "do $$ declare x jsonb := '1'; begin for i in 1..2000 loop x := jsonb_build_array(x); end loop; end $$",
                "54001",
            ),
            ("select count(pg_advisory_lock(i)) from generate_series(1, 30000) i", "53200"),
            ("select pg_advisory_unlock_all()", "ok"),
            (r"select regexp_match(repeat('a', 600), repeat('(a)', 300) || '\w{250}')", "ok"),
            (r"select regexp_match(repeat('a', 6000), repeat('(a?)', 3000) || '\w{250}')", "2201B"),
        ] {
            assert_eq!(outcome(session, statement), expected, "{statement}");
        }
    });
}

/// Functions in SQL that become part of the statement, and views over views, make expressions that are far deeper than any text.
#[test]
fn expressions_that_inlining_makes_deep() {
    with_server(|session| {
        let body = |argument: &str| format!("{}{argument}{}", "(".repeat(240), "+1)".repeat(240));
        let function = format!("create function f(x int) returns int language sql immutable as 'select {}'", body("x"));
        assert_eq!(outcome(session, &function), "ok");
        assert_eq!(outcome(session, "create table t0 as select 1 as x"), "ok");
        for calls in [1, 2, 5, 10, 20, 40] {
            let query = format!("select 1 / ({}x{} - {}) from t0", "f(".repeat(calls), ")".repeat(calls), calls * 240);
            assert_eq!(outcome(session, &query), "ok", "{calls} calls");
        }
        for number in 1..=24 {
            let view = format!("create view v{number} as select {} as x from ", body("x"));
            let below = if number == 1 { "t0".to_owned() } else { format!("v{}", number - 1) };
            assert_eq!(outcome(session, &format!("{view}{below}")), "ok", "view {number}");
        }
        let query = format!("select 1 / (x - {}) from v24", 24 * 240);
        assert_eq!(outcome(session, &query), "ok");
    });
}

/// Each of these doubles a value again and again.
/// Flat texts whose plans are deep: each window needs an order of its own, and each common table expression reads the one before.
#[test]
fn statements_with_deep_plans_work_or_are_refused() {
    let windows = |count: u32, between: &str| {
        let windows: Vec<String> = (0..count).map(|number| format!("sum(a) over (order by b, {number})")).collect();
        // The whole row is read: what nobody reads is not computed.
        format!("select count(s) from (select {} from wide) s", windows.join(between))
    };
    let chain = |count: u32, how: &str| {
        let from = |number: u32| number.checked_sub(1).map_or("wide".to_owned(), |before| format!("c{before}"));
        let all: Vec<String> = (0..count).map(|i| format!("c{i} as {how} (select a from {})", from(i))).collect();
        format!("with {} select count(*) from c{}", all.join(","), count - 1)
    };
    let deep = windows(500, ",");
    with_server(|session| {
        assert_eq!(outcome(session, "create table wide as select i as a, i as b from generate_series(1, 3) i"), "ok");
        for (statement, expected) in [
            (windows(900, ","), "ok"),
            (windows(4000, "+"), "54001"),
            (chain(500, "not materialized"), "ok"),
            (chain(1500, "materialized"), "ok"),
            (chain(8000, "materialized"), "54001"),
            (format!("explain {}", windows(900, ",")), "ok"),
            (format!("explain analyze {deep}"), "ok"),
            (format!("explain (format json) {}", chain(1500, "materialized")), "ok"),
            (format!("copy ({deep}) to stdout"), "ok"),
            (format!("declare c cursor with hold for {deep}"), "ok"),
            ("fetch all from c".to_owned(), "ok"),
            ("close c".to_owned(), "ok"),
            (format!("prepare p as {deep}"), "ok"),
            ("execute p".to_owned(), "ok"),
            (format!("create table made as {deep}"), "ok"),
            (format!("create view seen as {deep}"), "ok"),
            ("select (select * from seen) from wide".to_owned(), "ok"),
            (format!("insert into made {deep}"), "ok"),
            (format!("do $$ begin perform ({deep}); end $$"), "ok"),
            (format!("create function f() returns bigint language sql as $$ {deep} $$"), "ok"),
            ("select f(), f() from wide".to_owned(), "ok"),
        ] {
            assert_eq!(outcome(session, &statement), expected, "{}", &statement[..statement.len().min(100)]);
        }
    });
}

#[test]
fn values_that_double_end_where_values_end() {
    let nested = |before: &str, middle: &str| format!("select {}{middle}{}", before.repeat(40), ")".repeat(40));
    let doubled = |first: &str, next: &str| {
        format!("do $$ declare x {first}; begin for i in 1 .. 40 loop x := {next}; end loop; end $$")
    };
    with_server(|session| {
        for statement in [
            nested("row(", "1"),
            nested("quote_literal(", "repeat($$'$$, 540000000)"),
            nested("format('%1$L%1$L',", "repeat('a', 300000000)"),
            doubled("text := repeat('x', 300000000)", "x || x"),
            doubled("bytea := repeat('x', 300000000)::bytea", "x || x"),
            doubled("int[] := array_fill(1, array[10000000])", "x || x"),
            doubled("jsonb := to_jsonb(repeat('x', 100000000))", "jsonb_build_array(x, x)"),
            doubled("json := to_json(repeat('x', 100000000))", "json_build_array(x, x)"),
            doubled("text := repeat('x', 100000000)", "replace(x, 'x', 'xxxxxxxxxxx')"),
        ] {
            assert_eq!(outcome(session, &statement), "54000", "{statement}");
        }
    });
}

#[test]
fn rows_that_are_kept_for_a_cursor_are_given_until_somebody_interrupts() {
    with_server(|session| {
        for take in ["move", "fetch"] {
            for statement in [
                "begin",
                "declare c scroll cursor with hold for select i, repeat('x', 30) from generate_series(1, 1000000) i",
                "commit",
                "set statement_timeout = '5ms'",
            ] {
                assert_eq!(outcome(session, statement), "ok", "{statement}");
            }
            assert_eq!(outcome(session, &format!("{take} all in c")), "57014");
            assert_eq!(outcome(session, "set statement_timeout = 0"), "ok");
            assert_eq!(outcome(session, "close c"), "ok");
        }
    });
}

#[test]
fn parameters_of_a_wrong_type_or_number_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let code = |result: Result<postgres::Statement, postgres::Error>| match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()),
    };
    assert_eq!(code(client.prepare("select $1 + 1, $2::text")), "ok");
    assert_eq!(code(client.prepare("select $1")), "ok");
    assert_eq!(code(client.prepare("select $2::int")), "42P18");
    assert_eq!(code(client.prepare("select $1 = $2")), "ok");
    assert_eq!(code(client.prepare("select $1::int, $1::text || 'x'")), "ok");
    assert_eq!(code(client.prepare("select $0")), "42P02");
    assert_eq!(code(client.prepare_typed("select upper($1)", &[Type::INT4])), "42883");
    let mut session = Session::connect(&server.socket(), "postgres");
    // The extended protocol's bind gives no parameter at all.
    assert!(session.extended("select $1::int").contains("ERROR 08P01"));
    assert_eq!(outcome(&mut session, "prepare p(int) as select $1"), "ok");
    for (statement, expected) in [
        ("execute p", "42601"),
        ("execute p(1, 2)", "42601"),
        ("execute p('x')", "22P02"),
        ("execute p(true)", "42804"),
        ("execute p(99999999999)", "22003"),
        ("execute nope(1)", "26000"),
        ("select $1", "42P02"),
    ] {
        assert_eq!(outcome(&mut session, statement), expected, "{statement}");
    }
    server.stop();
}
