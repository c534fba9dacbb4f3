//! Cohort: heap.
