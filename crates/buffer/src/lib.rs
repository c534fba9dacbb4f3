//! Cohort: buffer.
