//! Which frame holds a page: chains of frames, found without a lock.
//!
//! Chains are changed under the latch of their partition only. A look-up without the latch may miss a page that is in the
//! chain, because the frame where the look-up stands moves to another chain. So on a miss the caller looks again under the
//! latch. A frame that is found may hold another page by now. So the caller pins the frame and looks again at its page id.

use base::FileNumber;
use sync::atomic::{AtomicU32, Ordering};
use sync::{CachePadded, ExclusiveLatch, ExclusiveLatchGuard, LatchClass};

use crate::PageId;
use crate::frame::Frames;

/// Latches of the table's partitions. Nothing but the table is touched under one.
static MAPPING_LATCH: LatchClass = LatchClass::new("BufferMapping", 45);

const PARTITIONS: usize = 128;
/// A chain that looks longer to a look-up without the latch is one that changed under it.
const CHAIN_STEPS_MAX: usize = 64;

pub(crate) struct Table {
    /// The first frame of each chain, plus one; 0 for none.
    heads: Box<[AtomicU32]>,
    partitions: Box<[CachePadded<ExclusiveLatch<()>>]>,
}

/// A hold of the latch of one partition.
pub(crate) struct Partition<'a> {
    table: &'a Table,
    _latch: ExclusiveLatchGuard<'a, ()>,
}

fn hash(page: PageId) -> usize {
    let PageId { file: FileNumber(file), block } = page;
    let mixed = (file ^ u64::from(block).rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(24) as usize
}

impl Table {
    pub(crate) fn new(frames: usize) -> Table {
        let heads = (2 * frames).next_power_of_two().max(PARTITIONS);
        Table {
            heads: (0..heads).map(|_| AtomicU32::new(0)).collect(),
            partitions: (0..PARTITIONS).map(|_| CachePadded::new(ExclusiveLatch::new(&MAPPING_LATCH, ()))).collect(),
        }
    }

    #[inline]
    fn head(&self, page: PageId) -> &AtomicU32 {
        &self.heads[hash(page) & (self.heads.len() - 1)]
    }

    /// The frame that holds `page`, if this look meets it.
    #[inline]
    pub(crate) fn find(&self, frames: &Frames, page: PageId) -> Option<u32> {
        let mut link = self.head(page).load(Ordering::Acquire);
        for _ in 0..CHAIN_STEPS_MAX {
            let index = link.checked_sub(1)?;
            let frame = &frames[index];
            if frame.holds(page) {
                return Some(index);
            }
            link = frame.next.load(Ordering::Acquire);
        }
        None
    }

    /// Waits until each latch that is held now has been given back once. A thread that latches a
    /// partition afterwards sees all that the caller has stored before. The caller sees all that was done under a latch before.
    pub(crate) fn pass_latches(&self) {
        self.partitions.iter().for_each(|partition| drop(partition.lock()));
    }

    /// Latches the partition that `page` belongs to.
    pub(crate) fn latch(&self, page: PageId) -> Partition<'_> {
        Partition { table: self, _latch: self.partitions[hash(page) % PARTITIONS].lock() }
    }
}

impl Partition<'_> {
    /// The frame that holds `page`.
    pub(crate) fn find(&self, frames: &Frames, page: PageId) -> Option<u32> {
        let mut link = self.table.head(page).load(Ordering::Relaxed);
        while let Some(index) = link.checked_sub(1) {
            let frame = &frames[index];
            if frame.holds(page) {
                return Some(index);
            }
            link = frame.next.load(Ordering::Relaxed);
        }
        None
    }

    /// Adds frame `index`, which holds `page`.
    pub(crate) fn insert(&self, frames: &Frames, page: PageId, index: u32) {
        let head = self.table.head(page);
        frames[index].next.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        head.store(index + 1, Ordering::Release);
    }

    /// Removes frame `index`, which holds `page`.
    pub(crate) fn remove(&self, frames: &Frames, page: PageId, index: u32) {
        let mut place = self.table.head(page);
        loop {
            let link = place.load(Ordering::Relaxed);
            assert!(link != 0, "a frame that holds a page is in the page's chain");
            let next = &frames[link - 1].next;
            if link == index + 1 {
                place.store(next.load(Ordering::Relaxed), Ordering::Release);
                return;
            }
            place = next;
        }
    }
}
