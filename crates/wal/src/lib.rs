//! Cohort: wal.
