//! Begin, commit and abort.

use std::time::{SystemTime, UNIX_EPOCH};

use base::{CommandId, Error, FileNumber, Lsn, Result, Xid, sqlstate};
use clog::ClogBits;
use lockmgr::Scope;
use ssi::SerializableTransaction;

use crate::committed::{CHANGES_CATALOG, CommittedTransaction, Extras, HAS_EXTRAS, NOBODY_WAITS, OWNER_SETS_BITS};
use crate::record::{self, CHILDREN_PER_RECORD};
use crate::session::{BeginOptions, CommitOutcome, Completion, SessionSlot, TransactionState};
use crate::slots::NoXid;

/// From 1970-01-01 to 2000-01-01.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

/// The time of day, in microseconds since 2000-01-01 00:00 UTC.
pub fn now_micros() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_micros() as i64 - POSTGRES_EPOCH_MICROS
}

/// A commit that is about to get its place.
pub(crate) struct Committing {
    /// The record's kind.
    pub(crate) info: u8,
    pub(crate) xid: Xid,
    pub(crate) children: Vec<Xid>,
    pub(crate) dropped_files: Vec<FileNumber>,
    pub(crate) changes_catalog: bool,
    pub(crate) must_wait: bool,
}

impl SessionSlot {
    /// Begins a transaction. Costs nothing but a few stores: no xid, no snapshot.
    #[inline]
    pub fn begin(&mut self, options: BeginOptions) {
        debug_assert_eq!(self.state, TransactionState::Idle);
        self.state = TransactionState::Active;
        self.options = options;
        self.command = CommandId::FIRST;
        self.had_snapshot = false;
    }

    /// The current (sub)transaction's xid, given out now if it had none.
    ///
    /// # Errors
    /// 25006 in a read-only transaction, 54000 when there are no more identifiers, 57P01 once the manager is closed.
    #[inline]
    pub fn assign_xid(&mut self) -> Result<Xid> {
        self.assign_xid_unless_read_only(|| true)
    }

    /// The same for what a read-only transaction may do all the same, such as write to its session's own tables, if
    /// `is_refused` says so; it is asked of read-only transactions alone.
    ///
    /// # Errors
    /// As [`SessionSlot::assign_xid`].
    #[inline]
    pub fn assign_xid_unless_read_only(&mut self, is_refused: impl FnOnce() -> bool) -> Result<Xid> {
        if self.options.read_only && is_refused() {
            return Err(read_only());
        }
        let current = self.current_xid();
        if current.is_valid() {
            return Ok(current);
        }
        self.assign_missing_xids()
    }

    /// Sets whether the transaction refuses to write, and returns whether it did.
    pub fn set_read_only(&mut self, read_only: bool) -> bool {
        std::mem::replace(&mut self.options.read_only, read_only)
    }

    /// The current (sub)transaction's xid, if it has one.
    pub(crate) fn current_xid(&self) -> Xid {
        self.savepoints.last().map_or(self.top_xid, |savepoint| savepoint.xid)
    }

    /// Gives xids to the current subtransaction and all around it that have none: outer ones first, so that a child's is
    /// always higher than its parent's.
    fn assign_missing_xids(&mut self) -> Result<Xid> {
        let manager = &*self.manager;
        let (status, locks, owner) = (manager.status(), manager.locks(), self.owner);
        if !self.top_xid.is_valid() {
            let xid = manager.slots.assign_top(owner).map_err(|reason| match reason {
                NoXid::NoneLeft => out_of_xids(),
                NoXid::Closed => closed(),
            })?;
            status.assigned(xid);
            locks.transaction_started(xid, owner);
            self.top_xid = xid;
            if let Some(serializable) = &self.serializable {
                serializable.note_xid(xid);
            }
        }
        // Those with an xid are the outermost.
        let first = self.savepoints.partition_point(|savepoint| savepoint.xid.is_valid());
        for savepoint in &mut self.savepoints[first..] {
            let xid = manager.slots.assign().ok_or_else(out_of_xids)?;
            status.assigned(xid);
            status.set_parent(xid, self.top_xid);
            locks.transaction_started(xid, owner);
            savepoint.xid = xid;
            if let Some(serializable) = &self.serializable {
                serializable.note_xid(xid);
            }
        }
        Ok(self.current_xid())
    }

    /// An error: what the transaction, or its innermost savepoint, has done is undone at once, so that nobody waits for it any
    /// longer. Nothing but a rollback is accepted from here (unless a savepoint is rolled back to).
    pub fn fail(&mut self) {
        if self.state != TransactionState::Active {
            return;
        }
        match self.savepoints.len().checked_sub(1) {
            Some(innermost) => self.undo(innermost),
            None => self.abort(),
        }
        self.state = TransactionState::Failed;
    }

