//! A session's place in the running set, its snapshots, and what it tells heap and indexes.

use std::time::Duration;

use base::{CommandId, Error, FileNumber, Lsn, OwnerId, Result, Xid, sqlstate};
use clog::{ReadWatch, Snapshot, TxnCtx};
use smallvec::SmallVec;
use ssi::{Entrance, Retries, RetryTurn, SerializableTransaction};
use sync::atomic::{AtomicU64, Ordering::Relaxed};
use sync::{Arc, Interrupt};
use wal::DelayPolicy;

use crate::TransactionManager;
use crate::savepoint::Savepoint;

/// How isolated a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// A snapshot per statement. (`READ UNCOMMITTED` is the same.)
    #[default]
    ReadCommitted,
    /// A snapshot per transaction.
    RepeatableRead,
    /// As repeatable read, and what it reads is watched by `ssi`.
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
    /// The position up to which the log must be durable before the session replies (R3): the highest CSN it has met, its own
    /// included.
    pub gate: Lsn,
    /// The committer is to call [`TransactionManager::complete`].
    pub(crate) completion: Option<Completion>,
}

/// Which status bits the committer sets itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) index: u64,
    pub(crate) xid: Xid,
}

/// One of the snapshots that a session keeps. Statements of nested calls keep one each, and give up the last one first.
#[derive(Clone, Copy)]
struct Hold {
    csn: Lsn,
    /// The oldest one of those up to here.
    oldest: Lsn,
}

/// A snapshot kept beyond its statement, by a portal or an export.
#[derive(Debug)]
#[must_use]
pub struct SnapshotHold {
    /// The snapshot: it sees the commits at or below this position.
    pub csn: Lsn,
}

/// A session's place in the running set, and its transaction.
///
/// ```text
///            begin                   error
///    Idle ----------> Active ------------------> Failed
///     ^                | ^  \                     |  |
///     |  commit, abort | |   `-- savepoint,       |  | rollback_to
///     +----------------+ |       release,         |  |
///     |                  |       rollback_to      |  |
///     |                  +------------------------|--+
///     +-------------------------------------------+
///                 commit (which aborts), abort
/// ```
///
/// Dropping it aborts what is in progress and releases everything.
pub struct SessionSlot {
    pub(crate) manager: Arc<TransactionManager>,
    pub(crate) owner: OwnerId,
    interrupt: Arc<Interrupt>,
    observed: Arc<AtomicU64>,
    lock_timeout: Option<Duration>,
    deadlock_timeout: Duration,
    pub(crate) synchronous_commit: bool,
    pub(crate) delay: DelayPolicy,
    pub(crate) state: TransactionState,
    pub(crate) options: BeginOptions,
    /// The statement's snapshot or, but for read committed, the transaction's.
    pub(crate) snapshot: Option<Lsn>,
    /// The transaction has taken a snapshot, even if it gave it up since.
    pub(crate) had_snapshot: bool,
    serializables: Entrance,
    /// The transaction as `ssi` watches it, from the first snapshot of a serializable transaction on.
    pub(crate) serializable: Option<SerializableTransaction>,
    /// A serializable transaction has failed with 40001, and none has committed since.
    pub(crate) tries_again: bool,
    /// The turn of a transaction that tries again.
    pub(crate) turn: Option<RetryTurn>,
    holds: SmallVec<[Hold; 2]>,
    pub(crate) command: CommandId,
    pub(crate) top_xid: Xid,
    pub(crate) savepoints: Vec<Savepoint>,
    /// Xids of subtransactions that were released into the level around them, in the order of their release.
    pub(crate) released: Vec<Xid>,
    pub(crate) dropped_files: Vec<FileNumber>,
    pub(crate) created_files: Vec<FileNumber>,
    pub(crate) changes_catalog: bool,
    pub(crate) must_wait: bool,
    /// A commit whose bits this session has promised to set.
    pub(crate) promised: CommitOutcome,
    pub(crate) record: Vec<u8>,
}

