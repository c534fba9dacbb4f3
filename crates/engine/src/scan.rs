//! Scans: all rows of a table, or those of a range of an index.

use std::sync::Arc;

use base::{Result, Tid};
use btree::BTreeScan;
use heap::PageTuples;

use crate::row::RowBytes;
use crate::session::Session;
use crate::table::Table;

/// All rows of a table that the session's snapshot sees, in physical order. Holds nothing between calls.
pub struct TableScan {
    pub(crate) table: Arc<Table>,
    pub(crate) blocks: std::ops::Range<u32>,
    pub(crate) page: PageTuples,
    pub(crate) index: usize,
    pub(crate) row: RowBytes,
}

impl TableScan {
    /// The next row: its place and its bytes. `None` at the end.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 when the session is interrupted.
    pub fn next(&mut self, session: &Session) -> Result<Option<(Tid, &[u8])>> {
        let _ = session;
        todo!()
    }
}

/// The rows of a range of an index that the session's snapshot sees, in the index's order or against it.
pub struct IndexScan {
    pub(crate) table: Arc<Table>,
    pub(crate) scan: BTreeScan,
    pub(crate) row: RowBytes,
}

impl IndexScan {
    /// The next row: its place and its bytes. `None` at the end.
    ///
    /// # Errors
    /// As [`TableScan::next`].
    pub fn next(&mut self, session: &Session) -> Result<Option<(Tid, &[u8])>> {
        let _ = session;
        todo!()
    }
}