    /// The file goes if this commits (after it is durable).
    pub fn drop_file_at_commit(&mut self, file: FileNumber) {
        self.dropped_files.push(file);
        self.must_wait = true;
    }

    /// The file goes if this, or the savepoint it was made in, is rolled back.
    pub fn drop_file_at_abort(&mut self, file: FileNumber) {
        self.created_files.push(file);
    }

    /// The commit will raise the catalog version.
    pub fn raise_catalog_version(&mut self) {
        self.changes_catalog = true;
    }

    /// The commit must be durable before its reply, whatever `synchronous_commit` says.
    pub fn require_durable_commit(&mut self) {
        self.must_wait = true;
    }

    /// Commits: steps 2 and 3 of a commit's life. Doesn't wait for the disk (unless `early_lock_release` is off);
    /// the caller takes a ticket for the outcome's CSN. A failed transaction, or a serializable one that must not commit, is
    /// rolled back instead (`csn` is absent).
    pub fn commit(&mut self) -> CommitOutcome {
        self.try_commit().unwrap_or_else(|_| CommitOutcome { gate: self.observed(), ..CommitOutcome::default() })
    }

    /// As [`SessionSlot::commit`].
    ///
    /// # Errors
    /// 40001 for a serializable transaction that must not commit. It is rolled back.
    #[inline]
    pub fn try_commit(&mut self) -> Result<CommitOutcome> {
        if self.state == TransactionState::Failed {
            self.abort();
        }
        if self.top_xid.is_valid() {
            return self.commit_writes();
        }
        if let Some(serializable) = &self.serializable
            && let Err(error) = serializable.commit(|| (None, self.manager.horizon(), ()))
        {
            self.tries_again = true;
            self.abort();
            return Err(error);
        }
        self.tries_again &= self.serializable.is_none();
        let outcome = CommitOutcome { gate: self.observed(), ..CommitOutcome::default() };
        if self.state != TransactionState::Idle {
            self.manager.slots.get(self.owner).ended.count_commit();
            self.end();
        }
        Ok(outcome)
    }

    fn commit_writes(&mut self) -> Result<CommitOutcome> {
        let children = self.all_children();
        let committing = Committing {
            info: record::COMMIT,
            xid: self.top_xid,
            children: children.clone(),
            dropped_files: self.dropped_files.clone(),
            changes_catalog: self.changes_catalog,
            must_wait: self.must_wait,
        };
        let serializable = self.serializable.take();
        let placed = self.place(committing, serializable.as_ref());
        self.serializable = serializable;
        let outcome = match placed {
            Ok(outcome) => outcome,
            Err(error) => {
                self.tries_again = true;
                self.abort();
                return Err(error);
            }
        };
        self.tries_again &= self.serializable.is_none();
        self.hand_on(&children);
        Ok(outcome)
    }

    /// Gives a commit its place: step 2, for the session's own transaction or a prepared one.
    ///
    /// # Errors
    /// 40001 for a serializable transaction that must not commit. Nothing has happened then.
    pub(crate) fn place(
        &mut self,
        committing: Committing,
        serializable: Option<&SerializableTransaction>,
    ) -> Result<CommitOutcome> {
        let manager = &*self.manager;
        if manager.ring_is_full() {
            manager.make_ring_room();
        }
        let Committing { info, xid, children, dropped_files, changes_catalog, must_wait } = committing;
        let mut flags = 0;
        if changes_catalog {
            flags |= CHANGES_CATALOG;
        }
        if manager.owners_set_bits() {
            flags |= OWNER_SETS_BITS;
        }
        let in_pieces = children.len() > CHILDREN_PER_RECORD;
        let no_redo_point_between = in_pieces.then(|| manager.pieces.begin());
        let mut named = &children[..];
        while named.len() > CHILDREN_PER_RECORD {
            let (piece, rest) = named.split_at(CHILDREN_PER_RECORD);
            record::encode_children(&mut self.record, piece);
            manager.wal().insert(record::head(record::CHILDREN, xid), &[&self.record]);
            named = rest;
        }
        let now = now_micros();
        record::encode_commit(&mut self.record, now, named, &dropped_files, changes_catalog, in_pieces);
        if !children.is_empty() || !dropped_files.is_empty() {
            flags |= HAS_EXTRAS;
            manager.committed.put_extras(xid, Extras { children, dropped_files });
        }
        let waits = self.synchronous_commit || must_wait;
        let visible_early = manager.tuning().early_lock_release() || !waits;
        let asked_at_us = if waits { (now + POSTGRES_EPOCH_MICROS) as u64 } else { NOBODY_WAITS };
        let commit = CommittedTransaction { csn: Lsn::ZERO, xid, asked_at_us, flags };
        let place = || manager.place_commit(record::head(info, xid), &self.record, commit, visible_early);
        let placed = match serializable {
            None => place(),
            Some(serializable) => {
                // Under the latch of all serializable transactions there is no waiting for room.
                manager.wal().ensure_room(self.record.len());
                let checked = serializable.commit(|| {
                    let placed = place();
                    (Some(placed.csn), manager.horizon(), placed)
                });
                checked.inspect_err(|_| {
                    if flags & HAS_EXTRAS != 0 {
                        manager.committed.take_extras(xid);
                    }
                })?
            }
        };
        drop(no_redo_point_between);
        manager.slots.get(self.owner).ended.count_commit();
        if info == record::COMMIT {
            // A prepared one has not been counted since its PREPARE.
            manager.slots.count_unjoined(self.owner, -1);
        }
        if placed.deferred {
            manager.wal().wait_durable(placed.csn, self.delay);
            manager.make_visible(manager.wal().durable());
        }
        self.observe(placed.csn);
        let completion = (flags & OWNER_SETS_BITS != 0).then_some(Completion { index: placed.index, xid });
        let outcome = CommitOutcome { csn: Some(placed.csn), must_wait, gate: self.observed(), completion };
        if completion.is_some() {
            manager.give_completion_up(&self.promised);
            self.promised = outcome;
        }
        Ok(outcome)
    }