impl SessionSlot {
    pub(crate) fn new(manager: Arc<TransactionManager>, owner: OwnerId, interrupt: Arc<Interrupt>) -> SessionSlot {
        SessionSlot {
            serializables: manager.ssi().entrance(),
            manager,
            owner,
            interrupt,
            observed: Arc::new(AtomicU64::new(0)),
            lock_timeout: None,
            deadlock_timeout: Duration::from_secs(1),
            synchronous_commit: true,
            delay: DelayPolicy::NONE,
            state: TransactionState::Idle,
            options: BeginOptions::default(),
            snapshot: None,
            had_snapshot: false,
            serializable: None,
            tries_again: false,
            turn: None,
            holds: SmallVec::new(),
            command: CommandId::FIRST,
            top_xid: Xid::INVALID,
            savepoints: Vec::new(),
            released: Vec::new(),
            dropped_files: Vec::new(),
            created_files: Vec::new(),
            changes_catalog: false,
            must_wait: false,
            promised: CommitOutcome::default(),
            record: Vec::with_capacity(64),
        }
    }

    /// The slot's number, by which locks know the session.
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    /// The manager.
    pub fn manager(&self) -> &Arc<TransactionManager> {
        &self.manager
    }

    /// The session's interrupts.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }

    /// The highest CSN the session has met (R3).
    pub fn observed(&self) -> Lsn {
        Lsn(self.observed.load(Relaxed))
    }

    /// Raises [`SessionSlot::observed`].
    pub fn observe(&self, csn: Lsn) {
        if csn > self.observed() {
            self.observed.fetch_max(csn.0, Relaxed);
        }
    }

    /// The cell behind [`SessionSlot::observed`].
    pub fn observed_cell(&self) -> &Arc<AtomicU64> {
        &self.observed
    }

    /// `lock_timeout` and `deadlock_timeout` for the contexts made from now on.
    pub fn set_timeouts(&mut self, lock_timeout: Option<Duration>, deadlock_timeout: Duration) {
        self.lock_timeout = lock_timeout;
        self.deadlock_timeout = deadlock_timeout;
    }

    /// How commits wait when [`SessionSlot::commit`] itself must (`early_lock_release` is off): `synchronous_commit`, and
    /// `commit_delay` with `commit_siblings`.
    pub fn set_commit_options(&mut self, synchronous_commit: bool, delay: DelayPolicy) {
        self.synchronous_commit = synchronous_commit;
        self.delay = delay;
    }

    /// Where the transaction stands.
    pub fn state(&self) -> TransactionState {
        self.state
    }

    /// How the transaction in progress began.
    pub fn options(&self) -> BeginOptions {
        self.options
    }

