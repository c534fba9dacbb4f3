//! Which way rows are found, joined and ordered.

use super::World;

#[test]
fn pgbench_statements_are_points() {
    let world = World::new();
    world.expect(
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        "
        Update pgbench_accounts #0 set abalance = (#2 + $1) recheck (#1 = $2)
          IndexPoint pgbench_accounts by pgbench_accounts_pkey = ($2) [ctid, aid, abalance]
        ",
    );
    world.expect(
        "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
        "IndexPoint pgbench_accounts by pgbench_accounts_pkey = ($1) [abalance]",
    );
    world.expect(
        "UPDATE pgbench_branches SET bbalance = bbalance + -7 WHERE bid = 1",
        "
        Update pgbench_branches #0 set bbalance = (#2 + -7) recheck (#1 = 1)
          IndexPoint pgbench_branches by pgbench_branches_pkey = (1) [ctid, bid, bbalance]
        ",
    );
    world.expect(
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
        "
        Insert pgbench_history
          Result $1, $2, $3, $4, CurrentTimestamp(None)::timestamp without time zone, NULL
        ",
    );
    world.expect("insert into test values (1,'test')", "Insert test\n  Result 1, 'test'::text");
    for text in [
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
        "insert into test values (1,'test')",
        "delete from sli_test where id = 4",
        "select * from sli_test where id = 4 for update",
    ] {
        assert!(world.plan(text).is_point, "{text}");
    }
    assert!(!world.plan("select count(*) from pgbench_branches").is_point);
    assert!(!world.plan("update pgbench_accounts set abalance = 0").is_point);
}

#[test]
fn parameters_take_the_types_of_their_surroundings() {
    use types::oids;
    let world = World::new();
    world.expect_parameters(
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        &[oids::INT4, oids::INT4],
    );
    world.expect_parameters(
        "insert into events (kind, amount, at) values ($1, $2, $3)",
        &[oids::VARCHAR, oids::NUMERIC, oids::TIMESTAMPTZ],
    );
    world.expect_parameters("select $1", &[oids::TEXT]);
    world.expect_parameters("select $2::int8, $1::date", &[oids::DATE, oids::INT8]);
    world.expect_parameters("select * from people where name like $1 limit $2", &[oids::TEXT, oids::INT8]);
    world.expect_parameters("select $1 in (1, 2), $2 = any($3::int[])", &[oids::INT4, oids::INT4, oids::INT4_ARRAY]);
    world.expect_parameters("insert into test select $1, $2", &[oids::INT4, oids::TEXT]);
    world.expect_parameters("select 1 union select $1", &[oids::INT4]);
    world.expect_parameters("select coalesce($1, 2.5)", &[oids::NUMERIC]);
    world.expect_parameters("select case when $1 then 1 else $2 end", &[oids::BOOL, oids::INT4]);
}

