//! Rows: insert, update, delete, lock, look up, scan.

use base::{Result, Tid};
use btree::{Direction, KeyRange};
use lockmgr::{RowLockMode, WaitPolicy};
use sync::Arc;

use super::Session;
use crate::key::IndexKeySource;
use crate::modify::{ConflictOutcome, Modify};
use crate::row::{ColumnSet, Datum, RowBytes};
use crate::scan::{IndexScan, TableScan};
use crate::table::Table;

impl Session {
    /// Inserts a row and its index entries. Waits where another transaction in progress has a row of the same key.
    ///
    /// # Errors
    /// 23505 for a duplicate; 25006 in a read-only transaction; 54000 for a row or key that is too large; 40P01, 55P03,
    /// 57014 from waiting.
    pub fn insert(&self, table: &Table, row: &[Datum], keys: &dyn IndexKeySource) -> Result<Tid> {
        todo!()
    }

    /// Inserts many rows: `next` gives one after the other.
    ///
    /// # Errors
    /// As [`Session::insert`], and what `next` fails with.
    pub fn insert_many(
        &self,
        table: &Table,
        rows: &[&[Datum]],
        keys: &dyn IndexKeySource,
        inserted: &mut dyn FnMut(usize, Tid),
    ) -> Result<()> {
        todo!()
    }

    /// Inserts a row unless one of `arbiters` (positions of unique indexes; `None`: all of them) has its key already.
    ///
    /// # Errors
    /// As [`Session::insert`]; 23505 for a duplicate in an index that is no arbiter.
    pub fn insert_on_conflict(
        &self,
        table: &Table,
        row: &[Datum],
        keys: &dyn IndexKeySource,
        arbiters: Option<&[usize]>,
    ) -> Result<ConflictOutcome> {
        todo!()
    }

    /// Updates the version `tid` to `row`, of which the columns in `changed` were assigned. Waits for others that hold
    /// the row, as `wait` says.
    ///
    /// # Errors
    /// As [`Session::insert`]; 40001 at repeatable read when somebody else has changed the row.
    pub fn update(
        &self,
        table: &Table,
        tid: Tid,
        row: &[Datum],
        changed: &ColumnSet,
        keys: &dyn IndexKeySource,
    ) -> Result<Modify> {
        todo!()
    }

    /// Deletes the version `tid`.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub fn delete(&self, table: &Table, tid: Tid) -> Result<Modify> {
        todo!()
    }

    /// Locks the version `tid` until the transaction ends.
    ///
    /// # Errors
    /// 55P03 with NOWAIT or `lock_timeout`; 40P01, 57014; 40001 at repeatable read.
    pub fn lock_row(&self, table: &Table, tid: Tid, mode: RowLockMode, wait: WaitPolicy) -> Result<Modify> {
        todo!()
    }

    /// Copies the newest committed (or own) version that `tid` was updated to, whatever the snapshot sees; `None` if the
    /// row is gone.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    pub fn newest_version(&self, table: &Table, tid: Tid, out: &mut RowBytes) -> Result<Option<Tid>> {
        todo!()
    }

    /// Copies the version `tid` if the snapshot sees it.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    pub fn fetch(&self, table: &Table, tid: Tid, out: &mut RowBytes) -> Result<bool> {
        todo!()
    }

    /// The row with this key in an index, if the snapshot sees one; the first if there are several. Allocates nothing.
    ///
    /// # Errors
    /// XX001, 58030 for pages that can't be read.
    pub fn index_point(
        &self,
        table: &Table,
        index_position: usize,
        key: &[u8],
        out: &mut RowBytes,
    ) -> Result<Option<Tid>> {
        todo!()
    }

    /// All rows.
    ///
    /// # Errors
    /// 58030 if the file can't be read.
    pub fn scan(&self, table: &Arc<Table>) -> Result<TableScan> {
        todo!()
    }

    /// The rows whose keys lie in a range of an index, in order.
    ///
    /// # Errors
    /// None before the first row is asked for.
    pub fn index_scan(
        &self,
        table: &Arc<Table>,
        index_position: usize,
        range: KeyRange,
        direction: Direction,
    ) -> Result<IndexScan> {
        todo!()
    }
}
