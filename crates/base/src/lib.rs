//! Words that every crate of Cohort shares: identifiers, errors, limits and settings.
//!
//! Nothing here does any work. [`Lsn`], [`Xid`], [`Tid`], [`Oid`] and [`FileNumber`] are newtypes so that the compiler
//! keeps a log position from being taken for a transaction. [`Error`] carries the error report for the client, with
//! PostgreSQL's SQLSTATE, DETAIL and HINT. [`settings`] is the one typed table of all settings. [`access`] reads the
//! setting that says which clients may connect.

pub mod access;
mod error;
mod identifiers;
pub mod limits;
mod liveness;
pub mod lock_mode;
pub mod missing;
mod page_use;
pub mod report;
pub mod settings;
pub mod sqlstate;

pub use error::{Error, ErrorFields, Origin, Result};
pub use identifiers::{CommandId, FileNumber, Lsn, Oid, OwnerId, Tid, Xid};
pub use liveness::Liveness;
pub use page_use::PageUse;
pub use sqlstate::SqlState;
