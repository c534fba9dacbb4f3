//! The server's counters and its present state at one moment: the only source of the metrics and of the dashboard.
//!
//! The engine counts from when it was opened. Sessions can reset the statistics of their views, which does not change these counters.
//! Reading them all visits each session and each slot of the running set: two milliseconds with nine thousand sessions.

use std::collections::BTreeMap;
use std::time::Instant;

use engine::{PagedStoreStatistics, PreparedTransaction, Statistics};
use sql::types::datetime::clock_micros;
use sql::{Activity, Instance, SessionWait};
use sync::LatchCounters;

/// The states of sessions, in the order in which charts show them.
pub(crate) const ACTIVITIES: [Activity; 4] =
    [Activity::Active, Activity::Idle, Activity::IdleInTransaction, Activity::IdleInFailedTransaction];

/// See the module.
pub(crate) struct Figures {
    /// The moment at which the figures were read.
    pub at: Instant,
    /// The counters below SQL.
    pub statistics: Statistics,
    /// The number of sessions in each state.
    pub sessions: [(Activity, u64); 4],
    /// The number of sessions for each kind of wait.
    pub waits: BTreeMap<SessionWait, u64>,
    /// Time limits of statements and transactions that are running, at most two for each session.
    pub time_limits: u64,
    /// Transactions in progress that have an identifier and are not prepared.
    pub running: u64,
    /// Commits whose status bits are not set yet.
    pub unretired: u64,
    /// Prepared transactions, the oldest first, with their age in microseconds.
    pub prepared: Vec<(PreparedTransaction, u64)>,
    /// Where the log's next record goes.
    pub reserved: u64,
    /// Up to where the log is durable.
    pub durable: u64,
    /// Groups that set their status bits together, and their members.
    pub clog_groups: (u64, u64),
    /// The commit log's cache.
    pub commit_log: PagedStoreStatistics,
    /// The counters of each class of latches, by its name.
    pub latches: Vec<(&'static str, LatchCounters)>,
    /// Transactions sacrificed to serializability, by reason.
    pub serialization_failures: Vec<(&'static str, u64)>,
    /// Serializable transactions begun, conflicts among them, those in progress, and predicate locks.
    pub serializable: Serializable,
}

/// Counts of serializable transactions, past and in progress.
pub(crate) struct Serializable {
    pub begun: u64,
    pub conflicts: u64,
    pub active: u64,
    pub predicate_locks: u64,
}

impl Figures {
    /// Reads all.
    pub(crate) fn read(instance: &Instance) -> Figures {
        let database = instance.database();
        let transactions = database.transactions();
        let mut sessions = ACTIVITIES.map(|activity| (activity, 0));
        let mut by_wait = BTreeMap::new();
        let waits = instance.waits();
        for session in instance.sessions() {
            let activity = session.activity();
            sessions.iter_mut().filter(|(other, _)| *other == activity).for_each(|(_, count)| *count += 1);
            if let Some(wait) = waits.of(&session) {
                *by_wait.entry(wait).or_default() += 1;
            }
        }
        let now = clock_micros();
        let mut prepared: Vec<_> = transactions
            .prepared_transactions()
            .into_iter()
            .map(|prepared| {
                let age_us = now.saturating_sub(prepared.at_micros).max(0) as u64;
                (prepared, age_us)
            })
            .collect();
        prepared.sort_by_key(|(_, age_us)| std::cmp::Reverse(*age_us));
        let clog = database.status().clog();
        let groups = clog.group_statistics();
        let ssi = transactions.ssi().statistics();
        // In this order, so that what is durable is never more than what there is.
        let durable = database.wal().durable().0;
        let reserved = database.wal().reserved().0;
        Figures {
            at: Instant::now(),
            statistics: database.statistics(),
            sessions,
            waits: by_wait,
            time_limits: instance.time_limits() as u64,
            running: transactions.running().len().saturating_sub(prepared.len()) as u64,
            unretired: transactions.unretired(),
            prepared,
            reserved,
            durable,
            clog_groups: (groups.groups, groups.members),
            commit_log: clog.statistics(),
            latches: sync::latch_classes().into_iter().map(|class| (class.name, class.totals())).collect(),
            serialization_failures: engine::SERIALIZATION_FAILURES.into_iter().zip(ssi.aborts).collect(),
            serializable: Serializable {
                begun: ssi.begun,
                conflicts: ssi.conflicts,
                active: ssi.active,
                predicate_locks: ssi.locks,
            },
        }
    }

    /// The age of the oldest prepared transaction, in microseconds; 0 if there is none.
    pub(crate) fn oldest_prepared_us(&self) -> u64 {
        self.prepared.first().map_or(0, |(_, age_us)| *age_us)
    }
}
