//! INSERT, UPDATE, DELETE and row locks.

use plan::{Command, Node, StatementKind};

use expect_test::expect;

use super::World;
use super::details::expr_text;

#[test]
fn inserts_fill_in_defaults_and_coerce() {
    let world = World::new();
    world.expect_details(
        "insert into events (id, amount) values (1, 2.345), (2, default) returning id, amount",
        expect![[r#"
            Insert on public.events
              Output: id, amount
              ->  Values Scan on "*VALUES*"
                    Output: column1, 'plain'::character varying(10), now(), NULL::integer, column2, NULL::boolean
        "#]],
        expect![[r#"
            values ('1'::bigint, 2.35::numeric(10,2)), ('2'::bigint, NULL::numeric(10,2))
        "#]],
    );
    world.expect(
        "insert into test default values",
        expect![[r#"
            Insert on public.test
              ->  Result
                    Output: NULL::integer, NULL::text
        "#]],
    );
    world.expect(
        "insert into people (name, id) select info, id from test",
        expect![[r#"
            Insert on public.people
              ->  Seq Scan on public.test
                    Output: id, info, NULL::integer
        "#]],
    );
}

#[test]
fn conflicts_find_their_arbiter_index() {
    let world = World::new();
    world.expect_details(
        "insert into people (id, name) values (1, 'a') on conflict (id) do update set name = excluded.name \
         || people.name where people.id > 0 returning name",
        expect![[r#"
            Insert on public.people
              Output: name
              Conflict Resolution: UPDATE
              Conflict Arbiter Indexes: people_pkey
              Conflict Filter: (people.id > 0)
              ->  Result
                    Output: 1, 'a'::text, NULL::integer
        "#]],
        expect![[r#"
            conflict on indexes [0]
            set name = (#4 || #1)
        "#]],
    );
    world.expect_details(
        "insert into people (id, name) values (1, 'a') on conflict (lower(name)) do nothing",
        expect![[r#"
            Insert on public.people
              Conflict Resolution: NOTHING
              Conflict Arbiter Indexes: people_lower_name
              ->  Result
                    Output: 1, 'a'::text, NULL::integer
        "#]],
        expect![[r#"
            conflict on indexes [1]
        "#]],
    );
    world.expect_details(
        "insert into people values (1, 'a') on conflict do nothing",
        expect![[r#"
            Insert on public.people
              Conflict Resolution: NOTHING
              ->  Result
                    Output: 1, 'a'::text, NULL::integer
        "#]],
        expect![[r#"
            conflict on indexes []
        "#]],
    );
}

#[test]
fn updates_from_other_tables_join_and_recheck_over_the_joined_row() {
    let world = World::new();
    world.expect_details(
        "update pgbench_accounts a set abalance = b.bbalance from pgbench_branches b where a.aid = b.bid \
         and b.bbalance > 0 returning a.abalance, b.bid",
        expect![[r#"
            Update on public.pgbench_accounts
              Output: pgbench_accounts.abalance, b.bid
              ->  Nested Loop
                    Output: b.bid, b.bbalance, a.ctid, a.aid
                    ->  Seq Scan on public.pgbench_branches b
                          Output: b.bid, b.bbalance
                          Filter: (b.bbalance > 0)
                    ->  Index Scan using pgbench_accounts_pkey on public.pgbench_accounts a
                          Output: a.ctid, a.aid
                          Index Cond: (a.aid = b.bid)
        "#]],
        expect![[r#"
            update row 2
            set abalance = #1
            recheck ((#3 = #0) AND (#1 > 0))
            point in pgbench_accounts_pkey
        "#]],
    );
    world.expect_details(
        "delete from test using people p where p.id = test.id",
        expect![[r#"
            Delete on public.test
              ->  Hash Join
                    Output: p.id, test.ctid, test.id
                    Hash Cond: (p.id = test.id)
                    ->  Seq Scan on public.people p
                          Output: p.id
                    ->  Hash
                          Output: test.ctid, test.id
                          ->  Seq Scan on public.test
                                Output: test.ctid, test.id
        "#]],
        expect![[r#"
            delete row 1
            recheck (#0 = #2)
        "#]],
    );
}

#[test]
fn row_locks_stand_below_limit_and_above_order() {
    let world = World::new();
    world.expect_details(
        "select id from people where boss = 3 order by name limit 1 for no key update skip locked",
        expect![[r#"
            Limit
              Output: id
              ->  LockRows
                    Output: ctid, id, name, boss
                    ->  Sort
                          Output: ctid, id, name, boss
                          Sort Key: name
                          ->  Seq Scan on public.people
                                Output: ctid, id, name, boss
                                Filter: (people.boss = 3)
        "#]],
        expect![[r#"
            limit '1'::bigint
            lock row 0 of people: NoKeyUpdate, Skip
            recheck (#3 = 3)
        "#]],
    );
    world.expect_details(
        "select p.id from people p left join test t on t.id = p.id for update of p",
        expect![[r#"
            LockRows
              Output: p.id
              ->  Hash Left Join
                    Output: p.ctid, p.id, t.ctid, t.id
                    Hash Cond: (p.id = t.id)
                    ->  Seq Scan on public.people p
                          Output: p.ctid, p.id
                    ->  Hash
                          Output: t.ctid, t.id
                          ->  Seq Scan on public.test t
                                Output: t.ctid, t.id
        "#]],
        expect![[r#"
            lock row 0 of people: Update, Block
            run 2 scans again, keep 0 rows
        "#]],
    );
}

#[test]
fn statements_say_what_they_lock_and_return() {
    let world = World::new();
    let statement = world.plan("update test set info = (select name from people limit 1) where id = 1");
    let locks = statement
        .locks
        .iter()
        .map(|(oid, mode)| (world.catalog.table(*oid).expect("it is a table").name.clone(), format!("{mode:?}")));
    let mut locks = locks.collect::<Vec<_>>();
    locks.sort();
    assert_eq!(locks, [("people".into(), "AccessShare".into()), ("test".into(), "RowExclusive".into())]);
    assert_eq!(statement.command, Command::Update);
    assert!(!statement.is_read_only);
    assert!(statement.columns.is_empty());
    let statement = world.plan("delete from test returning *");
    assert_eq!(statement.columns.len(), 2);
    assert!(world.plan("select 1").is_read_only);
    let StatementKind::Query(plan) = &world.plan("select * from test for share").kind else { panic!("it has a plan") };
    assert!(matches!(plan.node, Node::Project { .. }));
}

#[test]
fn checks_are_bound_over_the_full_row() {
    let world = World::new();
    let statement = world.plan("insert into people values (1, 'a', 2)");
    let StatementKind::Query(plan) = &statement.kind else { panic!("it has a plan") };
    let Node::Insert(insert) = &plan.node else { panic!("it is an INSERT") };
    let expressions = insert.target.expressions.as_ref().expect("people has a check");
    assert_eq!(expressions.checks.len(), 1);
    let view = world.view();
    assert_eq!(expr_text(&view, &expressions.checks[0].1), "(#1 <> ''::text)");
    let index = expressions.indexes[1].as_ref().expect("the second index has an expression");
    assert_eq!(expr_text(&view, &index.keys[0].1), "lower(#1)");
}
