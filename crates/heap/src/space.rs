//! Where there is room: which block the next tuple goes to.
//!
//! This module keeps two structures, both in memory only. **Target blocks**: each inserter fills one of a few blocks
//! before it asks for another. There is one target until inserters get in each other's way, then there are more.
//! So concurrent inserts don't compete for one page, and a lone inserter leaves no half-filled pages
//! behind. **The map**: a byte for each block says how much room the block had when it was last looked at. Above
//! these bytes is the maximum of each chunk of blocks. The map may be wrong in both directions: an inserter that goes to
//! a block measures its room, and corrects the map.
//!
//! After a start the map is empty. It is filled by operations that look at a page for another reason
//! (updates, prunes, vacuum), and an inserter probes a few unknown blocks before it extends the file.

use base::OwnerId;
use base::limits::PAGE_SIZE_BYTES;
use sync::RwLock;
use sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

const TARGETS_MAX: usize = 16;
const NO_BLOCK: u32 = u32::MAX;
/// Blocks that share one maximum.
const CHUNK: usize = 1024;
/// Room is counted in steps of so many bytes.
const STEP_BYTES: usize = PAGE_SIZE_BYTES / 256;
/// Nobody has looked at the block since the start.
const UNKNOWN: u8 = 0;
/// A category is 1 + room / [`STEP_BYTES`], so a full block is 1.
const FULL: u8 = 1;

/// The room in a heap's blocks.
pub(crate) struct Space {
    targets: [AtomicU32; TARGETS_MAX],
    /// How many of the targets are in use: a power of two.
    active: AtomicUsize,
    map: RwLock<Map>,
    /// Blocks at and above this were probed or known; the next to probe is the one below.
    unknown_below: AtomicU32,
}

#[derive(Default)]
struct Map {
    blocks: Vec<AtomicU8>,
    /// For each chunk of blocks an upper bound of their categories; lowered by a search that finds no room.
    chunks: Vec<AtomicU8>,
}

impl Space {
    /// The map of a file that has `blocks` blocks, all unknown.
    pub(crate) fn new(blocks: u32) -> Space {
        let space = Space {
            targets: std::array::from_fn(|_| AtomicU32::new(NO_BLOCK)),
            active: AtomicUsize::new(1),
            map: RwLock::new(Map::default()),
            unknown_below: AtomicU32::new(blocks),
        };
        space.map.write().resize(blocks as usize);
        space
    }

    /// The block this owner fills at present.
    pub(crate) fn target(&self, owner: OwnerId) -> Option<u32> {
        let block = self.slot(owner).load(Ordering::Relaxed);
        (block != NO_BLOCK).then_some(block)
    }

    /// The owner fills `block` from now on.
    pub(crate) fn set_target(&self, owner: OwnerId, block: u32) {
        self.slot(owner).store(block, Ordering::Relaxed);
    }

    fn slot(&self, owner: OwnerId) -> &AtomicU32 {
        &self.targets[owner.0 as usize & (self.active.load(Ordering::Relaxed) - 1)]
    }

