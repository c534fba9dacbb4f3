//! The table of prepared transactions, by gid.

pub use base::settings::words::TwophaseState;
use std::path::{Path, PathBuf};

use base::{Error, Lsn, Oid, OwnerId, Result, Xid, missing, sqlstate};
use rustc_hash::FxHashMap;
use ssi::SerializableTransaction;
use sync::atomic::Ordering::{Relaxed, SeqCst};
use sync::atomic::{AtomicU8, AtomicU64};
use sync::{Arc, Mutex};
use vfs::Vfs;

use super::Gid;
use crate::TransactionManager;

/// Settings of prepared transactions.
#[derive(Clone)]
pub struct PreparedOptions {
    /// The largest number of prepared transactions (`max_prepared_transactions`); with 0, PREPARE is refused.
    pub max: u32,
    /// The file system that their states are saved in.
    pub vfs: Arc<dyn Vfs>,
    /// The directory there; it exists.
    pub directory: PathBuf,
}

/// A prepared transaction, as `pg_prepared_xacts` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedTransaction {
    /// Its name.
    pub gid: Gid,
    /// Its top-level xid.
    pub xid: Xid,
    /// When it was prepared, in microseconds since 2000-01-01 00:00 UTC.
    pub at_micros: i64,
    /// The role that prepared it.
    pub role: Oid,
    /// The database it was prepared in.
    pub database: Oid,
    /// By what number the lock manager knows it.
    pub owner: OwnerId,
}

/// Where the state is that its end needs.
#[derive(Clone)]
pub(crate) enum Kept {
    /// The record's payload.
    Memory(Arc<[u8]>),
    Log,
    File,
}

/// All there is of a prepared transaction between its two phases.
pub(crate) struct Prepared {
    pub(crate) view: PreparedTransaction,
    pub(crate) serializable: Option<SerializableTransaction>,
    pub(crate) kept: Kept,
    /// Its record in the log.
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
    /// A checkpoint has saved it: the log may be gone.
    pub(crate) is_saved: bool,
    /// Somebody is about to finish it, and has what is `serializable` about it.
    is_claimed: bool,
}

impl Prepared {
    pub(crate) fn new(view: PreparedTransaction, kept: Kept, start: Lsn, end: Lsn) -> Prepared {
        Prepared { view, serializable: None, kept, start, end, is_saved: false, is_claimed: false }
    }
}

/// The data that the finisher of a prepared transaction needs.
pub(crate) struct Claimed {
    pub(crate) view: PreparedTransaction,
    pub(crate) serializable: Option<SerializableTransaction>,
    pub(crate) kept: Kept,
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
    pub(crate) is_saved: bool,
}

/// A prepared transaction that a checkpoint is to save.
pub(crate) struct Unsaved {
    pub(crate) gid: Gid,
    pub(crate) xid: Xid,
    pub(crate) kept: Kept,
    pub(crate) start: Lsn,
    pub(crate) end: Lsn,
}

enum Entry {
    /// PREPARE is under way.
    Reserved,
    Prepared(Box<Prepared>),
}

pub(crate) struct PreparedTable {
    /// A leaf.
    entries: Mutex<FxHashMap<Gid, Entry>>,
    max: u32,
    state: AtomicU8,
    /// The end of the last record of a PREPARE or a finish.
    changed: AtomicU64,
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) directory: PathBuf,
}

impl PreparedTable {
    pub(crate) fn new(options: PreparedOptions) -> PreparedTable {
        PreparedTable {
            entries: Mutex::new(FxHashMap::default()),
            max: options.max,
            state: AtomicU8::new(TwophaseState::default() as u8),
            changed: AtomicU64::new(0),
            vfs: options.vfs,
            directory: options.directory,
        }
    }

    pub(crate) fn max(&self) -> u32 {
        self.max
    }

    pub(crate) fn state(&self) -> TwophaseState {
        match self.state.load(Relaxed) {
            0 => TwophaseState::Memory,
            1 => TwophaseState::Wal,
            _ => TwophaseState::File,
        }
    }

