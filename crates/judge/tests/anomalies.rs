//! Each anomaly in a history written by hand is found and named; histories without one are clean.
// invariants: row 16

mod notation;

use cohort_judge::{AnomalyKind, Level, Verdict, examine};
use notation::history;

fn judge(text: &str) -> Verdict {
    examine(&history(text))
}

/// The anomalies in words, sorted.
fn found(text: &str) -> Vec<String> {
    let mut found: Vec<String> = judge(text).anomalies.iter().map(ToString::to_string).collect();
    found.sort();
    found
}

fn assert_clean(text: &str) {
    assert_eq!(found(text), Vec::<String>::new(), "{text}");
}

#[test]
fn a_serial_history_is_clean() {
    assert_clean("i0(x) i0(y) c0 r1(x0) w1(x0) c1 r2(x1) w2(x1) w2(y0) c2 r3(x2) r3(y2) c3");
}

#[test]
fn a_serializable_interleaving_is_clean() {
    // T2 reads the old x and comes before T1, though it commits later.
    assert_clean("i0(x) i0(y) c0 r2(x0) w1(x0) c1 r2(y0) w2(y0) c2 r3(x1) r3(y2) c3");
}

#[test]
fn dirty_writes_are_g0() {
    let text = "i0(x) i0(y) c0 w1(x0) w2(x1) w2(y0) w1(y2) c1 c2";
    assert_eq!(found(text), ["G0: T1 -ww on 1/120-> T2 -ww on 1/121-> T1"]);
    assert_eq!(judge(text).violations(Level::ReadCommitted).count(), 1);
}

#[test]
fn a_write_between_two_of_another_transaction_is_g0_too() {
    let kinds: Vec<_> =
        judge("i0(x) c0 w1(x0) w2(x1) w1(x2) c1 c2").anomalies.iter().map(|anomaly| anomaly.kind).collect();
    assert_eq!(kinds, [AnomalyKind::G1b, AnomalyKind::G0]);
}

#[test]
fn reading_what_is_rolled_back_is_g1a() {
    let text = "i0(x) c0 w1(x0) r2(x1) a1 c2";
    assert_eq!(found(text), ["G1a: T1, T2: version 0x7831 of 1/120 was rolled back"]);
    let undone_to_a_savepoint = "i0(x) c0 u1(x0) r2(x1) c1 c2";
    assert_eq!(found(undone_to_a_savepoint), found(text));
    let by_a_scan = "i0(x) c0 w1(x0) p2(a-z,x1) a1 c2";
    assert_eq!(found(by_a_scan), found(text));
    let by_a_write = "i0(x) c0 w1(x0) w2(x1) a1 c2";
    assert_eq!(found(by_a_write), found(text));
}

#[test]
fn what_an_aborted_transaction_read_does_not_count() {
    assert_clean("i0(x) c0 w1(x0) r2(x1) a1 a2");
}

#[test]
fn reading_what_is_overwritten_by_its_writer_is_g1b() {
    let text = "i0(x) c0 w1(x0) r2(x1) w1(x1) c1 c2";
    let verdict = judge(text);
    let forbidden: Vec<String> = verdict.violations(Level::ReadCommitted).map(ToString::to_string).collect();
    assert_eq!(forbidden, ["G1b: T1, T2: the one wrote 1/120 again after version 0x7831"]);
}

#[test]
fn circular_information_flow_is_g1c() {
    let text = "i0(x) i0(y) c0 w1(x0) w2(y0) r1(y2) r2(x1) c1 c2";
    assert_eq!(found(text)[0], "G1c: T1 -wr on 1/120-> T2 -wr on 1/121-> T1");
    let with_ww = "i0(x) i0(y) c0 w1(x0) w2(x1) w2(y0) r1(y2) c1 c2";
    assert_eq!(found(with_ww)[0], "G1c: T1 -ww on 1/120-> T2 -wr on 1/121-> T1");
    let by_absence = "i0(x) i0(y) c0 w1(x0) w2(x1) d2(y0) c2 p1(y-y) c1";
    assert_eq!(found(by_absence)[0], "G1c: T1 -ww on 1/120-> T2 -wr on 1/121 by condition-> T1");
}

