//! Vacuum: what pruning alone can't do, because index entries or the whole table are concerned.
//!
//! The engine runs it in rounds: [`Heap::vacuum_step`] prunes and freezes some blocks and reports dead line
//! pointers; the engine takes their entries out of every index; [`Heap::vacuum_free`] makes the line
//! pointers free. At the end [`Heap::truncate_tail`] gives empty blocks at the file's end back.
//!
//! Freezing marks a version as made by a commit that is durable and that every snapshot sees, so that its
//! `xmin` need never be looked up again; the commit log can then be cut off before the oldest xid that is
//! left. Readers set the same mark as a hint, which a crash may lose; a second bit says that the mark is
//! in the log as well, and only that one counts for cutting off.

use base::limits::PAGE_SIZE_BYTES;
use base::{CommandId, Result, Tid, Xid};
use clog::TransactionStatus;
use smallvec::SmallVec;

use crate::heap::Heap;
use crate::page::{Item, Page, PageMut};
use crate::record::{self, Head};
use crate::tuple::flag;

/// The result of one step of vacuum.
#[derive(Default, Debug)]
pub struct VacuumStep {
    /// The block to go on with; none at the end.
    pub next: Option<u32>,
    /// Line pointers whose index entries must go before [`Heap::vacuum_free`]. Ascending.
    pub dead: Vec<Tid>,
    /// Rows that are there, or may be when a transaction commits.
    pub live_tuples: u64,
    /// Versions that are dead, but not yet to everyone.
    pub recently_dead_tuples: u64,
    /// Versions whose bytes came free.
    pub removed_tuples: u64,
    /// The oldest xid left in these blocks: the commit log is needed from here on.
    pub oldest_xid: Option<Xid>,
}

impl Heap {
    /// Prunes and freezes up to `max_blocks` blocks from `from` on. `without_indexes`: the table has none, so that dead line
    /// pointers are freed at once instead of being reported.
    pub fn vacuum_step(&self, from: u32, max_blocks: u32, without_indexes: bool) -> Result<VacuumStep> {
        let mut step = VacuumStep::default();
        let blocks = self.block_count()?;
        let end = from.saturating_add(max_blocks).min(blocks);
        for block in from..end {
            sync::yield_point()?;
            self.vacuum_block(block, without_indexes, &mut step)?;
        }
        step.next = (end < blocks).then_some(end);
        Ok(step)
    }

    fn vacuum_block(&self, block: u32, without_indexes: bool, step: &mut VacuumStep) -> Result<()> {
        self.services.wal.ensure_room(4 * PAGE_SIZE_BYTES);
        let pinned = self.services.pool.pin_for_scan(buffer::PageId::new(self.file, block))?;
        let mut guard = pinned.write();
        if Page::new(&guard).is_new() {
            // Left behind by an extension that a crash cut short: somebody may fill it.
            self.note_room(block, &guard);
            return Ok(());
        }
        step.removed_tuples += self.prune(&mut guard, without_indexes).removed as u64;
        let settled = self.settled_below();
        let status = &self.services.status;
        let (mut frozen, mut cleared) = (SmallVec::<[u8; 512]>::new(), SmallVec::<[u8; 64]>::new());
        let page = Page::new(&guard);
        for slot in 1..=page.slots() {
            let tuple = match page.item(slot) {
                Item::Dead => {
                    step.dead.push(Tid::new(block, slot));
                    continue;
                }
                Item::Normal(tuple) => tuple,
                _ => continue,
            };
            let mut needs = |xid: Xid| step.oldest_xid = Some(step.oldest_xid.map_or(xid, |oldest| oldest.min(xid)));
            let xmin = tuple.xmin();
            if !tuple.has(flag::FREEZE_LOGGED) {
                let settles = tuple.has(flag::XMIN_FROZEN)
                    || !xmin.is_normal()
                    || matches!(status.status(xmin), TransactionStatus::Committed(csn) if csn <= settled);
                if settles {
                    frozen.extend_from_slice(&slot.to_le_bytes());
                } else {
                    needs(xmin);
                }
            }
            let xmax = tuple.xmax();
            if !xmax.is_valid() {
                step.live_tuples += 1;
                continue;
            }
            match status.status(xmax) {
                TransactionStatus::Aborted => {
                    cleared.extend_from_slice(&slot.to_le_bytes());
                    step.live_tuples += 1;
                }
                TransactionStatus::InProgress => {
                    needs(xmax);
                    step.live_tuples += 1;
                }
                TransactionStatus::Committed(_) => {
                    needs(xmax);
                    step.recently_dead_tuples += 1;
                }
            }
        }
        if !frozen.is_empty() || !cleared.is_empty() {
            let slots = |list: &[u8]| (list.len() / 2) as u16;
            let head: Head<16> = Head::new(self.file, block).u16(slots(&frozen)).u16(slots(&cleared));
            apply_freeze(&mut PageMut::new(&mut guard), block, record::slots(&frozen), record::slots(&cleared));
            guard.set_lsn(self.log(record::FREEZE, Xid::INVALID, &[head.bytes(), &frozen, &cleared]));
        }
        self.note_room(block, &guard);
        Ok(())
    }

