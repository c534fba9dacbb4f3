//! The csn store: when each recent transaction committed.
//!
//! An array of entries indexed by xid, of which a window lies in memory. It is not logged: what a restart needs to know is
//! in the commit log.
//!
//! ```text
//!        first_xid                        kept_from                                newest page
//!            |                                |                                          |
//!  ----------+--------------------------------+------------------+-----------------------+--> xid
//!   restart  |  only stragglers; the rest is  |  spilled pages,  |  window: wait-free    |  nothing yet:
//!   rule     |  finished in the commit log    |  and stragglers  |                       |  in progress
//! ```
//!
//! # An entry
//!
//! | value | meaning |
//! | --- | --- |
//! | tag 00 | committed; the value is the csn |
//! | tag 01 | a subtransaction; the rest is its top-level xid, whose entry counts |
//! | tag 10 | aborted |
//! | tag 11 | in progress; the rest is the number of the page |
//!
//! # Reading without a lock
//!
//! Page `p` has its place in slot `p mod slots` of the window, whose number says which page is there. A reader loads the
//! number, the entry, and the number again: the same number twice means that the entry is the page's. A transaction's first
//! store is one compare-and-swap against "in progress on this page". A thread that gives the slot to a later page takes the
//! number away and swaps every entry for "in progress on the later page". So a concurrent store either succeeds before the
//! swap, which then takes its value out, or it fails and the storing thread goes another way. Later stores (a subtransaction
//! that aborts) are made under the lock that slots change hands under.
//!
//! # Pages and entries that leave the window
//!
//! [`CsnStore::trim`] raises `kept_from` over pages whose entries nobody needs: the outcome is in the commit log, and the
//! csn is at or below both the oldest snapshot and what is durable, so that "committed, older than every snapshot" says all.
//! The few entries of such a page for which that isn't so, of long-running transactions, become *stragglers*, in a map. A
//! page that must make room before it could be trimmed is spilled to a file. A transaction that ends after its page left
//! the window becomes a straggler as well.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use base::{Lsn, Result, Xid};
use sync::atomic::{AtomicU64, Ordering, fence};
use sync::{Arc, CachePadded, Mutex, RwLock, RwLockWriteGuard};
use vfs::Vfs;

use crate::spill::Spill;
use crate::{Clog, ClogBits, StatusStoreOptions};

/// Entries in a page. Few under the model checker, which takes each access to one for a step.
pub(crate) const PAGE_ENTRIES: u64 = if cfg!(any(shuttle, loom)) { 4 } else { 1024 };
/// The fewest slots of a window.
const SLOTS_MIN: usize = 4;
/// A page with more entries than this that are still needed isn't trimmed.
const STRAGGLERS_PER_PAGE_MAX: usize = 64;
/// The number of no page.
const NO_PAGE: u64 = u64::MAX;

const TAG_MASK: u64 = 0b11 << 62;
const CHILD: u64 = 0b01 << 62;
const ABORTED: u64 = 0b10 << 62;
const IN_PROGRESS: u64 = 0b11 << 62;

const _: () = assert!(Xid::LIMIT.0 == 1 << 62, "an xid leaves the entry's tag free");

/// The csn store's entry for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    InProgress,
    Committed(Lsn),
    Child(Xid),
    Aborted,
}

impl Entry {
    #[inline]
    fn from_raw(raw: u64) -> Entry {
        match raw & TAG_MASK {
            0 => Entry::Committed(Lsn(raw)),
            CHILD => Entry::Child(Xid(raw & !TAG_MASK)),
            ABORTED => Entry::Aborted,
            _ => Entry::InProgress,
        }
    }

    fn to_raw(self) -> u64 {
        match self {
            Entry::InProgress => IN_PROGRESS,
            Entry::Committed(csn) => {
                debug_assert!(csn.0 != 0 && csn.0 & TAG_MASK == 0);
                csn.0
            }
            Entry::Child(top) => CHILD | top.0,
            Entry::Aborted => ABORTED,
        }
    }
}

