//! Scans, a page at a time: the page is copied out under its latch and judged at leisure, so that a slow
//! reader holds nothing.

use std::ops::Range;

use base::limits::PAGE_SIZE_BYTES;
use base::{Lsn, Result, Tid, Xid};
use buffer::PageId;
use clog::{TransactionStatus, TxnCtx};
use smallvec::SmallVec;

use crate::heap::Heap;
use crate::page::{Item, Page, PageMut};
use crate::read::Chain;
use crate::tuple::{Tuple, flag};
use crate::visibility::{look, tell_writers};

/// The visible tuples of one page, copied out. Made once and used again from page to page.
pub struct PageTuples {
    page: Box<[u8; PAGE_SIZE_BYTES]>,
    block: u32,
    slots: Vec<u16>,
}

impl Default for PageTuples {
    fn default() -> PageTuples {
        PageTuples::new()
    }
}

impl PageTuples {
    /// With room for any page.
    pub fn new() -> PageTuples {
        PageTuples { page: Box::new([0; PAGE_SIZE_BYTES]), block: 0, slots: Vec::with_capacity(256) }
    }

    /// How many tuples there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The tuple with this number, below [`PageTuples::len`]: where it is, and its payload.
    pub fn get(&self, index: usize) -> (Tid, &[u8]) {
        let slot = self.slots[index];
        let payload = Page(&self.page).tuple(slot).map_or(&[][..], Tuple::payload);
        (Tid::new(self.block, slot), payload)
    }

    /// All of them, in the page's order.
    pub fn iter(&self) -> impl Iterator<Item = (Tid, &[u8])> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// A scan over a heap's blocks. Holds no latch and no pin between pages.
pub struct HeapScan<'a> {
    heap: &'a Heap,
    blocks: Range<u32>,
}

impl Heap {
    /// A scan of all blocks there are now.
    pub fn scan(&self) -> Result<HeapScan<'_>> {
        Ok(self.scan_blocks(0..self.block_count()?))
    }

    /// A scan of some blocks, which exist: for samples, and to go on where another scan stopped.
    pub fn scan_blocks(&self, blocks: Range<u32>) -> HeapScan<'_> {
        HeapScan { heap: self, blocks }
    }
}

impl HeapScan<'_> {
    /// Fills `out` with the visible tuples of the next page that has any. False at the end. Pages without any are many after a large
    /// rollback or DELETE, so each of them is a yield point.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 and its kin at a yield point.
    pub fn next_page(&mut self, ctx: &TxnCtx<'_>, out: &mut PageTuples) -> Result<bool> {
        for block in self.blocks.by_ref() {
            self.heap.copy_page(ctx, block, out)?;
            if !out.is_empty() {
                return Ok(true);
            }
            sync::yield_point()?;
        }
        out.slots.clear();
        Ok(false)
    }

    /// The blocks still to come.
    pub fn remaining(&self) -> Range<u32> {
        self.blocks.clone()
    }
}

/// A version that an index build must enter.
pub struct BuildTuple<'a> {
    /// The target of the index entry: the root of the version's chain.
    pub root: Tid,
    /// Where the version is.
    pub tid: Tid,
    /// Its payload.
    pub payload: &'a [u8],
    /// Whether it is its row's newest version and not deleted. If not, it is there for older snapshots only: enter it, but it
    /// violates no uniqueness.
    pub live: bool,
}

/// Counts and findings of an index build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildSummary {
    /// Rows entered.
    pub rows: u64,
    /// Some row has older versions in the same page that some snapshot may still see, and that were not entered: the index must
    /// not be used by snapshots older than the build.
    pub older_versions: bool,
}

/// Calls what it is given with a transaction's context, and has the context back when that returns.
pub type LendContext<'l> = dyn Fn(&mut dyn FnMut(&TxnCtx<'_>)) + 'l;

