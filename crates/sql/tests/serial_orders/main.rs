//! Serializable transactions come out as if they had run one after the other, judged by running them one after the other.
//!
//! A seed makes a case: two or three transactions of a few statements, over small tables, interleaved statement by statement on an engine
//! in this process. The transactions that commit must have an order: run alone in it, one after the other from the same beginning, every
//! statement answers as it did before, and the same rows are left. The judge knows nothing of predicate locks and conflicts, so a read
//! that the engine forgets to note is found by what it leads to.
//!
//! `COHORT_SERIAL_ORDERS=20000` tries so many cases, `COHORT_SERIAL_ORDERS_FROM=17` begins with the one of that seed. A case without an
//! order is printed as the smallest case that still has none.

mod case;
mod known;
mod statements;
mod world;

use std::fmt::Write as _;

use case::Case;
use world::{Outcome, World};

/// Transactions at once, at most.
const TRANSACTIONS_MAX: usize = 3;

/// A database is used for so many cases: dead rows make it slower.
const CASES_PER_WORLD: u64 = 100;

/// After so many cases without an order the search ends.
const FINDINGS_MAX: usize = 6;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// All orders of these.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (place, first) in of.iter().enumerate() {
        let mut others = of.to_vec();
        others.remove(place);
        all.extend(orders(&others).into_iter().map(|rest| std::iter::once(*first).chain(rest).collect::<Vec<_>>()));
    }
    all
}

/// How many of a case's transactions committed; and what happened, if no order explains it.
fn judge(world: &mut World, case: &Case) -> (usize, Option<String>) {
    let (outcomes, contents) = world.run_interleaved(case);
    let committed: Vec<usize> = (0..outcomes.len()).filter(|number| outcomes[*number].is_committed).collect();
    if committed.is_empty() {
        return (0, None);
    }
    let mut report = String::new();
    tell(&mut report, "interleaved", &outcomes, &committed, &contents);
    for order in orders(&committed) {
        let (alone, left) = world.run_serially(case, &order);
        if left == contents && committed.iter().all(|number| alone[*number] == outcomes[*number]) {
            return (committed.len(), None);
        }
        tell(&mut report, &format!("in the order {order:?}"), &alone, &order, &left);
    }
    (committed.len(), Some(report))
}

fn tell(report: &mut String, how: &str, outcomes: &[Outcome], committed: &[usize], contents: &[String]) {
    let _ = writeln!(report, "  {how}:");
    for number in committed {
        let _ = writeln!(report, "    {number}: {}", outcomes[*number].results.join("; "));
    }
    let left = statements::TABLES.iter().zip(contents).filter(|(_, rows)| !rows.ends_with("SELECT 0"));
    let left: Vec<String> = left.map(|(table, rows)| format!("{table}: {rows}")).collect();
    let _ = writeln!(report, "    left: {}", left.join("; "));
}

// invariants: rows 16 and 17
#[test]
fn committed_transactions_are_explained_by_a_serial_order() {
    let from = number("COHORT_SERIAL_ORDERS_FROM", 1);
    let count = number("COHORT_SERIAL_ORDERS", 800);
    let mut world = World::new(TRANSACTIONS_MAX);
    let (mut findings, mut together) = (Vec::new(), 0);
    for seed in from..from + count {
        if seed % CASES_PER_WORLD == 0 {
            world = World::new(TRANSACTIONS_MAX);
        }
        let case = Case::of_seed(seed, TRANSACTIONS_MAX);
        let (committed, found) = judge(&mut world, &case);
        together += u64::from(committed > 1);
        if found.is_none() {
            continue;
        }
        let smallest = case.shrink(&mut |case| judge(&mut world, case).1.is_some());
        let report = judge(&mut world, &smallest).1.unwrap_or_default();
        println!("seed {seed}:\n{smallest}{report}");
        findings.push(seed);
        if findings.len() == FINDINGS_MAX {
            break;
        }
    }
    assert!(findings.is_empty(), "no serial order explains the cases of the seeds {findings:?}");
    println!("{count} cases, in {together} of which several transactions committed");
    assert!(together * 4 > count, "in {together} of {count} cases only have several transactions committed");
}