/// A place of the window.
struct Slot {
    number: AtomicU64,
    /// Made when the slot is first used.
    entries: OnceLock<Box<[AtomicU64]>>,
}

/// The pages and entries that are not in the window.
struct Old {
    /// Pages below are trimmed.
    kept_from: u64,
    /// Pages from `kept_from` on that are in the spill file.
    spilled: BTreeMap<u64, ()>,
    /// Entries that override what is spilled, and all that is left of trimmed pages. For a page that is trimmed but still
    /// in the window, the window has the newer value.
    stragglers: BTreeMap<u64, u64>,
}

/// When each recent transaction committed.
pub(crate) struct CsnStore {
    slots: Box<[CachePadded<Slot>]>,
    /// Xids below belong to an earlier start and have no page.
    first_xid: AtomicU64,
    /// The newest page in the window, plus one.
    pages_end: AtomicU64,
    old: RwLock<Old>,
    spill: Spill,
    trimming: Mutex<()>,
}

/// How much the csn store holds outside its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsnStatistics {
    /// Pages of 1024 transactions in the spill file.
    pub spilled_pages: usize,
    /// Entries of transactions that outlived their page.
    pub stragglers: usize,
    /// Transactions below this have no page any more.
    pub kept_from: Xid,
}

fn page_of(xid: Xid) -> u64 {
    xid.0 / PAGE_ENTRIES
}