impl Heap {
    /// Gives the newest version of each row to `f`: for index builds. `f` may run statements: while it runs, the scan holds no page and no
    /// context, which it takes anew from `lend` for each page. The caller keeps writers away by a lock on the table, or the result is
    /// just a rough one. Each page is a yield point.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 and its kin at a yield point; what `f` fails with.
    pub fn scan_for_build(
        &self,
        lend: &LendContext<'_>,
        f: &mut dyn FnMut(BuildTuple<'_>) -> Result<()>,
    ) -> Result<BuildSummary> {
        let mut summary = BuildSummary::default();
        let mut copy = Box::new([0u8; PAGE_SIZE_BYTES]);
        let mut found: Vec<(u16, u16, bool)> = Vec::new();
        for block in 0..self.block_count()? {
            sync::yield_point()?;
            {
                let pinned = self.services.pool.pin_for_scan(PageId::new(self.file, block))?;
                copy.copy_from_slice(&pinned.read());
            }
            let page = Page(&copy);
            found.clear();
            lend(&mut |ctx| summary.older_versions |= self.newest_versions(ctx, page, &mut found));
            summary.rows += found.len() as u64;
            for (root, slot, live) in &found {
                let Item::Normal(tuple) = page.item(*slot) else { continue };
                f(BuildTuple {
                    root: Tid::new(block, *root),
                    tid: Tid::new(block, *slot),
                    payload: tuple.payload(),
                    live: *live,
                })?;
            }
        }
        Ok(summary)
    }

    /// The newest version of each row that begins in a page: the row's root, the version's slot, and whether it is there still. Says whether
    /// some row has older versions in the page.
    fn newest_versions(&self, ctx: &TxnCtx<'_>, page: Page<'_>, found: &mut Vec<(u16, u16, bool)>) -> bool {
        let mut older_versions = false;
        for root in 1..=page.slots() {
            match page.item(root) {
                Item::Normal(tuple) if tuple.has(flag::HEAP_ONLY) => continue,
                Item::Normal(_) | Item::Redirect(_) => {}
                _ => continue,
            }
            // The newest version that a commit or the own transaction made, and whether it was removed since.
            let mut newest: Option<(u16, Tuple<'_>, bool)> = None;
            for (slot, tuple) in Chain::new(page, root) {
                if !tuple.has(flag::XMIN_FROZEN) && self.is_aborted(tuple.xmin()) {
                    continue;
                }
                older_versions |= newest.is_some();
                newest = Some((slot, tuple, self.is_removed(ctx, tuple)));
            }
            let Some((slot, tuple, removed)) = newest else { continue };
            if !(removed && self.is_dead(tuple)) {
                found.push((root, slot, !removed));
            }
        }
        older_versions
    }

    fn is_aborted(&self, xid: Xid) -> bool {
        xid.is_normal() && self.services.status.status(xid) == TransactionStatus::Aborted
    }

    /// Whether a commit or the own transaction removed the version.
    fn is_removed(&self, ctx: &TxnCtx<'_>, tuple: Tuple<'_>) -> bool {
        let xmax = tuple.xmax();
        xmax.is_valid()
            && match self.services.status.status(xmax) {
                TransactionStatus::Committed(csn) => {
                    ctx.observe(csn);
                    true
                }
                TransactionStatus::InProgress => ctx.is_own(xmax),
                TransactionStatus::Aborted => false,
            }
    }

    /// Whether a removed version is dead to every snapshot, durably.
    fn is_dead(&self, tuple: Tuple<'_>) -> bool {
        match self.services.status.status(tuple.xmax()) {
            TransactionStatus::Committed(csn) => csn <= self.settled_below(),
            _ => false,
        }
    }

    fn copy_page(&self, ctx: &TxnCtx<'_>, block: u32, out: &mut PageTuples) -> Result<()> {
        out.slots.clear();
        out.block = block;
        let pinned = self.services.pool.pin_for_scan(PageId::new(self.file, block))?;
        {
            let guard = pinned.read();
            if Page::new(&guard).is_new() {
                return Ok(());
            }
            let prunes = self.prune_pays(Page::new(&guard));
            if prunes {
                drop(guard);
                self.services.wal.ensure_room(2 * PAGE_SIZE_BYTES);
                if let Some(mut guard) = pinned.try_write() {
                    self.prune(&mut guard, false);
                }
                out.page.copy_from_slice(&pinned.read());
            } else {
                out.page.copy_from_slice(&guard);
            }
        }
        let page = Page(&out.page);
        let mut settled: SmallVec<[(u16, Xid); 256]> = SmallVec::new();
        let mut limit: Option<Lsn> = None;
        for slot in 1..=page.slots() {
            let Item::Normal(tuple) = page.item(slot) else { continue };
            let sight = look(ctx, tuple);
            if sight.visible {
                out.slots.push(slot);
            }
            if let Some(watch) = ctx.watch {
                // The page is a copy: whoever scans has noted all of the relation before.
                tell_writers(watch, ctx, tuple, sight.visible);
                if sight.visible && watch.locks_per_tuple() {
                    watch.saw(self.file, Tid::new(block, slot));
                }
            }
            if let Some(csn) = sight.settled
                && csn <= *limit.get_or_insert_with(|| self.settled_below())
            {
                settled.push((slot, tuple.xmin()));
            }
        }
        if !settled.is_empty()
            && let Some(mut guard) = pinned.try_write()
        {
            for (slot, xmin) in settled {
                if Page::new(&guard).tuple(slot).is_some_and(|tuple| tuple.xmin() == xmin)
                    && let Some(mut tuple) = PageMut::new(&mut guard).tuple(slot)
                {
                    tuple.add_flags(flag::XMIN_FROZEN);
                }
            }
            guard.mark_dirty_hint();
        }
        Ok(())
    }
}
