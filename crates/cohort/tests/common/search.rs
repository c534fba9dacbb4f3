//! A search of random cases for those on which Cohort and PostgreSQL differ.

use super::environment_number;

/// A search ends after so many differences.
const DIFFERENCES_MAX: usize = 5;

/// Tries cases by their seeds. `case` describes the difference that it finds. The environment says with `variable` how many cases are tried
/// instead of `count`, and with `variable` and `_FROM` the first seed. Returns the number of cases.
///
/// # Panics
/// After a difference.
pub fn search(variable: &str, count: u64, mut case: impl FnMut(u64) -> Option<String>) -> u64 {
    let count = environment_number(variable).unwrap_or(count);
    let from = environment_number(&format!("{variable}_FROM")).unwrap_or(0);
    assert!(count > 0, "{variable} says that nothing is tried");
    let (mut report, mut differences) = (String::new(), 0);
    for seed in from..from + count {
        let Some(difference) = case(seed) else { continue };
        let shown = format!("--- case {seed}\n{difference}");
        eprint!("{shown}");
        report.push_str(&shown);
        differences += 1;
        if differences == DIFFERENCES_MAX {
            break;
        }
    }
    assert!(differences == 0, "{differences} cases differ\n{report}");
    eprintln!("{count} cases agree");
    count
}
