//! Pruning: taking versions that nobody can see out of a page, without touching any index.
//!
//! A row's versions in one page form a chain: a root, which index entries point to, then heap-only
//! versions. Dead versions at the chain's beginning go. If something of the row is left, the root's line
//! pointer becomes a redirect to it; if nothing is, the line pointer becomes dead and waits for vacuum to
//! remove the index entries first.
//!
//! ```text
//!   before   1: root, dead -> 2: dead -> 3: live            after   1: redirect to 3, 2: unused, 3: live
//!   before   1: redirect to 3; 3: deleted by a durable commit       1: dead, 3: unused
//! ```
//!
//! Two rules say which versions may be removed (design, "Snapshots and removal"). A version with a newer version behind it in
//! the chain may be removed once its remover's csn is at or below the removal floor. The last version of a row, or a version
//! whose successor is in another page, may be removed only when that csn is durable too: a reader that finds no version
//! can't know which commit it should wait for (R3). A version with a queue stays. A version with row locks stays unless
//! the locks are on its successor as well: the queue and the locks name the version by its line pointer.
//!
//! The record goes into the log after the commits that justify it, so R1 holds by the page's LSN.

use base::{Lsn, Tid, Xid};
use buffer::PageWrite;
use clog::TransactionStatus;
use smallvec::SmallVec;

use crate::heap::Heap;
use crate::page::{Item, Page, PageMut, Quiet, SLOTS_MAX};
use crate::record::{self, Head};
use crate::tuple::{Tuple, flag};

/// A page with less room than this is worth a look when a scan comes by.
const LOW_ROOM_BYTES: usize = base::limits::PAGE_SIZE_BYTES / 10;

/// The changes that a prune makes to a page. The same lists go into the record.
#[derive(Default)]
struct Plan {
    redirected: SmallVec<[(u16, u16); 16]>,
    dead: SmallVec<[u16; 16]>,
    unused: SmallVec<[u16; 128]>,
    /// The page's new `prune_xid`.
    prune_xid: Xid,
    /// Tuples that go.
    removed: usize,
    /// Versions met on the way that can be marked as frozen: a hint, and so not in the record.
    settled: SmallVec<[u16; 64]>,
    /// Versions that are frozen and that no transaction has removed, so that the next prune can pass over them.
    quiet: SmallVec<[u16; 64]>,
    /// A row is gone for good: its room is anybody's.
    lost_a_row: bool,
}

/// The state of a version, judged without a snapshot.
enum Fate {
    /// Its maker aborted.
    NeverWas,
    /// Removed by a commit at this csn, which every snapshot sees.
    Gone(Lsn),
    /// Some transaction may need it.
    Needed,
    /// As `Needed`, and its maker committed: durably, and for every snapshot.
    Settled,
}

/// The result of a prune.
#[derive(Default, Clone, Copy)]
pub(crate) struct Pruned {
    /// Tuples whose bytes came free.
    pub(crate) removed: usize,
}

impl Heap {
    /// Whether a scan that comes by should prune this page, judged by its header.
    pub(crate) fn prune_pays(&self, page: Page<'_>) -> bool {
        let xid = page.prune_xid();
        xid.is_valid() && page.room() < LOW_ROOM_BYTES.max(self.reserve_bytes) && self.has_settled(xid)
    }

    /// Whether what `xid` removed (or made, if it aborted) can be pruned.
    pub(crate) fn has_settled(&self, xid: Xid) -> bool {
        if !xid.is_valid() {
            return false;
        }
        match self.services.status.status(xid) {
            TransactionStatus::InProgress => false,
            TransactionStatus::Aborted => true,
            TransactionStatus::Committed(csn) => csn <= self.services.removal_floor.floor(),
        }
    }

