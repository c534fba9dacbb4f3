//! Cohort: clog.