impl CsnStore {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, spill_directory: &Path, options: &StatusStoreOptions) -> Result<CsnStore> {
        let slots = options.csn_window.div_ceil(PAGE_ENTRIES as usize).max(SLOTS_MIN).next_power_of_two();
        let slot = || Slot { number: AtomicU64::new(NO_PAGE), entries: OnceLock::new() };
        Ok(CsnStore {
            slots: (0..slots).map(|_| CachePadded::new(slot())).collect(),
            first_xid: AtomicU64::new(u64::MAX),
            pages_end: AtomicU64::new(0),
            old: RwLock::new(Old { kept_from: 0, spilled: BTreeMap::new(), stragglers: BTreeMap::new() }),
            spill: Spill::new(vfs, spill_directory, options.spilled_files)?,
            trimming: Mutex::new(()),
        })
    }

    /// Xids from `first_xid` on belong to this start.
    pub(crate) fn start(&self, first_xid: Xid) {
        let page = page_of(first_xid);
        let mut old = self.old.write();
        old.kept_from = page;
        self.give_slot(page, &mut old);
        self.pages_end.store(page + 1, Ordering::Release);
        self.first_xid.store(first_xid.0, Ordering::Release);
    }

    pub(crate) fn first_xid(&self) -> Xid {
        Xid(self.first_xid.load(Ordering::Relaxed))
    }

    #[inline]
    fn slot(&self, page: u64) -> &Slot {
        &self.slots[page as usize & (self.slots.len() - 1)]
    }

    /// The entry of `xid` if it is in the window.
    #[inline]
    pub(crate) fn recent(&self, xid: Xid) -> Option<Entry> {
        if xid.0 < self.first_xid.load(Ordering::Relaxed) {
            return None;
        }
        let page = page_of(xid);
        let slot = self.slot(page);
        if slot.number.load(Ordering::Acquire) != page {
            return None;
        }
        let raw = slot.entries.get()?[(xid.0 % PAGE_ENTRIES) as usize].load(Ordering::Acquire);
        // A thread that gives the slot to a later page takes the number away before it touches an entry.
        fence(Ordering::Acquire);
        (slot.number.load(Ordering::Relaxed) == page).then(|| Entry::from_raw(raw))
    }

    /// The entry of `xid`; none if it was trimmed, or is of an earlier start.
    #[cold]
    pub(crate) fn not_recent(&self, xid: Xid) -> Option<Entry> {
        let old = self.old.read();
        // Slots change hands only under the lock's other mode.
        self.recent(xid).or_else(|| self.outside_window(xid, &old))
    }

    fn outside_window(&self, xid: Xid, old: &Old) -> Option<Entry> {
        if let Some(&raw) = old.stragglers.get(&xid.0) {
            return Some(Entry::from_raw(raw));
        }
        let page = page_of(xid);
        if xid < self.first_xid() || page < old.kept_from {
            return None;
        }
        if old.spilled.contains_key(&page) {
            return Some(Entry::from_raw(self.spill.read_entry(page, xid.0 % PAGE_ENTRIES)));
        }
        // Just given out, and its page not made yet.
        Some(Entry::InProgress)
    }

    /// Sees to it that there is a page for `xid`. True if pages had to be made, up to the one returned.
    #[inline]
    pub(crate) fn has_page(&self, xid: Xid) -> bool {
        page_of(xid) < self.pages_end.load(Ordering::Acquire)
    }

    /// Makes pages up to the one for `xid`. Returns the last xid for which there is a page now.
    #[cold]
    pub(crate) fn extend(&self, xid: Xid) -> Xid {
        let mut old = self.old.write();
        let end = page_of(xid) + 1;
        for page in self.pages_end.load(Ordering::Relaxed)..end {
            self.give_slot(page, &mut old);
            self.pages_end.store(page + 1, Ordering::Release);
        }
        Xid(end.max(self.pages_end.load(Ordering::Relaxed)) * PAGE_ENTRIES - 1)
    }

    /// Gives a slot of the window to `page`; what was in it is spilled unless it was trimmed before.
    fn give_slot(&self, page: u64, old: &mut RwLockWriteGuard<'_, Old>) {
        let slot = self.slot(page);
        let entries = slot.entries.get_or_init(|| (0..PAGE_ENTRIES).map(|_| AtomicU64::new(IN_PROGRESS)).collect());
        let before = slot.number.swap(NO_PAGE, Ordering::SeqCst);
        let values: Vec<u64> = entries.iter().map(|entry| entry.swap(IN_PROGRESS | page, Ordering::AcqRel)).collect();
        if before != NO_PAGE {
            for (&xid, raw) in old.stragglers.range_mut(before * PAGE_ENTRIES..(before + 1) * PAGE_ENTRIES) {
                if Xid(xid) >= self.first_xid() {
                    *raw = values[(xid % PAGE_ENTRIES) as usize];
                }
            }
            if before >= old.kept_from {
                self.spill.write(before, &values);
                old.spilled.insert(before, ());
            }
        }
        slot.number.store(page, Ordering::Release);
    }

    /// Sets the entry of `xid`. For one in the window that was in progress: one atomic operation, never blocked.
    #[inline]
    pub(crate) fn set(&self, xid: Xid, entry: Entry) {
        if xid.0 >= self.first_xid.load(Ordering::Relaxed) {
            let page = page_of(xid);
            let slot = self.slot(page);
            // Which page the slot holds, the entry itself tells.
            if let Some(entries) = slot.entries.get()
                && entries[(xid.0 % PAGE_ENTRIES) as usize]
                    .compare_exchange(IN_PROGRESS | page, entry.to_raw(), Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
        }
        self.set_under_lock(xid, entry);
    }

    #[cold]
    fn set_under_lock(&self, xid: Xid, entry: Entry) {
        let is_of_this_start = xid >= self.first_xid();
        if is_of_this_start && !self.has_page(xid) {
            self.extend(xid);
        }
        let mut old = self.old.write();
        let page = page_of(xid);
        let slot = self.slot(page);
        if is_of_this_start
            && slot.number.load(Ordering::Relaxed) == page
            && let Some(entries) = slot.entries.get()
        {
            entries[(xid.0 % PAGE_ENTRIES) as usize].store(entry.to_raw(), Ordering::Release);
        } else {
            old.stragglers.insert(xid.0, entry.to_raw());
        }
    }

    /// Makes an xid of an earlier start known: a prepared transaction or a subtransaction of one.
    pub(crate) fn restore(&self, xid: Xid, entry: Entry) {
        self.old.write().stragglers.insert(xid.0, entry.to_raw());
    }

    /// Lets go of what nobody needs. `horizon` is at or below the oldest snapshot and what is durable.
    pub(crate) fn trim(&self, clog: &Clog, horizon: Lsn) -> Result<()> {
        let Some(_one_at_a_time) = self.trimming.try_lock() else { return Ok(()) };
        loop {
            let page = self.old.read().kept_from;
            // The newest page may have xids that were not given out yet.
            if page + 1 >= self.pages_end.load(Ordering::Acquire) {
                break;
            }
            let Some(needed) = self.needed_on(page, clog, horizon)? else { break };
            let mut old = self.old.write();
            for xid in needed {
                // It may have ended since; the newest value is what counts.
                let entry = self.recent(xid).or_else(|| self.outside_window(xid, &old));
                old.stragglers.insert(xid.0, entry.unwrap_or(Entry::InProgress).to_raw());
            }
            old.kept_from = page + 1;
            if old.spilled.remove(&page).is_some() {
                self.spill.remove(page);
            }
        }
        self.trim_stragglers(clog, horizon)
    }

    /// The xids of a page that somebody may still ask for; none if they are too many.
    fn needed_on(&self, page: u64, clog: &Clog, horizon: Lsn) -> Result<Option<Vec<Xid>>> {
        let first = Xid((page * PAGE_ENTRIES).max(self.first_xid().0));
        let count = (page + 1) * PAGE_ENTRIES - first.0;
        let bits = clog.get_range(first, count)?;
        let spilled = {
            let old = self.old.read();
            old.spilled.contains_key(&page).then(|| self.spill.read_page(page))
        };
        let mut needed = Vec::new();
        for (xid, bits) in (first.0..).map(Xid).zip(bits) {
            let entry = match &spilled {
                Some(values) if !self.old.read().stragglers.contains_key(&xid.0) => {
                    Entry::from_raw(values[(xid.0 % PAGE_ENTRIES) as usize])
                }
                _ => self.recent(xid).or_else(|| self.not_recent(xid)).unwrap_or(Entry::InProgress),
            };
            if !self.is_settled(entry, bits, clog, horizon)? {
                needed.push(xid);
                if needed.len() > STRAGGLERS_PER_PAGE_MAX {
                    return Ok(None);
                }
            }
        }
        Ok(Some(needed))
    }

    /// Whether the commit log says all that anybody may still want to know.
    fn is_settled(&self, entry: Entry, bits: ClogBits, clog: &Clog, horizon: Lsn) -> Result<bool> {
        Ok(match entry {
            Entry::InProgress => false,
            Entry::Committed(csn) => csn <= horizon && bits == ClogBits::Committed,
            Entry::Aborted => bits == ClogBits::Aborted,
            Entry::Child(top) if bits.is_final() => match self.recent(top).or_else(|| self.not_recent(top)) {
                Some(Entry::Child(_)) => false,
                Some(entry) => self.is_settled(entry, clog.get(top)?, clog, horizon)?,
                None => true,
            },
            Entry::Child(_) => false,
        })
    }

    /// Lets go of stragglers that nobody needs.
    fn trim_stragglers(&self, clog: &Clog, horizon: Lsn) -> Result<()> {
        let candidates: Vec<Xid> = {
            let old = self.old.read();
            let trimmed = old.stragglers.range(..old.kept_from * PAGE_ENTRIES);
            trimmed.map(|(&xid, _)| Xid(xid)).collect()
        };
        for xid in candidates {
            let Some(entry) = self.recent(xid).or_else(|| self.not_recent(xid)) else { continue };
            if entry != Entry::InProgress && self.is_settled(entry, clog.get(xid)?, clog, horizon)? {
                self.old.write().stragglers.remove(&xid.0);
            }
        }
        Ok(())
    }

    pub(crate) fn statistics(&self) -> CsnStatistics {
        let old = self.old.read();
        CsnStatistics {
            spilled_pages: old.spilled.len(),
            stragglers: old.stragglers.len(),
            kept_from: Xid(old.kept_from * PAGE_ENTRIES),
        }
    }
}
