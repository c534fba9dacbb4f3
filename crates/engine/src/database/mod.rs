//! The database: what all sessions share.
#![allow(unused_variables)]

use std::path::PathBuf;
use std::sync::Arc;

use base::settings::ServerSettings;
use base::{Lsn, Oid, Result};
use lockmgr::LockManager;
use vfs::Vfs;
use wal::Wal;
use xact::TransactionManager;

use crate::catalog::Catalog;
use crate::session::Session;

/// How a database is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// The data directory.
    pub directory: PathBuf,
    /// Where it lies: real files, or simulated ones.
    pub vfs: Arc<dyn Vfs>,
    /// The settings that hold for everybody; read when opened, and again by [`Database::reload`].
    pub settings: Arc<ServerSettings>,
    /// Whether a missing or empty directory becomes a new database.
    pub create: bool,
    /// Whether checkpoints, vacuum, and flushes on behalf of sessions that don't wait run in threads of the database.
    /// Without them the caller does all that by calls.
    pub background: bool,
    /// The name of the role that owns a new database.
    pub superuser: String,
}

impl OpenOptions {
    /// The directory on real files, made if needed, with default settings and background threads.
    pub fn new(directory: impl Into<PathBuf>) -> OpenOptions {
        todo!()
    }
}

/// An open database. Clones are handles of the same one.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// What the handles of a database share.
pub(crate) struct Shared {}

impl Database {
    /// Opens a database: recovers it if it was not closed, and makes it if the directory is empty.
    ///
    /// # Errors
    /// F0001 if it is open elsewhere; 58P01 if it doesn't exist or is not whole; 22023 if its format is newer; XX001 if
    /// it is damaged; 58030, 53100 for what the disk fails with.
    pub fn open(options: OpenOptions) -> Result<Database> {
        todo!()
    }

    /// Ends the background threads, writes everything out and marks the database as closed. Sessions must be gone:
    /// those that are not get 57P01 from now on.
    ///
    /// # Errors
    /// 55006 if sessions are in a transaction.
    pub fn close(&self) -> Result<()> {
        todo!()
    }

    /// A new session.
    ///
    /// # Errors
    /// 53300 when there are too many.
    pub fn session(&self) -> Result<Session> {
        todo!()
    }

    /// Writes out all that was changed before now, so that recovery would begin here.
    ///
    /// # Errors
    /// 57P01 if the database is closed.
    pub fn checkpoint(&self) -> Result<()> {
        todo!()
    }

    /// Looks for tables with many dead rows and vacuums them, as the background thread does.
    ///
    /// # Errors
    /// Whatever a vacuum fails with.
    pub fn vacuum_where_needed(&self) -> Result<()> {
        todo!()
    }

    /// Takes up settings that may change while the database is open.
    pub fn reload(&self) {
        todo!()
    }

    /// The log.
    pub fn wal(&self) -> &Arc<Wal> {
        todo!()
    }

    /// The transaction manager: horizon, running transactions, tuning.
    pub fn transactions(&self) -> &Arc<TransactionManager> {
        todo!()
    }

    /// The lock manager: views of locks and waits.
    pub fn locks(&self) -> &Arc<LockManager> {
        todo!()
    }

    /// The settings that hold for everybody.
    pub fn settings(&self) -> &Arc<ServerSettings> {
        todo!()
    }

    /// The latest committed catalog.
    pub fn catalog(&self) -> Arc<Catalog> {
        todo!()
    }

    /// What was counted so far.
    pub fn statistics(&self) -> Statistics {
        todo!()
    }

    /// What has happened to the table `oid` since the database was opened.
    pub fn table_activity(&self, oid: Oid) -> Option<Arc<crate::TableActivity>> {
        todo!()
    }

    /// The random number given to the database when it was made.
    pub fn system_identifier(&self) -> u64 {
        todo!()
    }

    /// The data directory.
    pub fn directory(&self) -> &std::path::Path {
        todo!()
    }
}

/// Counts of everything below the row API.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Of the log.
    pub wal: wal::WalStatistics,
    /// Of the page cache.
    pub buffer: buffer::BufferStatistics,
    /// Of the commit log's pages.
    pub clog: buffer::PagedStoreStatistics,
    /// Checkpoints done.
    pub checkpoints: CheckpointStatistics,
}

/// Counts of checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointStatistics {
    /// Begun because `checkpoint_timeout` had passed.
    pub timed: u64,
    /// Begun because the log had grown, or somebody asked.
    pub requested: u64,
    /// Microseconds spent writing.
    pub write_us: u64,
    /// The last one's redo point.
    pub redo: Lsn,
}
