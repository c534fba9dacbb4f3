//! Transaction control, snapshots, and the gate.

use std::time::Duration;

use base::{CommandId, Lsn, OwnerId, Result, Xid};
use clog::Snapshot;
use sync::{Arc, Interrupt};
use wal::{CommitTicket, DelayPolicy};
use xact::{Isolation, SavepointId};

use super::Session;
use crate::database::Database;

/// How a transaction begins.
pub type TransactionOptions = xact::BeginOptions;

/// A snapshot kept for a portal beyond the statement that opened it.
#[derive(Debug)]
pub struct PortalSnapshot {
    pub(crate) snapshot: Snapshot,
    pub(crate) hold: xact::SnapshotHold,
}

impl Session {
    /// The database.
    pub fn database(&self) -> &Database {
        todo!()
    }

    /// Begins a transaction. Costs next to nothing until it reads or writes.
    ///
    /// # Errors
    /// 25001 if there is one; 57P01 if the database is closing.
    pub fn begin(&mut self, options: TransactionOptions) -> Result<()> {
        todo!()
    }

    /// Whether a transaction is in progress, failed or not.
    pub fn in_transaction(&self) -> bool {
        todo!()
    }

    /// Whether the transaction in progress accepts nothing but its end.
    pub fn transaction_failed(&self) -> bool {
        todo!()
    }

    /// An error has happened: nothing but ROLLBACK (or ROLLBACK TO) is accepted from here.
    pub fn mark_failed(&mut self) {
        todo!()
    }

    /// How the transaction in progress began.
    pub fn transaction_options(&self) -> TransactionOptions {
        todo!()
    }

    /// `SET TRANSACTION`: changes isolation or access mode.
    ///
    /// # Errors
    /// 25001 after the first snapshot.
    pub fn set_transaction_options(&mut self, options: TransactionOptions) -> Result<()> {
        todo!()
    }

    /// Commits; a failed transaction is rolled back instead. Returns the gate: nothing may leave the engine on account
    /// of this transaction before the log is durable up to there ([`Session::ticket`]).
    ///
    /// # Errors
    /// 40001 where the commit would break serializability. The transaction is rolled back then.
    pub fn commit(&mut self) -> Result<Lsn> {
        todo!()
    }

    /// Commits and waits until that is durable.
    ///
    /// # Errors
    /// As [`Session::commit`].
    pub fn commit_and_wait(&mut self) -> Result<()> {
        todo!()
    }

    /// Rolls back. Nothing to do without a transaction.
    ///
    /// # Errors
    /// None today.
    pub fn rollback(&mut self) -> Result<()> {
        todo!()
    }

    /// Opens a savepoint.
    ///
    /// # Errors
    /// 25P01 without a transaction.
    pub fn savepoint(&mut self) -> Result<SavepointId> {
        todo!()
    }

    /// Closes a savepoint and those in it, keeping what was done.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn release(&mut self, savepoint: SavepointId) -> Result<()> {
        todo!()
    }

    /// Undoes what was done since the savepoint, which stays open.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn rollback_to(&mut self, savepoint: SavepointId) -> Result<()> {
        todo!()
    }

    /// Begins a statement: takes its snapshot (read committed: a new one) and the next command number, so that it sees
    /// what earlier statements of the transaction wrote and not what it writes itself.
    ///
    /// # Errors
    /// 25P01 without a transaction, 25P02 in a failed one, 57014 when interrupted, 54000 after 2^32 commands.
    pub fn begin_statement(&self) -> Result<()> {
        todo!()
    }

    /// Ends the statement: a read committed transaction gives its snapshot up.
    pub fn end_statement(&self) {
        todo!()
    }

    /// Begins a statement inside a statement (in a function): a fresh snapshot at read committed, and a command number
    /// that makes what was written so far visible. Undone by [`Session::pop_snapshot`].
    ///
    /// # Errors
    /// As [`Session::begin_statement`].
    pub fn push_snapshot(&self) -> Result<()> {
        todo!()
    }

    /// Back to the snapshot before the last [`Session::push_snapshot`] or [`Session::enter_snapshot`].
    pub fn pop_snapshot(&self) {
        todo!()
    }

    /// Makes what this statement wrote so far visible to what it reads from now on, under the same snapshot.
    ///
    /// # Errors
    /// 54000 after 2^32 commands.
    pub fn advance_command(&self) -> Result<()> {
        todo!()
    }

    /// Keeps the current snapshot for a portal.
    pub fn keep_snapshot(&self) -> PortalSnapshot {
        todo!()
    }

    /// Reads with a portal's snapshot until [`Session::pop_snapshot`].
    pub fn enter_snapshot(&self, portal: &PortalSnapshot) {
        todo!()
    }

    /// Gives a portal's snapshot up. Transaction ends do so by themselves.
    pub fn release_snapshot(&self, portal: PortalSnapshot) {
        todo!()
    }

    /// What statements see now.
    pub fn snapshot(&self) -> Snapshot {
        todo!()
    }

    /// The highest commit that the session has met; its output waits for this (rule R3).
    pub fn observed(&self) -> Lsn {
        todo!()
    }

    /// Raises [`Session::observed`].
    pub fn observe(&self, lsn: Lsn) {
        todo!()
    }

    /// Raises [`Session::observed`] to the newest commit there is: for answers that don't come from reading rows.
    pub fn observe_horizon(&self) {
        todo!()
    }

    /// What the session's output must wait for: [`Session::observed`], or [`Lsn::ZERO`] with `synchronous_commit` off.
    pub fn gate(&self) -> Lsn {
        todo!()
    }

    /// A ticket for the log up to `lsn`: a future, or something to wait on.
    pub fn ticket(&self, lsn: Lsn) -> CommitTicket {
        todo!()
    }

    /// The transaction's xid if it has one.
    pub fn xid_if_assigned(&self) -> Option<Xid> {
        todo!()
    }

    /// The transaction's top-level xid, given out now if it had none.
    ///
    /// # Errors
    /// 25006 in a read-only transaction; 25P01 without one.
    pub fn xid(&self) -> Result<Xid> {
        todo!()
    }

    /// The current command's number.
    pub fn command(&self) -> CommandId {
        todo!()
    }

    /// How the session is told from outside to stop.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        todo!()
    }

    /// By what number locks and views know the session.
    pub fn owner(&self) -> OwnerId {
        todo!()
    }

    /// The isolation level of the transaction in progress.
    pub fn isolation(&self) -> Isolation {
        todo!()
    }

    /// `synchronous_commit`
    pub fn set_synchronous_commit(&mut self, on: bool) {
        todo!()
    }

    /// `commit_delay` and `commit_siblings`
    pub fn set_commit_delay(&mut self, policy: DelayPolicy) {
        todo!()
    }

    /// The delay its commits bring to their cohort.
    pub fn commit_delay(&self) -> DelayPolicy {
        todo!()
    }

    /// `lock_timeout`; `None`: no limit.
    pub fn set_lock_timeout(&mut self, timeout: Option<Duration>) {
        todo!()
    }

    /// `deadlock_timeout`
    pub fn set_deadlock_timeout(&mut self, timeout: Duration) {
        todo!()
    }
}