    /// Prunes a latched page and logs it, if there is anything to be gained. `without_indexes`: nothing points to line
    /// pointers from outside, so that dead ones are free at once.
    pub(crate) fn prune(&self, guard: &mut PageWrite<'_>, without_indexes: bool) -> Pruned {
        let block = guard.page_id().block;
        let page = Page::new(guard);
        let plan = self.plan(page, block, without_indexes);
        // Marks alone are not worth dirtying the page.
        if plan.redirected.is_empty() && plan.dead.is_empty() && plan.unused.is_empty() {
            return Pruned::default();
        }
        let lists = plan.to_bytes();
        let head: Head<26> = Head::new(self.file, block)
            .u64(plan.prune_xid.0)
            .u16(plan.redirected.len() as u16)
            .u16(plan.dead.len() as u16)
            .u16(plan.unused.len() as u16);
        let mut page = PageMut::new(guard);
        apply(
            &mut page,
            plan.prune_xid,
            plan.redirected.iter().copied(),
            plan.dead.iter().copied(),
            plan.unused.iter().copied(),
        );
        for slot in &plan.settled {
            if let Some(mut tuple) = page.tuple(*slot) {
                tuple.add_flags(flag::XMIN_FROZEN);
            }
        }
        for slot in plan.settled.iter().chain(&plan.quiet) {
            page.note_quiet(*slot);
        }
        guard.set_lsn(self.log(record::PRUNE, Xid::INVALID, &[head.bytes(), &lists]));
        // Room that updates left is for the next updates of this page's rows: given to others, it would make these leave their
        // page, and every page would stay full to the brim. A vacuum tells of it all the same.
        if plan.lost_a_row {
            self.note_room(block, guard);
        }
        Pruned { removed: plan.removed }
    }

    fn plan(&self, page: Page<'_>, block: u32, without_indexes: bool) -> Plan {
        let survey = Survey {
            heap: self,
            page,
            block,
            floor: self.services.removal_floor.floor(),
            durable: self.services.wal.durable(),
            without_indexes,
        };
        let mut plan = Plan::default();
        let mut met = Met { settled_maker: None, heap_only: 0 };
        let mut chained = Chained { bits: [0; SLOTS_MAX / 64 + 1], heap_only: 0 };
        let mut members = SmallVec::new();
        for root in 1..=page.slots() {
            let Some(beginning) = survey.beginning(root, &mut met, &mut chained, &mut plan) else { continue };
            let end = survey.walk(beginning, &mut members, &mut chained, &mut plan);
            if end.dead > 0 {
                survey.take_out(root, &members, end, &mut plan);
            }
        }
        if met.heap_only != chained.heap_only {
            survey.take_out_astray(&chained, &mut plan);
        }
        plan
    }

    fn fate(&self, tuple: Tuple<'_>, tid: Tid, floor: Lsn, durable: Lsn) -> Fate {
        let status = &self.services.status;
        let has_locks = || self.services.locks.has_row_entry(self.relation, tid);
        let xmax = tuple.xmax();
        if xmax.is_valid()
            && let TransactionStatus::Committed(csn) = status.status(xmax)
        {
            // A committed remover saw a committed version, so `xmin` needs no look.
            // Locks on it were carried on to its successor and protect nothing here any more.
            let named = || tuple.has(flag::LOCKED_IN_MEMORY) && !self.services.locks.forget_row(self.relation, tid);
            return if csn <= floor && !named() { Fate::Gone(csn) } else { Fate::Needed };
        }
        let xmin = tuple.xmin();
        if tuple.has(flag::XMIN_FROZEN) || !xmin.is_normal() {
            return Fate::Needed;
        }
        match status.status(xmin) {
            TransactionStatus::Aborted if !has_locks() => Fate::NeverWas,
            TransactionStatus::Committed(csn) if csn <= floor.min(durable) => Fate::Settled,
            _ => Fate::Needed,
        }
    }
}

/// The look at a page's versions, row by row.
struct Survey<'s> {
    heap: &'s Heap,
    page: Page<'s>,
    block: u32,
    floor: Lsn,
    durable: Lsn,
    /// No index points to this page.
    without_indexes: bool,
}

