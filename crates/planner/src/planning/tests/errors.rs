//! PostgreSQL's errors: code, message, position, hint. The texts were compared with a PostgreSQL 15 server.

use super::World;

#[test]
fn syntax_errors_point_at_the_word() {
    let world = World::new();
    world.expect_error("selec 1", "42601", "syntax error at or near \"selec\"", 1);
    world.expect_error("select 1 form test", "42601", "syntax error at or near \"test\"", 15);
    world.expect_error("select 'ä' from where", "42601", "syntax error at or near \"where\"", 17);
    world.expect_error("select (1", "42601", "syntax error at end of input", 10);
    world.expect_error("select 'abc", "42601", "unterminated quoted string at or near \"'abc\"", 8);
}

#[test]
fn names_that_are_not_there() {
    let world = World::new();
    world.expect_error("select * from nowhere", "42P01", "relation \"nowhere\" does not exist", 15);
    world.expect_error("select * from no.where", "42P01", "relation \"no.where\" does not exist", 15);
    world.expect_error("select nothing", "42703", "column \"nothing\" does not exist", 8);
    let error =
        world.expect_error("select abalanc from pgbench_accounts", "42703", "column \"abalanc\" does not exist", 8);
    assert_eq!(
        error.fields().hint.as_deref(),
        Some("Perhaps you meant to reference the column \"pgbench_accounts.abalance\".")
    );
    world.expect_error("select x.id from test", "42P01", "missing FROM-clause entry for table \"x\"", 8);
    let error = world.expect_error(
        "select test.id from test t",
        "42P01",
        "invalid reference to FROM-clause entry for table \"test\"",
        8,
    );
    assert_eq!(error.fields().hint.as_deref(), Some("Perhaps you meant to reference the table alias \"t\"."));
    world.expect_error("select t.nothing from test t", "42703", "column t.nothing does not exist", 8);
    world.expect_error(
        "insert into test (id, nothing) values (1, 2)",
        "42703",
        "column \"nothing\" of relation \"test\" does not exist",
        23,
    );
    world.expect_error(
        "update test set nothing = 1",
        "42703",
        "column \"nothing\" of relation \"test\" does not exist",
        17,
    );
    world.expect_error("select * from test t, people t", "42712", "table name \"t\" specified more than once", 0);
    world.expect_error("select id from test, people", "42702", "column reference \"id\" is ambiguous", 8);
    let error = world.expect_error("select nosuch(1)", "42883", "function nosuch(integer) does not exist", 8);
    assert_eq!(
        error.fields().hint.as_deref(),
        Some("No function matches the given name and argument types. You might need to add explicit type casts.")
    );
    world.expect_error("select 1::nosuch", "42704", "type \"nosuch\" does not exist", 11);
    world.expect_error("select 'x' || 1 + true", "42883", "operator does not exist: integer + boolean", 17);
    world.expect_error("select $0", "42P02", "there is no parameter $0", 8);
}

#[test]
fn types_that_do_not_fit() {
    let world = World::new();
    world.expect_error("select 1 where 5", "42804", "argument of WHERE must be type boolean, not type integer", 16);
    let error = world.expect_error(
        "insert into test values ('2020-01-01'::date, 'x')",
        "42804",
        "column \"id\" is of type integer but expression is of type date",
        26,
    );
    assert_eq!(error.fields().hint.as_deref(), Some("You will need to rewrite or cast the expression."));
    world.expect_error("select 'abc'::int", "22P02", "invalid input syntax for type integer: \"abc\"", 8);
    world.expect_error(
        "insert into test values ('abc', 1)",
        "22P02",
        "invalid input syntax for type integer: \"abc\"",
        26,
    );
    world.expect_error(
        "select case when true then 1 else true end",
        "42804",
        "CASE types boolean and integer cannot be matched",
        28,
    );
    world.expect_error("select 1 union select true", "42804", "UNION types integer and boolean cannot be matched", 23);
    world.expect_error("select true::date", "42846", "cannot cast type boolean to date", 12);
    world.expect_error("select array[]", "42P18", "cannot determine type of empty array", 8);
    world.expect_error("select $1 is null", "42P18", "could not determine data type of parameter $1", 0);
    world.expect_error("select 1 limit true", "42804", "argument of LIMIT must be type bigint, not type boolean", 16);
    world.expect_error("select (select 1, 2)", "42601", "subquery must return only one column", 8);
    world.expect_error("select 1 in (select 1, 2)", "42601", "subquery has too many columns", 10);
}