    /// An inserter met another on its target: spread them over more. False if there are no more.
    pub(crate) fn spread(&self) -> bool {
        let active = self.active.load(Ordering::Relaxed);
        active < TARGETS_MAX
            && self.active.compare_exchange(active, active * 2, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn is_target(&self, block: u32) -> bool {
        self.targets.iter().any(|target| target.load(Ordering::Relaxed) == block)
    }

    /// `block` has room for a tuple of `room` bytes.
    pub(crate) fn note(&self, block: u32, room: usize) {
        let category = category(room);
        {
            let map = self.map.read();
            if let Some(entry) = map.blocks.get(block as usize) {
                if entry.load(Ordering::Relaxed) != category {
                    entry.store(category, Ordering::Relaxed);
                    map.chunks[block as usize / CHUNK].fetch_max(category, Ordering::Relaxed);
                }
                return;
            }
        }
        let mut map = self.map.write();
        if map.blocks.len() <= block as usize {
            map.resize(block as usize + 1);
        }
        map.blocks[block as usize].store(category, Ordering::Relaxed);
        map.chunks[block as usize / CHUNK].fetch_max(category, Ordering::Relaxed);
    }

    /// A block that had room for `length` bytes when last looked at, is nobody's target and not among `but`. `from` spreads
    /// searches.
    pub(crate) fn find(&self, length: usize, from: u32, but: &[u32]) -> Option<u32> {
        // A category's lower bound must hold the tuple, so round up.
        let wanted = (1 + length.div_ceil(STEP_BYTES)).min(255) as u8;
        let map = self.map.read();
        let chunks = map.chunks.len();
        for step in 0..chunks {
            let chunk = (from as usize / CHUNK + step) % chunks;
            let bound = map.chunks[chunk].load(Ordering::Relaxed);
            if bound < wanted {
                continue;
            }
            let mut best = UNKNOWN;
            let first = chunk * CHUNK;
            for (at, entry) in map.blocks[first..].iter().take(CHUNK).enumerate() {
                let category = entry.load(Ordering::Relaxed);
                best = best.max(category);
                let block = (first + at) as u32;
                if category >= wanted && !but.contains(&block) && !self.is_target(block) {
                    return Some(block);
                }
            }
            // Lost if a block gets room meanwhile, until that block is noted again: an error to the safe side.
            let _ = map.chunks[chunk].compare_exchange(bound, best, Ordering::Relaxed, Ordering::Relaxed);
        }
        None
    }

    /// A block nobody has looked at since the start, if there is one: whoever takes it looks and notes.
    pub(crate) fn take_unknown(&self) -> Option<u32> {
        loop {
            let below = self.unknown_below.load(Ordering::Relaxed);
            let block = below.checked_sub(1)?;
            if self.unknown_below.compare_exchange(below, block, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                continue;
            }
            let map = self.map.read();
            if map.blocks.get(block as usize).is_some_and(|entry| entry.load(Ordering::Relaxed) == UNKNOWN) {
                return Some(block);
            }
        }
    }

    /// The file now ends before `blocks`.
    pub(crate) fn truncate(&self, blocks: u32) {
        for target in &self.targets {
            if target.load(Ordering::Relaxed) >= blocks {
                target.store(NO_BLOCK, Ordering::Relaxed);
            }
        }
        self.unknown_below.fetch_min(blocks, Ordering::Relaxed);
        self.map.write().resize(blocks as usize);
    }
}

impl Map {
    fn resize(&mut self, blocks: usize) {
        self.blocks.resize_with(blocks, || AtomicU8::new(UNKNOWN));
        self.chunks.resize_with(blocks.div_ceil(CHUNK), || AtomicU8::new(UNKNOWN));
    }
}

fn category(room: usize) -> u8 {
    (usize::from(FULL) + room / STEP_BYTES).min(255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_with_room_is_found_and_a_full_one_is_not() {
        let space = Space::new(0);
        for block in 0..5000 {
            space.note(block, 10);
        }
        assert_eq!(space.find(100, 0, &[]), None);
        space.note(4321, 200);
        assert_eq!(space.find(100, 0, &[]), Some(4321));
        assert_eq!(space.find(100, 4999, &[]), Some(4321));
        assert_eq!(space.find(300, 0, &[]), None);
        space.set_target(OwnerId(3), 4321);
        assert_eq!(space.find(100, 0, &[]), None, "another inserter fills it");
        space.truncate(4000);
        assert_eq!(space.target(OwnerId(3)), None);
        assert_eq!(space.find(1, 0, &[]), None);
    }

    #[test]
    fn each_unknown_block_is_probed_once() {
        let space = Space::new(4);
        space.note(2, 0);
        let probed: Vec<u32> = std::iter::from_fn(|| space.take_unknown()).collect();
        assert_eq!(probed, [3, 1, 0]);
    }

    #[test]
    fn inserters_that_meet_are_spread_over_more_targets() {
        let space = Space::new(0);
        space.set_target(OwnerId(1), 7);
        assert_eq!(space.target(OwnerId(2)), Some(7));
        assert!(space.spread());
        assert_eq!(space.target(OwnerId(2)), Some(7));
        assert_eq!(space.target(OwnerId(1)), None);
    }
}
