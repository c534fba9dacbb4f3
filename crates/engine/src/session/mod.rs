//! A session: transactions, rows, objects.
#![allow(unused_variables)]

mod ddl;
mod maintenance;
mod rows;
mod sequences;
mod transaction;

pub use maintenance::{SampleSummary, VacuumOptions, VacuumSummary};
pub use transaction::{PortalSnapshot, TransactionOptions};

/// One client's session. May move between threads, is used by one at a time.
pub struct Session {}
