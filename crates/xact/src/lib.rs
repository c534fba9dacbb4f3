//! Cohort: xact.
