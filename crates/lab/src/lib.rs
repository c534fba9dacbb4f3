//! Cohort: lab.