    /// Frees dead line pointers that no index points to any more. `dead` is ascending. One with locks in memory stays dead until
    /// the next vacuum.
    pub fn vacuum_free(&self, dead: &[Tid]) -> Result<()> {
        for of_block in dead.chunk_by(|a, b| a.block == b.block) {
            let block = of_block[0].block;
            sync::let_others_run();
            self.services.wal.ensure_room(2 * PAGE_SIZE_BYTES);
            let pinned = self.pin(block)?;
            let mut guard = pinned.write();
            let page = Page::new(&guard);
            let mut unused = SmallVec::<[u8; 512]>::new();
            for tid in of_block {
                if matches!(page.item(tid.slot), Item::Dead) && !self.services.locks.has_row_entry(self.relation, *tid)
                {
                    unused.extend_from_slice(&tid.slot.to_le_bytes());
                }
            }
            if unused.is_empty() {
                continue;
            }
            let prune_xid = page.prune_xid();
            let head: Head<26> =
                Head::new(self.file, block).u64(prune_xid.0).u16(0).u16(0).u16((unused.len() / 2) as u16);
            let none = [].into_iter();
            crate::prune::apply(&mut PageMut::new(&mut guard), prune_xid, [].into_iter(), none, record::slots(&unused));
            guard.set_lsn(self.log(record::PRUNE, Xid::INVALID, &[head.bytes(), &unused]));
            self.note_room(block, &guard);
        }
        Ok(())
    }

    /// Cuts empty blocks off the end of the file; returns how many. The caller holds the table's AccessExclusive lock, and keeps it
    /// until this returns.
    pub fn truncate_tail(&self) -> Result<u32> {
        let blocks = self.block_count()?;
        let mut keep = blocks;
        while keep > 0 {
            sync::yield_point()?;
            let pinned = self.services.pool.pin_for_scan(buffer::PageId::new(self.file, keep - 1))?;
            let guard = pinned.read();
            let page = Page::new(&guard);
            if !page.is_new() && (1..=page.slots()).any(|slot| !matches!(page.item(slot), Item::Unused)) {
                break;
            }
            keep -= 1;
        }
        if keep == blocks {
            return Ok(0);
        }
        self.services.pool.truncate_file(self.file, keep, || {
            let head: Head<12> = Head::new(self.file, keep);
            self.log(record::TRUNCATE, Xid::INVALID, &[head.bytes()])
        })?;
        self.space().truncate(keep);
        Ok(blocks - keep)
    }
}

/// Does what a freeze record says: by vacuum, and by redo.
pub(crate) fn apply_freeze(
    page: &mut PageMut<'_>,
    block: u32,
    frozen: impl Iterator<Item = u16>,
    cleared: impl Iterator<Item = u16>,
) {
    for slot in frozen {
        if let Some(mut tuple) = page.tuple(slot) {
            tuple.add_flags(flag::XMIN_FROZEN | flag::FREEZE_LOGGED);
        }
    }
    for slot in cleared {
        if let Some(mut tuple) = page.tuple(slot) {
            tuple.set_xmax(Xid::INVALID, CommandId(0), Tid::new(block, slot), 0);
        }
    }
}
