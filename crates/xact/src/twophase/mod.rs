//! Prepared transactions: how the steps of both phases fit the commit order, and where a prepared transaction's state is.
//!
//! # PREPARE
//!
//! 1. The gid is reserved, and `ssi`'s pre-commit check runs, as at a commit: afterwards the transaction is never a victim.
//! 2. The session goes on in another slot of the running set, under another owner number. The one it had, with the xids, the
//!    locks and the place among serializable transactions that belong to it, is the prepared transaction's from now on:
//!    nothing is moved but what the session holds for itself.
//! 3. The [record](PrepareRecord) is inserted and the transaction entered in the table, both inside `while_finishing`, so that
//!    a checkpoint waits for what follows the record.
//! 4. The reply waits for the disk, whatever `synchronous_commit` says.
//!
//! # COMMIT PREPARED and ROLLBACK PREPARED
//!
//! The gid is [claimed](TransactionManager::claim_prepared) first, so that of two finishers one gets 55000. Then a commit goes
//! through the same function as any other, [`crate::TransactionManager`]'s `place_commit`, with a record that names what the
//! prepare record named, so that redo needs neither; its entry in the ring makes the leader set the bits. A rollback becomes one
//! only when its record is durable: an acknowledged rollback must never come back, and one that isn't durable must not show.
//! The gid is free as soon as the record is placed, since log order keeps it before the next PREPARE of that name. Both
//! replies wait for the disk.
//!
//! An answer about gids (a gid is taken, a gid is gone, a list of gids) tells something about records that may not be durable
//! yet. So every such answer waits for [`TransactionManager::prepared_changed`].
//!
//! # Where the state is
//!
//! | `twophase_state` | until it is finished | COMMIT PREPARED |
//! | --- | --- | --- |
//! | `memory` | the record's bytes in the table | uses them |
//! | `wal` | in the log | reads the record again |
//! | `file` | in `twophase/<xid>.state`, written at PREPARE, as PostgreSQL did before 9.6 | reads and removes the file |
//!
//! In every case a checkpoint [saves](saved), once, each transaction whose record is below the redo point. Recovery collects
//! the saved transactions and those it reads in the log. It drops those that are finished in the commit log, and before the
//! first session it [restores](TransactionManager::restore_prepared) the rest.

mod finish;
mod prepare;
mod record;
pub mod saved;
mod table;

pub use crate::transaction::now_micros;
pub use finish::{ClaimedTransaction, may_finish};
pub use prepare::PrepareOptions;
pub use record::{Gid, PrepareRecord};
pub use table::{PreparedOptions, PreparedTransaction, TwophaseState};

pub(crate) use table::{Kept, Prepared, PreparedTable};

#[cfg(doc)]
use crate::TransactionManager;

use base::{Lsn, Xid};

/// A prepared transaction as recovery found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredPrepared {
    /// Its top-level xid.
    pub xid: Xid,
    /// Where its record begins.
    pub start: Lsn,
    /// Where its record ends.
    pub end: Lsn,
    /// The record's payload.
    pub payload: Vec<u8>,
    /// It was found saved, so that no checkpoint need save it again.
    pub is_saved: bool,
}
