//! The second phase.

use base::{Error, Lsn, Result, Xid, sqlstate};
use clog::ClogBits;
use ssi::SerializableTransaction;
use sync::Arc;

use super::table::Claimed;
use super::{Gid, Kept, PrepareRecord, PreparedTransaction, saved};
use crate::record;
use crate::session::{CommitOutcome, SessionSlot};
use crate::transaction::Committing;
use crate::{TransactionManager, TransactionState};

/// A prepared transaction that the caller is about to finish; nobody else can. Dropped, it is as it was before.
pub struct ClaimedTransaction {
    manager: Arc<TransactionManager>,
    view: PreparedTransaction,
    serializable: Option<SerializableTransaction>,
    record: PrepareRecord,
    has_file: bool,
    is_finished: bool,
}

impl Drop for ClaimedTransaction {
    fn drop(&mut self) {
        if !self.is_finished {
            self.manager.prepared.unclaim(&self.view.gid, self.serializable.take());
        }
    }
}

impl ClaimedTransaction {
    /// The prepared transaction, as `pg_prepared_xacts` shows it.
    pub fn view(&self) -> &PreparedTransaction {
        &self.view
    }

    /// Whether its commit changes the catalog.
    pub fn changes_catalog(&self) -> bool {
        self.record.changes_catalog
    }

    /// Its end is placed, before `end`: the name is free.
    fn finished(&mut self, end: Lsn) {
        self.is_finished = true;
        let was_saved = self.manager.prepared.finished(&self.view.gid, end);
        let children = std::mem::take(&mut self.record.children);
        self.manager.release(self.view.owner, self.view.xid, &children);
        self.manager.slots.give_back(self.view.owner);
        if was_saved || self.has_file {
            // As long as the end is not durable, the state may be needed.
            self.manager.wal().flush(end);
            saved::remove(&*self.manager.prepared.vfs, self.manager.prepared.directory(), self.view.xid);
        }
    }
}

impl TransactionManager {
    /// Claims a prepared transaction, to finish it.
    ///
    /// # Errors
    /// 42704 if there is none of this name; what `may_finish` says; 55000 if somebody else is about to finish it; XX001, 58030 if
    /// its state can't be read.
    pub fn claim_prepared(
        self: &Arc<Self>,
        gid: &Gid,
        may_finish: impl FnOnce(&PreparedTransaction) -> Result<()>,
    ) -> Result<ClaimedTransaction> {
        let Claimed { view, serializable, kept, start, end, is_saved } = self.prepared.claim(gid, may_finish)?;
        let has_file = matches!(kept, Kept::File);
        let directory = self.prepared.directory();
        let read_saved = || {
            saved::read(&*self.prepared.vfs, directory, view.xid)
                .and_then(|state| PrepareRecord::decode(&state.payload))
        };
        let record = match kept {
            Kept::Memory(payload) => PrepareRecord::decode(&payload),
            Kept::File => saved::read_unsynced(&*self.prepared.vfs, directory, view.xid)
                .and_then(|state| PrepareRecord::decode(&state.payload)),
            Kept::Log if is_saved => read_saved(),
            Kept::Log => match self.read_prepare_record(&view, start, end) {
                // A checkpoint that has saved it meanwhile has let the log go.
                Err(_) if self.prepared.is_saved(gid) => read_saved(),
                read => read,
            },
        };
        match record {
            Ok(record) => {
                let manager = self.clone();
                Ok(ClaimedTransaction { manager, view, serializable, record, has_file, is_finished: false })
            }
            Err(error) => {
                self.prepared.unclaim(gid, serializable);
                Err(error)
            }
        }
    }

    fn read_prepare_record(&self, view: &PreparedTransaction, start: Lsn, end: Lsn) -> Result<PrepareRecord> {
        let (head, payload) = self.wal().read_record(start, end)?;
        if head.xid == view.xid && head.info == record::PREPARE {
            return PrepareRecord::decode(&payload);
        }
        let gid = &view.gid;
        Err(Error::corrupted(format!("the record at {start} is not that of prepared transaction \"{gid}\"")))
    }

    /// Locks go to their heirs, and the running set forgets the transaction.
    pub(crate) fn release(&self, owner: base::OwnerId, xid: Xid, children: &[Xid]) {
        let locks = self.locks();
        locks.unlock_all(owner, lockmgr::Scope::Transaction);
        if xid.is_valid() {
            self.slots.clear(owner);
            for child in children {
                locks.transaction_ended(*child);
                sync::let_others_run();
            }
            locks.transaction_ended(xid);
        }
    }
}

impl SessionSlot {
    /// Commits a prepared transaction: as [`SessionSlot::commit`], in the transaction's name. The reply waits for the disk.
    pub fn commit_prepared(&mut self, mut claimed: ClaimedTransaction) -> CommitOutcome {
        debug_assert_eq!(self.state, TransactionState::Idle);
        let serializable = claimed.serializable.take();
        let committing = Committing {
            info: record::COMMIT_PREPARED,
            xid: claimed.view.xid,
            children: claimed.record.children.clone(),
            dropped_files: std::mem::take(&mut claimed.record.dropped_files),
            changes_catalog: claimed.record.changes_catalog,
            must_wait: true,
        };
        let outcome = self.place(committing, serializable.as_ref());
        let outcome = outcome.expect("a prepared transaction has passed its check");
        // Here it leaves those that serializable transactions know as being in progress, if it was only watched until now.
        drop(serializable);
        claimed.finished(outcome.csn.unwrap_or_default());
        outcome
    }

    /// Rolls a prepared transaction back; durably when this returns.
    pub fn rollback_prepared(&mut self, mut claimed: ClaimedTransaction) -> Lsn {
        let manager = self.manager.clone();
        let (xid, owner) = (claimed.view.xid, claimed.view.owner);
        let files = std::mem::take(&mut claimed.record.created_files);
        let children = &claimed.record.children;
        let end = manager.slots.get(owner).while_finishing(|| {
            // In one piece however many they are: a part of it must not be redone without the rest.
            record::encode_abort(&mut self.record, children, &files);
            let end = manager.wal().insert(record::head(record::ROLLBACK_PREPARED, xid), &[&self.record]).end;
            // Nobody may see it as rolled back before that can't be undone by a crash.
            manager.wal().wait_durable(end, self.delay);
            for xid in children.iter().chain([&xid]) {
                manager.status().set_aborted(*xid);
            }
            manager.status().set_transaction_bits(xid, children, ClogBits::Aborted, end);
            end
        });
        files.iter().for_each(|file| manager.files.remove_file(*file, end));
        manager.slots.get(self.owner).ended.count_rollback();
        claimed.serializable = None;
        claimed.finished(end);
        self.observe(end);
        end
    }
}

/// Whether `role` may finish a transaction that another may have prepared.
///
/// # Errors
/// 42501 if not; 0A000 from another database.
pub fn may_finish(
    prepared: &PreparedTransaction,
    role: base::Oid,
    is_superuser: bool,
    database: base::Oid,
) -> Result<()> {
    if prepared.role != role && !is_superuser {
        let message = "permission denied to finish prepared transaction";
        return Err(Error::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
            .hint("Must be superuser or the user that prepared the transaction."));
    }
    if prepared.database != database {
        return Err(Error::unsupported("prepared transaction belongs to another database")
            .hint("Connect to the database where the transaction was prepared to finish it."));
    }
    Ok(())
}
