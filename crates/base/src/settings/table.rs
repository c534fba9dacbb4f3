//! The list of all settings, in the order of their names.

use super::{Context, Kind, Unit};
use crate::access::DEFAULT_RULES;

/// What a setting is.
#[derive(Debug)]
pub struct Definition {
    /// Its place in the table.
    pub id: Id,
    /// Its name, as `SHOW ALL` prints it.
    pub name: &'static str,
    /// The shape of its values.
    pub kind: Kind,
    /// The built-in value.
    pub default: &'static str,
    /// Who may change it, and when.
    pub context: Context,
    /// The group it is listed in.
    pub category: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
}

impl Definition {
    /// Whether clients are told of its value at start and when it changes.
    pub fn is_reported(&self) -> bool {
        matches!(
            self.id,
            Id::ApplicationName
                | Id::ClientEncoding
                | Id::Datestyle
                | Id::DefaultTransactionReadOnly
                | Id::InHotStandby
                | Id::IntegerDatetimes
                | Id::Intervalstyle
                | Id::IsSuperuser
                | Id::ServerEncoding
                | Id::ServerVersion
                | Id::SessionAuthorization
                | Id::StandardConformingStrings
                | Id::Timezone
        )
    }

    /// Whether `RESET ALL` leaves it alone: it describes the transaction or the session.
    pub fn survives_reset_all(&self) -> bool {
        matches!(
            self.id,
            Id::Role
                | Id::SessionAuthorization
                | Id::TransactionIsolation
                | Id::TransactionReadOnly
                | Id::TransactionDeferrable
        )
    }
}

/// How many settings there are.
pub const COUNT: usize = DEFINITIONS.len();

/// All settings in the order of their names.
pub fn all() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter()
}

impl Id {
    /// What the setting is.
    pub fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }
}

/// The setting called `name`, in any case.
pub(super) fn find(name: &str) -> Option<Id> {
    DEFINITIONS
        .binary_search_by(|definition| {
            let own = definition.name.bytes().map(|byte| byte.to_ascii_lowercase());
            own.cmp(name.bytes().map(|byte| byte.to_ascii_lowercase()))
        })
        .ok()
        .map(|index| DEFINITIONS[index].id)
}

macro_rules! settings {
    ($($id:ident $name:literal $kind:expr, $default:expr, $context:ident, $category:literal, $description:literal;)*) => {
        /// Names a setting in code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Id {
            $(#[doc = concat!("`", $name, "`: ", $description)] $id,)*
        }

        static DEFINITIONS: &[Definition] = &[$(Definition {
            id: Id::$id,
            name: $name,
            kind: $kind,
            default: $default,
            context: Context::$context,
            category: $category,
            description: $description,
        }),*];
    };
}

