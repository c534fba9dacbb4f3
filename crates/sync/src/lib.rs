//! Cohort: sync.