    /// Rolls back. Nothing to do if there is no transaction.
    pub fn abort(&mut self) {
        if self.state == TransactionState::Idle {
            return;
        }
        // One that failed outside of savepoints was rolled back, and counted, when it did.
        if self.state == TransactionState::Active || !self.savepoints.is_empty() {
            self.manager.slots.get(self.owner).ended.count_rollback();
        }
        self.undo_all();
    }

    /// Gives up a transaction that was begun and turned out not to be wanted: as [`SessionSlot::abort`], but it counts neither as
    /// committed nor as rolled back.
    pub fn withdraw(&mut self) {
        if self.state != TransactionState::Idle {
            self.undo_all();
        }
    }

    fn undo_all(&mut self) {
        let created_files = std::mem::take(&mut self.created_files);
        let children = self.all_children();
        if self.top_xid.is_valid() {
            let end = self.write_abort(self.top_xid, &children, &created_files);
            self.manager.slots.count_unjoined(self.owner, -1);
            created_files.iter().for_each(|file| self.manager.files.remove_file(*file, end));
        }
        self.hand_on(&children);
    }

    /// The record and the status of an abort. Needs no flush: without the record the transaction is aborted as well. Returns the
    /// record's end, which must be durable before the files are removed.
    pub(crate) fn write_abort(&mut self, xid: Xid, children: &[Xid], created_files: &[FileNumber]) -> Lsn {
        let manager = &*self.manager;
        manager.slots.get(self.owner).while_finishing(|| {
            let mut end = Lsn::ZERO;
            let mut pieces = children.chunks(CHILDREN_PER_RECORD);
            let mut files = created_files;
            loop {
                let piece = pieces.next().unwrap_or_default();
                record::encode_abort(&mut self.record, piece, files);
                end = end.max(manager.wal().insert(record::head(record::ABORT, xid), &[&self.record]).end);
                files = &[];
                if pieces.len() == 0 {
                    break;
                }
            }
            // Before any lock is released, and the children first: who finds one still pointing to its parent goes on to
            // the parent, which is in progress.
            for xid in children.iter().chain([&xid]) {
                manager.status().set_aborted(*xid);
            }
            manager.status().set_transaction_bits(xid, children, ClogBits::Aborted, end);
            end
        })
    }

    /// Step 3 of a commit, and the end of an abort: locks go to their heirs, the running set forgets the transaction.
    fn hand_on(&mut self, children: &[Xid]) {
        self.manager.release(self.owner, self.top_xid, children);
        self.forget();
    }

    /// The end of a transaction that wrote nothing.
    fn end(&mut self) {
        self.manager.locks().unlock_all(self.owner, Scope::Transaction);
        for file in std::mem::take(&mut self.dropped_files) {
            // Only what a transaction wrote names a file.
            debug_assert!(false, "{file:?} dropped by a transaction without an xid");
        }
        self.forget();
    }

    pub(crate) fn forget(&mut self) {
        self.forget_snapshots();
        self.serializable = None;
        self.turn = None;
        self.state = TransactionState::Idle;
        self.top_xid = Xid::INVALID;
        self.command = CommandId::FIRST;
        self.changes_catalog = false;
        self.must_wait = false;
        self.savepoints.clear();
        self.released.clear();
        self.dropped_files.clear();
        self.created_files.clear();
    }
}

/// The error for sessions that would go on in a closed database.
#[cold]
pub fn closed() -> Error {
    Error::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
}

#[cold]
fn read_only() -> Error {
    let message = "cannot assign a transaction ID in a read-only transaction";
    Error::new(sqlstate::READ_ONLY_SQL_TRANSACTION, message)
}

fn out_of_xids() -> Error {
    Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "database has no more transaction IDs to give out")
}
