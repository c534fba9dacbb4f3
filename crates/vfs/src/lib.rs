//! Cohort: vfs.
