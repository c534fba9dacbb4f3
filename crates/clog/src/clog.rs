//! The commit log: two status bits for each transaction, in pages, and the three ways to set them.

pub use base::settings::words::ClogUpdate;
use std::path::Path;

use base::{Lsn, Result, Xid};
use buffer::{DoubleWrite, DurableLog, PagedStore, PagedStoreOptions, PagedStoreStatistics};
use sync::atomic::{AtomicU8, Ordering};
use sync::{Arc, LatchClass};
use vfs::Vfs;

use crate::bits::{self, page_of};
use crate::group::{CHILDREN_MAX, GroupQueue, GroupStatistics};
use crate::{ClogBits, StatusStoreOptions};

/// Latches of the commit log's banks. Nothing else but a read from disk happens under one.
pub(crate) static CLOG_LATCH: LatchClass = LatchClass::new("XactSLRU", 60);

/// One finished transaction, whose bits are to be set.
#[derive(Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) xid: Xid,
    /// Its subtransactions that end with it.
    pub(crate) children: &'a [Xid],
    pub(crate) bits: ClogBits,
    /// The end of the record that justifies the bits.
    pub(crate) lsn: Lsn,
}

/// The commit log: two status bits for each transaction, in pages.
///
/// An error in reading a page that is to be changed ends the process, as any failure of the commit log does (R4).
pub struct Clog {
    vfs: Arc<dyn Vfs>,
    store: PagedStore,
    update: AtomicU8,
    group: GroupQueue,
}

impl Clog {
    pub(crate) fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        log: Arc<dyn DurableLog>,
        doublewrite: Arc<DoubleWrite>,
        options: &StatusStoreOptions,
    ) -> Result<Clog> {
        let store_options = PagedStoreOptions {
            pages: options.transaction_buffers,
            latch_class: &CLOG_LATCH,
            first_page: page_of(options.oldest_xid),
            missing_allowed_from: page_of(options.next_xid_at_checkpoint),
        };
        let store = PagedStore::open(Arc::clone(&vfs), directory, log, doublewrite, store_options)?;
        Ok(Clog { vfs, store, update: AtomicU8::new(options.clog_update as u8), group: GroupQueue::new() })
    }

    /// The bits of `xid`. XX001 if the page that holds them is damaged or missing.
    pub fn get(&self, xid: Xid) -> Result<ClogBits> {
        let bits = self.store.read(page_of(xid), |page| bits::get(page, xid));
        bits.map_err(|error| error.context(format!("while looking up the status of transaction {xid}")))
    }

    /// The bits of `count` transactions from `first` on.
    pub(crate) fn get_range(&self, first: Xid, count: u64) -> Result<Vec<ClogBits>> {
        let mut range = Vec::with_capacity(count as usize);
        let (mut next, end) = (first.0, first.0 + count);
        while next < end {
            let page = page_of(Xid(next));
            let page_end = end.min((page + 1) * bits::XIDS_PER_PAGE);
            self.store.read(page, |bytes| range.extend((next..page_end).map(|xid| bits::get(bytes, Xid(xid)))))?;
            next = page_end;
        }
        Ok(range)
    }

    /// The current way to set the status bits of commits.
    #[inline]
    pub fn update(&self) -> ClogUpdate {
        match self.update.load(Ordering::Relaxed) {
            0 => ClogUpdate::Cohort,
            1 => ClogUpdate::Group,
            _ => ClogUpdate::Each,
        }
    }

    /// Changes the way to set the status bits of commits.
    pub fn set_update(&self, update: ClogUpdate) {
        self.update.store(update as u8, Ordering::Relaxed);
    }

    /// Sets bits, one pass and one latch acquisition per page. `lsn` is the end of the last record that justifies them.
    pub fn set_bits(&self, bits: &[(Xid, ClogBits)], lsn: Lsn) {
        let mut next = bits.iter().map(|&(xid, _)| page_of(xid)).min();
        while let Some(page) = next {
            next = None;
            self.change(page, |bytes, needs| {
                *needs = lsn.max(*needs);
                for &(xid, bits) in bits {
                    let of_xid = page_of(xid);
                    if of_xid == page {
                        bits::set(bytes, xid, bits);
                    } else if of_xid > page {
                        next = Some(next.map_or(of_xid, |next| of_xid.min(next)));
                    }
                }
            });
        }
    }

    /// Sets the bits of one transaction and its subtransactions: in the group, or under [`ClogUpdate::Each`] alone.
    pub fn set_transaction(&self, xid: Xid, children: &[Xid], bits: ClogBits, lsn: Lsn) {
        let finished = Finished { xid, children, bits, lsn };
        let page = page_of(xid);
        if children.iter().any(|&child| page_of(child) != page) {
            self.set_on_several_pages(&finished);
        } else if self.update() == ClogUpdate::Each || children.len() > CHILDREN_MAX {
            self.change(page, |bytes, needs| finished.apply(page, bytes, needs));
        } else {
            // A committer that finds the latch free needs no group.
            let alone =
                self.store.try_write(page, |bytes: &mut [u8], needs: &mut Lsn| finished.apply(page, bytes, needs));
            if self.or_fail_stop(alone).is_err() && !self.group.update(self, &finished) {
                self.change(page, |bytes, needs| finished.apply(page, bytes, needs));
            }
        }
    }

    /// Subtransactions on other pages are marked as about to be committed, then the transaction and those on its page
    /// become committed in one step, then the others. A reader of the bits alone never takes a part of the commit for the whole.
    fn set_on_several_pages(&self, finished: &Finished<'_>) {
        let page = page_of(finished.xid);
        let elsewhere = |bits| -> Vec<(Xid, ClogBits)> {
            let children = finished.children.iter().filter(|&&child| page_of(child) != page);
            children.map(|&child| (child, bits)).collect()
        };
        if finished.bits == ClogBits::Committed {
            self.set_bits(&elsewhere(ClogBits::SubCommitted), finished.lsn);
        }
        self.change(page, |bytes, needs| finished.apply(page, bytes, needs));
        self.set_bits(&elsewhere(finished.bits), finished.lsn);
    }

    /// Changes a page of bits.
    pub(crate) fn change(&self, page: u64, writer: impl FnOnce(&mut [u8], &mut Lsn)) {
        self.or_fail_stop(self.store.write(page, writer));
    }

    fn or_fail_stop<T>(&self, result: Result<T>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => self.vfs.fail_stop(&error.to_string()),
        }
    }

    /// Sees to it that the page with the bits of `xid` exists.
    pub(crate) fn extend(&self, xid: Xid) {
        self.or_fail_stop(self.store.create(page_of(xid)));
    }

    pub(crate) fn flush(&self) {
        self.store.flush();
    }

    pub(crate) fn truncate(&self, oldest: Xid) -> Result<()> {
        self.store.truncate_before(page_of(oldest))
    }

    /// How often transactions that met at the latch set their bits together.
    pub fn group_statistics(&self) -> GroupStatistics {
        self.group.statistics()
    }

    /// The counts so far of the cache of the commit log's pages (`pg_stat_slru`).
    pub fn statistics(&self) -> PagedStoreStatistics {
        self.store.statistics()
    }
}

impl Finished<'_> {
    /// Sets those of the bits that lie on `page`.
    pub(crate) fn apply(&self, page: u64, bytes: &mut [u8], needs: &mut Lsn) {
        *needs = self.lsn.max(*needs);
        bits::set(bytes, self.xid, self.bits);
        for &child in self.children.iter().filter(|&&child| page_of(child) == page) {
            bits::set(bytes, child, self.bits);
        }
    }
}
