//! SQL: from text to rows, as PostgreSQL speaks it.
//!
//! The crate `syntax` makes a tree, `planner` looks its names up and makes a `plan`, `executor` runs it;
//! [`commands`] are the statements without a plan. A [`session`] is what a client talks to.

// `from_*` speaks of SQL's FROM here, trees are built once and live behind boxes, and what a session keeps to itself is
// shared by `Arc` with plans that all sessions share.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

pub mod catalogs;
pub mod commands;
pub mod password;
pub mod plpgsql;
pub mod session;
pub mod session_defaults;
mod sql_function;
mod statistics;

/// The messages of a session to its client: a program that embeds SQL implements [`executor::client::Client`].
pub use executor::client;
/// The values and types that statements take and give. Programs that embed SQL need no other crate.
pub use types;