    pub(crate) fn set_state(&self, state: TwophaseState) {
        self.state.store(state as u8, Relaxed);
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn changed(&self) -> Lsn {
        Lsn(self.changed.load(SeqCst))
    }

    fn note_change(&self, end: Lsn) {
        self.changed.fetch_max(end.0, SeqCst);
    }

    /// Keeps `gid` for a PREPARE under way, which ends in [`PreparedTable::enter`] or [`PreparedTable::give_back`].
    pub(crate) fn reserve(&self, gid: &Gid) -> Result<()> {
        if self.max == 0 {
            return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "prepared transactions are disabled")
                .hint("Set max_prepared_transactions to a nonzero value."));
        }
        let mut entries = self.entries.lock();
        if entries.contains_key(gid) {
            let message = format!("transaction identifier \"{gid}\" is already in use");
            return Err(Error::new(sqlstate::DUPLICATE_OBJECT, message));
        }
        if entries.len() >= self.max as usize {
            let message = "maximum number of prepared transactions reached";
            return Err(Error::new(sqlstate::OUT_OF_MEMORY, message)
                .hint(format!("Increase max_prepared_transactions (currently {}).", self.max)));
        }
        entries.insert(gid.clone(), Entry::Reserved);
        Ok(())
    }

    pub(crate) fn give_back(&self, gid: &Gid) {
        self.entries.lock().remove(gid);
    }

    /// The transaction is prepared: its record has its place.
    pub(crate) fn enter(&self, prepared: Prepared) {
        let mut entries = self.entries.lock();
        self.note_change(prepared.end);
        entries.insert(prepared.view.gid.clone(), Entry::Prepared(Box::new(prepared)));
    }

    /// Claims a transaction to finish it, if `may_finish` allows it. To be followed by [`PreparedTable::unclaim`] or
    /// [`PreparedTable::finished`].
    pub(crate) fn claim(
        &self,
        gid: &Gid,
        may_finish: impl FnOnce(&PreparedTransaction) -> Result<()>,
    ) -> Result<Claimed> {
        let mut entries = self.entries.lock();
        let Some(Entry::Prepared(prepared)) = entries.get_mut(gid) else {
            return Err(missing::prepared_transaction(gid));
        };
        may_finish(&prepared.view)?;
        if prepared.is_claimed {
            let message = format!("prepared transaction with identifier \"{gid}\" is busy");
            return Err(Error::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        prepared.is_claimed = true;
        Ok(Claimed {
            view: prepared.view.clone(),
            serializable: prepared.serializable.take(),
            kept: prepared.kept.clone(),
            start: prepared.start,
            end: prepared.end,
            is_saved: prepared.is_saved,
        })
    }

    /// Whether a checkpoint has saved it.
    pub(crate) fn is_saved(&self, gid: &Gid) -> bool {
        matches!(self.entries.lock().get(gid), Some(Entry::Prepared(prepared)) if prepared.is_saved)
    }

    /// It was not finished after all.
    pub(crate) fn unclaim(&self, gid: &Gid, serializable: Option<SerializableTransaction>) {
        if let Some(Entry::Prepared(prepared)) = self.entries.lock().get_mut(gid) {
            prepared.serializable = serializable;
            prepared.is_claimed = false;
        }
    }

    /// Its end has its place in the log, before `end`. Tells whether its state has been saved.
    pub(crate) fn finished(&self, gid: &Gid, end: Lsn) -> bool {
        let mut entries = self.entries.lock();
        self.note_change(end);
        matches!(entries.remove(gid), Some(Entry::Prepared(prepared)) if prepared.is_saved)
    }

    fn prepared(entries: &FxHashMap<Gid, Entry>) -> impl Iterator<Item = &Prepared> {
        entries.values().filter_map(|entry| match entry {
            Entry::Prepared(prepared) => Some(&**prepared),
            Entry::Reserved => None,
        })
    }

    pub(crate) fn all(&self) -> Vec<PreparedTransaction> {
        let entries = self.entries.lock();
        let mut all: Vec<PreparedTransaction> =
            Self::prepared(&entries).map(|prepared| prepared.view.clone()).collect();
        all.sort_by_key(|prepared| prepared.xid);
        all
    }

    /// Those that no checkpoint has saved and whose record begins below `redo`; one that is being finished among them, as its
    /// end may never become durable.
    pub(crate) fn unsaved_below(&self, redo: Lsn) -> Vec<Unsaved> {
        let entries = self.entries.lock();
        let unsaved = Self::prepared(&entries).filter(|prepared| !prepared.is_saved && prepared.start < redo);
        let unsaved = unsaved.map(|prepared| Unsaved {
            gid: prepared.view.gid.clone(),
            xid: prepared.view.xid,
            kept: prepared.kept.clone(),
            start: prepared.start,
            end: prepared.end,
        });
        unsaved.collect()
    }

    /// A checkpoint has saved it. False: it is not there any more.
    pub(crate) fn set_saved(&self, gid: &Gid, xid: Xid) -> bool {
        match self.entries.lock().get_mut(gid) {
            Some(Entry::Prepared(prepared)) if prepared.view.xid == xid => {
                prepared.is_saved = true;
                true
            }
            _ => false,
        }
    }
}

impl TransactionManager {
    /// All prepared transactions, by xid. An answer that tells of them waits for [`TransactionManager::prepared_changed`].
    pub fn prepared_transactions(&self) -> Vec<PreparedTransaction> {
        self.prepared.all()
    }

    /// The end of the last record of a PREPARE or of its finish: what is told of gids is true once the log is durable up to
    /// here.
    pub fn prepared_changed(&self) -> Lsn {
        self.prepared.changed()
    }

    /// Changes `twophase_state`, for transactions prepared from now on.
    pub fn set_twophase_state(&self, state: TwophaseState) {
        self.prepared.set_state(state);
    }
}
