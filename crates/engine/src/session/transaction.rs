//! Transaction control, snapshots, and the gate.

use std::time::Duration;

use base::{CommandId, Error, Lsn, OwnerId, Result, Xid, sqlstate};
use clog::{ClogUpdate, Snapshot};
use std::sync::Arc;
use sync::atomic::AtomicU64;
use sync::{Interrupt, WaitReport};
use wal::{CommitTicket, DelayPolicy};
use xact::{Isolation, SavepointId, SnapshotHold, TransactionState};

use super::{Level, Session};
use crate::catalog_store::{PUBLISH_LOCK, PUBLISH_MODE};
use crate::database::Database;
use crate::table::Table;
use schema::catalog::Persistence;

/// How a transaction begins.
pub type TransactionOptions = xact::BeginOptions;

/// A snapshot kept for a portal beyond the statement that opened it.
#[derive(Debug)]
pub struct PortalSnapshot {
    snapshot: Snapshot,
    hold: SnapshotHold,
}

impl Session {
    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Begins a transaction. Costs next to nothing until it reads or writes.
    ///
    /// # Errors
    /// 25001 if there is one; 57P01 if the database is closing.
    pub fn begin(&mut self, options: TransactionOptions) -> Result<()> {
        self.shared().check_open()?;
        let slot = self.slot.get_mut();
        if slot.state() != TransactionState::Idle {
            return Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress"));
        }
        slot.begin(options);
        Ok(())
    }

    /// Whether a transaction is in progress, failed or not.
    pub fn in_transaction(&self) -> bool {
        self.slot.borrow().state() != TransactionState::Idle
    }

    /// Whether the transaction in progress accepts nothing but its end.
    pub fn transaction_failed(&self) -> bool {
        self.slot.borrow().state() == TransactionState::Failed
    }

    /// An error has happened: what was done since the innermost savepoint, or all there is, is undone at once, and nothing but
    /// ROLLBACK (or ROLLBACK TO) is accepted from here.
    pub fn mark_failed(&mut self) {
        self.end_statement();
        let slot = self.slot.get_mut();
        let innermost = slot.innermost();
        slot.fail();
        self.shared().removals.remove_unless_threaded();
        self.forget_locks();
        match innermost {
            Some(savepoint) => self.forget_changes_since(savepoint),
            None => self.forget_own_changes(),
        }
    }

    /// The transaction in progress fails with 40001: before [`Session::mark_failed`] or [`Session::rollback`], so that the session's
    /// next attempt takes its turn among those who try again.
    pub fn note_serialization_failure(&mut self) {
        self.slot.get_mut().note_serialization_failure();
    }

    /// How the transaction in progress began.
    pub fn transaction_options(&self) -> TransactionOptions {
        self.slot.borrow().options()
    }

    /// `SET TRANSACTION`: changes isolation or access mode.
    ///
    /// # Errors
    /// 25001 after the first snapshot.
    pub fn set_transaction_options(&self, options: TransactionOptions) -> Result<()> {
        self.slot.borrow_mut().set_options(options)
    }

    /// Commits; a failed transaction is rolled back instead. Returns the gate: nothing may leave the engine on account
    /// of this transaction before the log is durable up to there ([`Session::ticket`]). With `synchronous_commit` off
    /// that is [`Lsn::ZERO`], unless the transaction removes files.
    ///
    /// # Errors
    /// 40P01, 57014 from waiting for another transaction that changes the catalog; 40001 where the commit would break
    /// serializability. The transaction is rolled back then.
    pub fn commit(&mut self) -> Result<Lsn> {
        self.end_statement();
        let changes_catalog = self.ddl.get_mut().has_changes() && !self.transaction_failed();
        if changes_catalog && let Err(error) = self.publish_catalog() {
            self.rollback()?;
            return Err(error);
        }
        self.withdraw_exports();
        let outcome = match self.slot.get_mut().try_commit() {
            Ok(outcome) => outcome,
            Err(error) => {
                self.rollback()?;
                return Err(error);
            }
        };
        if changes_catalog {
            self.shared().catalog.install(self.shared());
        }
        self.forget_own_changes();
        self.forget_locks();
        if outcome.csn.is_some() && self.shared().status.clog_update() != ClogUpdate::Cohort {
            let _reporting = self.wait_report.reporting();
            // As PostgreSQL did it: durable first, then the committer's own bits, then the reply.
            if self.synchronous_commit.get() || outcome.must_wait {
                self.shared().wal.wait_durable(outcome.gate, self.delay.get());
            }
            self.shared().transactions.complete(&outcome);
        }
        Ok(if self.synchronous_commit.get() || outcome.must_wait { outcome.gate } else { Lsn::ZERO })
    }

