//! Opening the log after a shutdown or a crash.

use base::Lsn;
use sync::{Arc, atomic::AtomicU64};

use crate::Epoch;

/// What the control file knows about the log.
#[derive(Clone, Debug)]
pub struct WalControl {
    /// Where redo begins.
    pub redo: Lsn,
    /// The epoch in force there ([`crate::Wal::epoch`] when the redo point was taken).
    pub epoch: Epoch,
    /// The log was durable at least up to here.
    pub durable_floor: Lsn,
    /// Raised (`fetch_max`) by redo handlers to the highest page LSN they met: it proves that the log was durable so far.
    pub page_lsn_met: Arc<AtomicU64>,
}

/// Where and why the log is damaged: the log ends at `tail`, but was durable up to `proven`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalDamage {
    /// The position at which no valid record was found.
    pub tail: Lsn,
    /// Up to here the log is known to have been durable.
    pub proven: Lsn,
}
