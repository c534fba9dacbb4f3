//! SQL: from text to rows, as PostgreSQL speaks it.
//!
//! The crate `syntax` makes a tree, `planner` looks its names up and makes a `plan`, `executor` runs it. The module `commands` has the
//! statements without a plan. A client talks to a [`SqlSession`]; an [`Instance`] has what all sessions share.

// `from_*` speaks of SQL's FROM here, trees are built once and live behind boxes, and what a session keeps to itself is
// shared by `Arc` with plans that all sessions share.
#![allow(clippy::wrong_self_convention, clippy::large_enum_variant, clippy::arc_with_non_send_sync)]
#![allow(clippy::type_complexity)]

mod catalogs;
mod commands;
mod functions;
mod operator_classes;
pub mod password;
mod plpgsql;
mod session;
mod session_defaults;
mod sql_function;
mod state;
mod statistics;
mod system_tables;

pub use commands::fuzz_copy;
/// The messages of a session to its client: a program that embeds SQL implements [`executor::client::Client`].
pub use executor::client;
pub use session::{BindInput, SqlSession};
pub use state::{
    Activity, Channels, ConnectRequest, Instance, KeptSetting, Notification, SessionInfo, SessionWait, SessionWaits,
    SettingKeeper, TcpTimes,
};
/// The values and types that statements take and give. Programs that embed SQL need no other crate.
pub use types;