#[test]
fn read_skew_is_g_single() {
    let text = "i0(x) i0(y) c0 r1(x0) w2(x0) w2(y0) c2 r1(y2) c1";
    assert_eq!(found(text), ["G-single: T1 -rw on 1/120-> T2 -wr on 1/121-> T1"]);
    let verdict = judge(text);
    assert_eq!(verdict.violations(Level::ReadCommitted).count(), 0);
    assert_eq!(verdict.violations(Level::SnapshotIsolation).count(), 1);
}

#[test]
fn a_phantom_between_two_scans_is_g_single() {
    let text = "i0(x) c0 p1(a-z,x0) i2(y) c2 p1(a-z,x0,y2) c1";
    assert_eq!(found(text), ["G-single: T1 -rw on 1/121 by condition-> T2 -wr on 1/121-> T1"]);
    let outside_of_the_first_range = "i0(x) c0 p1(x-x,x0) i2(y) c2 p1(x-z,x0,y2) c1";
    assert_clean(outside_of_the_first_range);
}

#[test]
fn a_row_that_leaves_a_condition_between_two_scans_is_g_single() {
    let text = "i0(x:5) c0 p1(a-z/5-9,x0) w2(x0:1) c2 p1(a-z/5-9) c1";
    assert_eq!(found(text), ["G-single: T1 -rw on 1/120-> T2 -wr on 1/120 by condition-> T1"]);
}

#[test]
fn a_lost_update_is_named() {
    let text = "i0(x) c0 r1(x0) r2(x0) w2(x0) c2 w1(x2) c1";
    assert_eq!(found(text), ["G-single (lost update): T1 -rw on 1/120-> T2 -ww on 1/120-> T1"]);
    assert!(judge(text).anomalies[0].is_lost_update());
}

#[test]
fn a_long_fork_is_no_g_single_but_impossible_under_snapshots() {
    // Two readers see two independent writes in opposite orders.
    let text = "i0(x) i0(y) c0 w1(x0) c1 w2(y0) c2 r3(x1) r3(y0) c3 r4(x0) r4(y2) c4";
    assert_eq!(
        found(text),
        ["G-nonadjacent: T1 -wr on 1/120-> T3 -rw on 1/121-> T2 -wr on 1/121-> T4 -rw on 1/120-> T1"]
    );
    assert_eq!(judge(text).violations(Level::SnapshotIsolation).count(), 1);
}

#[test]
fn write_skew_is_g2_of_rows() {
    let text = "i0(x) i0(y) c0 r1(x0) r1(y0) r2(x0) r2(y0) w1(x0) w2(y0) c1 c2";
    assert_eq!(found(text), ["G2-item: T1 -rw on 1/121-> T2 -rw on 1/120-> T1"]);
    let verdict = judge(text);
    assert_eq!(verdict.violations(Level::SnapshotIsolation).count(), 0);
    assert_eq!(verdict.violations(Level::Serializable).count(), 1);
}

#[test]
fn write_skew_by_phantoms_is_g2() {
    // Both see that nothing is there, and both insert.
    let text = "s1 s2 p1(a-m) p2(n-z) i1(x) i2(b) c1 c2";
    assert_eq!(found(text), ["G2: T1 -rw on 1/98 by condition-> T2 -rw on 1/120 by condition-> T1"]);
    let disjoint = "s1 s2 p1(a-m) p2(n-z) i1(b) i2(x) c1 c2";
    assert_clean(disjoint);
}

#[test]
fn a_row_not_found_by_its_key_counts_as_read() {
    let text = "i0(x) c0 s1 s2 p1(y-y) r2(x0) i2(y) w1(x0) c1 c2";
    assert_eq!(found(text), ["G2: T1 -rw on 1/121 by condition-> T2 -rw on 1/120-> T1"]);
}

#[test]
fn the_read_only_anomaly_is_found() {
    // T3 reads only; without it T1 before T2 would be in order.
    let without = "i0(x) i0(y) c0 s2 r2(x0) r2(y0) r1(y0) w1(y0) c1 w2(x0) c2";
    assert_clean(without);
    let with = "i0(x) i0(y) c0 s2 r2(x0) r2(y0) r1(y0) w1(y0) c1 r3(x0) r3(y1) c3 w2(x0) c2";
    assert_eq!(found(with), ["G2-item: T1 -wr on 1/121-> T3 -rw on 1/120-> T2 -rw on 1/121-> T1"]);
}

