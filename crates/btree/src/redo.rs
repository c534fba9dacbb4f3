//! Redo: doing again what the log says, page by page, where a page doesn't have it yet.
//!
//! A record on a page that was never written and that it does not make means that the file was removed
//! after the record was written: it is passed over and the page remembered. The log need not say that the
//! file was removed: the transaction that made it may never have ended. So the catalog decides, once it is
//! loaded: a missing page of a file that is in use is damage.

use std::collections::HashMap;

use base::{Lsn, Result, Xid};
use buffer::{BufferPool, PageId};
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering};

use crate::change::{Action, Change, each_change, numbers};
use crate::page::{Page, PageMut, corrupted};

/// Redo of index records: one for a recovery.
pub struct BTreeRedo {
    /// Told the highest page LSN that is met: it proves the log to have been durable so far.
    page_lsn_met: Arc<AtomicU64>,
    /// Pages that a record presupposed and that were not there, with the first such record's end.
    missing: HashMap<PageId, Lsn>,
}

impl BTreeRedo {
    /// At the beginning of a recovery. `page_lsn_met` is raised to the highest LSN of a page that redo looks at.
    pub fn new(page_lsn_met: Arc<AtomicU64>) -> BTreeRedo {
        BTreeRedo { page_lsn_met, missing: HashMap::new() }
    }

    /// Does what the record ending at `end` says, unless the pages have it. `payload` is what its inserter gave.
    ///
    /// # Errors
    /// XX002 for a record or page that makes no sense.
    pub fn apply(&mut self, pool: &BufferPool, end: Lsn, _xid: Xid, info: u8, payload: &[u8]) -> Result<()> {
        each_change(info, payload, &mut |id, action| {
            let pinned = pool.pin_for_redo(id)?;
            let mut guard = pinned.write();
            self.page_lsn_met.fetch_max(guard.lsn().0, Ordering::Relaxed);
            if guard.lsn() >= end {
                return Ok(());
            }
            if matches!(&action, Action::Change(change) if change.makes_page()) {
                self.missing.remove(&id);
            } else if Page::new(&guard).is_new() {
                self.missing.entry(id).or_insert(end);
                return Ok(());
            }
            redo_on(&mut PageMut::new(&mut guard), &action).ok_or_else(|| {
                corrupted(format!(
                    "the log record ending at {end} does not fit block {} of the index in file {}",
                    id.block, id.file
                ))
            })?;
            guard.set_lsn(end);
            Ok(())
        })
    }

    /// At the log's end: the pages that were missing and that no later record has made, each with the end of the first record
    /// that presupposed it. Such a page is damage if its file is in use, and nothing if not.
    pub fn finish(self) -> impl Iterator<Item = (PageId, Lsn)> {
        self.missing.into_iter()
    }
}

fn redo_on(page: &mut PageMut<'_>, action: &Action<'_>) -> Option<()> {
    match action {
        Action::Delete(list) => page.remove(numbers(list)).then_some(()),
        Action::Change(change @ (Change::Insert { .. } | Change::Keep { .. } | Change::Left(_))) => {
            if page.read().is_node() { change.apply(page) } else { None }
        }
        Action::Change(change) => change.apply(page),
    }
}

/// Applies any bytes as a record to any bytes as a page: what a fuzzer calls.
pub fn fuzz_redo(info: u8, record: &[u8], page: &[u8]) {
    let mut bytes = [0u8; base::limits::PAGE_SIZE_BYTES];
    let length = page.len().min(bytes.len());
    bytes[..length].copy_from_slice(&page[..length]);
    let _ = each_change(info, record, &mut |id, action| {
        let _ = redo_on(&mut PageMut(&mut bytes), &action);
        let _ = Page(&bytes).check(id.block);
        Ok(())
    });
}
