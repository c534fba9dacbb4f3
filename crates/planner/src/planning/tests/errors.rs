//! PostgreSQL's errors: code, message, position, hint. The texts were compared with a PostgreSQL 15 server.

use expect_test::expect;

use super::World;

#[test]
fn syntax_errors_point_at_the_word() {
    let world = World::new();
    world.expect_error("selec 1", expect![[r#"42601 at 1: syntax error at or near "selec""#]]);
    world.expect_error("select 1 form test", expect![[r#"42601 at 15: syntax error at or near "test""#]]);
    world.expect_error("select 'ä' from where", expect![[r#"42601 at 17: syntax error at or near "where""#]]);
    world.expect_error("select (1", expect!["42601 at 10: syntax error at end of input"]);
    world.expect_error("select 'abc", expect![[r#"42601 at 8: unterminated quoted string at or near "'abc""#]]);
}

#[test]
fn names_that_are_not_there() {
    let world = World::new();
    world.expect_error("select * from nowhere", expect![[r#"42P01 at 15: relation "nowhere" does not exist"#]]);
    world.expect_error("select * from no.where", expect![[r#"42P01 at 15: relation "no.where" does not exist"#]]);
    world.expect_error("select nothing", expect![[r#"42703 at 8: column "nothing" does not exist"#]]);
    world.expect_error(
        "select abalanc from pgbench_accounts",
        expect![[r#"
            42703 at 8: column "abalanc" does not exist
            HINT: Perhaps you meant to reference the column "pgbench_accounts.abalance"."#]],
    );
    world.expect_error("select x.id from test", expect![[r#"42P01 at 8: missing FROM-clause entry for table "x""#]]);
    world.expect_error(
        "select test.id from test t",
        expect![[r#"
            42P01 at 8: invalid reference to FROM-clause entry for table "test"
            HINT: Perhaps you meant to reference the table alias "t"."#]],
    );
    world.expect_error("select t.nothing from test t", expect!["42703 at 8: column t.nothing does not exist"]);
    world.expect_error(
        "insert into test (id, nothing) values (1, 2)",
        expect![[r#"42703 at 23: column "nothing" of relation "test" does not exist"#]],
    );
    world.expect_error(
        "update test set nothing = 1",
        expect![[r#"42703 at 17: column "nothing" of relation "test" does not exist"#]],
    );
    world
        .expect_error("select * from test t, people t", expect![[r#"42712: table name "t" specified more than once"#]]);
    world.expect_error("select id from test, people", expect![[r#"42702 at 8: column reference "id" is ambiguous"#]]);
    world.expect_error(
        "select nosuch(1)",
        expect![[r#"
            42883 at 8: function nosuch(integer) does not exist
            HINT: No function matches the given name and argument types. You might need to add explicit type casts."#]],
    );
    world.expect_error("select 1::nosuch", expect![[r#"42704 at 11: type "nosuch" does not exist"#]]);
    world.expect_error(
        "select 'x' || 1 + true",
        expect![[r#"
            42883 at 17: operator does not exist: integer + boolean
            HINT: No operator matches the given name and argument types. You might need to add explicit type casts."#]],
    );
    world.expect_error("select $0", expect!["42P02 at 8: there is no parameter $0"]);
}

#[test]
fn types_that_do_not_fit() {
    let world = World::new();
    world.expect_error(
        "select 1 where 5",
        expect!["42804 at 16: argument of WHERE must be type boolean, not type integer"],
    );
    world.expect_error(
        "insert into test values ('2020-01-01'::date, 'x')",
        expect![[r#"
            42804 at 26: column "id" is of type integer but expression is of type date
            HINT: You will need to rewrite or cast the expression."#]],
    );
    world.expect_error("select 'abc'::int", expect![[r#"22P02 at 8: invalid input syntax for type integer: "abc""#]]);
    world.expect_error(
        "insert into test values ('abc', 1)",
        expect![[r#"22P02 at 26: invalid input syntax for type integer: "abc""#]],
    );
    world.expect_error(
        "select case when true then 1 else true end",
        expect!["42804 at 28: CASE types boolean and integer cannot be matched"],
    );
    world.expect_error(
        "select 1 union select true",
        expect!["42804 at 23: UNION types integer and boolean cannot be matched"],
    );
    world.expect_error("select true::date", expect!["42846 at 12: cannot cast type boolean to date"]);
    world.expect_error(
        "select array[]",
        expect![[r#"
            42P18 at 8: cannot determine type of empty array
            HINT: Explicitly cast to the desired type, for example ARRAY[]::integer[]."#]],
    );
    world.expect_error("select $1 is null", expect!["42P18: could not determine data type of parameter $1"]);
    world.expect_error(
        "select 1 limit true",
        expect!["42804 at 16: argument of LIMIT must be type bigint, not type boolean"],
    );
    world.expect_error("select (select 1, 2)", expect!["42601 at 8: subquery must return only one column"]);
    world.expect_error("select 1 in (select 1, 2)", expect!["42601 at 10: subquery has too many columns"]);
}

#[test]
fn grouping_rules() {
    let world = World::new();
    world.expect_error(
        "select bid, count(*) from pgbench_accounts",
        expect![[r#"42803 at 8: column "pgbench_accounts.bid" must appear in the GROUP BY clause or be used in an aggregate function"#]],
    );
    world.expect_error(
        "select a.aid, a.bid from pgbench_history a group by a.aid",
        expect![[
            r#"42803 at 15: column "a.bid" must appear in the GROUP BY clause or be used in an aggregate function"#
        ]],
    );
    world.expect_error(
        "select bid from pgbench_history group by bid having aid > 1",
        expect![[r#"42803 at 53: column "pgbench_history.aid" must appear in the GROUP BY clause or be used in an aggregate function"#]],
    );
    world.expect_error(
        "select (select max(t.id) from test t where t.id = h.aid) from pgbench_history h group by h.bid",
        expect![[r#"42803 at 51: subquery uses ungrouped column "h.aid" from outer query"#]],
    );
    world.expect_error(
        "select 1 from test where count(*) > 1",
        expect!["42803 at 26: aggregate functions are not allowed in WHERE"],
    );
    world.expect_error(
        "select sum(count(*)) from test",
        expect!["42803 at 12: aggregate function calls cannot be nested"],
    );
    world.expect_error(
        "select * from test group by 3",
        expect!["42P10 at 29: GROUP BY position 3 is not in select list"],
    );
    world.expect_error(
        "select id from test order by 2",
        expect!["42P10 at 30: ORDER BY position 2 is not in select list"],
    );
    world.expect_error(
        "select distinct id from test order by info",
        expect!["42P10 at 39: for SELECT DISTINCT, ORDER BY expressions must appear in select list"],
    );
    world.expect_error(
        "select distinct on (id) id from test order by info",
        expect!["42P10 at 21: SELECT DISTINCT ON expressions must match initial ORDER BY expressions"],
    );
    world.expect_error(
        "select rank() over (), 1 from test where rank() over () > 1",
        expect!["42P20 at 42: window functions are not allowed in WHERE"],
    );
    world
        .expect_error("select row_number()", expect!["42809 at 8: window function row_number requires an OVER clause"]);
    world.expect_error(
        "select id from test where generate_series(1, 2) = 1",
        expect!["0A000 at 27: set-returning functions are not allowed in WHERE"],
    );
}

#[test]
fn counts_of_columns() {
    let world = World::new();
    world.expect_error(
        "insert into test values (1, 'a', 2)",
        expect!["42601 at 34: INSERT has more expressions than target columns"],
    );
    world.expect_error(
        "insert into test (id, info) values (1)",
        expect!["42601 at 23: INSERT has more target columns than expressions"],
    );
    world.expect_error(
        "insert into test (id, id) values (1, 2)",
        expect![[r#"42701 at 23: column "id" specified more than once"#]],
    );
    world.expect_error("values (1), (2, 3)", expect!["42601 at 14: VALUES lists must all be the same length"]);
    world.expect_error(
        "select 1 union select 1, 2",
        expect!["42601 at 23: each UNION query must have the same number of columns"],
    );
    world.expect_error(
        "update test set id = 1, id = 2",
        expect![[r#"42601: multiple assignments to same column "id""#]],
    );
    world.expect_error(
        "insert into test values (1, 'a') on conflict (id) do nothing",
        expect!["42P10: there is no unique or exclusion constraint matching the ON CONFLICT specification"],
    );
}

#[test]
fn from_clause_rules() {
    let world = World::new();
    world.expect_error(
        "select * from (select 1)",
        expect![[r#"
            42601 at 15: subquery in FROM must have an alias
            HINT: For example, FROM (SELECT ...) [AS] foo."#]],
    );
    world.expect_error(
        "select * from test t, (select t.id) s",
        expect![[r#"
            42P01 at 31: invalid reference to FROM-clause entry for table "t"
            HINT: There is an entry for table "t", but it cannot be referenced from this part of the query."#]],
    );
    world.expect_error(
        "select * from test full join people on test.id < people.id",
        expect!["0A000: FULL JOIN is only supported with merge-joinable or hash-joinable join conditions"],
    );
    world.expect_error(
        "select 1 for update of x",
        expect![[r#"42P01 at 24: relation "x" in FOR UPDATE clause not found in FROM clause"#]],
    );
    world.expect_error(
        "select count(*) from test for update",
        expect!["0A000: FOR UPDATE is not allowed with aggregate functions"],
    );
    world.expect_error(
        "select t.id from people p left join test t on t.id = p.id for update",
        expect!["0A000: FOR UPDATE cannot be applied to the nullable side of an outer join"],
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
