//! The experiment on two-phase commit, in small.

use cohort_lab::driver::DriverKind;
use cohort_lab::experiment::{EXPERIMENTS, Options};
use cohort_lab::load::Load;
use sync::Arc;
use sync::atomic::AtomicBool;

#[test]
fn every_way_to_keep_what_is_prepared_commits_through_both_drivers() {
    let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == "two-phase").unwrap();
    for driver in [DriverKind::Embedded, DriverKind::Wire] {
        let options = Options {
            driver,
            against: None,
            load: Load::Closed,
            quick: true,
            clients: Some(vec![8]),
            disk: None,
            rounds: 1,
            seconds: 0.3,
            seed: 1,
        };
        let outcome = experiment.run(&options, &Arc::new(AtomicBool::new(false)), &mut |_| ()).unwrap();
        let configurations: Vec<&str> = outcome.figures.iter().map(|figure| figure.configuration.as_str()).collect();
        assert_eq!(configurations, ["COMMIT", "two-phase, file", "two-phase, memory", "two-phase, wal"]);
        for figure in &outcome.figures {
            assert!(figure.tps > 0.0, "{driver:?}: {figure:?}");
            // Both phases are synced: no more than one commit in two flushes for each client.
            let syncs_shared = figure.commits_per_sync.unwrap();
            let most = if figure.configuration == "COMMIT" { 8.0 } else { 4.0 };
            assert!(syncs_shared <= most + 0.5, "{driver:?}: {figure:?}");
        }
        assert!(outcome.verdict.contains("two-phase commit reaches"), "{}", outcome.verdict);
    }
}
