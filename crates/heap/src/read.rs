//! Reading single rows: by place, by index entry, and for unique checks.

use base::{CommandId, Liveness, Lsn, Result, Tid, Xid};
use buffer::{PageRead, Pinned};
use clog::{ReadWatch, TransactionStatus, TxnCtx};

use crate::heap::Heap;
use crate::page::{Item, Page, PageMut};
use crate::tuple::{Tuple, flag};
use crate::visibility::{look, tell_writers};

/// A walk over more than so many versions that could be pruned prunes them.
const LONG_CHAIN: u32 = 8;

/// The versions of one row in one page, oldest first.
pub(crate) struct Chain<'a> {
    page: Page<'a>,
    next: u16,
    /// The xid that made the next version; none for the first version, whose xmin is not compared.
    made_by: Option<Xid>,
    /// The value that the next version's heap-only flag must have.
    heap_only: bool,
    steps_left: u16,
}

impl<'a> Chain<'a> {
    /// The chain that the line pointer `root` begins.
    pub(crate) fn new(page: Page<'a>, root: u16) -> Chain<'a> {
        let (next, heap_only) = match page.item(root) {
            Item::Redirect(to) => (to, true),
            _ => (root, false),
        };
        Chain { page, next, made_by: None, heap_only, steps_left: page.slots() }
    }
}

impl<'a> Iterator for Chain<'a> {
    type Item = (u16, Tuple<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u16, Tuple<'a>)> {
        if self.next == 0 || self.steps_left == 0 {
            return None;
        }
        let slot = self.next;
        let tuple = self.page.tuple(slot)?;
        // A line pointer may have been used again for a version that is not of this row.
        if tuple.has(flag::HEAP_ONLY) != self.heap_only || self.made_by.is_some_and(|xid| xid != tuple.xmin()) {
            return None;
        }
        self.steps_left -= 1;
        self.heap_only = true;
        self.made_by = Some(tuple.xmax());
        self.next = if tuple.has(flag::HOT_UPDATED) { tuple.ctid().slot } else { 0 };
        Some((slot, tuple))
    }
}

/// The transactions and commands that made and removed a version of a row.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// The (sub)transaction that made it.
    pub xmin: Xid,
    /// The (sub)transaction that removed it, or tried to; zero if none did.
    pub xmax: Xid,
    /// The command that made it.
    pub cmin: CommandId,
    /// The command that removed it.
    pub cmax: CommandId,
}

impl Heap {
    /// Reads the version at `tid`, if the snapshot sees it. `f` runs under the page's shared latch: it must not wait.
    pub fn read<R>(&self, ctx: &TxnCtx<'_>, tid: Tid, f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let pinned = self.pin(tid.block)?;
        let guard = pinned.read();
        let Some(tuple) = Page::new(&guard).tuple(tid.slot) else { return Ok(None) };
        let sight = look(ctx, tuple);
        if let Some(watch) = ctx.watch {
            tell_writers(watch, ctx, tuple, sight.visible);
            if sight.visible {
                watch.saw(self.file, tid);
            }
        }
        let result = sight.visible.then(|| f(tuple.payload()));
        let xmin = tuple.xmin();
        self.leave(&pinned, guard, sight.settled.map(|csn| (tid.slot, xmin, csn)), 0);
        Ok(result)
    }

    /// Reads whatever version lies at `tid`, visible or not: for those who know that they may, by another row that they see. `f` runs
    /// under the page's shared latch: it must not wait.
    pub fn read_any<R>(&self, tid: Tid, f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let pinned = self.pin(tid.block)?;
        let guard = pinned.read();
        Ok(Page::new(&guard).tuple(tid.slot).map(|tuple| f(tuple.payload())))
    }