    /// Leaves the catalog with this transaction's changes to be installed by its commit.
    fn publish_catalog(&mut self) -> Result<()> {
        // The last lock the transaction takes, so that no deadlock can come of it.
        let options = self.lock_options(lockmgr::WaitPolicy::Block);
        self.shared().locks.lock(self.owner(), PUBLISH_LOCK, PUBLISH_MODE, &options)?;
        self.shared().catalog.prepare(self.shared(), self.ddl.borrow().changes());
        self.slot.get_mut().raise_catalog_version();
        Ok(())
    }

    /// Commits and waits until that is durable.
    ///
    /// # Errors
    /// As [`Session::commit`].
    pub fn commit_and_wait(&mut self) -> Result<()> {
        let gate = self.commit()?;
        self.wait_durable(gate);
        Ok(())
    }

    /// Commits, and leaves the waiting to who awaits the ticket: a future that is ready when the commit is durable, on any
    /// executor. The transaction is visible to others at once, and its locks are handed on. Nothing may leave the program on
    /// account of it before the ticket is ready (rule R3); meanwhile the session may begin its next transaction.
    ///
    /// Dropping the ticket gives up the telling, not the commit: it can't be undone any more (rule R4). With `clog_update` =
    /// `each` or `group` the commit is waited for here.
    ///
    /// ```
    /// use cohort_engine::catalog::{BOOTSTRAP_ROLE, PUBLIC_SCHEMA, TableDef};
    /// use cohort_engine::key::PlainKeys;
    /// use cohort_engine::row::{Datum, PhysicalType};
    /// use cohort_engine::{Database, OpenOptions, Session, Table, TransactionOptions};
    ///
    /// async fn insert(session: &mut Session, table: &Table, id: i32) -> base::Result<()> {
    ///     session.begin(TransactionOptions::default())?;
    ///     session.begin_statement()?;
    ///     session.insert(table, &[Datum::I32(id)], &PlainKeys)?;
    ///     session.end_statement();
    ///     session.commit_async()?.await;
    ///     Ok(())
    /// }
    ///
    /// # let directory = std::env::temp_dir().join(format!("cohort-doc-async-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&directory);
    /// let database = Database::open(OpenOptions::new(&directory))?;
    /// let mut session = database.session()?;
    /// session.begin(TransactionOptions::default())?;
    /// let ids = TableDef::new(session.allocate_oid(), PUBLIC_SCHEMA, "ids", BOOTSTRAP_ROLE).column("id", PhysicalType::I32);
    /// let oid = ids.oid;
    /// session.create_object(ids)?;
    /// session.commit_and_wait()?;
    ///
    /// // Fifty tasks on one thread: they share flushes.
    /// let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// runtime.block_on(async {
    ///     let mut tasks = tokio::task::JoinSet::new();
    ///     for id in 0..50 {
    ///         let mut session = database.session()?;
    ///         let table = session.open_table(oid)?;
    ///         tasks.spawn(async move { insert(&mut session, &table, id).await });
    ///     }
    ///     tasks.join_all().await.into_iter().collect::<base::Result<()>>()
    /// })?;
    /// # drop((session, runtime));
    /// # database.close()?;
    /// # drop(database);
    /// # std::fs::remove_dir_all(&directory).unwrap();
    /// # Ok::<(), base::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Session::commit`].
    pub fn commit_async(&mut self) -> Result<CommitTicket> {
        let gate = self.commit()?;
        Ok(self.ticket(gate))
    }

