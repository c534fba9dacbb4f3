//! Cohort: sql.

pub mod types;
pub mod binder;
pub mod parser;
pub mod plan;
pub mod planner;
pub mod tree;
