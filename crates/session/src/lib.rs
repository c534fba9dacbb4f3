//! Cohort: session.
