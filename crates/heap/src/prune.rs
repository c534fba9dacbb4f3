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
use crate::page::{Item, Page, PageMut, Quiet};
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
        let floor = self.services.removal_floor.floor();
        let durable = self.services.wal.durable();
        let mut plan = Plan::default();
        let slots = page.slots();
        let mut in_chain = [0u64; crate::page::SLOTS_MAX / 64 + 1];
        let mut members: SmallVec<[u16; 64]> = SmallVec::new();
        // Rows that lie together were often made together.
        let mut settled_maker = None;
        // Heap-only versions on the page, less those that chains led to.
        let mut astray = 0;
        for root in 1..=slots {
            match page.quiet(root) {
                Quiet::Root => continue,
                Quiet::HeapOnly => {
                    astray += 1;
                    continue;
                }
                Quiet::Unknown => {}
            }
            let (first, redirected) = match page.item(root) {
                Item::Normal(tuple) if tuple.has(flag::HEAP_ONLY) => {
                    astray += 1;
                    continue;
                }
                Item::Normal(tuple) => {
                    if !tuple.xmax().is_valid() {
                        // Most rows of most pages: nobody has removed it, so that all depends on its maker.
                        if tuple.has(flag::XMIN_FROZEN) {
                            plan.quiet.push(root);
                            continue;
                        }
                        if settled_maker == Some(tuple.xmin()) {
                            plan.settled.push(root);
                            continue;
                        }
                        if let TransactionStatus::Committed(csn) = self.services.status.status(tuple.xmin()) {
                            if csn <= floor.min(durable) {
                                settled_maker = Some(tuple.xmin());
                                plan.settled.push(root);
                            }
                            continue;
                        }
                    }
                    (root, false)
                }
                Item::Redirect(to) => {
                    if page.quiet(to) == Quiet::HeapOnly {
                        // The row's only version: it stays.
                        in_chain[usize::from(to) / 64] |= 1 << (to % 64);
                        astray -= 1;
                        continue;
                    }
                    (to, true)
                }
                Item::Dead if without_indexes => {
                    plan.unused.push(root);
                    continue;
                }
                _ => continue,
            };
            members.clear();
            // How many versions at the beginning go, and whether the last of them was a row's last one, and removed when.
            let (mut dead, mut last_gone) = (0, None);
            let mut slot = first;
            let mut made_by = None;
            while let Some(tuple) = page.tuple(slot) {
                let heap_only = tuple.has(flag::HEAP_ONLY);
                if made_by.is_some_and(|xid| xid != tuple.xmin())
                    || heap_only != (redirected || !members.is_empty())
                    || members.len() > usize::from(slots)
                {
                    break;
                }
                members.push(slot);
                in_chain[usize::from(slot) / 64] |= 1 << (slot % 64);
                astray -= i32::from(heap_only);
                match self.fate(tuple, Tid::new(block, slot), floor, durable) {
                    fate @ (Fate::Needed | Fate::Settled) => {
                        if matches!(fate, Fate::Settled) {
                            plan.settled.push(slot);
                        } else if tuple.has(flag::XMIN_FROZEN) && !tuple.xmax().is_valid() {
                            plan.quiet.push(slot);
                        }
                        plan.note(tuple, self);
                        break;
                    }
                    Fate::NeverWas => (dead, last_gone) = (members.len(), None),
                    Fate::Gone(csn) => (dead, last_gone) = (members.len(), Some(csn)),
                }
                if !tuple.has(flag::HOT_UPDATED) {
                    break;
                }
                made_by = Some(tuple.xmax());
                slot = tuple.ctid().slot;
            }
            if dead == members.len() && dead > 0 && last_gone.is_some_and(|csn| csn > durable) {
                dead -= 1;
                if let Some(tuple) = page.tuple(members[dead]) {
                    plan.note(tuple, self);
                }
            }
            if dead == 0 {
                continue;
            }
            plan.removed += dead;
            for &gone in &members[..dead] {
                if gone != root {
                    plan.unused.push(gone);
                }
            }
            let Some(&survivor) = members.get(dead) else {
                let left_the_page =
                    last_gone.is_some() && page.tuple(members[dead - 1]).is_some_and(|last| !last.has(flag::DELETED));
                plan.lost_a_row |= !left_the_page;
                if without_indexes {
                    plan.unused.push(root)
                } else {
                    plan.dead.push(root)
                }
                continue;
            };
            plan.redirected.push((root, survivor));
        }
        // Heap-only versions that no chain leads to: made by updates that aborted.
        for slot in (1..=slots).take_while(|_| astray != 0) {
            if in_chain[usize::from(slot) / 64] & (1 << (slot % 64)) == 0
                && let Item::Normal(tuple) = page.item(slot)
                && tuple.has(flag::HEAP_ONLY)
            {
                match self.fate(tuple, Tid::new(block, slot), floor, durable) {
                    Fate::NeverWas => {
                        plan.unused.push(slot);
                        plan.removed += 1;
                    }
                    _ => plan.note(tuple, self),
                }
            }
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
