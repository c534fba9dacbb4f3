//! A session's transaction.

use std::time::Duration;

use base::{CommandId, FileNumber, Lsn, OwnerId, Result, Xid};
use clog::TxnCtx;
use sync::{Arc, Interrupt, atomic::AtomicU64};

use crate::TransactionManager;

/// How isolated a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// A snapshot per statement. (`READ UNCOMMITTED` is the same.)
    #[default]
    ReadCommitted,
    /// A snapshot per transaction.
    RepeatableRead,
    /// As repeatable read here; `ssi` adds its checks.
    Serializable,
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BeginOptions {
    /// How isolated it is.
    pub isolation: Isolation,
    /// Whether it refuses to write: 25006 from [`SessionSlot::assign_xid`].
    pub read_only: bool,
    /// Whether a serializable read-only one waits for a safe snapshot.
    pub deferrable: bool,
}

/// Where a session's transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TransactionState {
    /// There is none.
    #[default]
    Idle,
    /// In progress.
    Active,
    /// An error ended all but its ROLLBACK.
    Failed,
}

/// How a transaction's commit went. After it nothing can undo the commit; the reply waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[must_use]
pub struct CommitOutcome {
    /// The commit record's end; absent if nothing was written.
    pub csn: Option<Lsn>,
    /// The reply must wait for the disk even with `synchronous_commit` off.
    pub must_wait: bool,
    /// What the session must see durable before it says anything (R3): the highest CSN it has met, its own included.
    pub gate: Lsn,
}

/// Names a savepoint of the transaction in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SavepointId(pub u32);

/// A snapshot kept beyond its statement, by a portal or an export.
#[derive(Debug)]
#[must_use]
pub struct SnapshotHold {
    /// What it sees.
    pub csn: Lsn,
}

/// A session's place in the running set, and its transaction.
///
/// Dropping it aborts what is in progress and releases everything.
pub struct SessionSlot {}

impl SessionSlot {
    /// The slot's number, by which locks know the session.
    pub fn owner(&self) -> OwnerId {
        todo!()
    }
    /// The manager.
    pub fn manager(&self) -> &Arc<TransactionManager> {
        todo!()
    }
    /// The session's interrupts.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        todo!()
    }
    /// The highest CSN the session has met (R3).
    pub fn observed(&self) -> Lsn {
        todo!()
    }
    /// Raises [`SessionSlot::observed`].
    pub fn observe(&self, csn: Lsn) {
        todo!()
    }
    /// The cell behind [`SessionSlot::observed`].
    pub fn observed_cell(&self) -> &Arc<AtomicU64> {
        todo!()
    }
    /// `lock_timeout` and `deadlock_timeout` for the contexts made from now on.
    pub fn set_timeouts(&mut self, lock_timeout: Option<Duration>, deadlock_timeout: Duration) {
        todo!()
    }
    /// Where the transaction stands.
    pub fn state(&self) -> TransactionState {
        todo!()
    }
    /// How the transaction in progress began.
    pub fn options(&self) -> BeginOptions {
        todo!()
    }
    /// Changes isolation or access mode before the first snapshot; 25001 afterwards.
    pub fn set_options(&mut self, options: BeginOptions) -> Result<()> {
        todo!()
    }
    /// Begins a transaction. Costs nothing but a few stores: no xid, no snapshot.
    pub fn begin(&mut self, options: BeginOptions) {
        todo!()
    }
    /// Takes the statement's snapshot (read committed: a new one; otherwise the transaction's), and returns what it sees.
    pub fn take_snapshot(&mut self) -> Lsn {
        todo!()
    }
    /// Uses an exported snapshot; its exporter must hold it while this runs. 55000 if it is gone.
    pub fn import_snapshot(&mut self, csn: Lsn) -> Result<()> {
        todo!()
    }
    /// Ends the statement: a read committed transaction gives its snapshot up.
    pub fn release_statement_snapshot(&mut self) {
        todo!()
    }
    /// Keeps the current snapshot until [`SessionSlot::release_hold`] or the transaction's end.
    pub fn hold_snapshot(&mut self) -> SnapshotHold {
        todo!()
    }
    /// Gives a kept snapshot up.
    pub fn release_hold(&mut self, hold: SnapshotHold) {
        todo!()
    }
    /// What heap and index need to know, as of now. Before the first snapshot: sees everything visible now.
    pub fn ctx(&self) -> TxnCtx<'_> {
        todo!()
    }
    /// The same with a fresh snapshot, for catalogs: protected as long as the statement's snapshot is.
    pub fn latest_ctx(&self) -> TxnCtx<'_> {
        todo!()
    }
    /// The current (sub)transaction's xid, given out now if it had none. 25006 in a read-only transaction.
    pub fn assign_xid(&mut self) -> Result<Xid> {
        todo!()
    }
    /// The top-level xid, if one was given out.
    pub fn top_xid(&self) -> Option<Xid> {
        todo!()
    }
    /// The current command's number.
    pub fn command(&self) -> CommandId {
        todo!()
    }
    /// Later commands see what this one wrote. 54000 when there are too many.
    pub fn advance_command(&mut self) -> Result<()> {
        todo!()
    }
    /// An error: nothing but a rollback is accepted from here (unless a savepoint is rolled back to).
    pub fn fail(&mut self) {
        todo!()
    }
    /// Commits: steps 2 and 3 of a commit's life. Doesn't wait for the disk (unless `early_lock_release` is off);
    /// the caller takes a ticket for the outcome's CSN. A failed transaction is rolled back instead (`csn` is absent).
    pub fn commit(&mut self) -> CommitOutcome {
        todo!()
    }
    /// Rolls back. Nothing to do if there is no transaction.
    pub fn abort(&mut self) {
        todo!()
    }
    /// Opens a savepoint.
    pub fn savepoint(&mut self) -> SavepointId {
        todo!()
    }
    /// Closes a savepoint and those in it, keeping what was done. 3B001 if there is no such savepoint.
    pub fn release(&mut self, savepoint: SavepointId) -> Result<()> {
        todo!()
    }
    /// Undoes what was done since the savepoint, which stays open. 3B001 if there is no such savepoint.
    pub fn rollback_to(&mut self, savepoint: SavepointId) -> Result<()> {
        todo!()
    }
    /// How deep savepoints are nested now.
    pub fn depth(&self) -> usize {
        todo!()
    }
    /// The file goes if this commits (after it is durable).
    pub fn drop_file_at_commit(&mut self, file: FileNumber) {
        todo!()
    }
    /// The file goes if this, or the savepoint it was made in, is rolled back.
    pub fn drop_file_at_abort(&mut self, file: FileNumber) {
        todo!()
    }
    /// The commit will raise the catalog version.
    pub fn raise_catalog_version(&mut self) {
        todo!()
    }
    /// The commit must be durable before its reply, whatever `synchronous_commit` says.
    pub fn require_durable_commit(&mut self) {
        todo!()
    }
}