#[test]
fn an_absent_row_was_not_yet_there_or_not_any_more_by_the_moment_of_the_look() {
    // The row came and went before T1 looked: T1 comes after both.
    let after = "i2(x) i2(y) c2 d3(x2) w3(y2) c3 p1(x-x) r1(y3) c1";
    assert_clean(after);
    // It came and went after T1 looked: T1 comes before both, but read what T3 wrote.
    let before = "i2(y) c2 s1 p1(x-x) i4(x) c4 d3(x4) w3(y2) c3 r1(y3) c1";
    assert_eq!(found(before), ["G-single: T1 -rw on 1/120 by condition-> T4 -ww on 1/120-> T3 -wr on 1/121-> T1"]);
}

#[test]
fn an_absent_row_of_which_either_is_possible_accuses_nobody() {
    // T1's snapshot may be from before the insert or from after the delete.
    let mut history = history("i0(y) c0 i4(x) c4 d3(x4) w3(y0) c3 p1(x-x) r1(y3) c1 r5(y0) p5(x-x) c5");
    for transaction in &mut history.transactions {
        for operation in &mut transaction.operations {
            if let cohort_judge::Operation::PredicateRead(read) = operation {
                read.looked.began = 0;
            }
        }
    }
    assert_eq!(examine(&history).anomalies.len(), 0);
}

#[test]
fn a_key_that_is_inserted_again_goes_on_in_its_order() {
    assert_clean("i0(x) c0 d1(x0) c1 i2(x) c2 r3(x2) c3");
    let deleted_by_one_who_looked_for_it = "i0(x) c0 r1(x0) d2(x0) c2 i1(x) c1";
    assert_eq!(
        found(deleted_by_one_who_looked_for_it),
        ["G2: T1 -rw on 1/120-> T2 -rw on 1/120 by condition-> T1"],
        "an insert after a delete overwrites nothing"
    );
}

#[test]
fn two_that_replace_the_same_version_are_a_fork() {
    let text = "i0(x) c0 w1(x0) w2(x0) c1 c2";
    assert!(found(text).iter().any(|what| what.starts_with("fork: T1, T2: both replaced")), "{:?}", found(text));
    let twice_inserted = "i0(x) c0 i1(x) c1";
    assert_eq!(found(twice_inserted), ["fork: T0, T1: 1/120 was inserted while it was there"]);
}

#[test]
fn who_does_not_see_its_own_writes_is_internally_inconsistent() {
    let expected = "internal: T1: read version 0x7830 of 1/120 after it had written version 0x7831";
    assert_eq!(found("i0(x) c0 w1(x0) r1(x0) c1"), [expected]);
    assert_eq!(found("i1(x) p1(a-z) c1"), ["internal: T1: did not find version 0x7831 of 1/120, which it had written"]);
    assert_clean("i0(x) c0 w1(x0) r1(x1) w1(x1) r1(x1.2) d1(x1.2) p1(a-z) c1");
    assert_clean("i0(x) c0 u1(x0) r1(x1) r1(x0) w1(x0) r1(x1.2) c1");
}

#[test]
fn a_scan_that_finds_a_row_twice_or_the_wrong_one_is_internally_inconsistent() {
    assert_eq!(found("i0(x) c0 p1(a-z,x0,x0) c1"), ["internal: T1: met 1/120 twice in one scan"]);
    let wrong = "internal: T1: found version 0x7830 of 1/120, which does not satisfy its condition";
    assert_eq!(found("i0(x) c0 p1(a-c,x0) c1"), [wrong]);
    assert_eq!(found("i0(x:4) c0 p1(a-z/5-9,x0) c1"), [wrong]);
}

#[test]
fn each_knot_of_transactions_is_reported_by_itself() {
    let text = "i0(w) i0(x) i0(y) i0(z) c0 \
                r1(x0) r2(y0) w1(y0) w2(x0) c1 c2 \
                r3(w0) r4(z0) w3(z0) w4(w0) c3 c4";
    assert_eq!(
        found(text),
        ["G2-item: T1 -rw on 1/120-> T2 -rw on 1/121-> T1", "G2-item: T3 -rw on 1/119-> T4 -rw on 1/122-> T3"]
    );
}

#[test]
fn a_row_deleted_meanwhile_may_stand_beside_a_new_one_of_its_key_under_a_snapshot() {
    let text = "i0(x) c0 s1 s2 d2(x0) c2 i1(x) p1(a-z,x0,x1) r1(x0) r1(x1) c1";
    assert_eq!(found(text), ["G2: T1 -rw on 1/120-> T2 -rw on 1/120 by condition-> T1"]);
}
