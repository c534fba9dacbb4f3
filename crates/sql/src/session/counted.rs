//! Since when statistics count: the engine's counters only rise, and a view shows what they rose by since its reset.

use engine::{Database, PagedStoreStatistics, TransactionStatistics, WalStatistics};
use sync::Mutex;
use types::datetime::clock_micros;

/// What the counters said when they were last set back.
pub(crate) struct Counted {
    /// A leaf. Of transactions too, which the log makes durable.
    wal: Mutex<Reset<(WalStatistics, TransactionStatistics)>>,
    /// A leaf.
    commit_log: Mutex<Reset<PagedStoreStatistics>>,
}

struct Reset<S> {
    /// Microseconds since 2000-01-01 UTC.
    at: i64,
    counts: S,
}

impl Counted {
    /// Counting from the start.
    pub(super) fn new(started_at: i64) -> Counted {
        Counted {
            wal: Mutex::new(Reset { at: started_at, counts: Default::default() }),
            commit_log: Mutex::new(Reset { at: started_at, counts: PagedStoreStatistics::default() }),
        }
    }

    /// What the log has done since its reset, and when that was.
    pub(crate) fn wal(&self, database: &Database) -> (WalStatistics, i64) {
        let reset = self.wal.lock();
        (database.statistics().wal.since(&reset.counts.0), reset.at)
    }

    /// What transactions have done since the log's reset.
    pub(crate) fn transactions(&self, database: &Database) -> TransactionStatistics {
        database.statistics().transactions.since(&self.wal.lock().counts.1)
    }

    /// What the commit log's cache has done since its reset, and when that was.
    pub(crate) fn commit_log(&self, database: &Database) -> (PagedStoreStatistics, i64) {
        let reset = self.commit_log.lock();
        (database.status().clog().statistics().since(&reset.counts), reset.at)
    }

    /// The counts of the log and of transactions begin anew.
    pub(crate) fn reset_wal(&self, database: &Database) {
        let statistics = database.statistics();
        *self.wal.lock() = Reset { at: clock_micros(), counts: (statistics.wal, statistics.transactions) };
    }

    /// The commit log's counts begin anew.
    pub(crate) fn reset_commit_log(&self, database: &Database) {
        *self.commit_log.lock() = Reset { at: clock_micros(), counts: database.status().clog().statistics() };
    }
}
