//! How a database is opened.

use std::path::PathBuf;
use std::sync::Arc;

use base::Xid;
use base::settings::{Id, ServerSettings};
use ssi::SsiOptions;
use vfs::descriptors::FileShare;
use vfs::{RealVfs, Vfs};
use wal::{DelayPolicy, DelaySetting, WalOptions};

/// Predicate locks that memory is meant for at most: 100 MB or so.
const LOCKS_MAX: i64 = 1_000_000;

/// Finished serializable transactions known one by one, at most.
const FINISHED_MAX: usize = 20_000;

/// How a database is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// The data directory.
    pub directory: PathBuf,
    /// Where it lies: real files, slowed or simulated ones.
    pub vfs: Arc<dyn Vfs>,
    /// The settings that hold for everybody; read when opened, and again by [`crate::Database::reload`].
    pub settings: Arc<ServerSettings>,
    /// Whether a missing or empty directory becomes a new database.
    pub create: bool,
    /// Whether checkpoints, vacuum, and flushes on behalf of sessions that don't wait run in threads of the database.
    /// Without them the caller does all that by calls.
    pub background: bool,
    /// The name of the role that owns a new database.
    pub superuser: String,
    /// The size of log segments of a new database, in bytes; a power of two.
    pub segment_size_bytes: u64,
    /// The first transaction identifier of a new database.
    pub first_xid: Xid,
    /// Transactions whose commit positions are kept in memory.
    pub csn_window: usize,
    /// How many files may be open at a time.
    pub files: FileShare,
}

impl OpenOptions {
    /// The directory on real files, made if needed, with default settings and background threads.
    pub fn new(directory: impl Into<PathBuf>) -> OpenOptions {
        OpenOptions {
            directory: directory.into(),
            vfs: Arc::new(RealVfs::new()),
            settings: Arc::new(ServerSettings::new()),
            create: true,
            background: true,
            superuser: "postgres".into(),
            segment_size_bytes: 16 << 20,
            first_xid: Xid::FIRST_NORMAL,
            csn_window: 1 << 20,
            files: FileShare::of_process(),
        }
    }

    pub(crate) fn integer(&self, id: Id) -> i64 {
        integer(&self.settings, id)
    }

    /// Sessions and prepared transactions there may be at once, with a few for the database's own work.
    pub(crate) fn slots(&self) -> u32 {
        let slots = self.integer(Id::MaxConnections) + self.integer(Id::MaxPreparedTransactions) + 8;
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    pub(crate) fn prepared_max(&self) -> u32 {
        u32::try_from(self.integer(Id::MaxPreparedTransactions)).unwrap_or(u32::MAX)
    }

    pub(crate) fn wal_options(&self, segment_size_bytes: u64) -> WalOptions {
        WalOptions {
            segment_size_bytes,
            buffers_bytes: self.integer(Id::WalBuffers) as usize * base::limits::PAGE_SIZE_BYTES,
            sync_method: self.settings.get(Id::WalSyncMethod).word(),
            direct_io: self.settings.get(Id::WalDirectIo).as_bool(),
            fsync: self.settings.get(Id::Fsync).as_bool(),
            group_commit: self.settings.get(Id::GroupCommit).as_bool(),
            delay_scope: self.settings.get(Id::CommitDelayScope).word(),
            default_delay: delay_policy(&self.settings),
            ..WalOptions::default()
        }
    }
}

/// The value of a number setting; 0 where a word stands in its place.
pub(crate) fn integer(settings: &ServerSettings, id: Id) -> i64 {
    settings.get(id).as_integer().unwrap_or(0)
}

/// `commit_delay` and `commit_siblings` of everybody who has not set their own.
pub(crate) fn delay_policy(settings: &ServerSettings) -> DelayPolicy {
    let delay = match settings.get(Id::CommitDelay).as_integer() {
        None => DelaySetting::Auto,
        Some(0) => DelaySetting::Off,
        Some(delay_us) => DelaySetting::Micros(delay_us as u32),
    };
    DelayPolicy { delay, siblings: integer(settings, Id::CommitSiblings) as u32 }
}

/// How finely serializable transactions are remembered.
pub(super) fn ssi(settings: &ServerSettings) -> SsiOptions {
    let per_transaction = super::integer(settings, Id::MaxPredLocksPerTransaction).max(1);
    let sessions = super::integer(settings, Id::MaxConnections).max(1);
    let locks = per_transaction.saturating_mul(sessions).min(LOCKS_MAX) as usize;
    let per_relation = match super::integer(settings, Id::MaxPredLocksPerRelation) {
        part if part < 0 => per_transaction / part.saturating_neg(),
        number => number,
    };
    SsiOptions {
        locks,
        finished: (locks / 8).clamp(64, FINISHED_MAX),
        tuples_per_page: super::integer(settings, Id::MaxPredLocksPerPage).max(0) as u32,
        locks_per_relation: per_relation as u32,
    }
}
