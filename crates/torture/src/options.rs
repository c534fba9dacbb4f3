//! The options of a run.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Tortures a server over the wire and holds its answers against a model.
#[derive(Clone, Debug, Parser)]
#[command(name = "cohort-torture")]
pub struct Options {
    /// The server's program.
    #[arg(long, default_value = "target/release/cohort")]
    pub server: PathBuf,
    /// How long to go on, in seconds.
    #[arg(long, default_value_t = 3600)]
    pub seconds: u64,
    /// Fixes each session's random choices. It does not fix the order in which the threads run. One is drawn if none is
    /// given.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Sessions that work at the same time.
    #[arg(long, default_value_t = 24)]
    pub sessions: usize,
    /// Seconds without an answer, and without a lock to wait for, that count as a stall.
    #[arg(long, default_value_t = 10)]
    pub patience: u64,
    /// Longest life of a server process between two checks, in seconds.
    #[arg(long, default_value_t = 12)]
    pub life: u64,
    /// Kinds of work to leave out.
    #[arg(long, value_delimiter = ',')]
    pub without: Vec<Kind>,
    /// The only kinds of work; all if none is given.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<Kind>,
    /// Settings that are left as they are.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub keep_setting: Vec<String>,
    /// Settings of the server, each `name=value`.
    #[arg(short = 'c', value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Most memory that the server may use, in megabytes.
    #[arg(long, default_value_t = 1500)]
    pub memory_mb: u64,
    /// Most descriptors that the server may have open.
    #[arg(long, default_value_t = 1500)]
    pub descriptors: usize,
    /// Folder for the data and for what failures leave; a temporary one, which only failures keep, if none is given.
    #[arg(long)]
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options::parse_from(["cohort-torture"])
    }
}

impl Options {
    /// Whether this kind of work is part of the run.
    pub fn allows(&self, kind: Kind) -> bool {
        !self.without.contains(&kind) && (self.only.is_empty() || self.only.contains(&kind))
    }
}

/// A kind of work, which can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Kind {
    /// Transfers between accounts.
    Money,
    /// Rows in several tables, counted in the ledger.
    Witness,
    /// A session's own tables: CREATE, ALTER, TRUNCATE, DROP, indexes.
    Tables,
    /// The same on tables that all sessions use.
    Shared,
    /// Foreign keys that cascade.
    Family,
    /// Unique and deferrable keys, checks.
    Slots,
    /// Values stored out of line.
    Documents,
    /// Counters: what was seen stays.
    Counters,
    /// LISTEN and NOTIFY.
    Notify,
    /// Sequences.
    Sequences,
    /// Row locks of all strengths.
    RowLocks,
    /// Advisory locks.
    Advisory,
    /// COPY in and out.
    Copy,
    /// Cursors, also WITH HOLD.
    Cursors,
    /// Temporary tables.
    Temporary,
    /// Savepoints around steps.
    Savepoints,
    /// PREPARE TRANSACTION and its ends.
    TwoPhase,
    /// Write skew under serializable.
    Duty,
    /// Views, functions, schemas, types.
    Objects,
    /// VACUUM, ANALYZE, REINDEX, CREATE INDEX on the tables of all.
    Maintenance,
    /// CHECKPOINT.
    Checkpoint,
    /// ALTER SYSTEM and reloads.
    Settings,
    /// Commits that do not wait for the disk.
    Asynchronous,
    /// Statement and lock timeouts.
    Timeouts,
    /// Cancel requests.
    Cancel,
    /// Connections cut in the middle of a statement.
    Disconnect,
    /// pg_terminate_backend.
    Terminate,
    /// SIGKILL.
    Kill,
    /// SIGKILL during the start after a SIGKILL.
    KillRecovery,
    /// SIGTERM under load.
    Stop,
}
