//! Settings of the server that change while it works, and sessions that end each other.

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::session::Session;
use crate::wire::Trouble;

/// Settings that choose another path through the engine, with values of theirs.
const SETTINGS: &[(&str, &[&str])] = &[
    ("commit_delay", &["0", "200", "auto"]),
    ("commit_siblings", &["0", "5"]),
    ("commit_delay_scope", &["leader", "each"]),
    ("group_commit", &["on", "off"]),
    ("clog_update", &["cohort", "group", "each"]),
    ("early_lock_release", &["on", "off"]),
    ("twophase_state", &["memory", "wal", "file"]),
    ("ssi_scan_locks", &["once", "per_tuple"]),
    ("max_wal_size", &["2MB", "32MB", "1GB"]),
    ("min_wal_size", &["2MB", "80MB"]),
    ("checkpoint_timeout", &["30s", "5min"]),
    ("checkpoint_completion_target", &["0", "0.9"]),
    ("wal_writer_delay", &["1ms", "200ms"]),
    ("autovacuum", &["on", "off"]),
    ("autovacuum_naptime", &["1s", "1min"]),
    ("autovacuum_vacuum_threshold", &["0", "50"]),
    ("vacuum_freeze_min_age", &["0", "50000000"]),
    ("max_pred_locks_per_transaction", &["10", "64"]),
    ("max_pred_locks_per_page", &["0", "16"]),
    ("max_parallel_workers_per_gather", &["0", "2"]),
    ("min_parallel_table_scan_size", &["0", "8MB"]),
];

/// Changes a setting of the server.
///
/// # Errors
/// Errors of the statements.
pub async fn change(session: &mut Session) -> Result<(), Trouble> {
    let (name, values) = SETTINGS.choose(&mut session.random).expect("there are some");
    if session.torture.options.keep_setting.iter().any(|kept| kept == name) {
        return Ok(());
    }
    let value = values.choose(&mut session.random).expect("there are some");
    let text = match session.random.random_range(0..10) {
        0 => "alter system reset all".to_owned(),
        1 => format!("alter system reset {name}"),
        _ => format!("alter system set {name} = '{value}'"),
    };
    session.say(&text).await?;
    session.say("select pg_reload_conf()").await.map(|_| ())
}

/// Ends another session, or its statement.
///
/// # Errors
/// Errors of the statement.
pub async fn end_another(session: &mut Session) -> Result<(), Trouble> {
    let others = session.torture.options.sessions;
    // Not the first one, which finishes prepared transactions.
    let other = session.random.random_range(1..others);
    let pid = session.torture.traces[other].pid();
    let function = ["pg_terminate_backend", "pg_cancel_backend"].choose(&mut session.random).expect("there are two");
    session.say(&format!("select {function}({pid})")).await.map(|_| ())
}
