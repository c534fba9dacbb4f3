//! Scans: all rows of a table, or those of a range of an index.

use std::sync::Arc;

use base::{FileNumber, Result, Tid};
use btree::BTreeScan;
use heap::PageTuples;

use crate::session::Session;
use crate::table::Table;
use schema::row::{RowBytes, has_detached};

/// All rows of a table that the session's snapshot sees, in physical order. Holds nothing between calls.
pub struct TableScan {
    pub(crate) table: Arc<Table>,
    /// Blocks still to come.
    pub(crate) blocks: std::ops::Range<u32>,
    pub(crate) page: PageTuples,
    /// The next tuple of the page.
    pub(crate) index: usize,
    pub(crate) row: RowBytes,
}

impl TableScan {
    /// The next row: its place and its bytes. `None` at the end.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 when the session is interrupted.
    #[inline]
    pub fn next(&mut self, session: &Session) -> Result<Option<(Tid, &[u8])>> {
        if self.index >= self.page.len() && !self.next_page(session)? {
            return Ok(None);
        }
        let (tid, bytes) = self.page.get(self.index);
        self.index += 1;
        if !has_detached(bytes) {
            return Ok(Some((tid, bytes)));
        }
        self.row.copy_from(bytes);
        session.resolve(&self.table, &mut self.row)?;
        Ok(Some((tid, &self.row)))
    }

    fn next_page(&mut self, session: &Session) -> Result<bool> {
        session.yield_point()?;
        self.index = 0;
        let mut scan = self.table.heap.scan_blocks(self.blocks.clone());
        let found = session.with_ctx(|ctx| scan.next_page(ctx, &mut self.page))?;
        self.blocks = scan.remaining();
        session.check_read()?;
        Ok(found)
    }
}

/// The rows of a range of an index that the session's snapshot sees, in the index's order or against it.
pub struct IndexScan {
    pub(crate) table: Arc<Table>,
    pub(crate) scan: BTreeScan,
    pub(crate) row: RowBytes,
    pub(crate) index: FileNumber,
    /// The scan's number in its serializable transaction.
    pub(crate) number: Option<u32>,
}

impl IndexScan {
    /// The next row: its place and its bytes. `None` at the end.
    ///
    /// # Errors
    /// As [`TableScan::next`].
    pub fn next(&mut self, session: &Session) -> Result<Option<(Tid, &[u8])>> {
        session.yield_point()?;
        let IndexScan { table, scan, row, index, number } = self;
        let covered = |range: btree::KeyRange| {
            if let Some(number) = *number {
                session.lock_range(*index, number, range);
            }
        };
        let covered: Option<&dyn Fn(btree::KeyRange)> = if number.is_some() { Some(&covered) } else { None };
        let found = session.with_ctx(|ctx| {
            while let Some((_, root)) = scan.next_covering(covered)? {
                let found = table.heap.read_chain(ctx, root, |tid, bytes| {
                    row.copy_from(bytes);
                    tid
                })?;
                if found.is_some() {
                    return Ok(found);
                }
                // Entries that lead to nothing are many after a large rollback or DELETE.
                sync::yield_point()?;
            }
            Ok::<_, base::Error>(None)
        })?;
        session.check_read()?;
        let Some(tid) = found else { return Ok(None) };
        session.resolve(&self.table, &mut self.row)?;
        Ok(Some((tid, &self.row)))
    }
}