/// Facts that the items of the page have told.
struct Met {
    /// The last maker found to be settled: the next row was often made by the same transaction.
    settled_maker: Option<Xid>,
    /// Heap-only versions.
    heap_only: u32,
}

/// The versions that chains led to.
struct Chained {
    /// A bit for each line pointer.
    bits: [u64; SLOTS_MAX / 64 + 1],
    /// How many of them are heap-only.
    heap_only: u32,
}

/// The beginning of a chain whose versions have to be looked at.
#[derive(Clone, Copy)]
struct Beginning {
    /// The first version's line pointer.
    first: u16,
    /// The root is a redirect to it.
    redirected: bool,
}

/// The versions at the beginning of a chain that go.
#[derive(Clone, Copy)]
struct DeadVersions {
    dead: usize,
    /// The csn of the last one's removal; none if its maker aborted.
    last_gone: Option<Lsn>,
}

impl Chained {
    #[inline]
    fn mark(&mut self, slot: u16) {
        self.bits[usize::from(slot) / 64] |= 1 << (slot % 64);
    }

    fn has(&self, slot: u16) -> bool {
        self.bits[usize::from(slot) / 64] & (1 << (slot % 64)) != 0
    }
}

impl Survey<'_> {
    /// Returns the start of the row's chain, or `None` if the root alone shows that the row stays.
    #[inline]
    fn beginning(&self, root: u16, met: &mut Met, chained: &mut Chained, plan: &mut Plan) -> Option<Beginning> {
        let page = self.page;
        match page.quiet(root) {
            Quiet::Root => return None,
            Quiet::HeapOnly => {
                met.heap_only += 1;
                return None;
            }
            Quiet::Unknown => {}
        }
        match page.item(root) {
            Item::Normal(tuple) if tuple.has(flag::HEAP_ONLY) => {
                met.heap_only += 1;
                None
            }
            Item::Normal(tuple) => {
                if !tuple.xmax().is_valid() {
                    // Most rows of most pages: nobody has removed it, so that all depends on its maker.
                    if tuple.has(flag::XMIN_FROZEN) {
                        plan.quiet.push(root);
                        return None;
                    }
                    if met.settled_maker == Some(tuple.xmin()) {
                        plan.settled.push(root);
                        return None;
                    }
                    if let TransactionStatus::Committed(csn) = self.heap.services.status.status(tuple.xmin()) {
                        if csn <= self.floor.min(self.durable) {
                            met.settled_maker = Some(tuple.xmin());
                            plan.settled.push(root);
                        }
                        return None;
                    }
                }
                Some(Beginning { first: root, redirected: false })
            }
            Item::Redirect(to) => {
                if page.quiet(to) == Quiet::HeapOnly {
                    // The row's only version: it stays.
                    chained.mark(to);
                    chained.heap_only += 1;
                    return None;
                }
                Some(Beginning { first: to, redirected: true })
            }
            Item::Dead if self.without_indexes => {
                plan.unused.push(root);
                None
            }
            _ => None,
        }
    }

    /// Gathers the versions of a chain, up to the first one that stays.
    #[inline]
    fn walk(
        &self,
        beginning: Beginning,
        members: &mut SmallVec<[u16; 64]>,
        chained: &mut Chained,
        plan: &mut Plan,
    ) -> DeadVersions {
        let page = self.page;
        members.clear();
        let mut end = DeadVersions { dead: 0, last_gone: None };
        let mut slot = beginning.first;
        let mut made_by = None;
        while let Some(tuple) = page.tuple(slot) {
            let heap_only = tuple.has(flag::HEAP_ONLY);
            if made_by.is_some_and(|xid| xid != tuple.xmin())
                || heap_only != (beginning.redirected || !members.is_empty())
                || members.len() > usize::from(page.slots())
            {
                break;
            }
            members.push(slot);
            chained.mark(slot);
            chained.heap_only += u32::from(heap_only);
            match self.heap.fate(tuple, Tid::new(self.block, slot), self.floor, self.durable) {
                fate @ (Fate::Needed | Fate::Settled) => {
                    if matches!(fate, Fate::Settled) {
                        plan.settled.push(slot);
                    } else if tuple.has(flag::XMIN_FROZEN) && !tuple.xmax().is_valid() {
                        plan.quiet.push(slot);
                    }
                    plan.note(tuple, self.heap);
                    break;
                }
                Fate::NeverWas => end = DeadVersions { dead: members.len(), last_gone: None },
                Fate::Gone(csn) => end = DeadVersions { dead: members.len(), last_gone: Some(csn) },
            }
            if !tuple.has(flag::HOT_UPDATED) {
                break;
            }
            made_by = Some(tuple.xmax());
            slot = tuple.ctid().slot;
        }
        // A row's last version stays until its removal is durable.
        if end.dead == members.len() && end.dead > 0 && end.last_gone.is_some_and(|csn| csn > self.durable) {
            end.dead -= 1;
            if let Some(tuple) = page.tuple(members[end.dead]) {
                plan.note(tuple, self.heap);
            }
        }
        end
    }

    /// Takes out versions at the beginning of a row's chain. `members` are its versions, up to the first one that stays.
    #[inline]
    fn take_out(&self, root: u16, members: &[u16], end: DeadVersions, plan: &mut Plan) {
        let DeadVersions { dead, last_gone } = end;
        plan.removed += dead;
        for &gone in &members[..dead] {
            if gone != root {
                plan.unused.push(gone);
            }
        }
        if let Some(&survivor) = members.get(dead) {
            plan.redirected.push((root, survivor));
            return;
        }
        let last = self.page.tuple(members[dead - 1]);
        let left_the_page = last_gone.is_some() && last.is_some_and(|last| !last.has(flag::DELETED));
        plan.lost_a_row |= !left_the_page;
        if self.without_indexes { plan.unused.push(root) } else { plan.dead.push(root) }
    }

    /// Takes out heap-only versions that no chain leads to: made by updates that aborted.
    #[cold]
    fn take_out_astray(&self, chained: &Chained, plan: &mut Plan) {
        for slot in 1..=self.page.slots() {
            if !chained.has(slot)
                && let Item::Normal(tuple) = self.page.item(slot)
                && tuple.has(flag::HEAP_ONLY)
            {
                match self.heap.fate(tuple, Tid::new(self.block, slot), self.floor, self.durable) {
                    Fate::NeverWas => {
                        plan.unused.push(slot);
                        plan.removed += 1;
                    }
                    _ => plan.note(tuple, self.heap),
                }
            }
        }
    }
}

