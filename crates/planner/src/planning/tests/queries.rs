//! The shape of queries: groups, windows, sets, subqueries, common table expressions, set operations.

use expect_test::expect;

use super::World;

#[test]
fn groups_are_computed_once_and_filtered_above() {
    let world = World::new();
    world.expect(
        "select bid + 1 as b, sum(abalance), count(*) from pgbench_accounts group by bid + 1 having \
         count(*) > 10 order by 2 desc",
        expect![[r#"
            Sort
              Output: (bid + 1), sum(abalance), count(*)
              Sort Key: (sum(abalance)) DESC
              ->  HashAggregate
                    Output: (bid + 1), sum(abalance), count(*)
                    Group Key: (bid + 1)
                    Filter: (count(*) > 10)
                    ->  Seq Scan on public.pgbench_accounts
                          Output: bid, abalance
        "#]],
    );
    // The primary key determines the other columns.
    world.expect(
        "select id, name from people group by id",
        expect![[r#"
            HashAggregate
              Output: id, name
              Group Key: id
              ->  Seq Scan on public.people
                    Output: id, name
        "#]],
    );
    world.expect(
        "select count(distinct kind), sum(amount) filter (where done), string_agg(kind, ',' order by id \
         desc) from events",
        expect![[r#"
            Aggregate
              Output: count(DISTINCT kind), sum(amount) FILTER (WHERE done), string_agg((kind)::text, ','::text ORDER BY id DESC)
              ->  Seq Scan on public.events
                    Output: id, kind, amount, done
        "#]],
    );
}

#[test]
fn distinct_rows_and_their_order() {
    let world = World::new();
    world.expect(
        "select distinct bid from pgbench_accounts order by bid desc",
        expect![[r#"
            Sort
              Output: bid
              Sort Key: bid DESC
              ->  HashAggregate
                    Output: bid
                    Group Key: bid
                    ->  Seq Scan on public.pgbench_accounts
                          Output: bid
        "#]],
    );
    world.expect_details(
        "select distinct on (kind) kind, id from events order by kind, at desc",
        expect![[r#"
            Unique
              Output: kind, id
              ->  Sort
                    Output: kind, id, at
                    Sort Key: kind, at DESC
                    ->  Seq Scan on public.events
                          Output: kind, id, at
        "#]],
        expect![[r#"
            distinct on #0
        "#]],
    );
}

#[test]
fn set_returning_functions_stand_in_from_and_in_the_select_list() {
    let world = World::new();
    world.expect(
        "insert into sli_test select generate_series(1,10),'digoal'||generate_series(1,10)",
        expect![[r#"
            Insert on public.sli_test
              ->  ProjectSet
                    Output: generate_series(1, 10), ('digoal'::text || (generate_series(1, 10)))
                    ->  Result
        "#]],
    );
    world.expect(
        "select n, n * 2 from generate_series(1, 3) as s(n) where n > 1",
        expect![[r#"
            Function Scan on pg_catalog.generate_series s
              Output: n, (n * 2)
              Function Call: generate_series(1, 3)
              Filter: (s.n > 1)
        "#]],
    );
    world.expect(
        "select p.id, n from people p, generate_series(1, p.boss) with ordinality as g(n, o)",
        expect![[r#"
            Nested Loop
              Output: p.id, g.n
              ->  Seq Scan on public.people p
                    Output: p.id, p.boss
              ->  Function Scan on pg_catalog.generate_series g
                    Output: g.n, g.o
                    Function Call: generate_series(1, p.boss)
        "#]],
    );
}

#[test]
fn correlated_subqueries_read_outer_values() {
    let world = World::new();
    world.expect(
        "select bid, (select count(*) from pgbench_tellers t where t.bid = b.bid) from pgbench_branches b",
        expect![[r#"
            Seq Scan on public.pgbench_branches b
              Output: b.bid, (SubPlan 1)
              SubPlan 1
                ->  Aggregate
                      Output: count(*)
                      ->  Seq Scan on public.pgbench_tellers t
                            Output: t.bid
                            Filter: (t.bid = b.bid)
        "#]],
    );
    world.expect_details(
        "select aid from pgbench_accounts where bid in (select bid from pgbench_branches where bbalance > 0)",
        expect![[r#"
            Seq Scan on public.pgbench_accounts
              Output: pgbench_accounts.aid
              Filter: (hashed SubPlan 1)
              SubPlan 1
                ->  Seq Scan on public.pgbench_branches
                      Output: pgbench_branches.bid
                      Filter: (pgbench_branches.bbalance > 0)
        "#]],
        expect![[r#"
            #1 compared with Any: (#0 = #1)
        "#]],
    );
    // Two queries out.
    world.expect(
        "select id from people p where exists (select 1 from people q where q.boss = p.id and exists \
         (select 1 from events e where e.account = p.id and e.id = q.id))",
        expect![[r#"
            Seq Scan on public.people p
              Output: p.id
              Filter: (SubPlan 1)
              SubPlan 1
                ->  Nested Loop Semi Join
                      ->  Seq Scan on public.people q
                            Output: q.id, q.boss
                            Filter: (q.boss = p.id)
                      ->  Index Scan using events_pkey on public.events e
                            Output: e.account
                            Index Cond: (e.id = q.id)
                            Filter: (e.account = p.id)
        "#]],
    );
}

#[test]
fn lateral_items_run_for_each_row_to_their_left() {
    let world = World::new();
    world.expect_details(
        "select b.bid, s.tid from pgbench_branches b cross join lateral \
         (select tid from pgbench_tellers t where t.bid = b.bid order by tbalance limit 1) s",
        expect![[r#"
            Nested Loop
              Output: b.bid, t.tid
              ->  Seq Scan on public.pgbench_branches b
                    Output: b.bid
              ->  Limit
                    Output: t.tid
                    ->  Sort
                          Output: t.tid, t.bid, t.tbalance
                          Sort Key: t.tbalance
                          ->  Seq Scan on public.pgbench_tellers t
                                Output: t.tid, t.bid, t.tbalance
                                Filter: (t.bid = b.bid)
        "#]],
        expect![[r#"
            limit '1'::bigint
        "#]],
    );
}

#[test]
fn common_table_expressions_are_merged_or_kept() {
    let world = World::new();
    world.expect(
        "with x as (select aid from pgbench_accounts where bid = 1) select aid from x where aid = 7",
        expect![[r#"
            Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
              Output: aid
              Index Cond: (pgbench_accounts.aid = 7)
              Filter: (pgbench_accounts.bid = 1)
        "#]],
    );
    world.expect(
        "with x as materialized (select bid from pgbench_branches) select a.bid, b.bid from x a join x b \
         on a.bid = b.bid",
        expect![[r#"
            Hash Join
              Output: a.column1, b.column1
              Hash Cond: (a.column1 = b.column1)
              CTE x
                ->  Seq Scan on public.pgbench_branches
                      Output: pgbench_branches.bid
              ->  CTE Scan on x a
                    Output: a.column1
              ->  Hash
                    Output: b.column1
                    ->  CTE Scan on x b
                          Output: b.column1
        "#]],
    );
    world.expect(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select sum(i) from n",
        expect![[r#"
            Aggregate
              Output: sum(column1)
              CTE n
                ->  Recursive Union
                      Output: 1
                      ->  Result
                            Output: 1
                      ->  WorkTable Scan on n
                            Output: (column1 + 1)
                            Filter: (column1 < 5)
              ->  CTE Scan on n
                    Output: column1
        "#]],
    );
    world.expect_details(
        "with gone as (delete from test where id = 1 returning info) insert into people (id, name) select \
         1, info from gone",
        expect![[r#"
            Insert on public.people
              CTE gone
                ->  Delete on public.test
                      Output: test.info
                      ->  Seq Scan on public.test
                            Output: test.ctid, test.id
                            Filter: (test.id = 1)
              ->  CTE Scan on gone
                    Output: 1, gone.column1, NULL::integer
        "#]],
        expect![[r#"
            delete row 0
            recheck (#1 = 1)
        "#]],
    );
}

#[test]
fn set_operations_bring_their_operands_to_common_types() {
    let world = World::new();
    world.expect_details(
        "select bid from pgbench_branches union all select id from events union all select null order by 1 \
         limit 3",
        expect![[r#"
            Limit
              Output: (pgbench_branches.bid)::bigint
              ->  Sort
                    Output: (pgbench_branches.bid)::bigint
                    Sort Key: ((pgbench_branches.bid)::bigint)
                    ->  Append
                          Output: (pgbench_branches.bid)::bigint
                          ->  Seq Scan on public.pgbench_branches
                                Output: (pgbench_branches.bid)::bigint
                          ->  Seq Scan on public.events
                                Output: events.id
                          ->  Result
                                Output: NULL::bigint
        "#]],
        expect![[r#"
            limit '3'::bigint
        "#]],
    );
    world.expect(
        "select bid from pgbench_branches except (select 1 union select 2)",
        expect![[r#"
            HashSetOp Except
              Output: bid
              ->  Seq Scan on public.pgbench_branches
                    Output: bid
              ->  HashAggregate
                    Output: 1
                    Group Key: 1
                    ->  Append
                          Output: 1
                          ->  Result
                                Output: 1
                          ->  Result
                                Output: 2
        "#]],
    );
    world.expect_details(
        "values (1, 'a'), (2, null)",
        expect![[r#"
            Values Scan on "*VALUES*"
              Output: column1, column2
        "#]],
        expect![[r#"
            values (1, 'a'::text), (2, NULL::text)
        "#]],
    );
}

#[test]
fn window_functions_add_columns_to_sorted_partitions() {
    let world = World::new();
    world.expect_details(
        "select id, row_number() over (partition by kind order by at), sum(amount) over w from events \
         window w as (partition by kind order by at)",
        expect![[r#"
            WindowAgg
              Output: id, row_number() OVER (?), sum(amount) OVER (?)
              ->  Sort
                    Output: id, kind, at, amount
                    Sort Key: kind, at
                    ->  Seq Scan on public.events
                          Output: id, kind, at, amount
        "#]],
        expect![[r#"
            partition by #1 order by #2
        "#]],
    );
}

#[test]
fn using_and_natural_joins_merge_their_columns() {
    let world = World::new();
    let names = |text: &str| world.plan(text).columns.iter().map(|column| column.name.to_string()).collect::<Vec<_>>();
    assert_eq!(
        names("select * from pgbench_branches join pgbench_tellers using (bid)"),
        ["bid", "bbalance", "filler", "tid", "tbalance", "filler"]
    );
    assert_eq!(names("select * from test natural join sli_test"), ["id", "info"]);
    assert_eq!(names("select t.*, 1 from test t"), ["id", "info", "?column?"]);
    assert_eq!(
        names(
            "select max(id), id::text, case when true then 1 end, (select info from test limit 1), array[1], now(), current_date, coalesce(1,2), t from test t group by id, t.info"
        ),
        ["max", "id", "case", "info", "array", "now", "current_date", "coalesce", "t"]
    );
}

#[test]
fn results_know_their_table_columns() {
    let world = World::new();
    let statement = world.plan("select s.info, s.id + 1, x.id from (select * from test) s, test x");
    let origin = statement.columns.iter().map(|column| (column.table.0 != 0, column.attribute)).collect::<Vec<_>>();
    assert_eq!(origin, [(true, 2), (false, 0), (true, 1)]);
}
