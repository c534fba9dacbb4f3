//! Why a transaction was sacrificed.

use base::{Error, Xid, sqlstate};
use sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The reason that a 40001 gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It wrote what somebody had read, and had read itself what a committed transaction wrote.
    PivotDuringWrite,
    /// It read what a pivot wrote that has committed, or was prepared.
    ConflictOutToPivot(Xid),
    /// The same, of a transaction that is only remembered in summary.
    ConflictOutToOldPivot(Xid),
    /// It had been read from, and read what a transaction that is only remembered in summary wrote.
    PivotWithOldConflictOut(Xid),
    /// Another's commit made it a pivot; it found out while reading.
    PivotDuringConflictOut,
    /// Another's commit made it a pivot; it found out while writing.
    PivotDuringConflictIn,
    /// Another's commit made it a pivot; it found out when it wanted to commit.
    PivotDuringCommit,
    /// Its commit would have made a prepared transaction a pivot that must not commit.
    ConflictInFromPreparedPivot,
}

impl Reason {
    /// How many reasons there are.
    pub const KINDS: usize = 8;

    /// Their names, as `cohort_stat_ssi` lists them.
    pub const NAMES: [&'static str; Reason::KINDS] = [
        "pivot_during_write",
        "conflict_out_to_pivot",
        "conflict_out_to_old_pivot",
        "pivot_with_old_conflict_out",
        "pivot_during_conflict_out",
        "pivot_during_conflict_in",
        "pivot_during_commit",
        "conflict_in_from_prepared_pivot",
    ];

    pub(crate) fn index(self) -> usize {
        match self {
            Reason::PivotDuringWrite => 0,
            Reason::ConflictOutToPivot(_) => 1,
            Reason::ConflictOutToOldPivot(_) => 2,
            Reason::PivotWithOldConflictOut(_) => 3,
            Reason::PivotDuringConflictOut => 4,
            Reason::PivotDuringConflictIn => 5,
            Reason::PivotDuringCommit => 6,
            Reason::ConflictInFromPreparedPivot => 7,
        }
    }

    fn text(self) -> String {
        match self {
            Reason::PivotDuringWrite => "Canceled on identification as a pivot, during write.".into(),
            Reason::ConflictOutToPivot(xid) => format!("Canceled on conflict out to pivot {}, during read.", xid.0),
            Reason::ConflictOutToOldPivot(xid) => format!("Canceled on conflict out to old pivot {}.", xid.0),
            Reason::PivotWithOldConflictOut(xid) => format!(
                "Canceled on identification as a pivot, with conflict out to old committed transaction {}.",
                xid.0
            ),
            Reason::PivotDuringConflictOut => {
                "Canceled on identification as a pivot, during conflict out checking.".into()
            }
            Reason::PivotDuringConflictIn => {
                "Canceled on identification as a pivot, during conflict in checking.".into()
            }
            Reason::PivotDuringCommit => "Canceled on identification as a pivot, during commit attempt.".into(),
            Reason::ConflictInFromPreparedPivot => {
                "Canceled on commit attempt with conflict in from prepared pivot.".into()
            }
        }
    }

    /// The error (40001), with PostgreSQL's message, DETAIL and HINT.
    #[cold]
    pub fn error(self) -> Error {
        let message = "could not serialize access due to read/write dependencies among transactions";
        Error::new(sqlstate::SERIALIZATION_FAILURE, message)
            .detail(format!("Reason code: {}", self.text()))
            .hint("The transaction might succeed if retried.")
    }
}

/// How often each thing happened.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) aborts: [AtomicU64; Reason::KINDS],
    pub(crate) safe_at_once: AtomicU64,
    pub(crate) became_safe: AtomicU64,
    pub(crate) became_unsafe: AtomicU64,
    pub(crate) promoted_to_page: AtomicU64,
    pub(crate) promoted_to_relation: AtomicU64,
    pub(crate) summarised: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_abort(&self, reason: Reason) {
        Counters::add(&self.aborts[reason.index()]);
    }
}

/// The content of `cohort_stat_ssi`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Transactions sacrificed, by reason ([`Reason::NAMES`]).
    pub aborts: [u64; Reason::KINDS],
    /// Serializable transactions that took a snapshot and were watched.
    pub begun: u64,
    /// Read-only ones whose snapshot was safe from the start.
    pub safe_at_once: u64,
    /// Read-only ones whose snapshot turned out to be safe.
    pub became_safe: u64,
    /// Read-only ones whose snapshot turned out not to be safe.
    pub became_unsafe: u64,
    /// Conflicts noted.
    pub conflicts: u64,
    /// Locks on tuples that became one on their page.
    pub promoted_to_page: u64,
    /// Locks on pages, tuples, keys or ranges that became one on the relation.
    pub promoted_to_relation: u64,
    /// Finished transactions whose locks were merged.
    pub summarised: u64,
    /// Transactions in progress.
    pub active: u64,
    /// Finished transactions that some transaction in progress still overlaps.
    pub finished: u64,
    /// Sessions that wait for their turn to try again.
    pub retries_waiting: u64,
    /// Predicate locks held now.
    pub locks: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_why_and_what_to_do() {
        let error = Reason::ConflictOutToPivot(Xid(77)).error();
        assert_eq!(error.sqlstate(), sqlstate::SERIALIZATION_FAILURE);
        let fields = error.fields();
        assert_eq!(fields.detail.as_deref(), Some("Reason code: Canceled on conflict out to pivot 77, during read."));
        assert_eq!(fields.hint.as_deref(), Some("The transaction might succeed if retried."));
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let mut names = Reason::NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::KINDS);
        assert_eq!(Reason::ConflictInFromPreparedPivot.index(), Reason::KINDS - 1);
    }
}
