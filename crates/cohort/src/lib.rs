//! Cohort: a transactional database engine whose subject is the commit path.
//!
//! Programs embed it through [`Database`] and its sessions, or through SQL with [`sql`]; PostgreSQL clients reach
//! it through [`Server`].
//!
//! ```
//! use cohort::{Instance, ConnectRequest, Database, OpenOptions};
//!
//! let directory = std::env::temp_dir().join(format!("cohort-doc-{}", std::process::id()));
//! let database = Database::open(OpenOptions::new(&directory)).expect("a new folder becomes a database");
//! assert!(database.catalog().tables().count() == 0);
//! database.close().expect("closing makes a last checkpoint");
//! # std::fs::remove_dir_all(&directory).expect("the folder is ours");
//! ```

pub mod configuration;
pub mod dashboard;
mod figures;
mod http;
pub mod metrics;
pub mod server_log;

pub use engine::{
    self, CommitTicket, Database, DelayPolicy, DelaySetting, Isolation, OpenOptions, Session, TransactionOptions,
};
pub use server::{CurrentCredentials, Server, ServerOptions, SocketOptions, StopMode, address_count, worker_threads};
pub use sql;
pub use sql::{ConnectRequest, Instance, SqlSession};
