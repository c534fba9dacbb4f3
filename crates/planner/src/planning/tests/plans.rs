//! Which way rows are found, joined and ordered.

use expect_test::expect;

use super::World;

#[test]
fn pgbench_statements_are_points() {
    let world = World::new();
    world.expect_details(
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        expect![[r#"
            Update on public.pgbench_accounts
              ->  Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
                    Output: ctid, aid, abalance
                    Index Cond: (pgbench_accounts.aid = $2)
        "#]],
        expect![[r#"
            update row 0
            set abalance = (#2 + $1)
            recheck (#1 = $2)
            point in pgbench_accounts_pkey
        "#]],
    );
    world.expect(
        "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
        expect![[r#"
            Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
              Output: abalance
              Index Cond: (pgbench_accounts.aid = $1)
        "#]],
    );
    world.expect_details(
        "UPDATE pgbench_branches SET bbalance = bbalance + -7 WHERE bid = 1",
        expect![[r#"
            Update on public.pgbench_branches
              ->  Index Scan using pgbench_branches_pkey on public.pgbench_branches
                    Output: ctid, bid, bbalance
                    Index Cond: (pgbench_branches.bid = 1)
        "#]],
        expect![[r#"
            update row 0
            set bbalance = (#2 + '-7'::integer)
            recheck (#1 = 1)
            point in pgbench_branches_pkey
        "#]],
    );
    world.expect(
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
        expect![[r#"
            Insert on public.pgbench_history
              ->  Result
                    Output: $1, $2, $3, $4, (CURRENT_TIMESTAMP)::timestamp without time zone, NULL::character(22)
        "#]],
    );
    world.expect(
        "insert into test values (1,'test')",
        expect![[r#"
            Insert on public.test
              ->  Result
                    Output: 1, 'test'::text
        "#]],
    );
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
        expect![[r#"
            Index Scan using events_kind_at on public.events
              Output: id
              Index Cond: (((events.kind)::text = 'a'::text) AND (events.at > $1) AND (events.at <= $2))
        "#]],
    );
    world.expect(
        "select abalance from pgbench_accounts where aid in (1, 2, 3)",
        expect![[r#"
            Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
              Output: abalance
              Index Cond: (pgbench_accounts.aid = ANY ('{1,2,3}'::integer[]))
        "#]],
    );
    world.expect(
        "select aid from pgbench_accounts where aid >= 10 and aid < $1 and bid > 5",
        expect![[r#"
            Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
              Output: aid
              Index Cond: ((pgbench_accounts.aid >= 10) AND (pgbench_accounts.aid < $1))
              Filter: (pgbench_accounts.bid > 5)
        "#]],
    );
    world.expect(
        "select id from events where kind = 'a' and at is null",
        expect![[r#"
            Index Scan using events_kind_at on public.events
              Output: id
              Index Cond: (((events.kind)::text = 'a'::text) AND (events.at IS NULL))
        "#]],
    );
    // An integer of another width is looked up as it is.
    world.expect(
        "select kind from events where id = 5",
        expect![[r#"
            Index Scan using events_pkey on public.events
              Output: kind
              Index Cond: (events.id = 5)
        "#]],
    );
    world.expect(
        "select kind from events where 5::int8 = id",
        expect![[r#"
            Index Scan using events_pkey on public.events
              Output: kind
              Index Cond: (events.id = '5'::bigint)
        "#]],
    );
    // A wider type than the key's own is not.
    world.expect(
        "select kind from events where id = 5.5",
        expect![[r#"
            Seq Scan on public.events
              Output: kind
              Filter: ((events.id)::numeric = 5.5)
        "#]],
    );
}

#[test]
fn a_partial_index_serves_conditions_that_imply_its_own() {
    let world = World::new();
    world.expect(
        "select id from events where amount = 7 and not done",
        expect![[r#"
            Index Scan using events_open on public.events
              Output: id
              Index Cond: (events.amount = '7'::numeric)
        "#]],
    );
    world.expect(
        "select amount from events where amount = 7",
        expect![[r#"
            Seq Scan on public.events
              Output: amount
              Filter: (events.amount = '7'::numeric)
        "#]],
    );
}

#[test]
fn an_expression_index_is_found_by_its_expression() {
    let world = World::new();
    world.expect(
        "select id from people where lower(name) = 'x'",
        expect![[r#"
            Index Scan using people_lower_name on public.people
              Output: id
              Index Cond: (lower(name) = 'x'::text)
        "#]],
    );
}

#[test]
fn an_index_that_has_the_order_makes_sorting_unnecessary() {
    let world = World::new();
    world.expect_details(
        "select aid from pgbench_accounts order by aid limit 10",
        expect![[r#"
            Limit
              Output: aid
              ->  Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
                    Output: aid
        "#]],
        expect![[r#"
            limit '10'::bigint
        "#]],
    );
    world.expect_details(
        "select aid from pgbench_accounts order by aid desc limit 10 offset 5",
        expect![[r#"
            Limit
              Output: aid
              ->  Index Scan Backward using pgbench_accounts_pkey on public.pgbench_accounts
                    Output: aid
        "#]],
        expect![[r#"
            limit '10'::bigint
            offset '5'::bigint
        "#]],
    );
    world.expect_details(
        "select at from events where kind = 'a' order by at limit 3",
        expect![[r#"
            Limit
              Output: at
              ->  Index Scan using events_kind_at on public.events
                    Output: at
                    Index Cond: ((events.kind)::text = 'a'::text)
        "#]],
        expect![[r#"
            limit '3'::bigint
        "#]],
    );
    world.expect_details(
        "select abalance from pgbench_accounts order by abalance limit 1",
        expect![[r#"
            Limit
              Output: abalance
              ->  Sort
                    Output: abalance
                    Sort Key: abalance
                    ->  Seq Scan on public.pgbench_accounts
                          Output: abalance
        "#]],
        expect![[r#"
            limit '1'::bigint
        "#]],
    );
}

#[test]
fn least_and_greatest_of_an_indexed_column_are_read_from_the_index() {
    let world = World::new();
    world.expect_details(
        "select min(aid), max(aid) from pgbench_accounts",
        expect![[r#"
            Result
              Output: $0, $1
              InitPlan 1 (returns $0)
                ->  Limit
                      Output: pgbench_accounts.aid
                      ->  Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
                            Output: pgbench_accounts.aid
                            Index Cond: (pgbench_accounts.aid IS NOT NULL)
              InitPlan 2 (returns $1)
                ->  Limit
                      Output: pgbench_accounts.aid
                      ->  Index Scan Backward using pgbench_accounts_pkey on public.pgbench_accounts
                            Output: pgbench_accounts.aid
                            Index Cond: (pgbench_accounts.aid IS NOT NULL)
        "#]],
        expect![[r#"
            limit '1'::bigint
            limit '1'::bigint
        "#]],
    );
    world.expect(
        "select max(abalance) from pgbench_accounts",
        expect![[r#"
            Aggregate
              Output: max(abalance)
              ->  Seq Scan on public.pgbench_accounts
                    Output: abalance
        "#]],
    );
}

#[test]
fn joins_look_up_hash_or_loop_by_cost() {
    let world = World::new();
    // Few rows on the left: looked up one by one.
    world.expect(
        "select a.abalance from pgbench_branches b join pgbench_accounts a on a.aid = b.bid",
        expect![[r#"
            Nested Loop
              Output: a.abalance
              ->  Seq Scan on public.pgbench_branches b
                    Output: b.bid
              ->  Index Scan using pgbench_accounts_pkey on public.pgbench_accounts a
                    Output: a.abalance
                    Index Cond: (a.aid = b.bid)
        "#]],
    );
    // Many rows: the smaller side is hashed.
    world.expect(
        "select sum(a.abalance) from pgbench_accounts a join pgbench_tellers t on t.bid = a.bid",
        expect![[r#"
            Aggregate
              Output: sum(a.abalance)
              ->  Hash Join
                    Output: a.bid, a.abalance, t.bid
                    Hash Cond: (a.bid = t.bid)
                    ->  Seq Scan on public.pgbench_accounts a
                          Output: a.bid, a.abalance
                    ->  Hash
                          Output: t.bid
                          ->  Seq Scan on public.pgbench_tellers t
                                Output: t.bid
        "#]],
    );
    world.expect(
        "select b.bid, t.tid from pgbench_branches b left join pgbench_tellers t on t.bid = b.bid and \
         t.tbalance > 0",
        expect![[r#"
            Hash Left Join
              Output: b.bid, t.tid
              Hash Cond: (b.bid = t.bid)
              ->  Seq Scan on public.pgbench_branches b
                    Output: b.bid
              ->  Hash
                    Output: t.tid, t.bid, t.tbalance
                    ->  Seq Scan on public.pgbench_tellers t
                          Output: t.tid, t.bid, t.tbalance
                          Filter: (t.tbalance > 0)
        "#]],
    );
    world.expect(
        "select b.bid, p.id from pgbench_branches b full join people p on p.id = b.bid",
        expect![[r#"
            Hash Full Join
              Output: b.bid, p.id
              Hash Cond: (b.bid = p.id)
              ->  Seq Scan on public.pgbench_branches b
                    Output: b.bid
              ->  Hash
                    Output: p.id
                    ->  Seq Scan on public.people p
                          Output: p.id
        "#]],
    );
}

#[test]
fn an_outer_join_whose_made_up_rows_are_refused_becomes_inner() {
    let world = World::new();
    world.expect(
        "select b.bid from pgbench_branches b left join people p on p.id = b.bid where p.name = 'x'",
        expect![[r#"
            Nested Loop
              Output: b.bid
              ->  Seq Scan on public.pgbench_branches b
                    Output: b.bid
              ->  Index Scan using people_pkey on public.people p
                    Output: p.name
                    Index Cond: (p.id = b.bid)
                    Filter: (p.name = 'x'::text)
        "#]],
    );
    world.expect(
        "select b.bid from pgbench_branches b left join people p on p.id = b.bid where p.name is null",
        expect![[r#"
            Nested Loop Left Join
              Output: b.bid
              Filter: (p.name IS NULL)
              ->  Seq Scan on public.pgbench_branches b
                    Output: b.bid
              ->  Index Scan using people_pkey on public.people p
                    Output: p.name
                    Index Cond: (p.id = b.bid)
        "#]],
    );
}

#[test]
fn views_and_simple_subqueries_become_part_of_the_query() {
    let world = World::new();
    world.expect(
        "select abalance from rich where aid = 5",
        expect![[r#"
            Index Scan using pgbench_accounts_pkey on public.pgbench_accounts
              Output: abalance
              Index Cond: (pgbench_accounts.aid = 5)
              Filter: (pgbench_accounts.abalance > 1000000)
        "#]],
    );
    world.expect_details(
        "select x from (select aid + 1 as x, bid from pgbench_accounts) s where bid = 3 limit 2",
        expect![[r#"
            Limit
              Output: (aid + 1)
              ->  Seq Scan on public.pgbench_accounts
                    Output: aid, bid
                    Filter: (pgbench_accounts.bid = 3)
        "#]],
        expect![[r#"
            limit '2'::bigint
        "#]],
    );
    // Conditions go into grouped subqueries as far as they are on the groups.
    world.expect(
        "select * from (select bid, count(*) n from pgbench_accounts group by bid) s where bid = 3 and n > 1",
        expect![[r#"
            HashAggregate
              Output: bid, count(*)
              Group Key: bid
              Filter: (count(*) > 1)
              ->  Seq Scan on public.pgbench_accounts
                    Output: bid
                    Filter: (pgbench_accounts.bid = 3)
        "#]],
    );
}

#[test]
fn conditions_known_to_be_false_or_true_are_folded() {
    let world = World::new();
    world.expect(
        "select 1 + 2 * 3, upper('x')",
        expect![[r#"
            Result
              Output: 7, 'X'::text
        "#]],
    );
    world.expect(
        "select bid from pgbench_branches where 1 = 1 and bid > 2 + 3",
        expect![[r#"
            Index Scan using pgbench_branches_pkey on public.pgbench_branches
              Output: bid
              Index Cond: (pgbench_branches.bid > 5)
        "#]],
    );
    world.expect(
        "select * from test where 1 = 0 and id = 5",
        expect![[r#"
            Result
              Output: NULL::unknown, NULL::unknown
              One-Time Filter: false
        "#]],
    );
    world.expect(
        "select case when 1 > 2 then 1/0 when true then 5 end, coalesce(null, 3, 4)",
        expect![[r#"
            Result
              Output: 5, 3
        "#]],
    );
}
