//! A short stretch of torture: everything that SQL can do, from many sessions, with kills, against a model.
//!
//! `COHORT_TORTURE_SECONDS` and `COHORT_TORTURE_SEED` set other lengths and seeds. The torture crate's README tells what is
//! checked and what a failure keeps.

use torture::Options;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

// invariants: rows 1, 11, 21, 32, 33 and 43 (as far as SIGKILL can show them)
#[test]
fn a_stretch_of_torture_finds_nothing() {
    let options = Options {
        server: env!("CARGO_BIN_EXE_cohort").into(),
        seconds: from_environment("COHORT_TORTURE_SECONDS").unwrap_or(60),
        seed: from_environment("COHORT_TORTURE_SEED").or(Some(23)),
        sessions: 16,
        // The machine may be busy with other tests.
        patience: 30,
        ..Options::default()
    };
    let summary = torture::run(options).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{summary}");
    assert!(summary.commits > 0 && summary.endings.values().sum::<u64>() > 0);
}
