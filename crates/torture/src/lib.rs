//! Tortures a real server process over the wire, and holds all that it answers against a model.
//!
//! Many sessions run random mixes of everything that SQL can do. The server is killed, stopped and started
//! again meanwhile. See the README for what is checked.
//!
//! - [`options`]: what a run is told
//! - [`torture`]: what all tasks of a run share, and the first failure
//! - [`conductor`]: the lives of the server: start, work, kill or pause, check
//! - [`port`], [`server`]: a free port, and the process
//! - [`wire`], [`trace`], [`session`]: connections, what each has said last, and the loop of a session
//! - [`transaction`], [`steps`]: what sessions do
//! - [`model`]: what must be there
//! - [`settle`], [`verify`]: unknown outcomes, and the checks while nobody works
//! - [`watch`]: progress, memory and descriptors
//! - [`listener`]: notifications arrive once and in commit order

pub mod conductor;
pub mod listener;
pub mod model;
pub mod options;
pub mod port;
pub mod server;
pub mod session;
pub mod settle;
pub mod steps;
pub mod torture;
pub mod trace;
pub mod transaction;
pub mod verify;
pub mod watch;
pub mod wire;

pub use options::{Kind, Options};
pub use port::free_port;
pub use torture::{Summary, run};
