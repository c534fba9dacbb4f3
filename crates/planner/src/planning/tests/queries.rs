//! The shape of queries: groups, windows, sets, subqueries, common table expressions, set operations.

use super::World;

#[test]
fn groups_are_computed_once_and_filtered_above() {
    let world = World::new();
    world.expect(
        "select bid + 1 as b, sum(abalance), count(*) from pgbench_accounts group by bid + 1 having count(*) > 10 order by 2 desc",
        "
        Sort #1 desc
          Filter (#2 > 10)
            Aggregate by (#0 + 1): sum(#1), count()
              SeqScan pgbench_accounts [bid, abalance]
        ",
    );
    // The primary key determines the other columns.
    world.expect(
        "select id, name from people group by id",
        "
        Aggregate by #0, #1:
          SeqScan people [id, name]
        ",
    );
    world.expect(
        "select count(distinct kind), sum(amount) filter (where done), string_agg(kind, ',' order by id desc) from events",
        "
        Aggregate count(distinct #1), sum(#2) filter #3, string_agg(#1, ','::text order by #0 desc)
          SeqScan events [id, kind, amount, done]
        ",
    );
}

#[test]
fn distinct_rows_and_their_order() {
    let world = World::new();
    world.expect(
        "select distinct bid from pgbench_accounts order by bid desc",
        "
        Sort #0 desc
          Distinct
            SeqScan pgbench_accounts [bid]
        ",
    );
    world.expect(
        "select distinct on (kind) kind, id from events order by kind, at desc",
        "
        Project #0, #1
          DistinctOn #0
            Sort #0, #2 desc
              Project #1, #0, #2
                SeqScan events [id, kind, at]
        ",
    );
}

#[test]
fn set_returning_functions_stand_in_from_and_in_the_select_list() {
    let world = World::new();
    world.expect(
        "insert into sli_test select generate_series(1,10),'digoal'||generate_series(1,10)",
        "
        Insert sli_test
          Project #0, ('digoal'::text || #0)
            ProjectSet generate_series(1, 10)
              Result
        ",
    );
    world.expect(
        "select n, n * 2 from generate_series(1, 3) as s(n) where n > 1",
        "
        Project #0, (#0 * 2)
          FunctionScan s generate_series(1, 3) where (#0 > 1)
        ",
    );
    world.expect(
        "select p.id, n from people p, generate_series(1, p.boss) with ordinality as g(n, o)",
        "
        Project #0, #2
          NestedLoop Inner o0 := #1
            SeqScan p [id, boss]
            FunctionScan g generate_series(1, o0) with ordinality
        ",
    );
}

#[test]
fn correlated_subqueries_read_outer_values() {
    let world = World::new();
    world.expect(
        "select bid, (select count(*) from pgbench_tellers t where t.bid = b.bid) from pgbench_branches b",
        "
        Project #0, <scalar correlated o0 := #0: Aggregate count() /  SeqScan t [bid] where (#0 = o0)>
          SeqScan b [bid]
        ",
    );
    world.expect(
        "select aid from pgbench_accounts where bid in (select bid from pgbench_branches where bbalance > 0)",
        "
        Project #0
          SeqScan pgbench_accounts [aid, bid] where <hashed Any (#1) (#0 = #1): \
        Project #0 /  SeqScan pgbench_branches [bid, bbalance] where (#1 > 0)>
        ",
    );
    // Two queries out.
    world.expect(
        "select id from people p where exists (select 1 from people q where q.boss = p.id and exists \
         (select 1 from events e where e.account = p.id and e.id = q.id))",
        "SeqScan p [id] where <exists correlated o0 := #0: Project /  NestedLoop Semi o1 := #0 /    SeqScan q [id, boss] \
         where (#1 = o0) /    IndexPoint e by events_pkey = (o1) [account] where (#0 = o0)>",
    );
}

#[test]
fn lateral_items_run_for_each_row_to_their_left() {
    let world = World::new();
    world.expect(
        "select b.bid, s.tid from pgbench_branches b cross join lateral \
         (select tid from pgbench_tellers t where t.bid = b.bid order by tbalance limit 1) s",
        "
        NestedLoop Inner o0 := #0
          SeqScan b [bid]
          Project #0
            Limit limit '1'::bigint
              Sort #2
                SeqScan t [tid, bid, tbalance] where (#1 = o0)
        ",
    );
}

#[test]
fn common_table_expressions_are_merged_or_kept() {
    let world = World::new();
    world.expect(
        "with x as (select aid from pgbench_accounts where bid = 1) select aid from x where aid = 7",
        "
        Project #0
          IndexPoint pgbench_accounts by pgbench_accounts_pkey = (7) [aid, bid] where (#1 = 1)
        ",
    );
    world.expect(
        "with x as materialized (select bid from pgbench_branches) select a.bid, b.bid from x a join x b on a.bid = b.bid",
        "
        With 0 x
          SeqScan pgbench_branches [bid]
          HashJoin Inner (#0) = (#0)
            CteScan 0 a
            CteScan 0 b
        ",
    );
    world.expect(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select sum(i) from n",
        "
        With 0 n
          RecursiveUnion 0 all
            Result 1
            Project (#0 + 1)
              Filter (#0 < 5)
                WorkTableScan 0
          Aggregate sum(#0)
            CteScan 0 n
        ",
    );
    world.expect(
        "with gone as (delete from test where id = 1 returning info) insert into people (id, name) select 1, info from gone",
        "
        With 0 gone
          Delete test #0 recheck (#1 = 1) returning #3
            SeqScan test [ctid, id] where (#1 = 1)
          Insert people
            Project 1, #0, NULL
              CteScan 0 gone
        ",
    );
}

#[test]
fn set_operations_bring_their_operands_to_common_types() {
    let world = World::new();
    world.expect(
        "select bid from pgbench_branches union all select id from events union all select null order by 1 limit 3",
        "
        Limit limit '3'::bigint
          Sort #0
            Append
              Project #0::bigint
                SeqScan pgbench_branches [bid]
              SeqScan events [id]
              Result NULL
        ",
    );
    world.expect(
        "select bid from pgbench_branches except (select 1 union select 2)",
        "
        Except
          SeqScan pgbench_branches [bid]
          Distinct
            Append
              Result 1
              Result 2
        ",
    );
    world.expect("values (1, 'a'), (2, null)", "Values (1, 'a'::text), (2, NULL)");
}

#[test]
fn window_functions_add_columns_to_sorted_partitions() {
    let world = World::new();
    world.expect(
        "select id, row_number() over (partition by kind order by at), sum(amount) over w from events window w as (partition by kind order by at)",
        "
        Project #0, #4, #5
          Window by #1 order #2: row_number(), sum(#3)
            Sort #1, #2
              SeqScan events [id, kind, at, amount]
        ",
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
