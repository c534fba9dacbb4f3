//! The first phase, and giving prepared transactions of an earlier start their place back.

use base::{Error, Lsn, Oid, Result, Xid, sqlstate};
use lockmgr::{LockOptions, PreparedLocks, PreparedRowLock};
use sync::{Arc, Interrupt};

use super::saved::{self, SavedState};
use super::{Gid, Kept, PrepareRecord, Prepared, PreparedTransaction, RecoveredPrepared, TwophaseState};
use crate::record;
use crate::session::SessionSlot;
use crate::transaction::now_micros;
use crate::{Isolation, TransactionManager, TransactionState};

/// The name of a transaction to be prepared, and the role and database that may finish it.
#[derive(Clone, Debug)]
pub struct PrepareOptions {
    /// The transaction's name.
    pub gid: Gid,
    /// The role that may finish it.
    pub role: Oid,
    /// The database it may be finished in.
    pub database: Oid,
}

/// Ends a reservation that came to nothing.
struct Reserved<'a> {
    manager: &'a TransactionManager,
    gid: &'a Gid,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.manager.prepared.give_back(self.gid);
    }
}

impl SessionSlot {
    /// The first phase: the transaction is the session's no longer, and waits to be finished by
    /// [`SessionSlot::commit_prepared`] or [`SessionSlot::rollback_prepared`]. Returns the record's end: the reply waits until
    /// the log is durable up to there. The session's [owner number](SessionSlot::owner) is another one from now on.
    ///
    /// # Errors
    /// - 55000 if prepared transactions are switched off.
    /// - 42710 for a name that is in use.
    /// - 53200 if there are too many prepared transactions.
    /// - 0A000 if the session and its transaction both hold a lock on the same object.
    /// - 40001 for a serializable transaction that must not commit.
    /// - 54000 for a transaction whose record would be too long: it holds too many locks, or has too many subtransactions.
    ///
    /// After an error the transaction is still in progress, to be rolled back.
    pub fn prepare(&mut self, options: &PrepareOptions) -> Result<Lsn> {
        debug_assert_eq!(self.state, TransactionState::Active);
        let manager = self.manager.clone();
        let gid = &options.gid;
        manager.prepared.reserve(gid).inspect_err(|_| self.observe(manager.prepared_changed()))?;
        let reserved = Reserved { manager: &manager, gid };
        self.assign_top_xid_to_prepare()?;
        if manager.locks().holds_for_session_and_transaction(self.owner) {
            let message =
                "cannot PREPARE while holding both session-level and transaction-level locks on the same object";
            return Err(Error::unsupported(message));
        }
        // The table has room, and so the slots have.
        let next_owner = manager.slots.take().ok_or_else(|| Error::internal("no slot is left for the session"))?;
        let (xid, isolation) = (self.top_xid, self.options.isolation);
        let record = PrepareRecord {
            gid: gid.clone(),
            at_micros: now_micros(),
            owner: options.role,
            database: options.database,
            children: self.all_children(),
            locks: manager.locks().prepare(self.owner).encode(),
            predicate_locks: self.serializable.as_ref().map_or_else(Vec::new, |watched| watched.prepared_state()),
            dropped_files: self.dropped_files.clone(),
            created_files: self.created_files.clone(),
            changes_catalog: self.changes_catalog,
        };
        let payload = record.encode();
        let checked = match &self.serializable {
            None => Ok(()),
            Some(serializable) => serializable.prepare(manager.horizon()),
        };
        // The last that may fail.
        let kept = checked.and_then(|()| self.keep(xid, &payload));
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                manager.slots.give_back(next_owner);
                return Err(error);
            }
        };
        std::mem::forget(reserved);
        let owner = std::mem::replace(&mut self.owner, next_owner);
        manager.locks().move_session(owner, next_owner);
        // It reads no more.
        self.snapshot = None;
        manager.snapshots.keep(&manager.slots, owner, None);
        let view = PreparedTransaction {
            gid: record.gid,
            xid,
            at_micros: record.at_micros,
            role: record.owner,
            database: record.database,
            owner,
        };
        let end = manager.slots.get(owner).while_finishing(|| {
            let placed = manager.wal().insert(record::head(record::PREPARE, xid), &[&payload]);
            let mut prepared = Prepared::new(view, kept, placed.start, placed.end);
            prepared.serializable = self.serializable.take();
            manager.prepared.enter(prepared);
            placed.end
        });
        manager.slots.count_unjoined(owner, -1);
        self.tries_again &= isolation != Isolation::Serializable;
        self.forget();
        self.observe(end);
        Ok(end)
    }

    /// A prepared transaction has an identifier in any case, one that is read-only too.
    fn assign_top_xid_to_prepare(&mut self) -> Result<()> {
        let (read_only, savepoints) = (self.options.read_only, std::mem::take(&mut self.savepoints));
        self.options.read_only = false;
        let assigned = self.assign_xid();
        (self.options.read_only, self.savepoints) = (read_only, savepoints);
        assigned.map(|_| ())
    }

    fn keep(&self, xid: Xid, payload: &[u8]) -> Result<Kept> {
        if payload.len() > record::PREPARE_BYTES_MAX {
            let message = "two-phase state maximum length exceeded";
            return Err(Error::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
                .hint("The transaction holds too many locks in memory, or has too many subtransactions."));
        }
        let prepared = &self.manager.prepared;
        Ok(match prepared.state() {
            TwophaseState::Memory => Kept::Memory(payload.into()),
            TwophaseState::Wal => Kept::Log,
            TwophaseState::File => {
                saved::write_unsynced(&*prepared.vfs, prepared.directory(), xid, payload)?;
                Kept::File
            }
        })
    }
}

