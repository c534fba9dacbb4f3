//! Cohort: lockmgr.
