//! The activity of a table since its last vacuum, counted without locks.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Counts of one table since the database was opened; lost at a crash, which only makes the next vacuum later.
///
/// Each row operation raises one counter. Totals are computed from the counters when somebody asks for them.
#[derive(Debug, Default)]
pub struct TableActivity {
    inserted: AtomicU64,
    updated_elsewhere: AtomicU64,
    updated_in_page: AtomicU64,
    deleted: AtomicU64,
    /// Large values that no row names any more. Nobody prunes these by the way, as rows are.
    erased_values: AtomicU64,
    /// The part of `erased_values` that the last vacuum has seen.
    vacuumed_values: AtomicU64,
    /// Added to the counts to get the number of live rows, and of dead ones. Vacuum sets both bases.
    live_base: AtomicI64,
    dead_base: AtomicI64,
}

impl TableActivity {
    #[inline]
    pub(crate) fn count_inserts(&self, rows: u64) {
        self.inserted.fetch_add(rows, Ordering::Relaxed);
    }

    /// `in_page`: without new index entries; such versions are pruned by whoever reads the page.
    #[inline]
    pub(crate) fn count_update(&self, in_page: bool) {
        let counter = if in_page { &self.updated_in_page } else { &self.updated_elsewhere };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn count_delete(&self) {
        self.deleted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_erased_values(&self, values: u64) {
        self.erased_values.fetch_add(values, Ordering::Relaxed);
    }

    /// A vacuum found so many rows.
    pub(crate) fn vacuumed(&self, live: u64, dead: u64) {
        self.vacuumed_values.store(self.erased_values.load(Ordering::Relaxed), Ordering::Relaxed);
        self.live_base.store(live as i64 - self.grown(), Ordering::Relaxed);
        self.dead_base.store(dead as i64 - self.died(), Ordering::Relaxed);
    }

    fn grown(&self) -> i64 {
        self.inserted() as i64 - self.deleted() as i64
    }

    fn died(&self) -> i64 {
        self.updated_elsewhere.load(Ordering::Relaxed) as i64 + self.deleted() as i64
    }

    /// Rows inserted.
    pub fn inserted(&self) -> u64 {
        self.inserted.load(Ordering::Relaxed)
    }

    /// Rows updated.
    pub fn updated(&self) -> u64 {
        self.updated_elsewhere.load(Ordering::Relaxed) + self.updated_in_page()
    }

    /// Rows updated within their page, without new index entries.
    pub fn updated_in_page(&self) -> u64 {
        self.updated_in_page.load(Ordering::Relaxed)
    }

    /// Rows deleted.
    pub fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::Relaxed)
    }

    /// Row versions that a vacuum could remove, about.
    pub fn dead(&self) -> u64 {
        (self.dead_base.load(Ordering::Relaxed) + self.died()).max(0) as u64
    }

    /// Large values that a vacuum could remove, about.
    pub fn dead_values(&self) -> u64 {
        self.erased_values.load(Ordering::Relaxed).saturating_sub(self.vacuumed_values.load(Ordering::Relaxed))
    }

    /// Rows, about.
    pub fn live(&self) -> u64 {
        (self.live_base.load(Ordering::Relaxed) + self.grown()).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vacuum_sets_what_is_live_and_dead_and_counting_goes_on_from_there() {
        let activity = TableActivity::default();
        activity.count_inserts(100);
        activity.count_update(true);
        activity.count_update(false);
        activity.count_delete();
        assert_eq!((activity.live(), activity.dead(), activity.updated()), (99, 2, 2));
        activity.vacuumed(99, 0);
        assert_eq!((activity.live(), activity.dead()), (99, 0));
        activity.count_delete();
        assert_eq!((activity.live(), activity.dead(), activity.deleted()), (98, 1, 2));
        activity.count_erased_values(3);
        assert_eq!(activity.dead_values(), 3);
        activity.vacuumed(98, 0);
        activity.count_erased_values(1);
        assert_eq!(activity.dead_values(), 1);
    }
}
