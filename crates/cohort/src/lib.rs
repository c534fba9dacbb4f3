//! Cohort: cohort.
