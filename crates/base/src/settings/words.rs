//! The words of enumerated settings that the code reads, each setting's words as an enum.
//!
//! The table of settings takes its words from here, so that a place among the words and a variant can't come apart.

use super::Value;

/// The words of an enumerated setting.
pub trait Words: Copy + 'static {
    /// The words, in the order in which errors list them.
    const WORDS: &'static [&'static str];

    /// The variant of the word at this place.
    fn at(place: usize) -> Option<Self>;

    /// The variant of a word.
    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|own| *own == word).and_then(Self::at)
    }
}

impl Value {
    /// The variant of an enumerated setting's word.
    ///
    /// # Panics
    /// If the setting has other words: a mistake in the code that reads it.
    pub fn word<W: Words>(&self) -> W {
        match self {
            Value::Word(place) => W::at(*place),
            _ => None,
        }
        .expect("a setting is read by its own words")
    }
}

macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($(#[$variant_about:meta])* $variant:ident $word:literal),+ $(,)? })+) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $name {
                $($(#[$variant_about])* $variant),+
            }

            impl Words for $name {
                const WORDS: &'static [&'static str] = &[$($word),+];

                fn at(place: usize) -> Option<$name> {
                    [$($name::$variant),+].get(place).copied()
                }
            }

            impl $name {
                /// The word of the variant.
                pub fn word(self) -> &'static str {
                    $name::WORDS[self as usize]
                }
            }
        )+
    };
}

