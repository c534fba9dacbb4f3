//! Index builds, truncation, vacuum, samples.

use base::{Result, Tid};
use sync::Arc;

use super::Session;
use crate::key::IndexKeySource;
use crate::row::RowView;
use crate::table::Table;

/// How to vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumOptions {
    /// Freeze all that every snapshot sees, however young.
    pub freeze: bool,
    /// Leave the file as long as it is.
    pub keep_tail: bool,
    /// Leave the table alone if it is locked.
    pub skip_locked: bool,
}

/// What a vacuum did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumSummary {
    /// Row versions removed.
    pub removed: u64,
    /// Rows left.
    pub live: u64,
    /// Dead rows that some snapshot may still see.
    pub recently_dead: u64,
    /// Pages of the heap now.
    pub pages: u32,
    /// Pages cut off its end.
    pub truncated_pages: u32,
    /// Index entries removed.
    pub index_entries_removed: u64,
}

/// What a sample was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSummary {
    /// Pages of the heap.
    pub pages: u32,
    /// Rows of the whole table, estimated.
    pub rows: f64,
    /// Rows given to the caller.
    pub sampled: u64,
}

impl Session {
    /// Fills a new, empty index from the rows of its table. The caller holds a Share lock on the table at least.
    ///
    /// # Errors
    /// 23505 "could not create unique index"; what `keys` fails with; 53100.
    pub fn build_index(&self, table: &Table, index_position: usize, keys: &dyn IndexKeySource) -> Result<()> {
        todo!()
    }

    /// Empties a table by giving it and its indexes new storage; undone by rollback. The caller holds an AccessExclusive
    /// lock. The table must be opened again afterwards.
    ///
    /// # Errors
    /// 25006 in a read-only transaction; 53100, 58030.
    pub fn truncate(&self, table: &Table) -> Result<()> {
        todo!()
    }

    /// Removes dead rows, freezes old ones, cuts off an empty tail. Outside a transaction: it uses transactions of its own.
    ///
    /// # Errors
    /// 25001 inside a transaction; 55P03 with `skip_locked`; 57014.
    pub fn vacuum(&mut self, table: &Arc<Table>, options: VacuumOptions) -> Result<VacuumSummary> {
        todo!()
    }

    /// Gives about `rows` rows of the table, taken at random, to `row`.
    ///
    /// # Errors
    /// XX001, 58030; what `row` fails with.
    pub fn sample(
        &self,
        table: &Table,
        rows: usize,
        row: &mut dyn FnMut(Tid, RowView<'_>) -> Result<()>,
    ) -> Result<SampleSummary> {
        todo!()
    }
}
