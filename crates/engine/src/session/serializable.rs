//! The reports of a serializable transaction's session to `ssi`: its reads and its writes.

use base::{FileNumber, Result, Tid};
use ssi::SerializableTransaction;

use super::Session;
use crate::table::Table;

impl Session {
    /// Runs `f` if a serializable transaction is watched.
    #[inline]
    fn watched<R>(&self, f: impl FnOnce(&SerializableTransaction) -> R) -> Option<R> {
        self.slot.borrow().serializable().map(f)
    }

    /// After something was read.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        self.watched(SerializableTransaction::check_read).unwrap_or(Ok(()))
    }

    /// Before all of a table is read.
    #[inline]
    pub(super) fn lock_whole(&self, file: FileNumber) {
        self.watched(|serializable| serializable.lock_relation(file));
    }

    /// Before an index is asked for a key. False: nobody wants to know.
    #[inline]
    pub(super) fn lock_key(&self, index: FileNumber, key: &[u8]) -> bool {
        self.watched(|serializable| serializable.lock_key(index, key)).is_some()
    }

    /// A number for a scan of an index, if its ranges are to be noted.
    #[inline]
    pub(super) fn next_scan(&self, index: FileNumber) -> Option<u32> {
        self.watched(|serializable| serializable.next_scan(index))
    }

    /// How far a scan of an index has come.
    pub(crate) fn lock_range(&self, index: FileNumber, scan: u32, range: btree::KeyRange) {
        let range = ssi::KeyRange { lower: range.lower, upper: range.upper };
        self.watched(|serializable| serializable.lock_range(index, scan, range));
    }

    /// After a version was updated or deleted.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    #[inline]
    pub(super) fn wrote_tuple(&self, table: &Table, version: Tid) -> Result<()> {
        self.watched(|serializable| serializable.wrote_tuple(table.def.file, version)).unwrap_or(Ok(()))
    }

    /// After a row was inserted.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    #[inline]
    pub(super) fn wrote_row(&self, table: &Table) -> Result<()> {
        self.watched(|serializable| serializable.wrote_row(table.def.file)).unwrap_or(Ok(()))
    }

    /// After an entry was made in an index, or before a duplicate is reported.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    #[inline]
    pub(super) fn wrote_key(&self, index: FileNumber, key: &[u8]) -> Result<()> {
        self.watched(|serializable| serializable.wrote_key(index, key)).unwrap_or(Ok(()))
    }

    /// After all rows of a table were removed at once, before its files are given up.
    ///
    /// # Errors
    /// 40001 if the transaction must not commit.
    pub(super) fn wrote_whole(&self, table: &Table) -> Result<()> {
        let files = std::iter::once(table.def.file).chain(table.indexes.iter().map(|index| index.def.file));
        for file in files {
            self.watched(|serializable| serializable.wrote_relation(file)).unwrap_or(Ok(()))?;
        }
        Ok(())
    }
}
