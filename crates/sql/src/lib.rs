//! Cohort: sql.

pub mod types;
