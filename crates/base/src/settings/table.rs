//! The list of all settings, in the order of their names.

use super::words::{self, Words};
use super::{Context, Kind, Unit};
use crate::access::DEFAULT_RULES;
use crate::report::Level;

/// The definition of a setting.
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
    /// The roles that may change it, and the time when they may.
    pub context: Context,
    /// The group it is listed in.
    pub category: &'static str,
    /// Its effect, in a sentence.
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
    /// Returns the definition of the setting.
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
    AllowInPlaceTablespaces "allow_in_place_tablespaces" Kind::Bool, "off", Superuser, "Developer Options", "A tablespace would lie within the data folder.";
    AllowServerFilesAsRoot "allow_server_files_as_root" Kind::Bool, "off", Postmaster, "Connections and Authentication", "Lets COPY read and write files of the server though it runs as root.";
    AllowSystemTableMods "allow_system_table_mods" Kind::Bool, "off", Superuser, "Client Connection Defaults", "Accepted for compatibility; system tables can't be changed.";
    ApplicationName "application_name" Kind::Text, "", User, "Reporting and Logging", "Sets the application name to be reported in statistics and logs.";
    ArchiveCleanupCommand "archive_cleanup_command" Kind::Text, "", Sighup, "Write-Ahead Log / Archive Recovery", "Command that a restart point of a standby runs.";
    ArchiveCommand "archive_command" Kind::Text, "", Sighup, "Write-Ahead Log / Archiving", "Command that archives a finished segment of the log.";
    ArchiveLibrary "archive_library" Kind::Text, "", Sighup, "Write-Ahead Log / Archiving", "Library that archives finished segments of the log.";
    ArchiveMode "archive_mode" Kind::Enum(&["always", "on", "off"]), "off", Postmaster, "Write-Ahead Log / Archiving", "Archives segments of the log.";
    ArchiveTimeout "archive_timeout" Kind::Integer { minimum: 0, maximum: 1073741823, unit: Unit::Seconds, words: &[] }, "0", Sighup, "Write-Ahead Log / Archiving", "Time after which a new segment of the log is begun.";
    ArrayNulls "array_nulls" Kind::Bool, "on", User, "Compatibility", "Enables input of NULL elements in arrays.";
    AuthenticationTimeout "authentication_timeout" Kind::Integer { minimum: 1, maximum: 600, unit: Unit::Seconds, words: &[] }, "1min", Sighup, "Connections and Authentication", "Sets the maximum allowed time to complete client authentication.";
    AutoExplainLogAnalyze "auto_explain.log_analyze" Kind::Bool, "off", Superuser, "Customized Options", "Use EXPLAIN ANALYZE for plan logging.";
    AutoExplainLogBuffers "auto_explain.log_buffers" Kind::Bool, "off", Superuser, "Customized Options", "Log buffers usage.";
    AutoExplainLogFormat "auto_explain.log_format" Kind::Enum(words::PlanFormat::WORDS), "text", Superuser, "Customized Options", "EXPLAIN format to be used for plan logging.";
    AutoExplainLogLevel "auto_explain.log_level" Kind::Enum(words::PlanLevel::WORDS), "log", Superuser, "Customized Options", "Log level for the plan.";
    AutoExplainLogMinDuration "auto_explain.log_min_duration" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "-1", Superuser, "Customized Options", "Sets the minimum execution time above which plans will be logged.";
    AutoExplainLogNestedStatements "auto_explain.log_nested_statements" Kind::Bool, "off", Superuser, "Customized Options", "Log nested statements.";
    AutoExplainLogSettings "auto_explain.log_settings" Kind::Bool, "off", Superuser, "Customized Options", "Log modified configuration parameters affecting query planning.";
    AutoExplainLogTiming "auto_explain.log_timing" Kind::Bool, "on", Superuser, "Customized Options", "Collect timing data, not just row counts.";
    AutoExplainLogTriggers "auto_explain.log_triggers" Kind::Bool, "off", Superuser, "Customized Options", "Include trigger statistics in plans.";
    AutoExplainLogVerbose "auto_explain.log_verbose" Kind::Bool, "off", Superuser, "Customized Options", "Use EXPLAIN VERBOSE for plan logging.";
    AutoExplainLogWal "auto_explain.log_wal" Kind::Bool, "off", Superuser, "Customized Options", "Log WAL usage.";
    AutoExplainSampleRate "auto_explain.sample_rate" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "1", Superuser, "Customized Options", "Fraction of queries to process.";
    Autovacuum "autovacuum" Kind::Bool, "on", Sighup, "Vacuuming", "Starts vacuum in the background.";
    AutovacuumAnalyzeScaleFactor "autovacuum_analyze_scale_factor" Kind::Float { minimum: 0.0, maximum: 100.0, unit: Unit::None }, "0.1", Sighup, "Autovacuum", "Changed rows before an ANALYZE, as a fraction of the table's rows.";
    AutovacuumAnalyzeThreshold "autovacuum_analyze_threshold" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "50", Sighup, "Autovacuum", "Fewest changed rows before an ANALYZE.";
    AutovacuumFreezeMaxAge "autovacuum_freeze_max_age" Kind::Integer { minimum: 100000, maximum: 2000000000, unit: Unit::None, words: &[] }, "200000000", Postmaster, "Autovacuum", "Age in transactions at which a table is vacuumed whatever else is said.";
    AutovacuumMaxWorkers "autovacuum_max_workers" Kind::Integer { minimum: 1, maximum: 262143, unit: Unit::None, words: &[] }, "3", Postmaster, "Autovacuum", "Most background vacuums at the same time.";
    AutovacuumMultixactFreezeMaxAge "autovacuum_multixact_freeze_max_age" Kind::Integer { minimum: 10000, maximum: 2000000000, unit: Unit::None, words: &[] }, "400000000", Postmaster, "Autovacuum", "The same age, in groups of row locks.";
    AutovacuumNaptime "autovacuum_naptime" Kind::Integer { minimum: 1, maximum: 2147483, unit: Unit::Seconds, words: &[] }, "1min", Sighup, "Vacuuming", "Time between two looks for tables to vacuum.";
    AutovacuumVacuumCostDelay "autovacuum_vacuum_cost_delay" Kind::Float { minimum: -1.0, maximum: 100.0, unit: Unit::Milliseconds }, "2", Sighup, "Autovacuum", "Pause of a background vacuum that has reached its limit of cost.";
    AutovacuumVacuumCostLimit "autovacuum_vacuum_cost_limit" Kind::Integer { minimum: -1, maximum: 10000, unit: Unit::None, words: &[] }, "-1", Sighup, "Autovacuum", "Cost at which a background vacuum pauses.";
    AutovacuumVacuumInsertScaleFactor "autovacuum_vacuum_insert_scale_factor" Kind::Float { minimum: 0.0, maximum: 100.0, unit: Unit::None }, "0.2", Sighup, "Autovacuum", "Inserted rows before a vacuum, as a fraction of the table's rows.";
    AutovacuumVacuumInsertThreshold "autovacuum_vacuum_insert_threshold" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::None, words: &[] }, "1000", Sighup, "Autovacuum", "Fewest inserted rows before a vacuum.";
    AutovacuumVacuumScaleFactor "autovacuum_vacuum_scale_factor" Kind::Float { minimum: 0.0, maximum: 100.0, unit: Unit::None }, "0.2", Sighup, "Vacuuming", "Dead rows before a vacuum, as a fraction of the table's rows.";
    AutovacuumVacuumThreshold "autovacuum_vacuum_threshold" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "50", Sighup, "Vacuuming", "Fewest dead rows before a vacuum.";
    AutovacuumWorkMem "autovacuum_work_mem" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "-1", Sighup, "Resource Usage / Memory", "Memory of each background vacuum.";
    BackendFlushAfter "backend_flush_after" Kind::Integer { minimum: 0, maximum: 256, unit: Unit::Pages, words: &[] }, "0", User, "Resource Usage / Asynchronous Behavior", "Pages after which a session's writes are handed to the disk.";
    BackslashQuote "backslash_quote" Kind::Enum(&["safe_encoding", "on", "off"]), "safe_encoding", User, "Compatibility", "Whether \\' is allowed in string literals.";
    BacktraceFunctions "backtrace_functions" Kind::Text, "", Superuser, "Developer Options", "Logs the calls that led to an error in one of these functions.";
    BgwriterDelay "bgwriter_delay" Kind::Integer { minimum: 10, maximum: 10000, unit: Unit::Milliseconds, words: &[] }, "200", Sighup, "Resource Usage / Background Writer", "Time between two rounds of the background writer.";
    BgwriterFlushAfter "bgwriter_flush_after" Kind::Integer { minimum: 0, maximum: 256, unit: Unit::Pages, words: &[] }, "64", Sighup, "Resource Usage / Background Writer", "Pages after which the background writer's writes are handed to the disk.";
    BgwriterLruMaxpages "bgwriter_lru_maxpages" Kind::Integer { minimum: 0, maximum: 1073741823, unit: Unit::None, words: &[] }, "100", Sighup, "Resource Usage / Background Writer", "Most pages that the background writer writes in a round.";
    BgwriterLruMultiplier "bgwriter_lru_multiplier" Kind::Float { minimum: 0.0, maximum: 10.0, unit: Unit::None }, "2", Sighup, "Resource Usage / Background Writer", "How far the background writer writes ahead of need.";
    BlockSize "block_size" Kind::Integer { minimum: 8192, maximum: 8192, unit: Unit::None, words: &[] }, "8192", Internal, "Preset Options", "Shows the size of a page.";
    Bonjour "bonjour" Kind::Bool, "off", Postmaster, "Connections and Authentication / Connection Settings", "Announces the server by Bonjour.";
    BonjourName "bonjour_name" Kind::Text, "", Postmaster, "Connections and Authentication / Connection Settings", "Name under which Bonjour announces the server.";
    ByteaOutput "bytea_output" Kind::Enum(words::ByteaOutput::WORDS), "hex", User, "Client Connection Defaults", "Sets the output format for bytea.";
    CheckFunctionBodies "check_function_bodies" Kind::Bool, "on", User, "Client Connection Defaults", "Checks routine bodies during CREATE FUNCTION.";
    CheckpointCompletionTarget "checkpoint_completion_target" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "0.9", Sighup, "Write-Ahead Log", "Part of the time between checkpoints over which one is spread.";
    CheckpointFlushAfter "checkpoint_flush_after" Kind::Integer { minimum: 0, maximum: 256, unit: Unit::Pages, words: &[] }, "32", Sighup, "Write-Ahead Log / Checkpoints", "Pages after which a checkpoint's writes are handed to the disk.";
    CheckpointTimeout "checkpoint_timeout" Kind::Integer { minimum: 30, maximum: 86400, unit: Unit::Seconds, words: &[] }, "5min", Sighup, "Write-Ahead Log", "Sets the maximum time between automatic checkpoints.";
    CheckpointWarning "checkpoint_warning" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Seconds, words: &[] }, "30", Sighup, "Write-Ahead Log / Checkpoints", "Warns of checkpoints that follow each other faster than this.";
    ClientConnectionCheckInterval "client_connection_check_interval" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Connections and Authentication", "Ends statements whose client has gone; 0 lets them go on.";
    ClientEncoding "client_encoding" Kind::Text, "UTF8", User, "Client Connection Defaults", "Sets the client's character set encoding.";
    ClientMinMessages "client_min_messages" Kind::Enum(words::MessageLevel::WORDS), "notice", User, "Client Connection Defaults", "Sets the message levels that are sent to the client.";
    ClogUpdate "clog_update" Kind::Enum(words::ClogUpdate::WORDS), "cohort", Sighup, "Commit Path", "How commit-log bits are set: by the flush's leader, by a group at the latch, or by each transaction for itself.";
    ClusterName "cluster_name" Kind::Text, "", Postmaster, "Reporting and Logging / Process Title", "Name of the server in the titles of processes.";
    CommitDelay "commit_delay" Kind::Integer { minimum: 0, maximum: 100000, unit: Unit::None, words: &["auto"] }, "auto", Superuser, "Write-Ahead Log", "Microseconds a flush's leader waits for others to join, or auto: half a sync where syncs are long.";
    CommitDelayScope "commit_delay_scope" Kind::Enum(words::DelayScope::WORDS), "leader", Sighup, "Commit Path", "Whether only the leader waits commit_delay, or every committer.";
    CommitSiblings "commit_siblings" Kind::Integer { minimum: 0, maximum: 1000, unit: Unit::None, words: &[] }, "5", User, "Write-Ahead Log", "Other transactions that must be running for commit_delay to apply.";
    ComputeQueryId "compute_query_id" Kind::Enum(&["auto", "regress", "on", "off"]), "auto", Superuser, "Statistics / Monitoring", "Computes an identifier for each query.";
    ConfigFile "config_file" Kind::Text, "", Internal, "File Locations", "Shows the configuration file that SIGHUP reads again.";
    ConstraintExclusion "constraint_exclusion" Kind::Enum(&["partition", "on", "off"]), "partition", User, "Query Tuning", "Accepted for compatibility.";
    CpuIndexTupleCost "cpu_index_tuple_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "0.005", User, "Query Tuning / Planner Cost Constants", "Sets the planner's estimate of the cost of an entry of an index.";
    CpuOperatorCost "cpu_operator_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "0.0025", User, "Query Tuning / Planner Cost Constants", "Sets the planner's estimate of the cost of an operator or function.";
    CpuTupleCost "cpu_tuple_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "0.01", User, "Query Tuning / Planner Cost Constants", "Sets the planner's estimate of the cost of a row.";
    CursorTupleFraction "cursor_tuple_fraction" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "0.1", User, "Query Tuning", "Part of a cursor's rows that is expected to be fetched.";
    DashboardListen "dashboard_listen" Kind::Text, "", Postmaster, "Reporting and Logging", "Address on which a page that shows the server at work is served over HTTP; empty for none.";
    DataChecksums "data_checksums" Kind::Bool, "on", Internal, "Preset Options", "Shows that pages carry checksums.";
    DataDirectory "data_directory" Kind::Text, "", Internal, "File Locations", "Shows the data folder.";
    DataDirectoryMode "data_directory_mode" Kind::Integer { minimum: 0, maximum: 511, unit: Unit::None, words: &[] }, "448", Internal, "Preset Options", "Shows the permissions of the data folder.";
    DataSyncRetry "data_sync_retry" Kind::Bool, "off", Postmaster, "Error Handling", "Goes on after a sync that has failed.";
    Datestyle "DateStyle" Kind::Text, "ISO, MDY", User, "Client Connection Defaults", "Sets the display format for date and time values.";
    DbUserNamespace "db_user_namespace" Kind::Bool, "off", Sighup, "Connections and Authentication / Authentication", "Gives each database users of its own.";
    DeadlockTimeout "deadlock_timeout" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "1s", Superuser, "Lock Management", "Time to wait on a lock before checking for deadlock.";
    DebugAssertions "debug_assertions" Kind::Bool, "off", Internal, "Preset Options", "Shows whether the server checks its own assumptions.";
    DebugDiscardCaches "debug_discard_caches" Kind::Integer { minimum: 0, maximum: 0, unit: Unit::None, words: &[] }, "0", Superuser, "Developer Options", "Throws caches away at each opportunity.";
    DebugPrettyPrint "debug_pretty_print" Kind::Bool, "on", User, "Reporting and Logging / What to Log", "Indents plans and parse trees in the log.";
    DebugPrintParse "debug_print_parse" Kind::Bool, "off", User, "Reporting and Logging / What to Log", "Writes parse trees to the log.";
    DebugPrintPlan "debug_print_plan" Kind::Bool, "off", User, "Reporting and Logging", "Accepted for compatibility.";
    DebugPrintRewritten "debug_print_rewritten" Kind::Bool, "off", User, "Reporting and Logging / What to Log", "Writes rewritten parse trees to the log.";
    DefaultStatisticsTarget "default_statistics_target" Kind::Integer { minimum: 1, maximum: 10000, unit: Unit::None, words: &[] }, "100", User, "Query Tuning", "Sets the default statistics target.";
    DefaultTableAccessMethod "default_table_access_method" Kind::Text, "heap", User, "Client Connection Defaults", "Sets the default table access method for new tables.";
    DefaultTablespace "default_tablespace" Kind::Text, "", User, "Client Connection Defaults", "Sets the default tablespace; there is only one.";
    DefaultTextSearchConfig "default_text_search_config" Kind::Text, "pg_catalog.simple", User, "Client Connection Defaults", "Accepted for compatibility.";
    DefaultToastCompression "default_toast_compression" Kind::Enum(&["pglz", "lz4"]), "pglz", User, "Client Connection Defaults / Statement Behavior", "Method by which large values are compressed.";
    DefaultTransactionDeferrable "default_transaction_deferrable" Kind::Bool, "off", User, "Client Connection Defaults", "Sets the default deferrable status of new transactions.";
    DefaultTransactionIsolation "default_transaction_isolation" Kind::Enum(words::IsolationLevel::WORDS), "read committed", User, "Client Connection Defaults", "Sets the transaction isolation level of each new transaction.";
    DefaultTransactionReadOnly "default_transaction_read_only" Kind::Bool, "off", User, "Client Connection Defaults", "Sets the default read-only status of new transactions.";
    DynamicLibraryPath "dynamic_library_path" Kind::Text, "$libdir", Superuser, "Client Connection Defaults / Other Defaults", "Folders in which libraries of functions are looked for.";
    DynamicSharedMemoryType "dynamic_shared_memory_type" Kind::Enum(&["posix", "sysv", "mmap"]), "posix", Postmaster, "Resource Usage / Memory", "Kind of the memory that processes share.";
    EarlyLockRelease "early_lock_release" Kind::Bool, "on", Sighup, "Commit Path", "Releases a transaction's locks when its commit record has its place in the log, not when it is durable.";
    EffectiveCacheSize "effective_cache_size" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::Pages, words: &[] }, "524288", User, "Query Tuning / Planner Cost Constants", "Sets the planner's assumption about the memory that caches pages.";
    EffectiveIoConcurrency "effective_io_concurrency" Kind::Integer { minimum: 0, maximum: 1000, unit: Unit::None, words: &[] }, "1", User, "Resource Usage / Asynchronous Behavior", "Requests to the disk that are made at the same time.";
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
    EventSource "event_source" Kind::Text, "PostgreSQL", Postmaster, "Reporting and Logging", "Sets the name of the program in the event log of Windows.";
    ExitOnError "exit_on_error" Kind::Bool, "off", User, "Error Handling", "Ends the session on any error.";
    ExtraFloatDigits "extra_float_digits" Kind::Integer { minimum: -15, maximum: 3, unit: Unit::None, words: &[] }, "1", User, "Client Connection Defaults", "Sets the number of digits displayed for floating-point values.";
    ForceParallelMode "force_parallel_mode" Kind::Enum(&["off", "on", "regress"]), "off", User, "Query Tuning", "Accepted for compatibility.";
    FromCollapseLimit "from_collapse_limit" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::None, words: &[] }, "8", User, "Query Tuning", "Accepted for compatibility.";
    Fsync "fsync" Kind::Bool, "on", Sighup, "Write-Ahead Log", "Forces commits to disk. Off, a power loss loses or damages data.";
    FullPageWrites "full_page_writes" Kind::Bool, "on", Sighup, "Write-Ahead Log", "Accepted for compatibility; torn pages are mended from the double-write area.";
    Geqo "geqo" Kind::Bool, "on", User, "Query Tuning", "Accepted for compatibility.";
    GeqoEffort "geqo_effort" Kind::Integer { minimum: 1, maximum: 10, unit: Unit::None, words: &[] }, "5", User, "Query Tuning / Genetic Query Optimizer", "Effort of the genetic search for an order of joins.";
    GeqoGenerations "geqo_generations" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "0", User, "Query Tuning / Genetic Query Optimizer", "Generations of the genetic search.";
    GeqoPoolSize "geqo_pool_size" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "0", User, "Query Tuning / Genetic Query Optimizer", "Individuals of the genetic search.";
    GeqoSeed "geqo_seed" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "0", User, "Query Tuning / Genetic Query Optimizer", "Seed of the genetic search.";
    GeqoSelectionBias "geqo_selection_bias" Kind::Float { minimum: 1.5, maximum: 2.0, unit: Unit::None }, "2", User, "Query Tuning / Genetic Query Optimizer", "Selective pressure of the genetic search.";
    GeqoThreshold "geqo_threshold" Kind::Integer { minimum: 2, maximum: 2147483647, unit: Unit::None, words: &[] }, "12", User, "Query Tuning / Genetic Query Optimizer", "Relations from which on the genetic search is used.";
    GinFuzzySearchLimit "gin_fuzzy_search_limit" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "0", User, "Client Connection Defaults / Other Defaults", "Rows that a search in a gin index may give at most.";
    GinPendingListLimit "gin_pending_list_limit" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "4MB", User, "Client Connection Defaults", "Accepted for compatibility.";
    GroupCommit "group_commit" Kind::Bool, "on", Sighup, "Commit Path", "Flushes once for all that wait; off, each committer takes the log in turn, as before 9.2.";
    HashMemMultiplier "hash_mem_multiplier" Kind::Float { minimum: 1.0, maximum: 1000.0, unit: Unit::None }, "2", User, "Resource Usage / Memory", "Memory of a hash table as a multiple of work_mem.";
    HbaRules "hba_rules" Kind::Text, DEFAULT_RULES, Sighup, "Connections and Authentication", "Who may connect from where and how clients are authenticated: lines of pg_hba.conf, separated by semicolons.";
    HotStandby "hot_standby" Kind::Bool, "on", Postmaster, "Replication / Standby Servers", "Allows queries while a standby recovers.";
    HotStandbyFeedback "hot_standby_feedback" Kind::Bool, "off", Sighup, "Replication / Standby Servers", "A standby tells which rows its queries still need.";
    HugePageSize "huge_page_size" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "0", Postmaster, "Resource Usage / Memory", "Size of the huge pages that are asked for.";
    HugePages "huge_pages" Kind::Enum(&["off", "on", "try"]), "try", Postmaster, "Resource Usage / Memory", "Uses huge pages.";
    IdleInTransactionSessionTimeout "idle_in_transaction_session_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Ends a session that idles in a transaction for this long.";
    IdleSessionTimeout "idle_session_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Ends a session that idles outside a transaction for this long.";
    IgnoreChecksumFailure "ignore_checksum_failure" Kind::Bool, "off", Superuser, "Developer Options", "Reads pages whose checksum is wrong.";
    IgnoreInvalidPages "ignore_invalid_pages" Kind::Bool, "off", Postmaster, "Developer Options", "Recovers though the log names pages that are missing.";
    InHotStandby "in_hot_standby" Kind::Bool, "off", Internal, "Preset Options", "Shows whether the server is a standby.";
    IntegerDatetimes "integer_datetimes" Kind::Bool, "on", Internal, "Preset Options", "Shows that date and time values are 64-bit integers.";
    Intervalstyle "IntervalStyle" Kind::Enum(words::IntervalStyle::WORDS), "postgres", User, "Client Connection Defaults", "Sets the display format for interval values.";
    IsSuperuser "is_superuser" Kind::Bool, "on", Internal, "Client Connection Defaults", "Shows whether the current user is a superuser.";
    Jit "jit" Kind::Bool, "off", User, "Query Tuning", "Accepted for compatibility; there is no JIT compilation.";
    JitAboveCost "jit_above_cost" Kind::Float { minimum: -1.0, maximum: f64::MAX, unit: Unit::None }, "100000", User, "Query Tuning / Planner Cost Constants", "Cost above which queries are compiled.";
    JitDumpBitcode "jit_dump_bitcode" Kind::Bool, "off", Superuser, "Developer Options", "Writes out the code of compiled queries.";
    JitExpressions "jit_expressions" Kind::Bool, "on", User, "Developer Options", "Compiles expressions.";
    JitInlineAboveCost "jit_inline_above_cost" Kind::Float { minimum: -1.0, maximum: f64::MAX, unit: Unit::None }, "500000", User, "Query Tuning / Planner Cost Constants", "Cost above which compiled functions are inlined.";
    JitOptimizeAboveCost "jit_optimize_above_cost" Kind::Float { minimum: -1.0, maximum: f64::MAX, unit: Unit::None }, "500000", User, "Query Tuning / Planner Cost Constants", "Cost above which compiled code is optimized.";
    JitProvider "jit_provider" Kind::Text, "llvmjit", Postmaster, "Client Connection Defaults / Shared Library Preloading", "Library that compiles.";
    JitTupleDeforming "jit_tuple_deforming" Kind::Bool, "on", User, "Developer Options", "Compiles what takes rows apart.";
    JoinCollapseLimit "join_collapse_limit" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::None, words: &[] }, "8", User, "Query Tuning", "Accepted for compatibility.";
    KrbCaseinsUsers "krb_caseins_users" Kind::Bool, "off", Sighup, "Connections and Authentication / Authentication", "Compares the names of Kerberos without regard to case.";
    KrbServerKeyfile "krb_server_keyfile" Kind::Text, "FILE:/etc/postgresql-common/krb5.keytab", Sighup, "Connections and Authentication / Authentication", "Location of the server's key for Kerberos.";
    LcCollate "lc_collate" Kind::Text, "C", Internal, "Preset Options", "Shows the collation order locale.";
    LcCtype "lc_ctype" Kind::Text, "C", Internal, "Preset Options", "Shows the character classification locale.";
    LcMessages "lc_messages" Kind::Text, "C", Superuser, "Client Connection Defaults", "Sets the language in which messages are displayed.";
    LcMonetary "lc_monetary" Kind::Text, "C", User, "Client Connection Defaults", "Accepted for compatibility.";
    LcNumeric "lc_numeric" Kind::Text, "C", User, "Client Connection Defaults", "Accepted for compatibility.";
    LcTime "lc_time" Kind::Text, "C", User, "Client Connection Defaults", "Accepted for compatibility.";
    ListenAddresses "listen_addresses" Kind::Text, "127.0.0.1", Postmaster, "Connections and Authentication", "Sets the host name or address to listen on.";
    LoCompatPrivileges "lo_compat_privileges" Kind::Bool, "off", Superuser, "Version and Platform Compatibility / Previous PostgreSQL Versions", "Asks for no privileges on large objects.";
    LocalPreloadLibraries "local_preload_libraries" Kind::Text, "", User, "Client Connection Defaults / Shared Library Preloading", "Libraries that each session loads.";
    LockTimeout "lock_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Lock Management", "Sets the maximum allowed duration of any wait for a lock.";
    LogAutovacuumMinDuration "log_autovacuum_min_duration" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "600000", Sighup, "Reporting and Logging", "Sets the minimum execution time above which autovacuum actions will be logged.";
    LogCheckpoints "log_checkpoints" Kind::Bool, "on", Sighup, "Reporting and Logging", "Logs each checkpoint.";
    LogConnections "log_connections" Kind::Bool, "off", SuperuserBackend, "Reporting and Logging", "Logs each successful connection.";
    LogDestination "log_destination" Kind::Text, "stderr", Sighup, "Reporting and Logging", "Sets the destination for server log output.";
    LogDirectory "log_directory" Kind::Text, "log", Sighup, "Reporting and Logging", "Sets the destination directory for log files.";
    LogDisconnections "log_disconnections" Kind::Bool, "off", SuperuserBackend, "Reporting and Logging", "Logs end of a session, including duration.";
    LogDuration "log_duration" Kind::Bool, "off", Superuser, "Reporting and Logging", "Logs the duration of each completed SQL statement.";
    LogErrorVerbosity "log_error_verbosity" Kind::Enum(words::Verbosity::WORDS), "default", Superuser, "Reporting and Logging", "Sets the verbosity of logged messages.";
    LogExecutorStats "log_executor_stats" Kind::Bool, "off", Superuser, "Statistics", "Writes executor performance statistics to the server log.";
    LogFileMode "log_file_mode" Kind::Integer { minimum: 0, maximum: 511, unit: Unit::None, words: &[] }, "384", Sighup, "Reporting and Logging", "Sets the file permissions for log files.";
    LogFilename "log_filename" Kind::Text, "postgresql-%Y-%m-%d_%H%M%S.log", Sighup, "Reporting and Logging", "Sets the file name pattern for log files.";
    LogHostname "log_hostname" Kind::Bool, "off", Sighup, "Reporting and Logging", "Logs the host name in the connection logs.";
    LogLinePrefix "log_line_prefix" Kind::Text, "%m [%p] ", Sighup, "Reporting and Logging", "Controls information prefixed to each log line.";
    LogLockWaits "log_lock_waits" Kind::Bool, "off", Superuser, "Reporting and Logging", "Logs long lock waits.";
    LogMinDurationSample "log_min_duration_sample" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "-1", Superuser, "Reporting and Logging", "Sets the minimum execution time above which a sample of statements will be logged. Sampling is determined by log_statement_sample_rate.";
    LogMinDurationStatement "log_min_duration_statement" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "-1", Superuser, "Reporting and Logging", "Sets the minimum execution time above which all statements will be logged.";
    LogMinErrorStatement "log_min_error_statement" Kind::Enum(Level::WORDS), "error", Superuser, "Reporting and Logging", "Causes all statements generating error at or above this level to be logged.";
    LogMinMessages "log_min_messages" Kind::Enum(Level::WORDS), "warning", Superuser, "Reporting and Logging", "Sets the message levels that are logged.";
    LogMinPreparedAge "log_min_prepared_age" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Seconds, words: &[] }, "1h", Sighup, "Reporting and Logging", "Warns of transactions that have been prepared for this long and not finished; 0 for never.";
    LogParameterMaxLength "log_parameter_max_length" Kind::Integer { minimum: -1, maximum: 1073741823, unit: Unit::Bytes, words: &[] }, "-1", Superuser, "Reporting and Logging", "Sets the maximum length in bytes of data logged for bind parameter values when logging statements.";
    LogParameterMaxLengthOnError "log_parameter_max_length_on_error" Kind::Integer { minimum: -1, maximum: 1073741823, unit: Unit::Bytes, words: &[] }, "0", User, "Reporting and Logging", "Sets the maximum length in bytes of data logged for bind parameter values when logging statements, on error.";
    LogParserStats "log_parser_stats" Kind::Bool, "off", Superuser, "Statistics", "Writes parser performance statistics to the server log.";
    LogPlannerStats "log_planner_stats" Kind::Bool, "off", Superuser, "Statistics", "Writes planner performance statistics to the server log.";
    LogRecoveryConflictWaits "log_recovery_conflict_waits" Kind::Bool, "off", Sighup, "Reporting and Logging", "Logs standby recovery conflict waits.";
    LogReplicationCommands "log_replication_commands" Kind::Bool, "off", Superuser, "Reporting and Logging", "Logs each replication command.";
    LogRotationAge "log_rotation_age" Kind::Integer { minimum: 0, maximum: 35791394, unit: Unit::Minutes, words: &[] }, "1440", Sighup, "Reporting and Logging", "Sets the amount of time to wait before forcing log file rotation.";
    LogRotationSize "log_rotation_size" Kind::Integer { minimum: 0, maximum: 2097151, unit: Unit::Kilobytes, words: &[] }, "10240", Sighup, "Reporting and Logging", "Sets the maximum size a log file can reach before being rotated.";
    LogSerializationConflicts "log_serialization_conflicts" Kind::Bool, "off", Sighup, "Reporting and Logging", "Logs which transactions made the structures for which serializable ones are canceled.";
    LogStartupProgressInterval "log_startup_progress_interval" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "10000", Sighup, "Reporting and Logging", "Time between progress updates for long-running startup operations.";
    LogStatement "log_statement" Kind::Enum(words::LoggedStatements::WORDS), "none", Superuser, "Reporting and Logging", "Sets the type of statements logged.";
    LogStatementSampleRate "log_statement_sample_rate" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "1", Superuser, "Reporting and Logging", "Fraction of statements exceeding log_min_duration_sample to be logged.";
    LogStatementStats "log_statement_stats" Kind::Bool, "off", Superuser, "Statistics", "Writes cumulative performance statistics to the server log.";
    LogTempFiles "log_temp_files" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "-1", Superuser, "Reporting and Logging", "Log the use of temporary files larger than this number of kilobytes.";
    LogTimezone "log_timezone" Kind::Text, "GMT", Sighup, "Reporting and Logging", "Sets the time zone to use in log messages.";
    LogTransactionSampleRate "log_transaction_sample_rate" Kind::Float { minimum: 0.0, maximum: 1.0, unit: Unit::None }, "0", Superuser, "Reporting and Logging", "Sets the fraction of transactions from which to log all statements.";
    LogTruncateOnRotation "log_truncate_on_rotation" Kind::Bool, "off", Sighup, "Reporting and Logging", "Truncate existing log files of same name during log rotation.";
    LoggingCollector "logging_collector" Kind::Bool, "off", Postmaster, "Reporting and Logging", "Start a subprocess to capture stderr, csvlog and/or jsonlog into log files.";
    LogicalDecodingWorkMem "logical_decoding_work_mem" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "65536", User, "Resource Usage / Memory", "Memory of logical decoding.";
    MaintenanceIoConcurrency "maintenance_io_concurrency" Kind::Integer { minimum: 0, maximum: 1000, unit: Unit::None, words: &[] }, "10", User, "Resource Usage / Asynchronous Behavior", "Requests to the disk that maintenance makes at the same time.";
    MaintenanceWorkMem "maintenance_work_mem" Kind::Integer { minimum: 1024, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "64MB", User, "Resource Usage", "Sets the maximum memory to be used for maintenance operations.";
    MaxConnections "max_connections" Kind::Integer { minimum: 1, maximum: 262143, unit: Unit::None, words: &[] }, "10000", Postmaster, "Connections and Authentication", "Sets the maximum number of concurrent connections.";
    MaxFilesPerProcess "max_files_per_process" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::None, words: &[] }, "1000", Postmaster, "Resource Usage / Kernel Resources", "Most open files of a process.";
    MaxFunctionArgs "max_function_args" Kind::Integer { minimum: 100, maximum: 100, unit: Unit::None, words: &[] }, "100", Internal, "Preset Options", "Shows how many arguments a function may have.";
    MaxIdentifierLength "max_identifier_length" Kind::Integer { minimum: 63, maximum: 63, unit: Unit::None, words: &[] }, "63", Internal, "Preset Options", "Shows the maximum identifier length.";
    MaxIndexKeys "max_index_keys" Kind::Integer { minimum: 32, maximum: 32, unit: Unit::None, words: &[] }, "32", Internal, "Preset Options", "Shows the maximum number of index keys.";
    MaxLocksPerTransaction "max_locks_per_transaction" Kind::Integer { minimum: 10, maximum: 2147483647, unit: Unit::None, words: &[] }, "64", Postmaster, "Lock Management", "Accepted for compatibility; the lock table grows.";
    MaxLogicalReplicationWorkers "max_logical_replication_workers" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "4", Postmaster, "Replication / Subscribers", "Most workers of logical replication.";
    MaxNotifyQueuePages "max_notify_queue_pages" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Pages, words: &[] }, "64MB", Sighup, "Resource Usage", "Sets the memory for notifications that a session has not been told yet.";
    MaxParallelMaintenanceWorkers "max_parallel_maintenance_workers" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "2", User, "Resource Usage / Asynchronous Behavior", "Most helpers of one maintenance operation.";
    MaxParallelWorkers "max_parallel_workers" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "8", User, "Resource Usage", "Sets the maximum number of threads that help one session with long scans; no more than there are processors.";
    MaxParallelWorkersPerGather "max_parallel_workers_per_gather" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "2", User, "Resource Usage", "Sets the maximum number of threads that read one scan ahead.";
    MaxPredLocksPerPage "max_pred_locks_per_page" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "16", Sighup, "Lock Management", "Sets the maximum number of predicate-locked tuples per page.";
    MaxPredLocksPerRelation "max_pred_locks_per_relation" Kind::Integer { minimum: -2147483648, maximum: 2147483647, unit: Unit::None, words: &[] }, "512", Sighup, "Lock Management", "Sets the maximum number of predicate-locked pages, tuples and keys per relation; negative: max_pred_locks_per_transaction divided by it.";
    MaxPredLocksPerTransaction "max_pred_locks_per_transaction" Kind::Integer { minimum: 10, maximum: 2147483647, unit: Unit::None, words: &[] }, "64", Sighup, "Lock Management", "Predicate locks per session that memory is meant for; more, and they are summarised.";
    MaxPreparedTransactions "max_prepared_transactions" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "1000", Postmaster, "Resource Usage", "Sets the maximum number of simultaneously prepared transactions.";
    MaxReplicationSlots "max_replication_slots" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "10", Postmaster, "Replication / Sending Servers", "Most replication slots.";
    MaxSlotWalKeepSize "max_slot_wal_keep_size" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "-1", Sighup, "Replication / Sending Servers", "Log that replication slots may hold back.";
    MaxStackDepth "max_stack_depth" Kind::Integer { minimum: 100, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "2MB", Superuser, "Resource Usage", "Accepted for compatibility; depth of statements is bounded by itself.";
    MaxStandbyArchiveDelay "max_standby_archive_delay" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "30000", Sighup, "Replication / Standby Servers", "Time for which a standby waits for queries while it replays archived log.";
    MaxStandbyStreamingDelay "max_standby_streaming_delay" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "30000", Sighup, "Replication / Standby Servers", "Time for which a standby waits for queries while it replays streamed log.";
    MaxSyncWorkersPerSubscription "max_sync_workers_per_subscription" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "2", Sighup, "Replication / Subscribers", "Most workers that copy tables for one subscription.";
    MaxUnsentOutput "max_unsent_output" Kind::Integer { minimum: 64, maximum: 1048576, unit: Unit::Kilobytes, words: &[] }, "1MB", Sighup, "Resource Usage", "Sets how much may wait for a client to read it before its session waits, for connections that are made from then on.";
    MaxWalSenders "max_wal_senders" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "10", Postmaster, "Replication / Sending Servers", "Most connections that are sent the log.";
    MaxWalSize "max_wal_size" Kind::Integer { minimum: 2, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "1GB", Sighup, "Write-Ahead Log", "Sets the WAL size that triggers a checkpoint.";
    MaxWorkerProcesses "max_worker_processes" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "8", Postmaster, "Resource Usage / Asynchronous Behavior", "Most background processes.";
    MetricsListen "metrics_listen" Kind::Text, "", Postmaster, "Reporting and Logging", "Address on which metrics are served over HTTP; empty for none.";
    MinDynamicSharedMemory "min_dynamic_shared_memory" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "0", Postmaster, "Resource Usage / Memory", "Shared memory that is reserved at the start.";
    MinParallelIndexScanSize "min_parallel_index_scan_size" Kind::Integer { minimum: 0, maximum: 715827882, unit: Unit::Pages, words: &[] }, "64", User, "Query Tuning / Planner Cost Constants", "Sets the minimum amount of index data for a scan with helpers.";
    MinParallelTableScanSize "min_parallel_table_scan_size" Kind::Integer { minimum: 0, maximum: 715827882, unit: Unit::Pages, words: &[] }, "8MB", User, "Query Tuning", "Sets the minimum amount of table data for a scan that is read ahead.";
    MinWalSize "min_wal_size" Kind::Integer { minimum: 2, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "80MB", Sighup, "Write-Ahead Log", "Sets the size to which recycled WAL is not shrunk below.";
    OldSnapshotThreshold "old_snapshot_threshold" Kind::Integer { minimum: -1, maximum: 86400, unit: Unit::Minutes, words: &[] }, "-1", Postmaster, "Resource Usage / Asynchronous Behavior", "Time after which a snapshot may be too old.";
    ParallelLeaderParticipation "parallel_leader_participation" Kind::Bool, "on", User, "Resource Usage / Asynchronous Behavior", "The session works beside its helpers.";
    ParallelSetupCost "parallel_setup_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "1000", User, "Query Tuning / Planner Cost Constants", "Sets the planner's estimate of the cost of starting helpers.";
    ParallelTupleCost "parallel_tuple_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "0.1", User, "Query Tuning / Planner Cost Constants", "Sets the planner's estimate of the cost of a row that comes from a helper.";
    PasswordEncryption "password_encryption" Kind::Enum(words::PasswordEncryption::WORDS), "scram-sha-256", User, "Connections and Authentication", "Chooses the algorithm for storing passwords.";
    PlanCacheMode "plan_cache_mode" Kind::Enum(words::PlanCacheMode::WORDS), "auto", User, "Query Tuning", "Whether prepared statements are planned for the values of their parameters or for all values.";
    PlpgsqlCheckAsserts "plpgsql.check_asserts" Kind::Bool, "on", Superuser, "Customized Options", "Whether PL/pgSQL checks what ASSERT says.";
    PlpgsqlVariableConflict "plpgsql.variable_conflict" Kind::Enum(words::VariableConflict::WORDS), "error", Superuser, "Customized Options", "What a name in PL/pgSQL stands for that is a variable's and a column's.";
    Port "port" Kind::Integer { minimum: 1, maximum: 65535, unit: Unit::None, words: &[] }, "5432", Postmaster, "Connections and Authentication", "Sets the TCP port the server listens on.";
    PreAuthDelay "pre_auth_delay" Kind::Integer { minimum: 0, maximum: 60, unit: Unit::Seconds, words: &[] }, "0", Sighup, "Developer Options", "Pause before a client is authenticated, for debuggers.";
    PrimaryConninfo "primary_conninfo" Kind::Text, "", Sighup, "Replication / Standby Servers", "How a standby connects to its primary.";
    PrimarySlotName "primary_slot_name" Kind::Text, "", Sighup, "Replication / Standby Servers", "Replication slot that a standby uses.";
    PromoteTriggerFile "promote_trigger_file" Kind::Text, "", Sighup, "Replication / Standby Servers", "File whose being there makes a standby a primary.";
    QuoteAllIdentifiers "quote_all_identifiers" Kind::Bool, "off", User, "Version and Platform Compatibility / Previous PostgreSQL Versions", "Quotes all names in texts of SQL that the server writes.";
    RandomPageCost "random_page_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "4", User, "Query Tuning", "Sets the planner's estimate of the cost of a page fetched out of order.";
    RecoveryEndCommand "recovery_end_command" Kind::Text, "", Sighup, "Write-Ahead Log / Archive Recovery", "Command that is run at the end of recovery.";
    RecoveryInitSyncMethod "recovery_init_sync_method" Kind::Enum(&["fsync", "syncfs"]), "fsync", Sighup, "Error Handling", "How files are synced before recovery.";
    RecoveryMinApplyDelay "recovery_min_apply_delay" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", Sighup, "Replication / Standby Servers", "Time that a standby lags behind.";
    RecoveryPrefetch "recovery_prefetch" Kind::Enum(&["off", "on", "try"]), "try", Sighup, "Write-Ahead Log / Recovery", "Reads pages ahead that the log is about to change.";
    RecoveryTarget "recovery_target" Kind::Text, "", Postmaster, "Write-Ahead Log / Recovery Target", "Recovers to the first consistent state.";
    RecoveryTargetAction "recovery_target_action" Kind::Enum(&["pause", "promote", "shutdown"]), "pause", Postmaster, "Write-Ahead Log / Recovery Target", "What a server does when it has recovered to its target.";
    RecoveryTargetInclusive "recovery_target_inclusive" Kind::Bool, "on", Postmaster, "Write-Ahead Log / Recovery Target", "Recovers up to and with the target.";
    RecoveryTargetLsn "recovery_target_lsn" Kind::Text, "", Postmaster, "Write-Ahead Log / Recovery Target", "Position of the log to recover to.";
    RecoveryTargetName "recovery_target_name" Kind::Text, "", Postmaster, "Write-Ahead Log / Recovery Target", "Restore point to recover to.";
    RecoveryTargetTime "recovery_target_time" Kind::Text, "", Postmaster, "Write-Ahead Log / Recovery Target", "Time to recover to.";
    RecoveryTargetTimeline "recovery_target_timeline" Kind::Text, "latest", Postmaster, "Write-Ahead Log / Recovery Target", "Timeline to recover along.";
    RecoveryTargetXid "recovery_target_xid" Kind::Text, "", Postmaster, "Write-Ahead Log / Recovery Target", "Transaction to recover to.";
    RecursiveWorktableFactor "recursive_worktable_factor" Kind::Float { minimum: 0.001, maximum: 1000000.0, unit: Unit::None }, "10", User, "Query Tuning / Other Planner Options", "Sets the planner's estimate of the rows that a round of a recursive query adds.";
    RemoveTempFilesAfterCrash "remove_temp_files_after_crash" Kind::Bool, "on", Sighup, "Developer Options", "Removes temporary files after a crash.";
    RestartAfterCrash "restart_after_crash" Kind::Bool, "on", Sighup, "Error Handling", "Starts sessions anew after one has crashed.";
    RestoreCommand "restore_command" Kind::Text, "", Sighup, "Write-Ahead Log / Archive Recovery", "Command that fetches an archived segment of the log.";
    Role "role" Kind::Text, "none", User, "Client Connection Defaults", "Sets the current role.";
    RowSecurity "row_security" Kind::Bool, "on", User, "Client Connection Defaults", "Accepted for compatibility.";
    SearchPath "search_path" Kind::Text, "\"$user\", public", User, "Client Connection Defaults", "Sets the schema search order for names that are not schema-qualified.";
    SegmentSize "segment_size" Kind::Integer { minimum: 131072, maximum: 131072, unit: Unit::Pages, words: &[] }, "131072", Internal, "Preset Options", "Shows the size of the files of a table.";
    SeqPageCost "seq_page_cost" Kind::Float { minimum: 0.0, maximum: f64::MAX, unit: Unit::None }, "1", User, "Query Tuning", "Sets the planner's estimate of the cost of a page fetched in order.";
    ServerEncoding "server_encoding" Kind::Text, "UTF8", Internal, "Preset Options", "Shows the server's character set encoding.";
    ServerVersion "server_version" Kind::Text, "15.0 (Cohort)", Internal, "Preset Options", "Shows the server version that clients are told.";
    ServerVersionNum "server_version_num" Kind::Integer { minimum: 150000, maximum: 150000, unit: Unit::None, words: &[] }, "150000", Internal, "Preset Options", "Shows the server version as an integer.";
    SessionAuthorization "session_authorization" Kind::Text, "postgres", User, "Client Connection Defaults", "Shows the session's user name.";
    SessionPreloadLibraries "session_preload_libraries" Kind::Text, "", Superuser, "Client Connection Defaults / Shared Library Preloading", "Libraries that each session loads.";
    SessionReplicationRole "session_replication_role" Kind::Enum(words::ReplicationRole::WORDS), "origin", Superuser, "Client Connection Defaults", "Sets the session's behavior for triggers and foreign keys.";
    SharedBuffers "shared_buffers" Kind::Integer { minimum: 16, maximum: 1073741823, unit: Unit::Pages, words: &[] }, "128MB", Postmaster, "Resource Usage", "Sets the memory used for the page cache.";
    SharedMemorySize "shared_memory_size" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "0", Internal, "Preset Options", "Shows the size of the memory that processes share.";
    SharedMemorySizeInHugePages "shared_memory_size_in_huge_pages" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::None, words: &[] }, "-1", Internal, "Preset Options", "Shows the huge pages for the memory that processes share.";
    SharedMemoryType "shared_memory_type" Kind::Enum(&["sysv", "mmap"]), "mmap", Postmaster, "Resource Usage / Memory", "Kind of the memory that processes share.";
    SharedPreloadLibraries "shared_preload_libraries" Kind::Text, "", Postmaster, "Client Connection Defaults / Shared Library Preloading", "Libraries that the server loads.";
    SsiScanLocks "ssi_scan_locks" Kind::Enum(words::ScanLocks::WORDS), "once", Sighup, "Commit Path", "How often a covered scan tries to take its predicate lock.";
    Ssl "ssl" Kind::Bool, "off", Sighup, "Connections and Authentication", "Enables encrypted connections.";
    SslCaFile "ssl_ca_file" Kind::Text, "", Sighup, "Connections and Authentication", "Location of the certificates that verify those of clients, in PEM; relative to the data folder. Empty: clients are asked for none.";
    SslCertFile "ssl_cert_file" Kind::Text, "server.crt", Sighup, "Connections and Authentication", "Location of the server's certificate, in PEM; relative to the data folder.";
    SslCiphers "ssl_ciphers" Kind::Text, "HIGH:MEDIUM:+3DES:!aNULL", Sighup, "Connections and Authentication / SSL", "Ciphers that TLS 1.2 may use.";
    SslCrlDir "ssl_crl_dir" Kind::Text, "", Sighup, "Connections and Authentication / SSL", "Folder with lists of certificates that are revoked.";
    SslCrlFile "ssl_crl_file" Kind::Text, "", Sighup, "Connections and Authentication", "Location of the list of certificates that are revoked, in PEM; relative to the data folder.";
    SslDhParamsFile "ssl_dh_params_file" Kind::Text, "", Sighup, "Connections and Authentication / SSL", "Location of parameters for Diffie-Hellman.";
    SslEcdhCurve "ssl_ecdh_curve" Kind::Text, "prime256v1", Sighup, "Connections and Authentication / SSL", "Curve of the key exchange.";
    SslKeyFile "ssl_key_file" Kind::Text, "server.key", Sighup, "Connections and Authentication", "Location of the private key of the server's certificate, in PEM; relative to the data folder.";
    SslLibrary "ssl_library" Kind::Text, "rustls", Internal, "Preset Options", "Shows the library that encrypts.";
    SslMaxProtocolVersion "ssl_max_protocol_version" Kind::Enum(&["", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]), "", Sighup, "Connections and Authentication / SSL", "Sets the maximum version of TLS.";
    SslMinProtocolVersion "ssl_min_protocol_version" Kind::Enum(words::LeastTls::WORDS), "TLSv1.2", Sighup, "Connections and Authentication", "Sets the minimum version of TLS.";
    SslPassphraseCommand "ssl_passphrase_command" Kind::Text, "", Sighup, "Connections and Authentication / SSL", "Command that gives the pass phrase of the private key.";
    SslPassphraseCommandSupportsReload "ssl_passphrase_command_supports_reload" Kind::Bool, "off", Sighup, "Connections and Authentication / SSL", "Runs that command on reload, too.";
    SslPreferServerCiphers "ssl_prefer_server_ciphers" Kind::Bool, "on", Sighup, "Connections and Authentication / SSL", "The server's order of ciphers counts.";
    StandardConformingStrings "standard_conforming_strings" Kind::Bool, "on", User, "Compatibility", "Treats backslashes in ordinary string literals literally.";
    StatementTimeout "statement_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Sets the maximum allowed duration of any statement.";
    StatsFetchConsistency "stats_fetch_consistency" Kind::Enum(&["none", "cache", "snapshot"]), "cache", User, "Statistics / Cumulative Query and Index Statistics", "How statistics agree with each other within a transaction.";
    SuperuserReservedConnections "superuser_reserved_connections" Kind::Integer { minimum: 0, maximum: 262143, unit: Unit::None, words: &[] }, "3", Postmaster, "Connections and Authentication", "Connections kept for superusers.";
    SynchronizeSeqscans "synchronize_seqscans" Kind::Bool, "on", User, "Compatibility", "Accepted for compatibility.";
    SynchronousCommit "synchronous_commit" Kind::Enum(words::SynchronousCommit::WORDS), "on", User, "Write-Ahead Log", "Whether a commit's reply waits for the disk.";
    SynchronousStandbyNames "synchronous_standby_names" Kind::Text, "", Sighup, "Replication / Primary Server", "Standbys that a commit waits for.";
    SyslogFacility "syslog_facility" Kind::Enum(&["local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"]), "local0", Sighup, "Reporting and Logging", "Sets the facility of messages in syslog.";
    SyslogIdent "syslog_ident" Kind::Text, "postgres", Sighup, "Reporting and Logging", "Sets the name of the program in syslog.";
    SyslogSequenceNumbers "syslog_sequence_numbers" Kind::Bool, "on", Sighup, "Reporting and Logging", "Numbers the messages in syslog.";
    SyslogSplitMessages "syslog_split_messages" Kind::Bool, "on", Sighup, "Reporting and Logging", "Splits the messages in syslog by lines.";
    TcpKeepalivesCount "tcp_keepalives_count" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::None, words: &[] }, "0", User, "Connections and Authentication", "Unanswered TCP keepalives after which a connection counts as lost; 0 for the system's default.";
    TcpKeepalivesIdle "tcp_keepalives_idle" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Seconds, words: &[] }, "0", User, "Connections and Authentication", "Time for which a connection is silent before a TCP keepalive is sent; 0 for the system's default.";
    TcpKeepalivesInterval "tcp_keepalives_interval" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Seconds, words: &[] }, "0", User, "Connections and Authentication", "Time between TCP keepalives that are not answered; 0 for the system's default.";
    TcpUserTimeout "tcp_user_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Connections and Authentication", "Time for which sent data may stay unacknowledged before a connection counts as lost; 0 for the system's default.";
    TempBuffers "temp_buffers" Kind::Integer { minimum: 100, maximum: 1073741823, unit: Unit::Pages, words: &[] }, "8MB", User, "Resource Usage", "Accepted for compatibility.";
    TempFileLimit "temp_file_limit" Kind::Integer { minimum: -1, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "-1", Superuser, "Resource Usage / Disk", "Most temporary files of a session.";
    TempTablespaces "temp_tablespaces" Kind::Text, "", User, "Client Connection Defaults / Statement Behavior", "Tablespaces of temporary tables and files.";
    Timezone "TimeZone" Kind::Text, "Etc/UTC", User, "Client Connection Defaults", "Sets the time zone for displaying and interpreting time stamps.";
    TimezoneAbbreviations "timezone_abbreviations" Kind::Text, "Default", User, "Client Connection Defaults", "Accepted for compatibility.";
    TraceNotify "trace_notify" Kind::Bool, "off", User, "Developer Options", "Tells of LISTEN and NOTIFY in the log.";
    TraceRecoveryMessages "trace_recovery_messages" Kind::Enum(&["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"]), "log", Sighup, "Developer Options", "Logs details of recovery.";
    TraceSort "trace_sort" Kind::Bool, "off", User, "Developer Options", "Tells of sorts in the log.";
    TrackActivities "track_activities" Kind::Bool, "on", Superuser, "Reporting and Logging", "Collects information about executing commands.";
    TrackActivityQuerySize "track_activity_query_size" Kind::Integer { minimum: 100, maximum: 1048576, unit: Unit::Bytes, words: &[] }, "1kB", Postmaster, "Reporting and Logging", "Sets the size reserved for pg_stat_activity.query, in bytes.";
    TrackCommitTimestamp "track_commit_timestamp" Kind::Bool, "off", Postmaster, "Replication / Sending Servers", "Keeps the time of each commit.";
    TrackCounts "track_counts" Kind::Bool, "on", Superuser, "Reporting and Logging", "Collects statistics on database activity.";
    TrackFunctions "track_functions" Kind::Enum(&["none", "pl", "all"]), "none", Superuser, "Statistics / Cumulative Query and Index Statistics", "Counts calls of functions.";
    TrackIoTiming "track_io_timing" Kind::Bool, "off", Superuser, "Reporting and Logging", "Accepted for compatibility.";
    TrackWalIoTiming "track_wal_io_timing" Kind::Bool, "off", Superuser, "Statistics / Cumulative Query and Index Statistics", "Times writes of the log.";
    TransactionBuffers "transaction_buffers" Kind::Integer { minimum: 4, maximum: 1073741823, unit: Unit::Pages, words: &[] }, "2MB", Postmaster, "Resource Usage", "Sets the memory used for the commit log's pages.";
    TransactionDeferrable "transaction_deferrable" Kind::Bool, "off", User, "Client Connection Defaults", "Whether the transaction waits until it can run without being rolled back.";
    TransactionIsolation "transaction_isolation" Kind::Enum(words::IsolationLevel::WORDS), "read committed", User, "Client Connection Defaults", "Sets the current transaction's isolation level.";
    TransactionReadOnly "transaction_read_only" Kind::Bool, "off", User, "Client Connection Defaults", "Sets the current transaction's read-only status.";
    TransactionTimeout "transaction_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "0", User, "Client Connection Defaults", "Ends a session whose transaction runs for this long.";
    TransformNullEquals "transform_null_equals" Kind::Bool, "off", User, "Compatibility", "Treats expr = NULL as expr IS NULL.";
    TwophaseState "twophase_state" Kind::Enum(words::TwophaseState::WORDS), "memory", Sighup, "Commit Path", "Where a prepared transaction's state is kept until it is finished.";
    UnixSocketDirectories "unix_socket_directories" Kind::Text, ".", Postmaster, "Connections and Authentication", "Folders of the Unix sockets, separated by commas; relative to the data folder. Empty for none.";
    UnixSocketGroup "unix_socket_group" Kind::Text, "", Postmaster, "Connections and Authentication", "Group that the Unix sockets belong to; empty for the server's own.";
    UnixSocketPermissions "unix_socket_permissions" Kind::Integer { minimum: 0, maximum: 511, unit: Unit::None, words: &[] }, "511", Postmaster, "Connections and Authentication", "Access permissions of the Unix socket.";
    UpdateProcessTitle "update_process_title" Kind::Bool, "on", Superuser, "Reporting and Logging / Process Title", "Shows what a session does in the title of its process.";
    VacuumCostDelay "vacuum_cost_delay" Kind::Float { minimum: 0.0, maximum: 100.0, unit: Unit::Milliseconds }, "0", User, "Resource Usage / Cost-Based Vacuum Delay", "Pause of a vacuum that has reached its limit of cost.";
    VacuumCostLimit "vacuum_cost_limit" Kind::Integer { minimum: 1, maximum: 10000, unit: Unit::None, words: &[] }, "200", User, "Resource Usage / Cost-Based Vacuum Delay", "Cost at which a vacuum pauses.";
    VacuumCostPageDirty "vacuum_cost_page_dirty" Kind::Integer { minimum: 0, maximum: 10000, unit: Unit::None, words: &[] }, "20", User, "Resource Usage / Cost-Based Vacuum Delay", "Cost of a page that vacuum changes.";
    VacuumCostPageHit "vacuum_cost_page_hit" Kind::Integer { minimum: 0, maximum: 10000, unit: Unit::None, words: &[] }, "1", User, "Resource Usage / Cost-Based Vacuum Delay", "Cost of a page that is in memory.";
    VacuumCostPageMiss "vacuum_cost_page_miss" Kind::Integer { minimum: 0, maximum: 10000, unit: Unit::None, words: &[] }, "2", User, "Resource Usage / Cost-Based Vacuum Delay", "Cost of a page that is read.";
    VacuumDeferCleanupAge "vacuum_defer_cleanup_age" Kind::Integer { minimum: 0, maximum: 1000000, unit: Unit::None, words: &[] }, "0", Sighup, "Replication / Primary Server", "Transactions for which vacuum keeps dead rows.";
    VacuumFailsafeAge "vacuum_failsafe_age" Kind::Integer { minimum: 0, maximum: 2100000000, unit: Unit::None, words: &[] }, "1600000000", User, "Client Connection Defaults / Statement Behavior", "Age at which vacuum leaves out all that is not urgent.";
    VacuumFreezeMinAge "vacuum_freeze_min_age" Kind::Integer { minimum: 0, maximum: 9000000000000000000, unit: Unit::None, words: &[] }, "50000000", User, "Vacuuming", "Age in transactions from which vacuum freezes a row.";
    VacuumFreezeTableAge "vacuum_freeze_table_age" Kind::Integer { minimum: 0, maximum: 2000000000, unit: Unit::None, words: &[] }, "150000000", User, "Client Connection Defaults / Statement Behavior", "Age at which vacuum reads a whole table.";
    VacuumMultixactFailsafeAge "vacuum_multixact_failsafe_age" Kind::Integer { minimum: 0, maximum: 2100000000, unit: Unit::None, words: &[] }, "1600000000", User, "Client Connection Defaults / Statement Behavior", "The same age as vacuum_failsafe_age, in groups of row locks.";
    VacuumMultixactFreezeMinAge "vacuum_multixact_freeze_min_age" Kind::Integer { minimum: 0, maximum: 1000000000, unit: Unit::None, words: &[] }, "5000000", User, "Client Connection Defaults / Statement Behavior", "Age from which vacuum replaces a group of row locks.";
    VacuumMultixactFreezeTableAge "vacuum_multixact_freeze_table_age" Kind::Integer { minimum: 0, maximum: 2000000000, unit: Unit::None, words: &[] }, "150000000", User, "Client Connection Defaults / Statement Behavior", "Age in groups of row locks at which vacuum reads a whole table.";
    WalBlockSize "wal_block_size" Kind::Integer { minimum: 8192, maximum: 8192, unit: Unit::None, words: &[] }, "8192", Internal, "Preset Options", "Shows the size of a page of the log.";
    WalBuffers "wal_buffers" Kind::Integer { minimum: 8, maximum: 262144, unit: Unit::Pages, words: &[] }, "16MB", Postmaster, "Write-Ahead Log", "Sets the memory in which log records wait to be written.";
    WalCompression "wal_compression" Kind::Enum(&["pglz", "lz4", "zstd", "on", "off"]), "off", Superuser, "Write-Ahead Log / Settings", "Compresses pages in the log.";
    WalConsistencyChecking "wal_consistency_checking" Kind::Text, "", Superuser, "Developer Options", "Checks pages against the log during recovery.";
    WalDecodeBufferSize "wal_decode_buffer_size" Kind::Integer { minimum: 65536, maximum: 1073741823, unit: Unit::Bytes, words: &[] }, "524288", Postmaster, "Write-Ahead Log / Recovery", "Memory for reading the log ahead in recovery.";
    WalDirectIo "wal_direct_io" Kind::Bool, "on", Postmaster, "Write-Ahead Log", "Writes the log past the operating system's cache where the file system can.";
    WalInitZero "wal_init_zero" Kind::Bool, "on", Superuser, "Write-Ahead Log / Settings", "Fills new segments of the log with zeros.";
    WalKeepSize "wal_keep_size" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Megabytes, words: &[] }, "0", Sighup, "Replication / Sending Servers", "Log that is kept for standbys.";
    WalLevel "wal_level" Kind::Enum(words::WalLevel::WORDS), "replica", Postmaster, "Write-Ahead Log", "The log can do without restore points where this is minimal.";
    WalLogHints "wal_log_hints" Kind::Bool, "off", Postmaster, "Write-Ahead Log / Settings", "Writes pages to the log at hints, too.";
    WalReceiverCreateTempSlot "wal_receiver_create_temp_slot" Kind::Bool, "off", Sighup, "Replication / Standby Servers", "A standby makes a temporary replication slot.";
    WalReceiverStatusInterval "wal_receiver_status_interval" Kind::Integer { minimum: 0, maximum: 2147483, unit: Unit::Seconds, words: &[] }, "10", Sighup, "Replication / Standby Servers", "Time between two reports of a standby.";
    WalReceiverTimeout "wal_receiver_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "60000", Sighup, "Replication / Standby Servers", "Time after which a standby gives its primary up.";
    WalRecycle "wal_recycle" Kind::Bool, "on", Superuser, "Write-Ahead Log / Settings", "Uses segments of the log again.";
    WalRetrieveRetryInterval "wal_retrieve_retry_interval" Kind::Integer { minimum: 1, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "5000", Sighup, "Replication / Standby Servers", "Time before a standby asks again for log.";
    WalSegmentSize "wal_segment_size" Kind::Integer { minimum: 1048576, maximum: 1073741824, unit: Unit::Bytes, words: &[] }, "16MB", Internal, "Preset Options", "Shows the size of a log segment.";
    WalSenderTimeout "wal_sender_timeout" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Milliseconds, words: &[] }, "60000", User, "Replication / Sending Servers", "Time after which a standby counts as gone.";
    WalSkipThreshold "wal_skip_threshold" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "2048", User, "Write-Ahead Log / Settings", "Size from which new relations are synced and not logged, where wal_level is minimal.";
    WalSyncMethod "wal_sync_method" Kind::Enum(words::SyncMethod::WORDS), "fdatasync", Postmaster, "Write-Ahead Log", "Selects the method used for forcing WAL to disk.";
    WalWriterDelay "wal_writer_delay" Kind::Integer { minimum: 1, maximum: 10000, unit: Unit::Milliseconds, words: &[] }, "200ms", Sighup, "Write-Ahead Log", "Time between flushes for asynchronous commits.";
    WalWriterFlushAfter "wal_writer_flush_after" Kind::Integer { minimum: 0, maximum: 2147483647, unit: Unit::Pages, words: &[] }, "128", Sighup, "Write-Ahead Log / Settings", "Log after which the writer of the log flushes.";
    WorkMem "work_mem" Kind::Integer { minimum: 64, maximum: 2147483647, unit: Unit::Kilobytes, words: &[] }, "4MB", User, "Resource Usage", "Sets the memory a sort or hash may use before it spills.";
    WorkerThreads "worker_threads" Kind::Integer { minimum: 0, maximum: 1024, unit: Unit::None, words: &[] }, "0", Postmaster, "Resource Usage", "Threads that run sessions; 0 for one per core.";
    Xmlbinary "xmlbinary" Kind::Enum(&["base64", "hex"]), "base64", User, "Client Connection Defaults", "Accepted for compatibility.";
    Xmloption "xmloption" Kind::Enum(&["content", "document"]), "content", User, "Client Connection Defaults", "Accepted for compatibility.";
    ZeroDamagedPages "zero_damaged_pages" Kind::Bool, "off", Superuser, "Developer Options", "Reads damaged pages as empty ones.";
}
