//! Cohort: sql.
