//! INSERT, UPDATE, DELETE and row locks.

use plan::{Command, Node, StatementKind};

use super::World;

#[test]
fn inserts_fill_in_defaults_and_coerce() {
    let world = World::new();
    world.expect(
        "insert into events (id, amount) values (1, 2.345), (2, default) returning id, amount",
        "
        Insert events returning #0, #4
          Project #0, 'plain'::character varying, now(), NULL, #1, NULL
            Values ('1'::bigint, '2.35'::numeric), ('2'::bigint, NULL)
        ",
    );
    world.expect("insert into test default values", "Insert test\n  Result NULL, NULL");
    world.expect(
        "insert into people (name, id) select info, id from test",
        "
        Insert people
          Project #0, #1, NULL
            SeqScan test [id, info]
        ",
    );
}

#[test]
fn conflicts_find_their_arbiter_index() {
    let world = World::new();
    world.expect(
        "insert into people (id, name) values (1, 'a') on conflict (id) do update set name = excluded.name || people.name where people.id > 0 returning name",
        "
        Insert people on conflict [0] update 1 = (#4 || #1) where (#0 > 0) returning #1
          Result 1, 'a'::text, NULL
        ",
    );
    world.expect(
        "insert into people (id, name) values (1, 'a') on conflict (lower(name)) do nothing",
        "
        Insert people on conflict [1] nothing
          Result 1, 'a'::text, NULL
        ",
    );
    world.expect(
        "insert into people values (1, 'a') on conflict do nothing",
        "Insert people on conflict [] nothing\n  Result 1, 'a'::text, NULL",
    );
}

#[test]
fn updates_from_other_tables_join_and_recheck_over_the_joined_row() {
    let world = World::new();
    world.expect(
        "update pgbench_accounts a set abalance = b.bbalance from pgbench_branches b where a.aid = b.bid and b.bbalance > 0 returning a.abalance, b.bid",
        "
        Update pgbench_accounts #2 set abalance = #1 recheck ((#3 = #0) and (#1 > 0)) returning #6, #0
          NestedLoop Inner o0 := #0
            SeqScan b [bid, bbalance] where (#1 > 0)
            IndexPoint a by pgbench_accounts_pkey = (o0) [ctid, aid]
        ",
    );
    world.expect(
        "delete from test using people p where p.id = test.id",
        "
        Delete test #1 recheck (#0 = #2)
          HashJoin Inner (#0) = (#1)
            SeqScan p [id]
            SeqScan test [ctid, id]
        ",
    );
}

#[test]
fn row_locks_stand_below_limit_and_above_order() {
    let world = World::new();
    world.expect(
        "select id from people where boss = 3 order by name limit 1 for no key update skip locked",
        "
        Project #1
          Limit limit '1'::bigint
            LockRows people #0 NoKeyUpdate Skip recheck (#3 = 3)
              Sort #2
                SeqScan people [ctid, id, name, boss] where (#3 = 3)
        ",
    );
    world.expect(
        "select p.id from people p left join test t on t.id = p.id for update of p",
        "
        Project #1
          LockRows people #0 Update Block rerun 2 scans
            HashJoin Left (#1) = (#1)
              SeqScan p [ctid, id]
              SeqScan t [ctid, id]
        ",
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
    assert_eq!(super::show::expr(&expressions.checks[0].1), "(#1 <> ''::text)");
    let index = expressions.indexes[1].as_ref().expect("the second index has an expression");
    assert_eq!(super::show::expr(&index.keys[0].1), "lower(#1)");
}
