//! The server: sockets, worker loops, the PostgreSQL protocol and the durability gate.
//!
//! [`Server`] listens and deals connections out to workers ([`worker`]), one thread per core. Each runs its
//! sessions' messages ([`conversation`]) in coroutines, so that a session waits without its thread, and holds
//! every reply in its port ([`outgoing`]) until the commits it depends on are durable.

mod alarms;
pub mod authentication;
pub mod client;
mod connection_budget;
pub mod conversation;
pub mod decode;
pub mod listener;
pub mod outgoing;
pub mod port;
pub mod startup;
pub mod stream;
pub mod tls;
mod unix_socket;
pub mod worker;

pub use listener::{Server, ServerOptions, address_count, worker_threads};
pub use tls::CurrentCredentials;
pub use unix_socket::SocketOptions;
pub use worker::StopMode;