impl Plan {
    /// A version that stays: its remover's end may be worth another prune.
    fn note(&mut self, tuple: Tuple<'_>, heap: &Heap) {
        let xmax = tuple.xmax();
        if xmax.is_valid()
            && (!self.prune_xid.is_valid() || xmax < self.prune_xid)
            && heap.services.status.status(xmax) != TransactionStatus::Aborted
        {
            self.prune_xid = xmax;
        }
    }

    fn to_bytes(&self) -> SmallVec<[u8; 512]> {
        let mut bytes = SmallVec::new();
        for (from, to) in &self.redirected {
            bytes.extend_from_slice(&from.to_le_bytes());
            bytes.extend_from_slice(&to.to_le_bytes());
        }
        for slot in self.dead.iter().chain(&self.unused) {
            bytes.extend_from_slice(&slot.to_le_bytes());
        }
        bytes
    }
}

/// Does what a prune record says: by the pruner, and by redo.
pub(crate) fn apply(
    page: &mut PageMut<'_>,
    prune_xid: Xid,
    redirected: impl Iterator<Item = (u16, u16)>,
    dead: impl Iterator<Item = u16>,
    unused: impl Iterator<Item = u16>,
) {
    redirected.for_each(|(from, to)| page.set_redirect(from, to));
    dead.for_each(|slot| page.set_dead(slot));
    unused.for_each(|slot| page.set_unused(slot));
    page.trim();
    page.set_prune_xid(prune_xid);
}