    /// The header of the version at `tid`, which the caller has seen: such a one stays. `None` if there is none.
    pub fn version(&self, tid: Tid) -> Result<Option<Version>> {
        let pinned = self.pin(tid.block)?;
        let guard = pinned.read();
        let version = |tuple: Tuple<'_>| Version {
            xmin: tuple.xmin(),
            xmax: tuple.xmax(),
            cmin: tuple.cmin(),
            cmax: tuple.cmax(),
        };
        Ok(Page::new(&guard).tuple(tid.slot).map(version))
    }

    /// Whether nothing is left behind the line pointer `root` for anybody, durably. Prunes the page first if that may make it so. Never
    /// waits.
    ///
    /// An index entry that points to it may go before the next vacuum; but a vacuum may come in between and free the line pointer
    /// for a new row, so whoever takes the entry out looks again, under the entry's latch, by [`Heap::is_dead_now`].
    pub fn is_dead_root(&self, root: Tid) -> Result<bool> {
        let pinned = self.pin(root.block)?;
        let page_says = |page: Page<'_>| match page.item(root.slot) {
            Item::Dead => Some(true),
            Item::Normal(_) | Item::Redirect(_) if page.prune_xid().is_valid() => None,
            _ => Some(false),
        };
        {
            let guard = pinned.read();
            let page = Page::new(&guard);
            if let Some(answer) = page_says(page) {
                return Ok(answer);
            }
            if !self.has_settled(page.prune_xid()) {
                return Ok(false);
            }
        }
        self.services.wal.ensure_room(2 * base::limits::PAGE_SIZE_BYTES);
        let Some(mut guard) = pinned.try_write() else { return Ok(false) };
        self.prune(&mut guard, false);
        Ok(page_says(Page::new(&guard)) == Some(true))
    }

    /// Whether the line pointer `root` is dead, and not yet free. It stays so while an entry that points to it is in an index and kept
    /// there by a latch: a vacuum frees it after it has taken out all of its entries.
    pub fn is_dead_now(&self, root: Tid) -> Result<bool> {
        let pinned = self.pin(root.block)?;
        let guard = pinned.read();
        Ok(matches!(Page::new(&guard).item(root.slot), Item::Dead))
    }

    /// Reads the version that the snapshot sees of the row whose index entries point to `root`. `f` is told where that version is,
    /// and runs under the page's shared latch: it must not wait.
    #[inline]
    pub fn read_chain<R>(&self, ctx: &TxnCtx<'_>, root: Tid, f: impl FnOnce(Tid, &[u8]) -> R) -> Result<Option<R>> {
        let pinned = self.pin(root.block)?;
        let guard = pinned.read();
        let mut result = None;
        let mut settled = None;
        let mut passed = 0;
        for (slot, tuple) in Chain::new(Page::new(&guard), root.slot) {
            let sight = look(ctx, tuple);
            let tid = Tid::new(root.block, slot);
            if let Some(watch) = ctx.watch {
                tell_writers(watch, ctx, tuple, sight.visible);
                if sight.visible {
                    watch.saw(self.file, tid);
                }
            }
            if sight.visible {
                result = Some(f(tid, tuple.payload()));
                settled = sight.settled.map(|csn| (slot, tuple.xmin(), csn));
                break;
            }
            passed += 1;
        }
        self.leave(&pinned, guard, settled, passed);
        Ok(result)
    }

    /// After a read: marks the version as frozen if it can be, and prunes the page if the way was long. `passed`: how many older
    /// versions were in it. Never waits.
    #[inline]
    fn leave(&self, pinned: &Pinned<'_>, guard: PageRead<'_>, settled: Option<(u16, Xid, Lsn)>, passed: u32) {
        let page = Page::new(&guard);
        let freezable = settled.filter(|(_, _, csn)| *csn <= self.settled_below());
        let prunes = passed > LONG_CHAIN && self.has_settled(page.prune_xid());
        drop(guard);
        if freezable.is_some() || prunes {
            self.tidy(pinned, freezable, prunes);
        }
    }

    #[cold]
    fn tidy(&self, pinned: &Pinned<'_>, freezable: Option<(u16, Xid, Lsn)>, prunes: bool) {
        if prunes {
            self.services.wal.ensure_room(2 * base::limits::PAGE_SIZE_BYTES);
        }
        let Some(mut guard) = pinned.try_write() else { return };
        if let Some((slot, xmin, _)) = freezable
            && Page::new(&guard).tuple(slot).is_some_and(|tuple| tuple.xmin() == xmin)
            && let Some(mut tuple) = PageMut::new(&mut guard).tuple(slot)
        {
            tuple.add_flags(flag::XMIN_FROZEN);
            guard.mark_dirty_hint();
        }
        if prunes {
            self.prune(&mut guard, false);
        }
    }

    /// Whether the row whose index entry points to `root` is there, as things stand: for unique checks. A commit that is met is
    /// observed. A serializable transaction's watch is told of the row that is there, and of the transactions that come
    /// before because they have made it or taken the key away.
    pub fn dirty_status(&self, ctx: &TxnCtx<'_>, root: Tid) -> Result<Liveness> {
        let pinned = self.pin(root.block)?;
        let guard = pinned.read();
        let mut taken_away = None;
        for (slot, tuple) in Chain::new(Page::new(&guard), root.slot) {
            let made_at = match self.now(ctx, tuple.xmin(), tuple.has(flag::XMIN_FROZEN)) {
                Now::Aborted => continue,
                Now::Other(xid) => return Ok(Liveness::InProgressInsert(xid)),
                Now::Own => Lsn::ZERO,
                Now::Committed(csn) => csn,
            };
            let xmax = tuple.xmax();
            let removed = if xmax.is_valid() { self.now(ctx, xmax, false) } else { Now::Aborted };
            match removed {
                Now::Aborted => {
                    ctx.observe(made_at);
                    if let Some(watch) = ctx.watch {
                        self.tell_found(watch, Tid::new(root.block, slot), tuple.xmin(), made_at);
                    }
                    return Ok(Liveness::Live(made_at));
                }
                Now::Other(xid) => return Ok(Liveness::InProgressDelete(xid)),
                // A heap-only successor has the same key; one elsewhere has an index entry of its own.
                Now::Own => {}
                Now::Committed(csn) => {
                    ctx.observe(csn);
                    taken_away = tuple.has(flag::KEYS_CHANGED).then_some((xmax, csn));
                }
            }
        }
        // The transaction that took the key away had found the row by it, and no other row that is made now: it comes before.
        if let (Some((xid, csn)), Some(watch)) = (taken_away, ctx.watch)
            && csn > watch.snapshot()
        {
            watch.succeeds(xid, csn);
        }
        Ok(Liveness::Dead)
    }

    /// A unique check of a serializable transaction has found the version at `tid`, made by `xmin` at `made_at` (zero: by itself, or
    /// long ago). A transaction that removes it comes after; the one that made it comes before.
    #[cold]
    fn tell_found(&self, watch: &dyn ReadWatch, tid: Tid, xmin: Xid, made_at: Lsn) {
        watch.saw(self.file, tid);
        if made_at > watch.snapshot() {
            watch.succeeds(xmin, made_at);
        }
    }

    /// Returns the present state of `xid`, which made or removed a version.
    fn now(&self, ctx: &TxnCtx<'_>, xid: Xid, frozen: bool) -> Now {
        if frozen || !xid.is_normal() {
            return Now::Committed(Lsn::ZERO);
        }
        if xid == ctx.xid || xid == ctx.top_xid {
            return Now::Own;
        }
        match ctx.status.status(xid) {
            TransactionStatus::Aborted => Now::Aborted,
            TransactionStatus::Committed(csn) => Now::Committed(csn),
            TransactionStatus::InProgress if ctx.is_own(xid) => Now::Own,
            TransactionStatus::InProgress => Now::Other(xid),
        }
    }
}

/// The state of a transaction, judged without a snapshot.
enum Now {
    Own,
    Other(Xid),
    Committed(Lsn),
    Aborted,
}
