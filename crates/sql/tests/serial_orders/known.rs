//! Cases in which something was read without being noted, each in its smallest form.

use crate::TRANSACTIONS_MAX;
use crate::case::{Case, Transaction};
use crate::world::World;

/// A case of these rows and these steps, each with the number of its transaction. Both begin before the first step.
fn case(rows: &[&str], steps: &[(usize, &str)]) -> Case {
    let begin = (0, "begin isolation level serializable");
    let steps: Vec<(usize, &str)> = [begin, (1, begin.1)].into_iter().chain(steps.iter().copied()).collect();
    let of = |number: usize| Transaction {
        steps: steps.iter().filter(|step| step.0 == number).map(|step| step.1.to_owned()).collect(),
    };
    Case {
        settings: vec!["set enable_seqscan = off".to_owned()],
        rows: rows.iter().map(|row| (*row).to_owned()).collect(),
        transactions: vec![of(0), of(1)],
        schedule: steps.iter().map(|step| step.0).collect(),
    }
}

/// The first transaction does `reads`, and the second one `writes` what that has read. The second one reads the log, which the first
/// one writes to without its seeing that: by a statement of its own, or by `reads` if it `logs`.
fn crossing(rows: &[&str], reads: &str, logs: bool, writes: &str) -> Case {
    let mut steps = vec![(0, reads), (1, "select * from log")];
    if !logs {
        steps.push((0, "insert into log values (1, 1)"));
    }
    steps.extend([(1, writes), (0, "commit"), (1, "commit")]);
    case(rows, &steps)
}

fn require_order(case: &Case) {
    if let (_, Some(report)) = crate::judge(&mut World::new(TRANSACTIONS_MAX), case) {
        panic!("no serial order explains:\n{case}{report}");
    }
}

const ROW: &[&str] = &["insert into plain values (1, 1, 1, null)"];

const DELETE: &str = "delete from plain where id = 1";

// invariants: row 17
#[test]
fn a_row_that_a_trigger_keeps_from_its_update_was_read() {
    let rows = &["insert into fired values (1, 1, 1, null)"];
    let update = "update fired set s = 'log' where id = 1";
    require_order(&crossing(rows, update, true, "delete from fired where id = 1"));
}

#[test]
fn a_row_that_a_trigger_keeps_from_being_deleted_was_read() {
    let rows = &[
        "alter table fired disable trigger before_row",
        "insert into fired values (1, 1, 1, 'log')",
        "alter table fired enable trigger before_row",
    ];
    require_order(&crossing(rows, "delete from fired where id = 1", true, "update fired set s = null where id = 1"));
}

#[test]
fn a_row_whose_key_refuses_an_insert_was_read() {
    require_order(&crossing(ROW, "select tried($$insert into plain values (1, 2, 2, null)$$)", false, DELETE));
    require_order(&crossing(ROW, "select tried($$insert into plain values (2, 2, 1, null)$$)", false, DELETE));
}

#[test]
fn a_row_that_is_in_the_way_of_on_conflict_was_read() {
    for action in ["nothing", "update set a = 2 where false", "update set a = 2 where plain.a = 9"] {
        let insert = format!("insert into plain values (1, 2, 2, null) on conflict (id) do {action}");
        require_order(&crossing(ROW, &insert, false, DELETE));
    }
    let insert = "insert into plain values (1, 2, 2, null) on conflict (id) do update set a = 2";
    require_order(&crossing(ROW, &format!("select undone($${insert}$$)"), false, DELETE));
}

#[test]
fn a_row_that_a_trigger_keeps_from_the_update_of_on_conflict_was_read() {
    let rows = &["insert into fired values (1, 1, 1, null)"];
    let insert = "insert into fired values (1, 2, 2, null) on conflict (id) do update set s = 'log'";
    require_order(&crossing(rows, insert, true, "delete from fired where id = 1"));
}

#[test]
fn a_key_whose_insert_was_undone_was_found_free() {
    let insert = "insert into plain values (1, 2, 3, null)";
    require_order(&crossing(&[], &format!("select undone($${insert}$$)"), false, insert));
    require_order(&crossing(
        ROW,
        "select undone($$update plain set id = 2$$)",
        false,
        "insert into plain values (2, 2, 2, null)",
    ));
}

#[test]
fn a_transaction_that_is_refused_a_key_comes_after_the_one_that_took_it() {
    require_order(&case(
        &[],
        &[
            (0, "select count(*) from log"),
            (1, "insert into plain values (1, 1, 1, null)"),
            (1, "insert into log values (1, 1)"),
            (1, "commit"),
            (0, "select tried($$insert into plain values (1, 2, 2, null)$$)"),
            (0, "commit"),
        ],
    ));
}

#[test]
fn a_transaction_whose_foreign_keys_hold_by_another_comes_after_it() {
    require_order(&case(
        &["insert into parent values (1, 1), (2, 1)", "insert into ward values (1, 1)"],
        &[
            (0, "select * from ward where id = 1"),
            (0, "delete from parent where id = 1"),
            (1, "update ward set parent = 2 where id = 1"),
            (1, "commit"),
            (0, "commit"),
        ],
    ));
}
