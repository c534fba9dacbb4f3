//! Random transactions of many clients at every isolation level, and a judge who reads from what they saw whether the level
//! held what it promises.
//!
//! Two drivers run the same clients. `threads` gives each its own: what interleaves, interleaves for real, and a seed
//! says only what the clients want to do. `schedule` runs them as coroutines on one thread and chooses by the seed, between any
//! two of their operations, whose turn it is: a seed says everything. `COHORT_SEED=7` runs one seed, `COHORT_SEEDS=200`
//! more of them.
// invariants: row 16

mod client;
#[path = "../common/mod.rs"]
mod common;
mod drivers;
mod mix;

use std::fmt::Write;
use std::ops::Range;

use cohort_engine::Isolation;
use drivers::{Driver, Run};
use judge::{AnomalyKind, History, Level, Transaction, Verdict};
use mix::Mix;

/// How many seeds more may be run.
const MORE_SEEDS: u64 = 500;

/// The seeds that are run in any case, and those that are run while something that must be seen has not been seen.
fn seeds(default: u64) -> (Range<u64>, Range<u64>) {
    let parse = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match parse("COHORT_SEED") {
        Some(seed) => (seed..seed + 1, 0..0),
        None => {
            let count = parse("COHORT_SEEDS").map_or(default, |seeds| seeds.max(default));
            (0..count, count..count + MORE_SEEDS)
        }
    }
}

/// Runs every mix with several seeds and has each history judged. `check` returns whether it has seen all that it must see.
/// On a busy machine real threads may run one after the other for long, so more seeds are run until it has.
fn judge_all(driver: Driver, isolation: Isolation, is_blind: bool, mut check: impl FnMut(&Judged) -> bool) {
    let mut judge = |mix, seed| {
        let run = Run { driver, isolation, mix, seed, is_blind };
        let history = run.history();
        let verdict = judge::examine(&history);
        assert!(verdict.committed > 20, "{run}: only {} transactions committed", verdict.committed);
        check(&Judged { run, history, verdict })
    };
    let (seeds, more_seeds) = seeds(driver.default_seeds());
    let mut has_seen_all = false;
    for mix in Mix::ALL {
        for seed in seeds.clone() {
            has_seen_all = judge(mix, seed);
        }
    }
    for seed in more_seeds {
        for mix in Mix::ALL {
            if has_seen_all {
                return;
            }
            has_seen_all = judge(mix, seed);
        }
    }
}

struct Judged {
    run: Run,
    history: History,
    verdict: Verdict,
}

impl Judged {
    /// The level forbids nothing that was found; else says what, and what those who took part did.
    #[track_caller]
    fn assert_holds(&self, level: Level) {
        let mut report = String::new();
        for anomaly in self.verdict.violations(level) {
            writeln!(report, "{anomaly}").unwrap();
            let took_part = |transaction: &&Transaction| anomaly.transactions.contains(&transaction.id);
            for transaction in self.history.transactions.iter().filter(took_part) {
                writeln!(report, "  {} {:?}", transaction.id, transaction.end).unwrap();
                transaction.operations.iter().for_each(|operation| writeln!(report, "    {operation:?}").unwrap());
            }
        }
        assert!(report.is_empty(), "{}:\n{report}", self.run);
    }

    fn count(&self, kind: AnomalyKind) -> usize {
        self.verdict.of_kind(kind).count()
    }
}

const DRIVERS: [Driver; 2] = [Driver::Threads, Driver::Schedule];

#[test]
fn read_committed_shows_nothing_uncommitted_and_no_circular_flow() {
    for driver in DRIVERS {
        let mut skews = 0;
        judge_all(driver, Isolation::ReadCommitted, false, |judged| {
            judged.assert_holds(Level::ReadCommitted);
            skews += judged.count(AnomalyKind::GSingle);
            skews > 0
        });
        assert!(skews > 0, "{driver:?}: read skew and lost updates happen at read committed, and must be seen");
    }
}

#[test]
fn repeatable_read_shows_no_read_skew_and_no_lost_update_either() {
    for driver in DRIVERS {
        let (mut of_rows, mut by_condition) = (0, 0);
        judge_all(driver, Isolation::RepeatableRead, false, |judged| {
            judged.assert_holds(Level::SnapshotIsolation);
            of_rows += judged.count(AnomalyKind::G2Item);
            by_condition += judged.count(AnomalyKind::G2);
            of_rows > 0 && by_condition > 0
        });
        assert!(of_rows > 0, "{driver:?}: write skew happens at repeatable read, and must be seen");
        assert!(by_condition > 0, "{driver:?}: so does write skew by phantoms");
    }
}

#[test]
fn serializable_shows_nothing_at_all() {
    for driver in DRIVERS {
        judge_all(driver, Isolation::Serializable, false, |judged| {
            judged.assert_holds(Level::Serializable);
            true
        });
    }
}

#[test]
fn serializable_that_is_blind_to_dangerous_structures_is_found_out() {
    for driver in DRIVERS {
        let (mut of_rows, mut by_condition) = (0, 0);
        judge_all(driver, Isolation::Serializable, true, |judged| {
            judged.assert_holds(Level::SnapshotIsolation);
            of_rows += judged.count(AnomalyKind::G2Item);
            by_condition += judged.count(AnomalyKind::G2);
            of_rows > 0 && by_condition > 0
        });
        assert!(of_rows > 0 && by_condition > 0, "{driver:?}: {of_rows} of rows, {by_condition} by condition");
    }
}

/// Locks have limits in time: a newcomer may overtake for 2 ms only. On a busy machine more than that can pass between two
/// steps of a run. So a history must come twice in succession within some runs.
#[test]
fn a_seed_of_the_scheduler_says_everything_that_happens() {
    const RUNS_MAX: usize = 20;
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        for mix in Mix::ALL {
            let run = Run { driver: Driver::Schedule, isolation, mix, seed: 3, is_blind: false };
            let mut before = format!("{:?}", run.history());
            let comes_twice = (1..RUNS_MAX).any(|_| {
                let last = std::mem::replace(&mut before, format!("{:?}", run.history()));
                last == before
            });
            assert!(comes_twice, "{run} went differently each of {RUNS_MAX} times");
        }
    }
}
