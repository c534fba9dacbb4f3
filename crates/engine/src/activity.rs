//! What has happened to a table since its last vacuum, counted without locks.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one table since the database was opened; lost at a crash, which only makes the next vacuum later.
#[derive(Debug, Default)]
pub struct TableActivity {
    inserted: AtomicU64,
    updated: AtomicU64,
    updated_in_page: AtomicU64,
    deleted: AtomicU64,
    dead: AtomicU64,
    /// Live rows, as far as known.
    live: AtomicU64,
}

impl TableActivity {
    pub(crate) fn count_inserts(&self, rows: u64) {
        self.inserted.fetch_add(rows, Ordering::Relaxed);
        self.live.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn count_update(&self, in_page: bool) {
        self.updated.fetch_add(1, Ordering::Relaxed);
        if in_page {
            // Pruning on access clears these up.
            self.updated_in_page.fetch_add(1, Ordering::Relaxed);
        } else {
            self.dead.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_delete(&self) {
        self.deleted.fetch_add(1, Ordering::Relaxed);
        self.dead.fetch_add(1, Ordering::Relaxed);
        let _ = self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |rows| rows.checked_sub(1));
    }

    pub(crate) fn vacuumed(&self, live: u64, dead: u64) {
        self.live.store(live, Ordering::Relaxed);
        self.dead.store(dead, Ordering::Relaxed);
    }

    /// Rows inserted.
    pub fn inserted(&self) -> u64 {
        self.inserted.load(Ordering::Relaxed)
    }

    /// Rows updated.
    pub fn updated(&self) -> u64 {
        self.updated.load(Ordering::Relaxed)
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
        self.dead.load(Ordering::Relaxed)
    }

    /// Rows, about.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }
}