impl TransactionManager {
    /// Gives a prepared transaction of an earlier start its place back: before the first session. Rows that it had locked in
    /// memory are for the caller to lock, who can find their later versions; they come back with its owner number.
    ///
    /// # Errors
    /// XX001 if its record is damaged; 42710, 55P03 if another one is in its way, which can't be.
    pub fn restore_prepared(
        &self,
        recovered: RecoveredPrepared,
    ) -> Result<(PreparedTransaction, Vec<PreparedRowLock>)> {
        let RecoveredPrepared { xid, start, end, payload, is_saved } = recovered;
        let record = PrepareRecord::decode(&payload)?;
        let locks = PreparedLocks::decode(&record.locks)
            .ok_or_else(|| Error::corrupted(format!("invalid locks of prepared transaction \"{}\"", record.gid)))?;
        self.status().restore_prepared(xid, &record.children);
        let owner = self.slots.take().ok_or_else(|| Error::internal("no slot is left for a prepared transaction"))?;
        self.slots.restore(owner, xid);
        let xids = || std::iter::once(xid).chain(record.children.iter().copied());
        let interrupt = Interrupt::new();
        self.locks().restore_prepared(owner, xids(), &locks, &LockOptions::new(&interrupt))?;
        let view = PreparedTransaction {
            gid: record.gid,
            xid,
            at_micros: record.at_micros,
            role: record.owner,
            database: record.database,
            owner,
        };
        let kept =
            if self.prepared.state() == TwophaseState::Memory { Kept::Memory(payload.into()) } else { Kept::Log };
        let mut prepared = Prepared::new(view.clone(), kept, start, end);
        prepared.is_saved = is_saved;
        if !record.predicate_locks.is_empty() {
            let restored = self.ssi().restore_prepared(owner, &record.predicate_locks, self.horizon(), xids())?;
            prepared.serializable = Some(restored);
        }
        self.prepared.enter(prepared);
        Ok((view, locks.rows))
    }

    /// Saves the prepared transactions whose record begins below the redo point of a checkpoint: after its barrier, and before
    /// its control file. A failure ends the process (R4).
    pub fn save_prepared(&self, redo: Lsn) {
        let table = &self.prepared;
        let unsaved = table.unsaved_below(redo);
        let mut saved = Vec::with_capacity(unsaved.len());
        for one in unsaved {
            let state = match &one.kept {
                Kept::Memory(payload) => Ok(payload.clone()),
                Kept::Log | Kept::File => {
                    self.wal().read_record(one.start, one.end).map(|(_, payload)| Arc::from(payload))
                }
            };
            let state = state.map(|payload| SavedState { xid: one.xid, start: one.start, end: one.end, payload });
            match state.and_then(|state| saved::write(&*table.vfs, table.directory(), &state)) {
                Ok(()) => saved.push((one.gid, one.xid)),
                Err(error) => table.vfs.fail_stop(&format!("could not save a prepared transaction: {error}")),
            }
        }
        if saved.is_empty() {
            return;
        }
        if let Err(error) = table.vfs.sync_dir(table.directory()) {
            let what = format!("could not sync directory \"{}\"", table.directory().display());
            table.vfs.fail_stop(&Error::io(what, &error).to_string());
        }
        for (gid, xid) in saved {
            if !table.set_saved(&gid, xid) {
                saved::remove(&*table.vfs, table.directory(), xid);
            }
        }
    }
}
