//! Cohort: sql.

pub mod types;
pub mod parser;
pub mod tree;