    /// Rolls back. Nothing to do without a transaction.
    ///
    /// # Errors
    /// None today.
    pub fn rollback(&mut self) -> Result<()> {
        self.end_by(xact::SessionSlot::abort);
        Ok(())
    }

    /// Gives up a transaction that was begun and turned out not to be wanted: as a rollback, but not counted as one.
    pub fn withdraw(&mut self) {
        self.end_by(xact::SessionSlot::withdraw);
    }

    fn end_by(&mut self, end: fn(&mut xact::SessionSlot)) {
        self.end_statement();
        self.withdraw_exports();
        let _reporting = self.wait_report.reporting();
        end(self.slot.get_mut());
        self.shared().removals.remove_unless_threaded();
        self.forget_own_changes();
        self.forget_locks();
    }

    pub(super) fn forget_own_changes(&mut self) {
        if self.ddl.get_mut().clear() {
            // Tables opened under the own catalog may be of objects that never came to be.
            self.tables.get_mut().clear();
        }
    }

    /// Opens a savepoint.
    ///
    /// # Errors
    /// 25P01 without a transaction.
    pub fn savepoint(&self) -> Result<SavepointId> {
        if !self.in_transaction() {
            return Err(Error::new(
                sqlstate::NO_ACTIVE_SQL_TRANSACTION,
                "SAVEPOINT can only be used in transaction blocks",
            ));
        }
        let savepoint = self.slot.borrow_mut().savepoint();
        self.ddl.borrow_mut().mark(savepoint);
        Ok(savepoint)
    }