settings! {
    AllowServerFilesAsRoot "allow_server_files_as_root" Kind::Bool, "off", Postmaster, "Connections and Authentication", "Lets COPY read and write files of the server though it runs as root.";
    AllowSystemTableMods "allow_system_table_mods" Kind::Bool, "off", Superuser, "Client Connection Defaults", "Accepted for compatibility; system tables can't be changed.";
    ApplicationName "application_name" Kind::Text, "", User, "Reporting and Logging", "Sets the application name to be reported in statistics and logs.";
    ArrayNulls "array_nulls" Kind::Bool, "on", User, "Compatibility", "Enables input of NULL elements in arrays.";
    AuthenticationTimeout "authentication_timeout" Kind::Integer { minimum: 1, maximum: 600, unit: Unit::Seconds, words: &[] }, "1min", Sighup, "Connections and Authentication", "Sets the maximum allowed time to complete client authentication.";
    Autovacuum "autovacuum" Kind::Bool, "on", Sighup, "Vacuuming", "Starts vacuum in the background.";
    AutovacuumNaptime "autovacuum_naptime" Kind::Integer { minimum: 1, maximum: 2147483, unit: Unit::Seconds, words: &[] }, "1min", Sighup, "Vacuuming", "Time between two looks for tables to vacuum.";
    AutovacuumVacuumScaleFactor "autovacuum_vacuum_scale_factor" Kind::Float { minimum: 0.0, maximum: 100.0, unit: Unit::None }, "0.2", Sighup, "Vacuuming", "Dead rows before a vacuum, as a fraction of the table's rows.";
    AutovacuumVacuumThreshold "autovacuum_vacuum_threshold" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "50", Sighup, "Vacuuming", "Fewest dead rows before a vacuum.";
    BackslashQuote "backslash_quote" Kind::Enum(&["safe_encoding", "on", "off"]), "safe_encoding", User, "Compatibility", "Whether \\' is allowed in string literals.";
    BlockSize "block_size" Kind::Integer { minimum: 8192, maximum: 8192, unit: Unit::None, words: &[] }, "8192", Internal, "Preset Options", "Shows the size of a page.";
    ByteaOutput "bytea_output" Kind::Enum(&["hex", "escape"]), "hex", User, "Client Connection Defaults", "Sets the output format for bytea.";
    CheckFunctionBodies "check_function_bodies" Kind::Bool, "on", User, "Client Connection Defaults", "Checks routine bodies during CREATE FUNCTION.";
    CheckpointCompletionTarget "checkpoint_completion_target" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "0.9", Sighup, "Write-Ahead Log", "Part of the time between checkpoints over which one is spread.";
    CheckpointTimeout "checkpoint_timeout" Kind::Integer { minimum: 30, maximum: 86400, unit: Unit::Seconds, words: &[] }, "5min", Sighup, "Write-Ahead Log", "Sets the maximum time between automatic checkpoints.";
    ClientEncoding "client_encoding" Kind::Text, "UTF8", User, "Client Connection Defaults", "Sets the client's character set encoding.";
    ClientMinMessages "client_min_messages" Kind::Enum(&["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"]), "notice", User, "Client Connection Defaults", "Sets the message levels that are sent to the client.";
    ClogUpdate "clog_update" Kind::Enum(&["cohort", "group", "each"]), "cohort", Sighup, "Commit Path", "How commit-log bits are set: by the flush's leader, by a group at the latch, or by each transaction for itself.";
    CommitDelay "commit_delay" Kind::Integer { minimum: 0, maximum: 100000, unit: Unit::None, words: &["auto"] }, "auto", Superuser, "Write-Ahead Log", "Microseconds a flush's leader waits for others to join, or auto: half a sync where syncs are long.";
    CommitDelayScope "commit_delay_scope" Kind::Enum(&["leader", "each"]), "leader", Sighup, "Commit Path", "Whether only the leader waits commit_delay, or every committer.";
    CommitSiblings "commit_siblings" Kind::Integer { minimum: 0, maximum: 1000, unit: Unit::None, words: &[] }, "5", User, "Write-Ahead Log", "Other transactions that must be running for commit_delay to apply.";
    ConstraintExclusion "constraint_exclusion" Kind::Enum(&["partition", "on", "off"]), "partition", User, "Query Tuning", "Accepted for compatibility.";
    CursorTupleFraction "cursor_tuple_fraction" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "0.1", User, "Query Tuning", "Part of a cursor's rows that is expected to be fetched.";
    DashboardListen "dashboard_listen" Kind::Text, "", Postmaster, "Reporting and Logging", "Address on which a page that shows the server at work is served over HTTP; empty for none.";
    DataChecksums "data_checksums" Kind::Bool, "on", Internal, "Preset Options", "Shows that pages carry checksums.";
    Datestyle "DateStyle" Kind::Text, "ISO, MDY", User, "Client Connection Defaults", "Sets the display format for date and time values.";
    DeadlockTimeout "deadlock_timeout" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "1s", Superuser, "Lock Management", "Time to wait on a lock before checking for deadlock.";
    DebugPrintPlan "debug_print_plan" Kind::Bool, "off", User, "Reporting and Logging", "Accepted for compatibility.";
    DefaultStatisticsTarget "default_statistics_target" Kind::Integer { minimum: 1, maximum: 10000, unit: Unit::None, words: &[] }, "100", User, "Query Tuning", "Sets the default statistics target.";
    DefaultTableAccessMethod "default_table_access_method" Kind::Text, "heap", User, "Client Connection Defaults", "Sets the default table access method for new tables.";
    DefaultTablespace "default_tablespace" Kind::Text, "", User, "Client Connection Defaults", "Sets the default tablespace; there is only one.";
    DefaultTextSearchConfig "default_text_search_config" Kind::Text, "pg_catalog.simple", User, "Client Connection Defaults", "Accepted for compatibility.";
    DefaultTransactionDeferrable "default_transaction_deferrable" Kind::Bool, "off", User, "Client Connection Defaults", "Sets the default deferrable status of new transactions.";
    DefaultTransactionIsolation "default_transaction_isolation" Kind::Enum(&["serializable", "repeatable read", "read committed", "read uncommitted"]), "read committed", User, "Client Connection Defaults", "Sets the transaction isolation level of each new transaction.";
    DefaultTransactionReadOnly "default_transaction_read_only" Kind::Bool, "off", User, "Client Connection Defaults", "Sets the default read-only status of new transactions.";
    EarlyLockRelease "early_lock_release" Kind::Bool, "on", Sighup, "Commit Path", "Releases a transaction's locks when its commit record has its place in the log, not when it is durable.";
    EnableAsyncAppend "enable_async_append" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of async append plans where there are such.";
    EnableBitmapscan "enable_bitmapscan" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of bitmapscan plans where there are such.";
    EnableGathermerge "enable_gathermerge" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of gathermerge plans where there are such.";
    EnableHashagg "enable_hashagg" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of hashagg plans where there are such.";
    EnableHashjoin "enable_hashjoin" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of hashjoin plans where there are such.";
    EnableIncrementalSort "enable_incremental_sort" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of incremental sort plans where there are such.";
    EnableIndexonlyscan "enable_indexonlyscan" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of indexonlyscan plans where there are such.";
    EnableIndexscan "enable_indexscan" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of indexscan plans where there are such.";
    EnableMaterial "enable_material" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of material plans where there are such.";
    EnableMemoize "enable_memoize" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of memoize plans where there are such.";
    EnableMergejoin "enable_mergejoin" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of mergejoin plans where there are such.";
    EnableNestloop "enable_nestloop" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of nestloop plans where there are such.";
    EnableParallelAppend "enable_parallel_append" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of parallel append plans where there are such.";
    EnableParallelHash "enable_parallel_hash" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of parallel hash plans where there are such.";
    EnablePartitionPruning "enable_partition_pruning" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of partition pruning plans where there are such.";
    EnablePartitionwiseAggregate "enable_partitionwise_aggregate" Kind::Bool, "off", User, "Query Tuning", "Enables the planner's use of partitionwise aggregate plans where there are such.";
    EnablePartitionwiseJoin "enable_partitionwise_join" Kind::Bool, "off", User, "Query Tuning", "Enables the planner's use of partitionwise join plans where there are such.";
    EnableSeqscan "enable_seqscan" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of seqscan plans where there are such.";
    EnableSort "enable_sort" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of sort plans where there are such.";
    EnableTidscan "enable_tidscan" Kind::Bool, "on", User, "Query Tuning", "Enables the planner's use of tidscan plans where there are such.";
    EscapeStringWarning "escape_string_warning" Kind::Bool, "on", User, "Compatibility", "Warns about backslash escapes in ordinary string literals.";
    ExtraFloatDigits "extra_float_digits" Kind::Integer { minimum: -15, maximum: 3, unit: Unit::None, words: &[] }, "1", User, "Client Connection Defaults", "Sets the number of digits displayed for floating-point values.";
    ForceParallelMode "force_parallel_mode" Kind::Enum(&["off", "on", "regress"]), "off", User, "Query Tuning", "Accepted for compatibility.";
    FromCollapseLimit "from_collapse_limit" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::None, words: &[] }, "8", User, "Query Tuning", "Accepted for compatibility.";
    Fsync "fsync" Kind::Bool, "on", Sighup, "Write-Ahead Log", "Forces commits to disk. Off, a power loss loses or damages data.";
    FullPageWrites "full_page_writes" Kind::Bool, "on", Sighup, "Write-Ahead Log", "Accepted for compatibility; torn pages are mended from the double-write area.";
    Geqo "geqo" Kind::Bool, "on", User, "Query Tuning", "Accepted for compatibility.";
    GinPendingListLimit "gin_pending_list_limit" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "4MB", User, "Client Connection Defaults", "Accepted for compatibility.";
    GroupCommit "group_commit" Kind::Bool, "on", Sighup, "Commit Path", "Flushes once for all that wait; off, each committer takes the log in turn, as before 9.2.";
    HbaRules "hba_rules" Kind::Text, DEFAULT_RULES, Sighup, "Connections and Authentication", "Who may connect from where and how clients are authenticated: lines of pg_hba.conf, separated by semicolons.";
    IdleInTransactionSessionTimeout "idle_in_transaction_session_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Ends a session that idles in a transaction for this long.";
    IdleSessionTimeout "idle_session_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Ends a session that idles outside a transaction for this long.";
    InHotStandby "in_hot_standby" Kind::Bool, "off", Internal, "Preset Options", "Shows whether the server is a standby.";
    IntegerDatetimes "integer_datetimes" Kind::Bool, "on", Internal, "Preset Options", "Shows that date and time values are 64-bit integers.";
    Intervalstyle "IntervalStyle" Kind::Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]), "postgres", User, "Client Connection Defaults", "Sets the display format for interval values.";
    IsSuperuser "is_superuser" Kind::Bool, "on", Internal, "Client Connection Defaults", "Shows whether the current user is a superuser.";
    Jit "jit" Kind::Bool, "off", User, "Query Tuning", "Accepted for compatibility; there is no JIT compilation.";
    JoinCollapseLimit "join_collapse_limit" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::None, words: &[] }, "8", User, "Query Tuning", "Accepted for compatibility.";
    LcCollate "lc_collate" Kind::Text, "C", Internal, "Preset Options", "Shows the collation order locale.";
    LcCtype "lc_ctype" Kind::Text, "C", Internal, "Preset Options", "Shows the character classification locale.";
    LcMessages "lc_messages" Kind::Text, "C", Superuser, "Client Connection Defaults", "Sets the language in which messages are displayed.";
    LcMonetary "lc_monetary" Kind::Text, "C", User, "Client Connection Defaults", "Accepted for compatibility.";
    LcNumeric "lc_numeric" Kind::Text, "C", User, "Client Connection Defaults", "Accepted for compatibility.";
    LcTime "lc_time" Kind::Text, "C", User, "Client Connection Defaults", "Accepted for compatibility.";
    ListenAddresses "listen_addresses" Kind::Text, "127.0.0.1", Postmaster, "Connections and Authentication", "Sets the host name or address to listen on.";
    LockTimeout "lock_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Lock Management", "Sets the maximum allowed duration of any wait for a lock.";
    LogConnections "log_connections" Kind::Bool, "off", Sighup, "Reporting and Logging", "Logs each successful connection.";
    LogDisconnections "log_disconnections" Kind::Bool, "off", Sighup, "Reporting and Logging", "Logs the end of each session.";
    LogDuration "log_duration" Kind::Bool, "off", Superuser, "Reporting and Logging", "Logs the duration of each completed statement.";
    LogErrorVerbosity "log_error_verbosity" Kind::Enum(&["terse", "default", "verbose"]), "default", Superuser, "Reporting and Logging", "Sets the verbosity of logged messages.";
    LogLockWaits "log_lock_waits" Kind::Bool, "off", Superuser, "Reporting and Logging", "Logs waits on a lock longer than deadlock_timeout.";
    LogMinDurationStatement "log_min_duration_statement" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "-1", Superuser, "Reporting and Logging", "Logs statements that run at least this long; -1 logs none.";
    LogMinMessages "log_min_messages" Kind::Enum(&["debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal", "panic"]), "warning", Superuser, "Reporting and Logging", "Sets the message levels that are logged.";
    LogMinPreparedAge "log_min_prepared_age" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Seconds, words: &[] }, "1h", Sighup, "Reporting and Logging", "Warns of transactions that have been prepared for this long and not finished; 0 for never.";
    LogSerializationConflicts "log_serialization_conflicts" Kind::Bool, "off", Sighup, "Reporting and Logging", "Logs which transactions made the structures for which serializable ones are canceled.";
    LogStatement "log_statement" Kind::Enum(&["none", "ddl", "mod", "all"]), "none", Superuser, "Reporting and Logging", "Sets the type of statements logged.";
    MaintenanceWorkMem "maintenance_work_mem" Kind::Integer { minimum: 1024, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "64MB", User, "Resource Usage", "Sets the maximum memory to be used for maintenance operations.";
    MaxConnections "max_connections" Kind::Integer { minimum: 1, maximum: 100000, unit: Unit::None, words: &[] }, "10000", Postmaster, "Connections and Authentication", "Sets the maximum number of concurrent connections.";
    MaxIdentifierLength "max_identifier_length" Kind::Integer { minimum: 63, maximum: 63, unit: Unit::None, words: &[] }, "63", Internal, "Preset Options", "Shows the maximum identifier length.";
    MaxIndexKeys "max_index_keys" Kind::Integer { minimum: 32, maximum: 32, unit: Unit::None, words: &[] }, "32", Internal, "Preset Options", "Shows the maximum number of index keys.";
    MaxLocksPerTransaction "max_locks_per_transaction" Kind::Integer { minimum: 10, maximum: 2147483647, unit: Unit::None, words: &[] }, "64", Postmaster, "Lock Management", "Accepted for compatibility; the lock table grows.";
    MaxNotifyQueuePages "max_notify_queue_pages" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Pages, words: &[] }, "64MB", Sighup, "Resource Usage", "Sets the memory for notifications that a session has not been told yet.";
    MaxParallelWorkers "max_parallel_workers" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "8", User, "Resource Usage", "Sets the maximum number of threads that help one session with long scans; no more than there are processors.";
    MaxParallelWorkersPerGather "max_parallel_workers_per_gather" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "2", User, "Resource Usage", "Sets the maximum number of threads that read one scan ahead.";
    MaxPredLocksPerPage "max_pred_locks_per_page" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "16", Sighup, "Lock Management", "Sets the maximum number of predicate-locked tuples per page.";
    MaxPredLocksPerRelation "max_pred_locks_per_relation" Kind::Integer { minimum: -2147483648, maximum: 2147483647, unit: Unit::None, words: &[] }, "512", Sighup, "Lock Management", "Sets the maximum number of predicate-locked pages, tuples and keys per relation; negative: max_pred_locks_per_transaction divided by it.";
    MaxPredLocksPerTransaction "max_pred_locks_per_transaction" Kind::Integer { minimum: 10, maximum: 2147483647, unit: Unit::None, words: &[] }, "64", Sighup, "Lock Management", "Predicate locks per session that memory is meant for; more, and they are summarised.";
    MaxPreparedTransactions "max_prepared_transactions" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "1000", Postmaster, "Resource Usage", "Sets the maximum number of simultaneously prepared transactions.";
    MaxStackDepth "max_stack_depth" Kind::Integer { minimum: 100, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "2MB", Superuser, "Resource Usage", "Accepted for compatibility; depth of statements is bounded by itself.";
    MaxUnsentOutput "max_unsent_output" Kind::Integer { minimum: 64, maximum: 1048576, unit: Unit::Kilobytes, words: &[] }, "1MB", Sighup, "Resource Usage", "Sets how much may wait for a client to read it before its session waits, for connections that are made from then on.";
    MaxWalSize "max_wal_size" Kind::Integer { minimum: 2, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "1GB", Sighup, "Write-Ahead Log", "Sets the WAL size that triggers a checkpoint.";
    MetricsListen "metrics_listen" Kind::Text, "", Postmaster, "Reporting and Logging", "Address on which metrics are served over HTTP; empty for none.";
    MinParallelTableScanSize "min_parallel_table_scan_size" Kind::Integer { minimum: 0, maximum: 715827882, unit: Unit::Pages, words: &[] }, "8MB", User, "Query Tuning", "Sets the minimum amount of table data for a scan that is read ahead.";
    MinWalSize "min_wal_size" Kind::Integer { minimum: 2, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "80MB", Sighup, "Write-Ahead Log", "Sets the size to which recycled WAL is not shrunk below.";
    PasswordEncryption "password_encryption" Kind::Enum(&["md5", "scram-sha-256"]), "scram-sha-256", User, "Connections and Authentication", "Chooses the algorithm for storing passwords.";
    PlanCacheMode "plan_cache_mode" Kind::Enum(&["auto", "force_generic_plan", "force_custom_plan"]), "auto", User, "Query Tuning", "Whether prepared statements are planned for the values of their parameters or for all values.";
    Port "port" Kind::Integer { minimum: 1, maximum: 65535, unit: Unit::None, words: &[] }, "5432", Postmaster, "Connections and Authentication", "Sets the TCP port the server listens on.";
    RandomPageCost "random_page_cost" Kind::Float { minimum: 0.0, maximum: 1e10, unit: Unit::None }, "4", User, "Query Tuning", "Sets the planner's estimate of the cost of a page fetched out of order.";
    Role "role" Kind::Text, "none", User, "Client Connection Defaults", "Sets the current role.";
    RowSecurity "row_security" Kind::Bool, "on", User, "Client Connection Defaults", "Accepted for compatibility.";
    SearchPath "search_path" Kind::Text, "\"$user\", public", User, "Client Connection Defaults", "Sets the schema search order for names that are not schema-qualified.";
    SeqPageCost "seq_page_cost" Kind::Float { minimum: 0.0, maximum: 1e10, unit: Unit::None }, "1", User, "Query Tuning", "Sets the planner's estimate of the cost of a page fetched in order.";
    ServerEncoding "server_encoding" Kind::Text, "UTF8", Internal, "Preset Options", "Shows the server's character set encoding.";
    ServerVersion "server_version" Kind::Text, "15.0 (Cohort)", Internal, "Preset Options", "Shows the server version that clients are told.";
    ServerVersionNum "server_version_num" Kind::Integer { minimum: 150000, maximum: 150000, unit: Unit::None, words: &[] }, "150000", Internal, "Preset Options", "Shows the server version as an integer.";
    SessionAuthorization "session_authorization" Kind::Text, "postgres", User, "Client Connection Defaults", "Shows the session's user name.";
    SessionReplicationRole "session_replication_role" Kind::Enum(&["origin", "replica", "local"]), "origin", Superuser, "Client Connection Defaults", "Sets the session's behavior for triggers and foreign keys.";
    SharedBuffers "shared_buffers" Kind::Integer { minimum: 16, maximum: 1073741823, unit: Unit::Pages, words: &[] }, "128MB", Postmaster, "Resource Usage", "Sets the memory used for the page cache.";
    SsiScanLocks "ssi_scan_locks" Kind::Enum(&["once", "per_tuple"]), "once", Sighup, "Commit Path", "How often a covered scan tries to take its predicate lock.";
    Ssl "ssl" Kind::Bool, "off", Sighup, "Connections and Authentication", "Enables encrypted connections.";
    SslCaFile "ssl_ca_file" Kind::Text, "", Sighup, "Connections and Authentication", "Location of the certificates that verify those of clients, in PEM; relative to the data folder. Empty: clients are asked for none.";
    SslCertFile "ssl_cert_file" Kind::Text, "server.crt", Sighup, "Connections and Authentication", "Location of the server's certificate, in PEM; relative to the data folder.";
    SslCrlFile "ssl_crl_file" Kind::Text, "", Sighup, "Connections and Authentication", "Location of the list of certificates that are revoked, in PEM; relative to the data folder.";
    SslKeyFile "ssl_key_file" Kind::Text, "server.key", Sighup, "Connections and Authentication", "Location of the private key of the server's certificate, in PEM; relative to the data folder.";
    SslMinProtocolVersion "ssl_min_protocol_version" Kind::Enum(&["TLSv1.2", "TLSv1.3"]), "TLSv1.2", Sighup, "Connections and Authentication", "Sets the minimum version of TLS.";
    StandardConformingStrings "standard_conforming_strings" Kind::Bool, "on", User, "Compatibility", "Treats backslashes in ordinary string literals literally.";
    StatementTimeout "statement_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Sets the maximum allowed duration of any statement.";
    SuperuserReservedConnections "superuser_reserved_connections" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "3", Postmaster, "Connections and Authentication", "Connections kept for superusers.";
    SynchronizeSeqscans "synchronize_seqscans" Kind::Bool, "on", User, "Compatibility", "Accepted for compatibility.";
    SynchronousCommit "synchronous_commit" Kind::Enum(&["on", "off", "local", "remote_write", "remote_apply"]), "on", User, "Write-Ahead Log", "Whether a commit's reply waits for the disk.";
    TcpKeepalivesIdle "tcp_keepalives_idle" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Seconds, words: &[] }, "0", User, "Connections and Authentication", "Time between TCP keepalives; 0 for the system's default.";
    TempBuffers "temp_buffers" Kind::Integer { minimum: 100, maximum: 1073741823, unit: Unit::Pages, words: &[] }, "8MB", User, "Resource Usage", "Accepted for compatibility.";
    Timezone "TimeZone" Kind::Text, "Etc/UTC", User, "Client Connection Defaults", "Sets the time zone for displaying and interpreting time stamps.";
    TimezoneAbbreviations "timezone_abbreviations" Kind::Text, "Default", User, "Client Connection Defaults", "Accepted for compatibility.";
    TrackActivities "track_activities" Kind::Bool, "on", Superuser, "Reporting and Logging", "Collects information about executing commands.";
    TrackActivityQuerySize "track_activity_query_size" Kind::Integer { minimum: 100, maximum: 1048576, unit: Unit::Bytes, words: &[] }, "1kB", Postmaster, "Reporting and Logging", "Sets the size reserved for pg_stat_activity.query, in bytes.";
    TrackCounts "track_counts" Kind::Bool, "on", Superuser, "Reporting and Logging", "Collects statistics on database activity.";
    TrackIoTiming "track_io_timing" Kind::Bool, "off", Superuser, "Reporting and Logging", "Accepted for compatibility.";
    TransactionBuffers "transaction_buffers" Kind::Integer { minimum: 4, maximum: 1073741823, unit: Unit::Pages, words: &[] }, "2MB", Postmaster, "Resource Usage", "Sets the memory used for the commit log's pages.";
    TransactionDeferrable "transaction_deferrable" Kind::Bool, "off", User, "Client Connection Defaults", "Whether the transaction waits until it can run without being rolled back.";
    TransactionIsolation "transaction_isolation" Kind::Enum(&["serializable", "repeatable read", "read committed", "read uncommitted"]), "read committed", User, "Client Connection Defaults", "Sets the current transaction's isolation level.";
    TransactionReadOnly "transaction_read_only" Kind::Bool, "off", User, "Client Connection Defaults", "Sets the current transaction's read-only status.";
    TransactionTimeout "transaction_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Ends a session whose transaction runs for this long.";
    TransformNullEquals "transform_null_equals" Kind::Bool, "off", User, "Compatibility", "Treats expr = NULL as expr IS NULL.";
    TwophaseState "twophase_state" Kind::Enum(&["memory", "wal", "file"]), "memory", Sighup, "Commit Path", "Where a prepared transaction's state is kept until it is finished.";
    UnixSocketDirectories "unix_socket_directories" Kind::Text, "", Postmaster, "Connections and Authentication", "Folder of the Unix socket; empty for the data folder.";
    UnixSocketPermissions "unix_socket_permissions" Kind::Integer { minimum: 0, maximum: 511, unit: Unit::None, words: &[] }, "511", Postmaster, "Connections and Authentication", "Access permissions of the Unix socket.";
    VacuumFreezeMinAge "vacuum_freeze_min_age" Kind::Integer { minimum: 0, maximum: 9000000000000000000, unit: Unit::None, words: &[] }, "50000000", User, "Vacuuming", "Age in transactions from which vacuum freezes a row.";
    WalBuffers "wal_buffers" Kind::Integer { minimum: 8, maximum: 262144, unit: Unit::Pages, words: &[] }, "16MB", Postmaster, "Write-Ahead Log", "Sets the memory in which log records wait to be written.";
    WalDirectIo "wal_direct_io" Kind::Bool, "on", Postmaster, "Write-Ahead Log", "Writes the log past the operating system's cache where the file system can.";
    WalLevel "wal_level" Kind::Enum(&["replica", "minimal", "logical"]), "replica", Postmaster, "Write-Ahead Log", "Accepted for compatibility.";
    WalSegmentSize "wal_segment_size" Kind::Integer { minimum: 1048576, maximum: 1073741824, unit: Unit::Bytes, words: &[] }, "16MB", Internal, "Preset Options", "Shows the size of a log segment.";
    WalSyncMethod "wal_sync_method" Kind::Enum(&["fdatasync", "open_datasync", "fsync"]), "fdatasync", Postmaster, "Write-Ahead Log", "Selects the method used for forcing WAL to disk.";
    WalWriterDelay "wal_writer_delay" Kind::Integer { minimum: 1, maximum: 10000, unit: Unit::Milliseconds, words: &[] }, "200ms", Sighup, "Write-Ahead Log", "Time between flushes for asynchronous commits.";
    WorkMem "work_mem" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "4MB", User, "Resource Usage", "Sets the memory a sort or hash may use before it spills.";
    WorkerThreads "worker_threads" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "0", Postmaster, "Resource Usage", "Threads that run sessions; 0 for one per core.";
    Xmlbinary "xmlbinary" Kind::Enum(&["base64", "hex"]), "base64", User, "Client Connection Defaults", "Accepted for compatibility.";
    Xmloption "xmloption" Kind::Enum(&["content", "document"]), "content", User, "Client Connection Defaults", "Accepted for compatibility.";
}
