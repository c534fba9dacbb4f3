//! The experiment on the commit log's latch, in small. One test only, since latches are counted for the process.

use cohort_lab::driver::DriverKind;
use cohort_lab::experiment::{EXPERIMENTS, Options};
use cohort_lab::load::Load;
use sync::Arc;
use sync::atomic::AtomicBool;

#[test]
fn each_takes_the_latch_for_every_transaction_and_a_cohort_for_many() {
    let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == "clog-group").unwrap();
    for driver in [DriverKind::Embedded, DriverKind::Wire] {
        let options = Options {
            driver,
            against: None,
            load: Load::Closed,
            quick: true,
            clients: Some(vec![16]),
            disk: None,
            rounds: 1,
            seconds: 0.3,
            seed: 1,
        };
        let outcome = experiment.run(&options, &Arc::new(AtomicBool::new(false)), &mut |_| ()).unwrap();
        let taken = |configuration: &str| {
            let figure = outcome.figures.iter().find(|figure| figure.configuration == configuration).unwrap();
            assert!(figure.tps > 0.0);
            figure.clog_latch.unwrap().exclusive
        };
        let (each, group, cohort) = (taken("each"), taken("group"), taken("cohort"));
        assert!(each >= 1.0 && group <= each + 0.1 && cohort < 0.9, "{driver:?}: {each} {group} {cohort}");
        assert!(outcome.verdict.contains("the latch is taken"), "{}", outcome.verdict);
    }
}
