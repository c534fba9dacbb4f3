//! Holding a whole tree against its rules, for tests and for whoever doubts an index.
//!
//! - Each page is sound by itself: entries in order, below the high key.
//! - A level's pages are linked both ways, from the leftmost to the one without a high key; each page's range
//!   begins where the one before ends.
//! - An inner page's entries lead to the level below, in order and without gaps: each child's range begins
//!   where its entry says.
//! - Only the root is marked as root, and the first block names it.

use base::{Result, Tid};

use crate::page::{Bound, Page, corrupted, read_meta};
use crate::tree::{BTree, FIRST_LEAF, META_BLOCK};

/// Where a range begins.
type Position = (Vec<u8>, [u8; 6]);

/// A page's range and place, as its level's walk found it.
struct Seen {
    block: u32,
    low: Position,
    /// Where the children's ranges begin, and their blocks.
    children: Vec<(Position, u32)>,
}

impl BTree {
    /// Checks the whole structure, and returns the number of entries. Nobody may change the tree meanwhile. XX002 names the first rule
    /// that is broken.
    pub fn check(&self) -> Result<u64> {
        self.check_entries(&mut |_, _| Ok(()))
    }

    /// As [`BTree::check`], and shows each entry to `f`, in order.
    pub fn check_entries(&self, f: &mut dyn FnMut(&[u8], Tid) -> Result<()>) -> Result<u64> {
        let fail = |what: String| Err(corrupted(format!("the index in file {}: {what}", self.file)));
        let (root, root_level) = {
            let meta = self.pin(META_BLOCK)?;
            let guard = meta.read();
            read_meta(Page::new(&guard))?
        };
        let mut entries = 0;
        let mut above: Option<Vec<Seen>> = None;
        let mut leftmost = root;
        for level in (0..=root_level).rev() {
            let mut seen: Vec<Seen> = Vec::new();
            let mut next = leftmost;
            let mut left = 0;
            let mut low = (Vec::new(), [0; 6]);
            while next != 0 {
                let block = next;
                let pinned = self.pin(block)?;
                let guard = pinned.read();
                let page = Page::new(&guard);
                page.check(block)?;
                if page.level() != level || page.left() != left || page.is_root() != (block == root) {
                    return fail(format!(
                        "block {block} has links {:?} in level {level}, right of {left}",
                        page.links()
                    ));
                }
                if page.entry(0).is_some_and(|first| first.bound < bound(&low)) {
                    return fail(format!("block {block} has an entry below its range"));
                }
                let mut children = Vec::new();
                for index in 0..page.count() {
                    let Some(entry) = page.entry(index) else { return fail(format!("block {block} is damaged")) };
                    if level == 0 {
                        entries += 1;
                        f(entry.bound.key, entry.tid())?;
                    } else {
                        children.push(((entry.bound.key.to_vec(), entry.bound.tid), entry.child));
                    }
                }
                if level > 0 && children.first().is_none_or(|(first, _)| *first != low) {
                    return fail(format!("the first child of block {block} does not begin where the block does"));
                }
                seen.push(Seen { block, low: low.clone(), children });
                low = page.high().map_or((Vec::new(), [0; 6]), |high| (high.key.to_vec(), high.tid));
                (left, next) = (block, page.right());
            }
            if let Some(above) = above {
                let downlinks = above.iter().flat_map(|page| &page.children);
                if downlinks.clone().count() != seen.len() {
                    return fail(format!("level {level} has {} pages, but not as many downlinks", seen.len()));
                }
                for ((low, child), page) in downlinks.zip(&seen) {
                    if *child != page.block || *low != page.low {
                        return fail(format!("the downlink to block {} is wrong", page.block));
                    }
                }
            }
            if level > 0 {
                leftmost = seen[0].children[0].1;
            } else if seen[0].block != FIRST_LEAF {
                return fail(format!("the first leaf is block {}", seen[0].block));
            }
            above = Some(seen);
        }
        Ok(entries)
    }
}

fn bound(position: &Position) -> Bound<'_> {
    Bound { key: &position.0, tid: position.1 }
}