#[test]
fn grouping_rules() {
    let world = World::new();
    world.expect_error(
        "select bid, count(*) from pgbench_accounts",
        "42803",
        "column \"pgbench_accounts.bid\" must appear in the GROUP BY clause or be used in an aggregate function",
        8,
    );
    world.expect_error(
        "select a.aid, a.bid from pgbench_history a group by a.aid",
        "42803",
        "column \"a.bid\" must appear in the GROUP BY clause or be used in an aggregate function",
        15,
    );
    world.expect_error(
        "select bid from pgbench_history group by bid having aid > 1",
        "42803",
        "column \"pgbench_history.aid\" must appear in the GROUP BY clause or be used in an aggregate function",
        53,
    );
    world.expect_error(
        "select (select max(t.id) from test t where t.id = h.aid) from pgbench_history h group by h.bid",
        "42803",
        "subquery uses ungrouped column \"h.aid\" from outer query",
        51,
    );
    world.expect_error(
        "select 1 from test where count(*) > 1",
        "42803",
        "aggregate functions are not allowed in WHERE",
        26,
    );
    world.expect_error("select sum(count(*)) from test", "42803", "aggregate function calls cannot be nested", 12);
    world.expect_error("select * from test group by 3", "42P10", "GROUP BY position 3 is not in select list", 29);
    world.expect_error("select id from test order by 2", "42P10", "ORDER BY position 2 is not in select list", 30);
    world.expect_error(
        "select distinct id from test order by info",
        "42P10",
        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        39,
    );
    world.expect_error(
        "select distinct on (id) id from test order by info",
        "42P10",
        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
        21,
    );
    world.expect_error(
        "select rank() over (), 1 from test where rank() over () > 1",
        "42P20",
        "window functions are not allowed in WHERE",
        42,
    );
    world.expect_error("select row_number()", "42809", "window function row_number requires an OVER clause", 8);
    world.expect_error(
        "select id from test where generate_series(1, 2) = 1",
        "0A000",
        "set-returning functions are not allowed in WHERE",
        27,
    );
}

#[test]
fn counts_of_columns() {
    let world = World::new();
    world.expect_error(
        "insert into test values (1, 'a', 2)",
        "42601",
        "INSERT has more expressions than target columns",
        34,
    );
    world.expect_error(
        "insert into test (id, info) values (1)",
        "42601",
        "INSERT has more target columns than expressions",
        23,
    );
    world.expect_error(
        "insert into test (id, id) values (1, 2)",
        "42701",
        "column \"id\" specified more than once",
        23,
    );
    world.expect_error("values (1), (2, 3)", "42601", "VALUES lists must all be the same length", 14);
    world.expect_error(
        "select 1 union select 1, 2",
        "42601",
        "each UNION query must have the same number of columns",
        23,
    );
    world.expect_error("update test set id = 1, id = 2", "42601", "multiple assignments to same column \"id\"", 0);
    world.expect_error(
        "insert into test values (1, 'a') on conflict (id) do nothing",
        "42P10",
        "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        0,
    );
}

#[test]
fn from_clause_rules() {
    let world = World::new();
    let error = world.expect_error("select * from (select 1)", "42601", "subquery in FROM must have an alias", 15);
    assert_eq!(error.fields().hint.as_deref(), Some("For example, FROM (SELECT ...) [AS] foo."));
    let error = world.expect_error(
        "select * from test t, (select t.id) s",
        "42P01",
        "invalid reference to FROM-clause entry for table \"t\"",
        31,
    );
    assert_eq!(
        error.fields().hint.as_deref(),
        Some("There is an entry for table \"t\", but it cannot be referenced from this part of the query.")
    );
    world.expect_error(
        "select * from test full join people on test.id < people.id",
        "0A000",
        "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
        0,
    );
    world.expect_error(
        "select 1 for update of x",
        "42P01",
        "relation \"x\" in FOR UPDATE clause not found in FROM clause",
        24,
    );
    world.expect_error(
        "select count(*) from test for update",
        "0A000",
        "FOR UPDATE is not allowed with aggregate functions",
        0,
    );
    world.expect_error(
        "select t.id from people p left join test t on t.id = p.id for update",
        "0A000",
        "FOR UPDATE cannot be applied to the nullable side of an outer join",
        0,
    );
}

#[test]
fn statements_nested_too_deep_are_refused() {
    let world = World::new();
    for text in [
        format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("select {}1", "1+".repeat(10_000)),
        format!("select {}", "- ".repeat(20_000)),
        format!("select {}1{}", "abs(".repeat(3_000), ")".repeat(3_000)),
        format!("{}select 1{}", "select (".repeat(3_000), ")".repeat(3_000)),
        format!("select {}true", "not ".repeat(10_000)),
        format!("select 1{}", " union select 1".repeat(10_000)),
    ] {
        let error = world.try_plan(&text, &[]).expect_err("it is nested too deep");
        let code = error.sqlstate();
        assert!(["54001", "42601"].contains(&code.as_str()), "{}: {error}", &text[..60]);
    }
    let flat = format!("select {}true", "true and ".repeat(20_000));
    world.try_plan(&flat, &[]).expect("a long list of conditions is not nested");
}

#[test]
fn what_is_left_out_is_said_aloud() {
    let world = World::new();
    for (text, message) in [
        ("create rule x as on insert to test do instead nothing", "CREATE RULE is not supported"),
        ("select count(*) from test group by rollup (id)", "ROLLUP is not supported"),
        ("select * from test tablesample system (1)", "TABLESAMPLE is not supported"),
    ] {
        let error = world.try_plan(text, &[]).expect_err("it is left out");
        assert_eq!((error.sqlstate().as_str(), error.message()), ("0A000", message), "{text}");
    }
}
