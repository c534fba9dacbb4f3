//! The judge: says which anomalies a recorded history of transactions contains.
//!
//! It knows nothing of the engine. A workload gives every version of a row an identifier of its own and stores it in the
//! row, so that each read tells which write it saw, and each write which version it replaced. From that alone follow the
//! order of each row's versions, the dependencies between transactions, and their cycles:
//!
//! ```text
//!   History --order--> Versions --dependencies--> Dependency graph --cycles--> Verdict
//! ```
//!
//! | dependency | from T to U, when |
//! | --- | --- |
//! | ww | U wrote the version that follows one of T's |
//! | wr | U read a version of T's, or T's write decided what U's condition found |
//! | rw | U wrote the version that follows one that T read, or that changes what T's condition finds |
//!
//! ```
//! use cohort_judge::{AnomalyKind, Clock, End, History, Level, Object, Operation, Span, Transaction, TransactionId, VersionId};
//!
//! // Two transactions read a row and then both replace it: the second one overwrites what it has not read.
//! let clock = Clock::new();
//! let row = Object { table: 1, key: 7 };
//! let mut history = History::default();
//! let write = |version, replaces| Operation::write(row, VersionId(version), replaces, Some(0), clock.now());
//! let read = |version| Operation::read(row, VersionId(version));
//! let mut commit = |id, operations| {
//!     let end = End::Committed(Span { began: clock.now(), ended: clock.now() });
//!     history.transactions.push(Transaction { id: TransactionId(id), operations, end });
//! };
//! commit(0, vec![write(1, None)]);
//! commit(1, vec![read(1), write(2, Some(VersionId(1)))]);
//! commit(2, vec![read(1), write(3, Some(VersionId(2)))]);
//!
//! let verdict = cohort_judge::examine(&history);
//! assert!(verdict.violations(Level::ReadCommitted).next().is_none());
//! let lost_update = verdict.violations(Level::SnapshotIsolation).next().unwrap();
//! assert_eq!(lost_update.kind, AnomalyKind::GSingle);
//! assert_eq!(lost_update.to_string(), "G-single (lost update): T1 -ww on 1/7-> T2 -rw on 1/7-> T1");
//! ```

mod cycles;
mod dependencies;
mod history;
mod order;
mod verdict;

pub use dependencies::{Dependency, DependencyKind};
pub use history::{
    Clock, End, History, Object, Operation, Predicate, PredicateRead, Read, Span, Transaction, TransactionId,
    VersionId, Write,
};
pub use verdict::{Anomaly, AnomalyKind, Level, Verdict, examine};
