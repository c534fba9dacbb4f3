//! SQL: from text to rows, as PostgreSQL speaks it.
//!
//! [`parser`] makes a [`tree`], [`binder`] looks its names up, [`planner`] makes a [`plan`], [`executor`] runs it;
//! [`commands`] are the statements without a plan. A [`session`] is what a client talks to.

pub mod binder;
pub mod catalogs;
pub mod client;
pub mod commands;
pub mod executor;
pub mod parser;
pub mod plan;
pub mod planner;
pub mod plpgsql;
pub mod session;
mod sql_function;
mod statistics;
pub mod tree;
pub mod types;