#[test]
fn an_index_is_chosen_by_the_conditions_on_its_first_columns() {
    let world = World::new();
    world.expect(
        "select id from events where kind = 'a' and at > $1 and at <= $2",
        "IndexScan events by events_kind_at (= 'a'::text, > $1, <= $2) [id]",
    );
    world.expect(
        "select abalance from pgbench_accounts where aid in (1, 2, 3)",
        "IndexScan pgbench_accounts by pgbench_accounts_pkey (any '{1,2,3}'::integer[]) [abalance]",
    );
    world.expect(
        "select aid from pgbench_accounts where aid >= 10 and aid < $1 and bid > 5",
        "
        Project #0
          IndexScan pgbench_accounts by pgbench_accounts_pkey (>= 10, < $1) [aid, bid] where (#1 > 5)
        ",
    );
    world.expect(
        "select id from events where kind = 'a' and at is null",
        "IndexScan events by events_kind_at (= 'a'::text, null) [id]",
    );
    // An integer of another width is looked up as it is.
    world.expect("select kind from events where id = 5", "IndexPoint events by events_pkey = (5) [kind]");
    world.expect(
        "select kind from events where 5::int8 = id",
        "IndexPoint events by events_pkey = ('5'::bigint) [kind]",
    );
    // A wider type than the key's own is not.
    world.expect(
        "select kind from events where id = 5.5",
        "
        Project #1
          SeqScan events [id, kind] where (#0::numeric = '5.5'::numeric)
        ",
    );
}

#[test]
fn a_partial_index_serves_conditions_that_imply_its_own() {
    let world = World::new();
    world.expect(
        "select id from events where amount = 7 and not done",
        "IndexScan events by events_open (= '7'::numeric) [id]",
    );
    world.expect("select amount from events where amount = 7", "SeqScan events [amount] where (#0 = '7'::numeric)");
}

#[test]
fn an_expression_index_is_found_by_its_expression() {
    let world = World::new();
    world.expect(
        "select id from people where lower(name) = 'x'",
        "IndexPoint people by people_lower_name = ('x'::text) [id]",
    );
}

#[test]
fn an_index_that_has_the_order_makes_sorting_unnecessary() {
    let world = World::new();
    world.expect(
        "select aid from pgbench_accounts order by aid limit 10",
        "Limit limit '10'::bigint\n  IndexScan pgbench_accounts by pgbench_accounts_pkey () [aid]",
    );
    world.expect(
        "select aid from pgbench_accounts order by aid desc limit 10 offset 5",
        "Limit limit '10'::bigint offset '5'::bigint\n  IndexScan backward pgbench_accounts by pgbench_accounts_pkey () [aid]",
    );
    world.expect(
        "select at from events where kind = 'a' order by at limit 3",
        "Limit limit '3'::bigint\n  IndexScan events by events_kind_at (= 'a'::text) [at]",
    );
    world.expect(
        "select abalance from pgbench_accounts order by abalance limit 1",
        "
        Limit limit '1'::bigint
          Sort #0
            SeqScan pgbench_accounts [abalance]
        ",
    );
}

#[test]
fn least_and_greatest_of_an_indexed_column_are_read_from_the_index() {
    let world = World::new();
    world.expect(
        "select min(aid), max(aid) from pgbench_accounts",
        "Result <scalar: Limit limit '1'::bigint /  IndexScan pgbench_accounts by pgbench_accounts_pkey (not null) [aid]>, \
         <scalar: Limit limit '1'::bigint /  IndexScan backward pgbench_accounts by pgbench_accounts_pkey (not null) [aid]>",
    );
    world.expect(
        "select max(abalance) from pgbench_accounts",
        "Aggregate max(#0)\n  SeqScan pgbench_accounts [abalance]",
    );
}

#[test]
fn joins_look_up_hash_or_loop_by_cost() {
    let world = World::new();
    // Few rows on the left: looked up one by one.
    world.expect(
        "select a.abalance from pgbench_branches b join pgbench_accounts a on a.aid = b.bid",
        "
        Project #1
          NestedLoop Inner o0 := #0
            SeqScan b [bid]
            IndexPoint a by pgbench_accounts_pkey = (o0) [abalance]
        ",
    );
    // Many rows: the smaller side is hashed.
    world.expect(
        "select sum(a.abalance) from pgbench_accounts a join pgbench_tellers t on t.bid = a.bid",
        "
        Aggregate sum(#1)
          HashJoin Inner (#0) = (#0)
            SeqScan a [bid, abalance]
            SeqScan t [bid]
        ",
    );
    world.expect(
        "select b.bid, t.tid from pgbench_branches b left join pgbench_tellers t on t.bid = b.bid and t.tbalance > 0",
        "
        Project #0, #1
          HashJoin Left (#0) = (#1)
            SeqScan b [bid]
            SeqScan t [tid, bid, tbalance] where (#2 > 0)
        ",
    );
    world.expect(
        "select b.bid, p.id from pgbench_branches b full join people p on p.id = b.bid",
        "
        HashJoin Full (#0) = (#0)
          SeqScan b [bid]
          SeqScan p [id]
        ",
    );
}

#[test]
fn an_outer_join_whose_made_up_rows_are_refused_becomes_inner() {
    let world = World::new();
    world.expect(
        "select b.bid from pgbench_branches b left join people p on p.id = b.bid where p.name = 'x'",
        "
        Project #0
          NestedLoop Inner o0 := #0
            SeqScan b [bid]
            IndexPoint p by people_pkey = (o0) [name] where (#0 = 'x'::text)
        ",
    );
    world.expect(
        "select b.bid from pgbench_branches b left join people p on p.id = b.bid where p.name is null",
        "
        Project #0
          Filter (#1 is null)
            NestedLoop Left o0 := #0
              SeqScan b [bid]
              IndexPoint p by people_pkey = (o0) [name]
        ",
    );
}

#[test]
fn views_and_simple_subqueries_become_part_of_the_query() {
    let world = World::new();
    world.expect(
        "select abalance from rich where aid = 5",
        "IndexPoint pgbench_accounts by pgbench_accounts_pkey = (5) [abalance] where (#0 > 1000000)",
    );
    world.expect(
        "select x from (select aid + 1 as x, bid from pgbench_accounts) s where bid = 3 limit 2",
        "
        Project (#0 + 1)
          Limit limit '2'::bigint
            SeqScan pgbench_accounts [aid, bid] where (#1 = 3)
        ",
    );
    // Conditions go into grouped subqueries as far as they are on the groups.
    world.expect(
        "select * from (select bid, count(*) n from pgbench_accounts group by bid) s where bid = 3 and n > 1",
        "
        Filter (#1 > 1)
          Aggregate by #0: count()
            SeqScan pgbench_accounts [bid] where (#0 = 3)
        ",
    );
}

#[test]
fn conditions_known_to_be_false_or_true_are_folded() {
    let world = World::new();
    world.expect("select 1 + 2 * 3, upper('x')", "Result 7, 'X'::text");
    world.expect(
        "select bid from pgbench_branches where 1 = 1 and bid > 2 + 3",
        "IndexScan pgbench_branches by pgbench_branches_pkey (> 5) [bid]",
    );
    world.expect("select * from test where 1 = 0 and id = 5", "Result NULL, NULL where f");
    world.expect("select case when 1 > 2 then 1/0 when true then 5 end, coalesce(null, 3, 4)", "Result 5, 3");
}
