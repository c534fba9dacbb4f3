//! Cohort: engine.