    /// Changes isolation or access mode.
    ///
    /// # Errors
    /// 25001 once a snapshot was taken: for another isolation level, or to write again after all.
    pub fn set_options(&mut self, options: BeginOptions) -> Result<()> {
        let begun = self.has_begun();
        let refused = |what: &str| Err(Error::new(sqlstate::ACTIVE_SQL_TRANSACTION, what));
        if begun && options.isolation != self.options.isolation {
            return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query");
        }
        if !self.savepoints.is_empty() && options.isolation != self.options.isolation {
            return refused("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
        }
        if !self.savepoints.is_empty() && self.options.read_only && !options.read_only {
            return refused("cannot set transaction read-write mode inside a read-only transaction");
        }
        if begun && self.options.read_only && !options.read_only {
            return refused("transaction read-write mode must be set before any query");
        }
        if !self.savepoints.is_empty() && options.deferrable != self.options.deferrable {
            return refused("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction");
        }
        if begun && options.deferrable != self.options.deferrable {
            return refused("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
        }
        self.options = options;
        Ok(())
    }

    /// Notes that the transaction has run a query.
    pub fn note_snapshot(&mut self) {
        self.had_snapshot = true;
    }

    /// Whether the transaction holds a snapshot.
    pub fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Whether the transaction has run a query.
    pub fn has_begun(&self) -> bool {
        self.had_snapshot || self.command != CommandId::FIRST || self.top_xid.is_valid()
    }

    /// Takes the statement's snapshot (read committed: a new one; otherwise the transaction's), and returns what it sees.
    #[inline]
    pub fn take_snapshot(&mut self) -> Lsn {
        if self.options.isolation != Isolation::ReadCommitted
            && let Some(snapshot) = self.snapshot
        {
            return snapshot;
        }
        let snapshot = if self.options.isolation == Isolation::Serializable {
            self.begin_serializable()
        } else if self.holds.is_empty() {
            self.manager.snapshots.take(&self.manager.slots, self.owner)
        } else {
            // The older ones that are held protect it.
            self.manager.horizon()
        };
        self.snapshot = Some(snapshot);
        self.had_snapshot = true;
        snapshot
    }

    /// Takes the snapshot of a serializable transaction, from which on it is watched.
    fn begin_serializable(&mut self) -> Lsn {
        let manager = &*self.manager;
        let take = || manager.snapshots.take(&manager.slots, self.owner);
        let (snapshot, serializable) = self.serializables.begin(self.owner, self.options.read_only, take);
        if let Some(serializable) = &serializable {
            self.note_all_xids(serializable);
        }
        self.serializable = serializable;
        snapshot
    }

    /// The transaction in progress is to be rolled back because of others that were faster: 40001. If it is serializable, the
    /// session's next one may have to wait for its turn.
    pub fn note_serialization_failure(&mut self) {
        self.tries_again |= self.options.isolation == Isolation::Serializable;
    }

    /// Whether the transaction in progress needs a turn before it takes its snapshot: whose turns they are. It is to be waited for
    /// with nothing borrowed, and given to [`SessionSlot::set_turn`].
    pub fn needs_turn(&self) -> Option<Arc<Retries>> {
        let needs = self.tries_again
            && self.turn.is_none()
            && self.snapshot.is_none()
            && self.options.isolation == Isolation::Serializable
            && !self.options.read_only;
        needs.then(|| self.manager.ssi().retries().clone())
    }

    /// Keeps a turn until the transaction ends.
    pub fn set_turn(&mut self, turn: Option<RetryTurn>) {
        self.turn = turn;
    }

    /// Before the first snapshot of a serializable, read-only and deferrable transaction: takes snapshots until one turns out
    /// to be safe. Nothing else waits.
    ///
    /// # Errors
    /// 57014 and its kin when the session is interrupted.
    pub fn wait_for_safe_snapshot(&mut self) -> Result<()> {
        let options = self.options;
        let waits = options.isolation == Isolation::Serializable && options.read_only && options.deferrable;
        if !waits || self.snapshot.is_some() {
            return Ok(());
        }
        loop {
            self.take_snapshot();
            let is_safe = match &self.serializable {
                None => true,
                Some(serializable) => match serializable.wait_until_safe(&self.interrupt) {
                    Ok(is_safe) => is_safe,
                    Err(error) => {
                        self.forget_snapshots();
                        self.serializable = None;
                        return Err(error);
                    }
                },
            };
            self.serializable = None;
            if is_safe {
                return Ok(());
            }
            self.forget_snapshots();
            self.manager.show_placed_commits(self.delay);
        }
    }

    /// The transaction as `ssi` watches it, if it is serializable and could still take part in an anomaly.
    #[inline]
    pub fn serializable(&self) -> Option<&SerializableTransaction> {
        self.serializable.as_ref().filter(|serializable| serializable.is_watched())
    }

    /// Uses an exported snapshot; its exporter must hold it while this runs. `is_safe`: for a serializable importer, the
    /// exporter is watched no longer; else it is in progress and watched.
    ///
    /// # Errors
    /// 55000 if it is gone.
    pub fn import_snapshot(&mut self, csn: Lsn, is_safe: bool) -> Result<()> {
        let manager = &*self.manager;
        if !manager.snapshots.import(&manager.slots, self.owner, csn) {
            let message = "could not import the requested snapshot";
            return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail("The source transaction is not running anymore."));
        }
        self.snapshot = Some(csn);
        self.had_snapshot = true;
        if self.options.isolation == Isolation::Serializable && !is_safe {
            let serializable = self.serializables.begin_imported(self.owner, self.options.read_only, csn);
            self.note_all_xids(&serializable);
            self.serializable = Some(serializable);
        }
        Ok(())
    }

    /// Those that were given out before there was a snapshot.
    fn note_all_xids(&self, serializable: &SerializableTransaction) {
        if self.top_xid.is_valid() {
            let children = self.all_children();
            std::iter::once(self.top_xid).chain(children).for_each(|xid| serializable.note_xid(xid));
        }
    }

    /// Ends the statement: a read committed transaction gives its snapshot up.
    #[inline]
    pub fn release_statement_snapshot(&mut self) {
        if self.options.isolation == Isolation::ReadCommitted {
            self.snapshot = None;
            self.publish_oldest();
        }
    }

    /// Keeps the current snapshot until [`SessionSlot::release_hold`] or the transaction's end.
    pub fn hold_snapshot(&mut self) -> SnapshotHold {
        let csn = self.take_current();
        self.push_hold(csn);
        SnapshotHold { csn }
    }

    /// Keeps `csn` until the transaction's end; the session must be using it, or an older one, already.
    pub fn hold_snapshot_at(&mut self, csn: Lsn) {
        self.push_hold(csn);
    }

    fn push_hold(&mut self, csn: Lsn) {
        let oldest = self.oldest_hold().map_or(csn, |oldest| oldest.min(csn));
        self.holds.push(Hold { csn, oldest });
    }

    fn oldest_hold(&self) -> Option<Lsn> {
        self.holds.last().map(|last| last.oldest)
    }

    fn take_current(&mut self) -> Lsn {
        match self.snapshot {
            Some(snapshot) => snapshot,
            None => self.take_snapshot(),
        }
    }

    /// Gives a kept snapshot up.
    pub fn release_hold(&mut self, hold: SnapshotHold) {
        if let Some(position) = self.holds.iter().rposition(|held| held.csn == hold.csn) {
            let later: SmallVec<[Hold; 2]> = self.holds.drain(position..).skip(1).collect();
            later.iter().for_each(|held| self.push_hold(held.csn));
            self.publish_oldest();
        }
    }

    /// The oldest snapshot that the transaction reads with, or may go on with.
    pub fn oldest_snapshot(&self) -> Option<Lsn> {
        self.oldest_hold().into_iter().chain(self.snapshot).min()
    }

    fn publish_oldest(&self) {
        let oldest = self.oldest_snapshot();
        self.manager.snapshots.keep(&self.manager.slots, self.owner, oldest);
    }

    /// Gives all snapshots up.
    pub(crate) fn forget_snapshots(&mut self) {
        if self.snapshot.is_some() || !self.holds.is_empty() {
            self.snapshot = None;
            self.holds.clear();
            self.manager.snapshots.keep(&self.manager.slots, self.owner, None);
        }
    }

    /// The transaction's context for heap and index, as of now. Before the first snapshot it sees everything visible now.
    #[inline]
    pub fn ctx(&self) -> TxnCtx<'_> {
        let mut ctx = self.ctx_at(self.snapshot.unwrap_or_else(|| self.manager.horizon()));
        ctx.watch = self.serializable().map(|serializable| serializable as &dyn ReadWatch);
        ctx
    }