words! {
    /// `auto_explain.log_format`
    PlanFormat {
        /// Lines of text.
        Text "text",
        /// XML.
        Xml "xml",
        /// JSON.
        Json "json",
        /// YAML.
        Yaml "yaml",
    }

    /// `auto_explain.log_level`
    PlanLevel {
        /// DEBUG5
        Debug5 "debug5",
        /// DEBUG4
        Debug4 "debug4",
        /// DEBUG3
        Debug3 "debug3",
        /// DEBUG2
        Debug2 "debug2",
        /// DEBUG1
        Debug1 "debug1",
        /// INFO
        Info "info",
        /// NOTICE
        Notice "notice",
        /// WARNING
        Warning "warning",
        /// LOG
        Log "log",
    }

    /// `bytea_output`
    #[derive(Default)]
    ByteaOutput {
        /// `\x00ff`
        #[default]
        Hex "hex",
        /// `\000\377`
        Escape "escape",
    }

    /// `clog_update`: the thread that sets the status bits of a transaction, and its way to do so.
    #[derive(Default)]
    ClogUpdate {
        /// The leader of the flush, for its whole cohort, one pass per page.
        #[default]
        Cohort "cohort",
        /// The committer; those that meet at the latch form a group whose leader sets the bits of all.
        Group "group",
        /// The committer, each with a latch acquisition of its own.
        Each "each",
    }

    /// `client_min_messages`: the least severe messages that a client is told.
    MessageLevel {
        /// As `debug1`.
        Debug5 "debug5",
        /// As `debug1`.
        Debug4 "debug4",
        /// As `debug1`.
        Debug3 "debug3",
        /// As `debug1`.
        Debug2 "debug2",
        /// All.
        Debug1 "debug1",
        /// Those for administrators.
        Log "log",
        /// Notices.
        Notice "notice",
        /// Warnings.
        Warning "warning",
        /// Nothing but errors.
        Error "error",
    }

    /// `commit_delay_scope`: the committers that wait `commit_delay`.
    #[derive(Default)]
    DelayScope {
        /// Only the leader of a flush.
        #[default]
        Leader "leader",
        /// Every committer, before it joins: PostgreSQL before 9.3.
        Each "each",
    }

    /// `default_transaction_isolation` and `transaction_isolation`
    IsolationLevel {
        /// SERIALIZABLE.
        Serializable "serializable",
        /// REPEATABLE READ.
        RepeatableRead "repeatable read",
        /// READ COMMITTED.
        ReadCommitted "read committed",
        /// READ COMMITTED by another name.
        ReadUncommitted "read uncommitted",
    }

    /// `IntervalStyle`
    #[derive(Default)]
    IntervalStyle {
        /// `1 year 2 mons 3 days 04:05:06`
        #[default]
        Postgres "postgres",
        /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
        PostgresVerbose "postgres_verbose",
        /// `1-2 3 4:05:06`
        SqlStandard "sql_standard",
        /// `P1Y2M3DT4H5M6S`
        Iso8601 "iso_8601",
    }

    /// `log_error_verbosity`
    Verbosity {
        /// The message alone.
        Terse "terse",
        /// With detail, hint, context and statement.
        Default "default",
        /// With the SQLSTATE and the place in the code, too.
        Verbose "verbose",
    }

    /// `log_statement`: the classes of statements that are logged.
    LoggedStatements {
        /// None.
        None "none",
        /// Those that change definitions.
        Definitions "ddl",
        /// Those that change rows, too.
        Changes "mod",
        /// All.
        All "all",
    }

    /// `password_encryption`: the form in which passwords are kept.
    PasswordEncryption {
        /// A salted MD5 hash.
        Md5 "md5",
        /// A SCRAM verifier.
        Scram "scram-sha-256",
    }

    /// `plan_cache_mode`: the plans that a statement with parameters gets.
    PlanCacheMode {
        /// Those that are expected to cost less.
        Auto "auto",
        /// One that is good for all values.
        ForceGeneric "force_generic_plan",
        /// One for the values of each run.
        ForceCustom "force_custom_plan",
    }

    /// `plpgsql.variable_conflict`: the meaning of a name that is a variable's and a column's.
    VariableConflict {
        /// 42702
        Error "error",
        /// The variable is meant.
        UseVariable "use_variable",
        /// The column is meant.
        UseColumn "use_column",
    }

    /// `session_replication_role`
    ReplicationRole {
        /// Ordinary triggers fire.
        Origin "origin",
        /// Only triggers that are enabled for replicas fire.
        Replica "replica",
        /// As `origin`.
        Local "local",
    }

    /// `ssi_scan_locks`: how often a covered scan tries to take its predicate lock.
    ScanLocks {
        /// Once.
        Once "once",
        /// For each row.
        PerTuple "per_tuple",
    }

    /// `ssl_min_protocol_version`
    LeastTls {
        /// TLS 1.2.
        Tls12 "TLSv1.2",
        /// TLS 1.3.
        Tls13 "TLSv1.3",
    }

    /// `synchronous_commit`: the commits whose reply waits.
    SynchronousCommit {
        /// It waits for the disk.
        On "on",
        /// It does not wait.
        Off "off",
        /// As `on`.
        Local "local",
        /// As `on`: there are no other servers.
        RemoteWrite "remote_write",
        /// As `on`: there are no other servers.
        RemoteApply "remote_apply",
    }

    /// `twophase_state`: where a prepared transaction's state is kept until it is finished.
    #[derive(Default)]
    TwophaseState {
        /// In memory.
        #[default]
        Memory "memory",
        /// In the log, to be read again.
        Wal "wal",
        /// In a file of its own.
        File "file",
    }

    /// `wal_sync_method`: how a flush is made durable.
    #[derive(Default)]
    SyncMethod {
        /// `fdatasync` after the writes.
        #[default]
        Fdatasync "fdatasync",
        /// The files are opened with `O_DSYNC`: a write is durable when it returns.
        OpenDatasync "open_datasync",
        /// `fsync` after the writes.
        Fsync "fsync",
    }

    /// `wal_level`
    WalLevel {
        /// Restore points are refused.
        Minimal "minimal",
        /// The usual one.
        Replica "replica",
        /// As `replica`.
        Logical "logical",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Id, Kind, parse};

    #[test]
    fn each_word_is_read_as_its_variant() {
        for (place, word) in SyncMethod::WORDS.iter().enumerate() {
            assert_eq!(parse(Id::WalSyncMethod, word).unwrap().word::<SyncMethod>() as usize, place);
        }
        assert_eq!(parse(Id::TwophaseState, "FILE").unwrap().word::<TwophaseState>(), TwophaseState::File);
        assert_eq!(Id::ClogUpdate.definition().kind, Kind::Enum(ClogUpdate::WORDS));
    }
}