    /// Closes a savepoint and those in it, keeping what was done.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn release(&self, savepoint: SavepointId) -> Result<()> {
        self.slot.borrow_mut().release(savepoint)?;
        self.ddl.borrow_mut().release(savepoint);
        Ok(())
    }

    /// Undoes what was done since the savepoint, which stays open, and ends the statement.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn rollback_to(&self, savepoint: SavepointId) -> Result<()> {
        self.rollback_within(savepoint, 0)
    }

    /// The same in the middle of a statement, which goes on with the snapshots that it had when [`Session::snapshot_depth`] was `depth`. It
    /// may also be called inside a row operation. An operation that computes index keys borrows nothing of the session, and its own changes
    /// belong to the outer transaction.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn rollback_within(&self, savepoint: SavepointId, depth: usize) -> Result<()> {
        while self.snapshot_depth() > depth {
            self.pop_snapshot();
        }
        self.slot.borrow_mut().rollback_to(savepoint)?;
        self.shared().removals.remove_unless_threaded();
        self.forget_locks();
        self.forget_changes_since(savepoint);
        Ok(())
    }

    fn forget_changes_since(&self, savepoint: SavepointId) {
        if self.ddl.borrow_mut().rollback_to(savepoint) {
            self.tables.borrow_mut().clear();
        }
    }

    /// Begins a statement: takes its snapshot (read committed: a new one) and the next command number, so that it sees
    /// what earlier statements of the transaction wrote and not what it writes itself.
    ///
    /// # Errors
    /// 25P01 without a transaction, 25P02 in a failed one, 57014 when interrupted, 54000 after 2^32 commands, 57P01 if the
    /// database is closed.
    pub fn begin_statement(&self) -> Result<()> {
        if self.interrupt.pending() {
            self.interrupt.check()?;
        }
        let mut slot = self.slot.borrow_mut();
        match slot.state() {
            TransactionState::Active => {}
            TransactionState::Failed => return Err(failed()),
            TransactionState::Idle => return Err(no_transaction()),
        }
        let mut levels = self.levels.borrow_mut();
        while let Some(level) = levels.pop() {
            level.hold.into_iter().for_each(|hold| slot.release_hold(hold));
        }
        if slot.top_xid().is_some() {
            // Without an xid nothing was written that an earlier command could have hidden.
            slot.advance_command()?;
        }
        if let Some(retries) = slot.needs_turn() {
            let patience = self.deadlock_timeout.get();
            drop((slot, levels));
            let turn = retries.take_turn(&self.interrupt, patience)?;
            (slot, levels) = (self.slot.borrow_mut(), self.levels.borrow_mut());
            slot.set_turn(turn);
        }
        slot.wait_for_safe_snapshot()?;
        let csn = slot.take_snapshot();
        levels.push(Level { snapshot: Snapshot { csn, command: slot.command() }, hold: None });
        drop((slot, levels));
        // The snapshot is published: either this look finds the database closed, or the close finds the snapshot.
        self.shared().check_open().inspect_err(|_| self.end_statement())
    }

    /// Ends the statement: a read committed transaction gives its snapshot up.
    pub fn end_statement(&self) {
        self.give_up_turn();
        let mut slot = self.slot.borrow_mut();
        let mut levels = self.levels.borrow_mut();
        if levels.is_empty() {
            return;
        }
        while let Some(level) = levels.pop() {
            level.hold.into_iter().for_each(|hold| slot.release_hold(hold));
        }
        slot.release_statement_snapshot();
    }

    /// Whether a statement has begun and not ended yet.
    pub fn is_in_statement(&self) -> bool {
        !self.levels.borrow().is_empty()
    }

    /// How many snapshots are in use, one within the other.
    pub fn snapshot_depth(&self) -> usize {
        self.levels.borrow().len()
    }

    /// Begins a statement inside a statement (in a function): a fresh snapshot at read committed, and a command number
    /// that makes what was written so far visible. Undone by [`Session::pop_snapshot`].
    ///
    /// # Errors
    /// As [`Session::begin_statement`].
    pub fn push_snapshot(&self) -> Result<()> {
        if self.levels.borrow().is_empty() {
            return self.begin_statement();
        }
        self.interrupt.check()?;
        let mut slot = self.slot.borrow_mut();
        if slot.state() == TransactionState::Failed {
            return Err(failed());
        }
        let mut levels = self.levels.borrow_mut();
        if let Some(level) = levels.last_mut()
            && level.hold.is_none()
        {
            level.hold = Some(slot.hold_snapshot());
        }
        slot.advance_command()?;
        let csn = slot.take_snapshot();
        levels.push(Level { snapshot: Snapshot { csn, command: slot.command() }, hold: None });
        Ok(())
    }

    /// As [`Session::push_snapshot`], but sees all that is committed by now at every isolation level: for what checks or
    /// rewrites a whole table that is locked against changes.
    ///
    /// # Errors
    /// As [`Session::begin_statement`].
    pub fn push_latest_snapshot(&self) -> Result<()> {
        self.push_snapshot()?;
        if let Some(level) = self.levels.borrow_mut().last_mut() {
            // The snapshot that was just taken, or an older one, is published and protects this one.
            level.snapshot.csn = self.shared().transactions.horizon();
        }
        Ok(())
    }

    /// Back to the snapshot before the last [`Session::push_snapshot`] or [`Session::enter_snapshot`].
    pub fn pop_snapshot(&self) {
        let mut levels = self.levels.borrow_mut();
        if levels.len() <= 1 {
            drop(levels);
            return self.end_statement();
        }
        if let Some(level) = levels.pop()
            && let Some(hold) = level.hold
        {
            self.slot.borrow_mut().release_hold(hold);
        }
    }

    /// Makes what this statement wrote so far visible to what it reads from now on, under the same snapshot.
    ///
    /// # Errors
    /// 54000 after 2^32 commands.
    pub fn advance_command(&self) -> Result<()> {
        let mut slot = self.slot.borrow_mut();
        slot.advance_command()?;
        if let Some(level) = self.levels.borrow_mut().last_mut() {
            level.snapshot.command = slot.command();
        }
        Ok(())
    }

    /// Keeps the current snapshot for a portal.
    pub fn keep_snapshot(&self) -> PortalSnapshot {
        let hold = self.slot.borrow_mut().hold_snapshot();
        PortalSnapshot { snapshot: self.snapshot(), hold }
    }

    /// Reads with a portal's snapshot until [`Session::pop_snapshot`].
    pub fn enter_snapshot(&self, portal: &PortalSnapshot) {
        let mut slot = self.slot.borrow_mut();
        let mut levels = self.levels.borrow_mut();
        if let Some(level) = levels.last_mut()
            && level.hold.is_none()
        {
            level.hold = Some(slot.hold_snapshot());
        }
        levels.push(Level { snapshot: portal.snapshot, hold: None });
    }

    /// Gives a portal's snapshot up. Transaction ends do so by themselves.
    pub fn release_snapshot(&self, portal: PortalSnapshot) {
        self.slot.borrow_mut().release_hold(portal.hold);
    }

    /// The snapshot that statements see now.
    pub fn snapshot(&self) -> Snapshot {
        self.with_ctx(|ctx| ctx.snapshot)
    }

    /// The oldest snapshot that this transaction reads with, or may go on with, if it has one: statements under it must not
    /// use indexes that are newer ([`catalog::IndexDef::usable_from`]).
    pub fn oldest_snapshot(&self) -> Option<Lsn> {
        self.slot.borrow().oldest_snapshot()
    }

    /// The highest commit that the session has met; its output waits for this (rule R3).
    pub fn observed(&self) -> Lsn {
        self.slot.borrow().observed()
    }

    /// The cell behind [`Session::observed`].
    pub(crate) fn observed_cell(&self) -> Arc<AtomicU64> {
        Arc::clone(self.slot.borrow().observed_cell())
    }

    /// Raises [`Session::observed`].
    pub fn observe(&self, lsn: Lsn) {
        self.slot.borrow().observe(lsn);
    }

    /// Raises [`Session::observed`] to the newest commit there is: for answers that don't come from reading rows. To be
    /// called after the look that the answer comes from.
    pub fn observe_horizon(&self) {
        self.observe(self.shared().transactions.newest_commit());
    }

    /// The log position that the session's output must wait for: [`Session::observed`], or [`Lsn::ZERO`] with
    /// `synchronous_commit` off.
    pub fn gate(&self) -> Lsn {
        if self.synchronous_commit.get() { self.observed() } else { Lsn::ZERO }
    }

    /// The log position that an answer must wait for if it tells of nothing but the catalog. Not above [`Session::gate`].
    pub fn catalog_gate(&self) -> Lsn {
        if self.synchronous_commit.get() { self.catalog.borrow().csn() } else { Lsn::ZERO }
    }

    /// A ticket for the log up to `lsn`: a future, or something to wait on.
    pub fn ticket(&self, lsn: Lsn) -> CommitTicket {
        self.shared().wal.ticket(lsn, self.delay.get())
    }

    /// Waits until the log is durable up to `lsn`; may lead the flush. A transaction in progress counts as joined
    /// meanwhile (rule R6).
    pub fn wait_durable(&self, lsn: Lsn) {
        let wal = &self.shared().wal;
        if lsn > wal.durable() {
            self.slot.borrow().while_joined(|| wal.wait_durable(lsn, self.delay.get()));
        }
        self.shared().removals.remove_unless_threaded();
    }

    /// The transaction's xid if it has one.
    pub fn xid_if_assigned(&self) -> Option<Xid> {
        self.slot.borrow().top_xid()
    }

    /// The transaction's top-level xid, given out now if it had none.
    ///
    /// # Errors
    /// 25P01 without one.
    pub fn xid(&self) -> Result<Xid> {
        if !self.in_transaction() {
            return Err(no_transaction());
        }
        // A caller may ask while rows are read or indexed, which borrows the slot.
        if let Some(xid) = self.slot.borrow().top_xid() {
            return Ok(xid);
        }
        self.slot.borrow_mut().assign_xid_unless_read_only(|| false)?;
        self.slot.borrow().top_xid().ok_or_else(|| Error::internal("transaction has no identifier"))
    }

    /// Gives the current (sub)transaction an xid if it has none: before anything is written.
    #[inline]
    pub(super) fn assign_xid(&self) -> Result<Xid> {
        self.slot.borrow_mut().assign_xid()
    }

    /// The transaction looks at something as a query does: its isolation level can't change any more. Above READ COMMITTED its snapshot is
    /// taken now, before the statement waits for its locks.
    ///
    /// # Errors
    /// As [`Session::begin_statement`].
    pub fn take_transaction_snapshot(&self) -> Result<()> {
        let keeps_snapshot = {
            let mut slot = self.slot.borrow_mut();
            slot.note_snapshot();
            slot.options().isolation != Isolation::ReadCommitted && !slot.has_snapshot()
        };
        if !keeps_snapshot || self.is_in_statement() {
            return Ok(());
        }
        self.begin_statement()?;
        self.end_statement();
        Ok(())
    }

    /// Nothing is refused any more for the transaction's being read-only: it ends, and what it leaves to be done is no
    /// change that anybody asks for.
    pub fn lift_read_only(&self) {
        self.slot.borrow_mut().set_read_only(false);
    }

    /// Sets whether the transaction refuses to write, and returns whether it did. Maintenance writes in read-only transactions, too.
    pub fn set_read_only(&self, read_only: bool) -> bool {
        self.slot.borrow_mut().set_read_only(read_only)
    }

    /// The same before a row of `table` is written: a read-only transaction may write to temporary tables.
    #[inline]
    pub(super) fn assign_xid_to_write(&self, table: &Table) -> Result<Xid> {
        let is_refused = || table.def.persistence != Persistence::Temporary;
        self.slot.borrow_mut().assign_xid_unless_read_only(is_refused)
    }

    /// The current command's number.
    pub fn command(&self) -> CommandId {
        self.slot.borrow().command()
    }

    /// The report of the event that the session waits for deep in the engine. Other threads may read it.
    pub fn wait_report(&self) -> &Arc<WaitReport> {
        &self.wait_report
    }

    /// How the session is told from outside to stop.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// By what number locks and views know the session.
    pub fn owner(&self) -> OwnerId {
        self.slot.borrow().owner()
    }

    /// The isolation level of the transaction in progress.
    pub fn isolation(&self) -> Isolation {
        self.slot.borrow().options().isolation
    }

    /// `synchronous_commit`
    pub fn set_synchronous_commit(&mut self, on: bool) {
        self.synchronous_commit.set(on);
        self.apply_settings();
    }

    /// `commit_delay` and `commit_siblings`
    pub fn set_commit_delay(&mut self, policy: DelayPolicy) {
        self.delay.set(policy);
        self.apply_settings();
    }

    /// The delay its commits bring to their cohort.
    pub fn commit_delay(&self) -> DelayPolicy {
        self.delay.get()
    }

    /// `lock_timeout`; `None`: no limit.
    pub fn set_lock_timeout(&mut self, timeout: Option<Duration>) {
        self.lock_timeout.set(timeout);
        self.apply_settings();
    }

    /// `deadlock_timeout`
    pub fn set_deadlock_timeout(&mut self, timeout: Duration) {
        self.deadlock_timeout.set(timeout);
        self.apply_settings();
    }
}

#[cold]
pub(super) fn failed() -> Error {
    Error::new(
        sqlstate::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

#[cold]
pub(super) fn no_transaction() -> Error {
    Error::new(sqlstate::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress")
}
