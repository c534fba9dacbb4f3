//! Since when statistics count: the engine's counters only rise, and a view shows what they rose by since its reset.

use engine::{Database, PagedStoreStatistics, TransactionStatistics, WalStatistics};
use sync::Mutex;
use types::datetime::clock_micros;

/// The values of the counters at their last reset.
pub(crate) struct Counted {
    /// A leaf. It holds the counts of transactions too, because the log makes transactions durable.
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
    pub(crate) fn new(started_at: i64) -> Counted {
        Counted {
            wal: Mutex::new(Reset { at: started_at, counts: Default::default() }),
            commit_log: Mutex::new(Reset { at: started_at, counts: PagedStoreStatistics::default() }),
        }
    }

    /// Returns the log's counts since its reset, and the time of the reset.
    pub(crate) fn wal(&self, database: &Database) -> (WalStatistics, i64) {
        let reset = self.wal.lock();
        (database.statistics().wal.since(&reset.counts.0), reset.at)
    }

    /// Returns the counts of transactions since the log's reset.
    pub(crate) fn transactions(&self, database: &Database) -> TransactionStatistics {
        database.statistics().transactions.since(&self.wal.lock().counts.1)
    }

    /// Returns the counts of the commit log's cache since its reset, and the time of the reset.
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
