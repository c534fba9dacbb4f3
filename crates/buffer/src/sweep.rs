//! Which frame goes to a new page: a clock that passes over the frames, lowering usage, and takes the first that nobody
//! uses. Dirty ones it passes are written in batches: a batch costs two syncs however many pages are in it.

use base::{Error, Result, sqlstate};
use sync::atomic::Ordering;

use crate::BufferPool;
use crate::frame::{CLAIMED, DIRTY, PIN_MASK, USAGE, USAGE_MASK, USAGE_MAX, VALID, WRITING};
use crate::pool::set_state;
use crate::write_back::Cause;

/// Dirty pages that a thread in need of a frame collects before it writes them.
const EVICTION_BATCH_PAGES: usize = 64;

/// The frames that may be claimed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Clean and unused.
    Unused,
    /// Anything not pinned: its changes will be forgotten.
    EvenDirty,
}

impl BufferPool {
    /// A frame that is claimed and holds no page. 53000 if all are pinned.
    ///
    /// May write pages, and wait for the log. It never waits for a page latch, of which the caller may hold some.
    pub(crate) fn take_victim(&self) -> Result<u32> {
        let count = self.frames.len();
        let mut batch = [0; EVICTION_BATCH_PAGES];
        let mut collected = 0;
        // After so many steps every usage has come down to zero, unless all frames are pinned.
        let steps_max = (USAGE_MAX / USAGE + 2) as usize * count;
        let mut steps = 0;
        let mut somebody_else_frees = false;
        loop {
            let index = (self.hand.fetch_add(1, Ordering::Relaxed) % count) as u32;
            let state = &self.frames[index].state;
            let seen = state.load(Ordering::Relaxed);
            steps += 1;
            if seen & (CLAIMED | WRITING) != 0 {
                somebody_else_frees = true;
            } else if seen & PIN_MASK != 0 {
                // In use.
            } else if seen & USAGE_MASK != 0 {
                // Failing means that somebody pins it, which is as good a reason to leave it.
                let _ = state.compare_exchange_weak(seen, seen - USAGE, Ordering::Relaxed, Ordering::Relaxed);
            } else if seen & DIRTY != 0 {
                if !batch[..collected].contains(&index) {
                    batch[collected] = index;
                    collected += 1;
                }
            } else if self.try_claim(index, Claim::Unused) {
                self.detach(index);
                return Ok(index);
            }
            if collected == EVICTION_BATCH_PAGES || (steps >= count && collected > 0) {
                self.write_frames(&mut batch[..collected], Cause::Eviction);
                for &index in &batch[..collected] {
                    if self.try_claim(index, Claim::Unused) {
                        self.detach(index);
                        return Ok(index);
                    }
                }
                collected = 0;
                steps = 0;
            } else if steps >= steps_max {
                if !somebody_else_frees {
                    return Err(Error::new(sqlstate::INSUFFICIENT_RESOURCES, "no unpinned buffers available"));
                }
                somebody_else_frees = false;
                steps = 0;
                sync::thread::yield_now();
            }
        }
    }

    /// Claims a frame that nobody has pinned.
    pub(crate) fn try_claim(&self, index: u32, what: Claim) -> bool {
        let state = &self.frames[index].state;
        let seen = state.load(Ordering::Relaxed);
        let in_the_way = match what {
            Claim::Unused => PIN_MASK | USAGE_MASK | DIRTY | WRITING | CLAIMED,
            Claim::EvenDirty => PIN_MASK | WRITING | CLAIMED,
        };
        seen & in_the_way == 0
            && state.compare_exchange(seen, seen | CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Gives back a claimed frame with the page it holds.
    pub(crate) fn unclaim(&self, index: u32) {
        self.frames[index].state.fetch_and(!CLAIMED, Ordering::Release);
    }

    /// Takes a claimed frame away from the page it holds, if any. It stays claimed.
    pub(crate) fn detach(&self, index: u32) {
        let frame = &self.frames[index];
        if !frame.holds_a_page() {
            return;
        }
        let page = frame.page_id();
        let partition = self.table.latch(page);
        partition.remove(&self.frames, page, index);
        frame.set_page_id(None);
        set_state(frame, CLAIMED);
        drop(partition);
        self.counters.count_eviction();
    }

    /// Writes up to `pages_max` dirty pages that the clock's hand will come to soon, so that whoever needs a frame finds
    /// clean ones. Returns how many. May wait for the log. To be called again and again: how far the hand moved between the
    /// calls tells what is soon, and where it rests nothing is written.
    pub fn clean_ahead(&self, pages_max: usize) -> usize {
        let Some(mut cleaner) = self.cleaner.try_lock() else { return 0 };
        let (hand, count) = (self.hand.load(Ordering::Relaxed), self.frames.len());
        let moved = hand - std::mem::replace(&mut cleaner.hand_before, hand);
        cleaner.moves = moved.max(cleaner.moves * 3 / 4);
        let goal = hand + (2 * cleaner.moves).min(count);
        cleaner.looked_at = cleaner.looked_at.max(hand);
        let mut batch = [0; EVICTION_BATCH_PAGES];
        let mut written = 0;
        while written < pages_max && cleaner.looked_at < goal {
            let wanted = EVICTION_BATCH_PAGES.min(pages_max - written);
            let mut collected = 0;
            while collected < wanted && cleaner.looked_at < goal {
                let index = (cleaner.looked_at % count) as u32;
                cleaner.looked_at += 1;
                let state = self.frames[index].state.load(Ordering::Relaxed);
                if state & (DIRTY | VALID) == DIRTY | VALID
                    && state & (PIN_MASK | WRITING | CLAIMED) == 0
                    && state & USAGE_MASK <= USAGE
                {
                    batch[collected] = index;
                    collected += 1;
                }
            }
            if collected > 0 {
                written += self.write_frames(&mut batch[..collected], Cause::Cleaner);
            }
        }
        written
    }
}

/// How far the cleaner is.
#[derive(Default)]
pub(crate) struct Cleaner {
    /// Where the hand stood at the last call.
    hand_before: usize,
    /// How far it moves between calls: as far as the last time, or a little less than the time before.
    moves: usize,
    /// Frames before this, counted as the hand counts, need no second look before the hand has passed.
    looked_at: usize,
}
