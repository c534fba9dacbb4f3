//! Redo: doing again what the log says, on pages that may or may not have it already.
//!
//! A page whose LSN is at or beyond the record's end has it. A record that makes its page anew needs
//! nothing of what the page was. Any other record on a page that was never written means that the page
//! was cut off, or its file removed, after the record was written: the record is passed over and the page
//! remembered. The log need not say that the file was removed: the transaction that made it may never have
//! ended. So the catalog decides, once it is loaded: a missing page of a file that is in use is damage.

use std::collections::HashMap;

use base::{Error, Lsn, Result, Tid, Xid};
use buffer::{BufferPool, PageId};
use sync::Arc;
use sync::atomic::{AtomicU64, Ordering};

use crate::page::{Page, PageMut};
use crate::record::{self, HeapRecord, INIT};
use crate::tuple::new_header;

/// Redo of heap records: one for a recovery.
pub struct HeapRedo {
    /// Told the highest page LSN that is met: it proves the log to have been durable so far.
    page_lsn_met: Arc<AtomicU64>,
    /// Pages that a record presupposed and that were not there, with the first such record's end.
    missing: HashMap<PageId, Lsn>,
}

impl HeapRedo {
    /// At the beginning of a recovery. `page_lsn_met` is raised to the highest LSN of a page that redo looks at.
    pub fn new(page_lsn_met: Arc<AtomicU64>) -> HeapRedo {
        HeapRedo { page_lsn_met, missing: HashMap::new() }
    }

    /// Does what the record ending at `end` says, unless the pages have it. `payload` is what its inserter gave.
    ///
    /// # Errors
    /// XX001 for a record or page that makes no sense.
    pub fn apply(&mut self, pool: &BufferPool, end: Lsn, xid: Xid, info: u8, payload: &[u8]) -> Result<()> {
        let (file, block, decoded) = record::decode(info, payload)?;
        if let HeapRecord::Truncate = decoded {
            self.missing.retain(|page, _| page.file != file || page.block < block);
            if pool.file_exists(file) && pool.block_count(file)? > block {
                pool.truncate_file_for_redo(file, block)?;
            }
            return Ok(());
        }
        if let HeapRecord::UpdateMoved { old_block, old, new, command, old_flags, .. } = decoded {
            let successor = Tid::new(block, new);
            self.change(pool, PageId::new(file, old_block), end, false, |page| {
                page.remove(old, xid, command, successor, old_flags);
                Some(())
            })?;
        }
        self.change(pool, PageId::new(file, block), end, info & INIT != 0, |page| redo_on(page, block, xid, decoded))
    }

    /// At the log's end: the pages that were missing and that no later record has made or cut off, each with the end of the
    /// first record that presupposed it. Such a page is damage if its file is in use, and nothing if not.
    pub fn finish(self) -> impl Iterator<Item = (PageId, Lsn)> {
        self.missing.into_iter()
    }

    fn change(
        &mut self,
        pool: &BufferPool,
        id: PageId,
        end: Lsn,
        init: bool,
        f: impl FnOnce(&mut PageMut<'_>) -> Option<()>,
    ) -> Result<()> {
        let pinned = pool.pin_for_redo(id)?;
        let mut guard = pinned.write();
        self.page_lsn_met.fetch_max(guard.lsn().0, Ordering::Relaxed);
        if guard.lsn() >= end {
            return Ok(());
        }
        let mut page = PageMut::new(&mut guard);
        if init {
            page.init();
            self.missing.remove(&id);
        } else if page.read().is_new() {
            self.missing.entry(id).or_insert(end);
            return Ok(());
        }
        f(&mut page).ok_or_else(|| {
            Error::corrupted(format!(
                "the log record ending at {end} does not fit block {} of relation file {}",
                id.block, id.file
            ))
        })?;
        guard.set_lsn(end);
        Ok(())
    }
}

fn redo_on(page: &mut PageMut<'_>, block: u32, xid: Xid, record: HeapRecord<'_>) -> Option<()> {
    let place = |page: &mut PageMut<'_>, slot: u16, command, flags, parts: &[&[u8]]| {
        page.place(slot, &new_header(xid, command, Tid::new(block, slot), flags), parts).then_some(())
    };
    match record {
        HeapRecord::Insert { slot, command, payload } => place(page, slot, command, 0, &[payload])?,
        HeapRecord::InsertMany { command, entries, mut payloads } => {
            for (slot, length) in record::pairs(entries) {
                let (payload, rest) = payloads.split_at_checked(length.into())?;
                payloads = rest;
                place(page, slot, command, 0, &[payload])?;
            }
        }
        HeapRecord::Update { old, new, command, old_flags, new_flags, prefix, suffix, middle } => {
            let mut payload = [0u8; crate::page::PAYLOAD_MAX_BYTES];
            let length = prefix.checked_add(middle.len())?.checked_add(suffix)?;
            let target = payload.get_mut(..length)?;
            let before = page.read().tuple(old)?.payload();
            target[..prefix].copy_from_slice(before.get(..prefix)?);
            target[prefix..prefix + middle.len()].copy_from_slice(middle);
            target[prefix + middle.len()..].copy_from_slice(before.get(before.len().checked_sub(suffix)?..)?);
            place(page, new, command, new_flags, &[&payload[..length]])?;
            page.remove(old, xid, command, Tid::new(block, new), old_flags);
        }
        HeapRecord::UpdateMoved { new, command, new_flags, payload, .. } => {
            place(page, new, command, new_flags, &[payload])?;
        }
        HeapRecord::Delete { slot, command } => {
            let flags = crate::tuple::flag::DELETED | crate::tuple::flag::KEYS_CHANGED;
            page.remove(slot, xid, command, Tid::new(block, slot), flags);
        }
        HeapRecord::Prune { prune_xid, redirected, dead, unused } => {
            let pairs = record::pairs(redirected);
            crate::prune::apply(page, prune_xid, pairs, record::slots(dead), record::slots(unused));
        }
        HeapRecord::Freeze { frozen, cleared } => {
            crate::vacuum::apply_freeze(page, block, record::slots(frozen), record::slots(cleared));
        }
        HeapRecord::Truncate => {}
    }
    Some(())
}

/// Applies any bytes as a record to any bytes as a page: what a fuzzer calls.
pub fn fuzz_redo(info: u8, record: &[u8], page: &[u8]) {
    let mut bytes = [0u8; base::limits::PAGE_SIZE_BYTES];
    let length = page.len().min(bytes.len());
    bytes[..length].copy_from_slice(&page[..length]);
    if let Ok((_, block, decoded)) = record::decode(info, record) {
        let mut page = PageMut(&mut bytes);
        if info & INIT != 0 {
            page.init();
        }
        let _ = redo_on(&mut page, block, Xid(5), decoded);
        let _ = Page(&bytes).check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // invariants: row 26
    #[test]
    fn a_freeze_record_that_clears_what_is_clear_changes_nothing() {
        let mut bytes = vec![0u8; base::limits::PAGE_SIZE_BYTES];
        let mut page = PageMut::new(&mut bytes);
        page.init();
        let header = new_header(Xid(5), base::CommandId(0), Tid::new(0, 1), 0);
        assert!(page.place(1, &header, &[&[3; 50]]));
        let mut freeze = vec![0; 12];
        freeze.extend_from_slice(&[0, 0, 1, 0, 1, 0]);
        assert!(record::decode(record::FREEZE, &freeze).is_ok());
        fuzz_redo(record::FREEZE, &freeze, &bytes);
    }
}
