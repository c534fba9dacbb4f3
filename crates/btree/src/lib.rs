//! Cohort: btree.
