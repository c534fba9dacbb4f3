//! New rows: one, or many at once.

use base::{Result, Tid, Xid};
use buffer::PageWrite;
use clog::TxnCtx;
use smallvec::SmallVec;

use crate::heap::{Heap, check_length, writing_xid};
use crate::page::{Page, PageMut};
use crate::record::{self, Head};
use crate::tuple::{HEADER_BYTES, new_header};

/// How many blocks that nobody has looked at since the start an inserter looks at before it extends the file.
const PROBES: usize = 2;
/// How many blocks that should have room are tried before the file is extended.
const CANDIDATES: usize = 8;
/// Tuples in one record of [`Heap::insert_many`]: more never fit into a page.
const MANY_MAX: usize = 256;

impl Heap {
    /// Inserts a row.
    ///
    /// # Errors
    /// XX000 for a payload that is too long; what the page cache fails with.
    pub fn insert(&self, ctx: &TxnCtx<'_>, payload: &[u8]) -> Result<Tid> {
        check_length(payload)?;
        let xid = writing_xid(ctx)?;
        self.services.wal.ensure_room(payload.len() + 64);
        self.in_page_with_room(ctx, HEADER_BYTES + payload.len(), |guard| {
            let block = guard.page_id().block;
            let mut page = PageMut::new(guard);
            let new = page.read().is_new();
            if new {
                page.init();
            }
            let slot = page.read().next_slot();
            let tid = Tid::new(block, slot);
            let placed = page.place(slot, &new_header(xid, ctx.command, tid, 0), &[payload]);
            assert!(placed, "the page was chosen for its room");
            let head: Head<18> = Head::new(self.file, block).u16(slot).u32(ctx.command.0);
            let info = record::INSERT | if new { record::INIT } else { 0 };
            guard.set_lsn(self.log(info, xid, &[head.bytes(), payload]));
            tid
        })
    }

    /// Inserts many rows, a page and a log record at a time: COPY and `INSERT ... SELECT`. Tells where each was placed, in
    /// order. On an error some may have been inserted.
    pub fn insert_many(&self, ctx: &TxnCtx<'_>, payloads: &[&[u8]], placed: &mut dyn FnMut(usize, Tid)) -> Result<()> {
        for payload in payloads {
            check_length(payload)?;
        }
        let xid = writing_xid(ctx)?;
        let mut done = 0;
        while done < payloads.len() {
            sync::let_others_run();
            self.services.wal.ensure_room(2 * base::limits::PAGE_SIZE_BYTES);
            let first = done;
            let (block, slots) = self.in_page_with_room(ctx, HEADER_BYTES + payloads[done].len(), |guard| {
                self.fill_page(ctx, xid, guard, &payloads[first..])
            })?;
            for slot in slots {
                placed(done, Tid::new(block, slot));
                done += 1;
            }
        }
        Ok(())
    }

    /// Puts as many of `payloads` as fit into a page, at least one; one record for all.
    fn fill_page(
        &self,
        ctx: &TxnCtx<'_>,
        xid: Xid,
        guard: &mut PageWrite<'_>,
        payloads: &[&[u8]],
    ) -> (u32, SmallVec<[u16; MANY_MAX]>) {
        let block = guard.page_id().block;
        let mut page = PageMut::new(guard);
        let new = page.read().is_new();
        if new {
            page.init();
        }
        let mut slots = SmallVec::new();
        let mut entries: SmallVec<[u8; MANY_MAX * 4]> = SmallVec::new();
        for payload in payloads.iter().take(MANY_MAX) {
            let reserve = if slots.is_empty() { 0 } else { self.reserve_bytes };
            if !page.read().has_room(HEADER_BYTES + payload.len() + reserve) {
                break;
            }
            let slot = page.read().next_slot();
            let placed = page.place(slot, &new_header(xid, ctx.command, Tid::new(block, slot), 0), &[payload]);
            assert!(placed, "there was room");
            slots.push(slot);
            entries.extend_from_slice(&slot.to_le_bytes());
            entries.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        }
        assert!(!slots.is_empty(), "the page was chosen for its room");
        let head: Head<18> = Head::new(self.file, block).u32(ctx.command.0).u16(slots.len() as u16);
        let mut parts: SmallVec<[&[u8]; MANY_MAX + 2]> = SmallVec::new();
        parts.push(head.bytes());
        parts.push(&entries);
        parts.extend_from_slice(&payloads[..slots.len()]);
        let info = record::INSERT_MANY | if new { record::INIT } else { 0 };
        guard.set_lsn(self.log(info, xid, &parts));
        (block, slots)
    }

    /// Runs `f` on a latched page where a tuple of `length` bytes, header included, fits.
    fn in_page_with_room<R>(
        &self,
        ctx: &TxnCtx<'_>,
        length: usize,
        f: impl FnOnce(&mut PageWrite<'_>) -> R,
    ) -> Result<R> {
        let space = self.space();
        if let Some(block) = space.target(ctx.owner) {
            let pinned = self.pin(block)?;
            let guard = match pinned.try_write() {
                Some(guard) => Some(guard),
                // Somebody is at work there. The first few times, go and find another block to fill.
                None if space.spread() => None,
                None => Some(pinned.write()),
            };
            if let Some(mut guard) = guard {
                if self.fits(Page::new(&guard), length) {
                    return Ok(f(&mut guard));
                }
                self.note_room(block, &guard);
            }
        }
        self.in_found_page(ctx, length, None, |guard| {
            space.set_target(ctx.owner, guard.page_id().block);
            f(guard)
        })
    }

    /// Runs `f` on a page with room that is nobody's target, latched: not `latched`, which the caller holds, in which case
    /// no latch is waited for.
    pub(crate) fn in_found_page<R>(
        &self,
        ctx: &TxnCtx<'_>,
        length: usize,
        latched: Option<u32>,
        f: impl FnOnce(&mut PageWrite<'_>) -> R,
    ) -> Result<R> {
        let space = self.space();
        let from = space.target(ctx.owner).unwrap_or(0);
        let mut probes = PROBES;
        // Blocks that need not be tried: the block whose page the caller has latched, and blocks whose latch another thread held.
        let mut passed: SmallVec<[u32; CANDIDATES + 1]> = latched.into_iter().collect();
        for _ in 0..CANDIDATES {
            let found = space.find(length + self.reserve_bytes, from, &passed);
            let block = match found {
                Some(block) => block,
                None if probes > 0 => {
                    probes -= 1;
                    match space.take_unknown() {
                        Some(block) => block,
                        None => break,
                    }
                }
                None => break,
            };
            if passed.contains(&block) {
                continue;
            }
            let pinned = self.pin(block)?;
            let mut guard = match latched {
                None => pinned.write(),
                Some(_) => match pinned.try_write() {
                    Some(guard) => guard,
                    None => {
                        passed.push(block);
                        continue;
                    }
                },
            };
            if self.fits(Page::new(&guard), length) {
                return Ok(f(&mut guard));
            }
            self.note_room(block, &guard);
        }
        // A vacuum may tell others of the new page's room as soon as its latch is free.
        let mut guard = self.services.pool.pin_new(self.file)?;
        Ok(f(&mut guard))
    }

    fn fits(&self, page: Page<'_>, length: usize) -> bool {
        let reserve = if page.slots() == 0 { 0 } else { self.reserve_bytes };
        page.has_room(length + reserve)
    }
}