    /// The same with a fresh snapshot, for catalogs: protected as long as the statement's snapshot is.
    pub fn latest_ctx(&self) -> TxnCtx<'_> {
        self.ctx_at(self.manager.horizon())
    }

    fn ctx_at(&self, csn: Lsn) -> TxnCtx<'_> {
        TxnCtx {
            xid: self.current_xid(),
            top_xid: self.top_xid,
            snapshot: Snapshot { csn, command: self.command },
            command: self.command,
            status: self.manager.status(),
            observed: &self.observed,
            owner: self.owner,
            interrupt: &self.interrupt,
            lock_timeout: self.lock_timeout,
            deadlock_timeout: self.deadlock_timeout,
            watch: None,
        }
    }

    /// The top-level xid, if one was given out.
    pub fn top_xid(&self) -> Option<Xid> {
        self.top_xid.is_valid().then_some(self.top_xid)
    }

    /// The current command's number.
    pub fn command(&self) -> CommandId {
        self.command
    }

    /// Later commands see what this one wrote.
    ///
    /// # Errors
    /// 54000 when there are too many.
    pub fn advance_command(&mut self) -> Result<()> {
        if self.command.0 >= CommandId::MAX.0 - 1 {
            let message = "cannot have more than 2^32-2 commands in a transaction";
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        self.command.0 += 1;
        Ok(())
    }

    /// Runs `wait`, which waits for the log at the gate (R3). A transaction that holds an xid counts as joined meanwhile
    /// (R6): it will not ask for another flush before this one is done.
    pub fn while_joined<R>(&self, wait: impl FnOnce() -> R) -> R {
        if !self.top_xid.is_valid() {
            return wait();
        }
        self.manager.slots.count_unjoined(self.owner, -1);
        let result = wait();
        self.manager.slots.count_unjoined(self.owner, 1);
        result
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.abort();
        self.manager.give_completion_up(&self.promised);
        self.manager.locks().unlock_all(self.owner, lockmgr::Scope::Session);
        self.manager.slots.give_back_by_session(self.owner);
    }
}
