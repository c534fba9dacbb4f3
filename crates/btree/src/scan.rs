//! Scans: by range, both ways, a page at a time.
//!
//! A scan copies the entries of a page that are in its range and then holds nothing, so it must find its
//! way when the tree has changed. Forward that is simple: the right sibling it noted when it copied the page
//! begins where the page ended then, and a split since has only put a page in between whose entries it
//! has. Backward it goes to the left sibling it noted, and from there right again until it meets the page
//! whose right sibling is the one it came from: a split since has put pages in between that it does not have.

use std::ops::Bound as KeyBound;
use std::sync::Arc;

use base::{Result, Tid};
use buffer::Pinned;

use crate::page::{Bound, Page};
use crate::tree::BTree;

/// Keys between two bounds. A key is compared by memcmp; a bound means all entries with that key, whatever their tid.
#[derive(Clone, Debug)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: KeyBound<Vec<u8>>,
    /// Where it ends.
    pub upper: KeyBound<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange { lower: KeyBound::Unbounded, upper: KeyBound::Unbounded }
    }

    /// Just this key.
    pub fn point(key: &[u8]) -> KeyRange {
        KeyRange { lower: KeyBound::Included(key.to_vec()), upper: KeyBound::Included(key.to_vec()) }
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        let mut upper = prefix.to_vec();
        while upper.last() == Some(&0xFF) {
            upper.pop();
        }
        let upper = match upper.last_mut() {
            Some(last) => {
                *last += 1;
                KeyBound::Excluded(upper)
            }
            None => KeyBound::Unbounded,
        };
        KeyRange { lower: KeyBound::Included(prefix.to_vec()), upper }
    }

    /// The position that all entries of the range are at or above; none if there is no limit.
    fn start(&self) -> Option<Bound<'_>> {
        match &self.lower {
            KeyBound::Included(key) => Some(Bound::before(key)),
            KeyBound::Excluded(key) => Some(Bound::after(key)),
            KeyBound::Unbounded => None,
        }
    }

    /// The position that all entries of the range are below; none if there is no limit.
    fn end(&self) -> Option<Bound<'_>> {
        match &self.upper {
            KeyBound::Included(key) => Some(Bound::after(key)),
            KeyBound::Excluded(key) => Some(Bound::before(key)),
            KeyBound::Unbounded => None,
        }
    }
}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the lowest key up.
    Forward,
    /// From the highest key down.
    Backward,
}

/// A scan. Holds the tree open, but no latch and no pin between calls.
pub struct BTreeScan {
    tree: Arc<BTree>,
    range: KeyRange,
    direction: Direction,
    state: State,
    /// The keys copied from the present page, one after the other.
    keys: Vec<u8>,
    /// For each entry copied, in the scan's order, the end of its key in `keys`, and its tid.
    entries: Vec<(u32, u32, Tid)>,
    next: usize,
}

enum State {
    Begin,
    /// The page to go on with; going backward, the page we came from as well.
    At {
        block: u32,
        from: u32,
    },
    End,
}

impl BTree {
    /// A scan over `range`.
    pub fn scan(self: &Arc<BTree>, range: KeyRange, direction: Direction) -> BTreeScan {
        BTreeScan {
            tree: self.clone(),
            range,
            direction,
            state: State::Begin,
            keys: Vec::new(),
            entries: Vec::new(),
            next: 0,
        }
    }
}

impl BTreeScan {
    /// The next entry; none at the end.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 and its kin when the session is interrupted.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], Tid)>> {
        self.next_covering(None)
    }

    /// As [`BTreeScan::next`]. Whenever the scan comes to a page, `covered` is told which part of the range has been looked
    /// through from then on. The call comes while the page is latched, or before. So an entry in that part either has been found or
    /// is made after the call. `covered` must not wait.
    ///
    /// # Errors
    /// XX001 and 58030 for a page that can't be read; 57014 and its kin when the session is interrupted.
    pub fn next_covering(&mut self, covered: Option<&dyn Fn(KeyRange)>) -> Result<Option<(&[u8], Tid)>> {
        while self.next == self.entries.len() {
            self.keys.clear();
            self.entries.clear();
            self.next = 0;
            if !self.next_page(covered)? {
                return Ok(None);
            }
            // Leaves stay when their entries are gone.
            sync::yield_point()?;
        }
        let (start, end, tid) = self.entries[self.next];
        self.next += 1;
        Ok(Some((&self.keys[start as usize..end as usize], tid)))
    }

    /// Copies a page, perhaps one without anything in the range. False at the end.
    fn next_page(&mut self, covered: Option<&dyn Fn(KeyRange)>) -> Result<bool> {
        let tree = self.tree.clone();
        match self.direction {
            Direction::Forward => {
                let pinned = match self.state {
                    State::Begin => tree.descend(&self.range.start().unwrap_or(Bound::before(&[])), 0, None)?,
                    State::At { block, .. } => tree.pin(block)?,
                    State::End => return Ok(false),
                };
                self.copy_forward(&pinned, covered)?;
            }
            Direction::Backward => match self.state {
                State::Begin => {
                    // Where a page begins is not known before its left sibling is read: all of the range at once.
                    if let Some(covered) = covered {
                        covered(self.range.clone());
                    }
                    let mut pinned = match self.range.end() {
                        Some(end) => tree.descend(&end, 0, None)?,
                        None => tree.descend_to_last()?,
                    };
                    // Right to the page where the range ends, should that have moved.
                    loop {
                        let guard = pinned.read();
                        let page = Page::new(&guard);
                        let go_on = match self.range.end() {
                            Some(end) => page.is_left_of(&end),
                            None => page.right() != 0,
                        };
                        if !go_on {
                            let block = pinned.page_id().block;
                            self.copy_backward(page, block)?;
                            break;
                        }
                        let right = page.right();
                        drop(guard);
                        pinned = tree.pin(right)?;
                    }
                }
                State::At { mut block, from } => loop {
                    let pinned = tree.pin(block)?;
                    let guard = pinned.read();
                    let page = Page::new(&guard);
                    if page.right() == from {
                        self.copy_backward(page, block)?;
                        break;
                    }
                    block = page.right();
                    if block == 0 {
                        return Err(tree.not_the_page(pinned.page_id().block, 0));
                    }
                },
                State::End => return Ok(false),
            },
        }
        Ok(true)
    }

    fn copy_forward(&mut self, pinned: &Pinned<'_>, covered: Option<&dyn Fn(KeyRange)>) -> Result<()> {
        let block = pinned.page_id().block;
        let guard = pinned.read();
        let page = Page::new(&guard);
        let tree = self.tree.clone();
        let damaged = || tree.not_the_page(block, 0);
        if !page.is_node() || page.level() != 0 {
            return Err(damaged());
        }
        let count = page.count();
        let first = match self.range.start() {
            Some(start) => page.below(&start).ok_or_else(damaged)?,
            None => 0,
        };
        let end = match self.range.end() {
            Some(end) => page.below(&end).ok_or_else(damaged)?,
            None => count,
        };
        let beyond = end < count || page.right() == 0 || self.range.end().is_some_and(|end| !page.is_left_of(&end));
        let state = if beyond { State::End } else { State::At { block: page.right(), from: block } };
        if let Some(covered) = covered {
            let upper = match page.high() {
                Some(high) if !beyond => KeyBound::Included(high.key.to_vec()),
                _ => self.range.upper.clone(),
            };
            covered(KeyRange { lower: self.range.lower.clone(), upper });
        }
        for index in first..end {
            let entry = page.entry(index).ok_or_else(damaged)?;
            self.push(entry.bound.key, entry.tid());
        }
        self.state = state;
        Ok(())
    }

    fn copy_backward(&mut self, page: Page<'_>, block: u32) -> Result<()> {
        let tree = self.tree.clone();
        let damaged = || tree.not_the_page(block, 0);
        if !page.is_node() || page.level() != 0 {
            return Err(damaged());
        }
        let first = match self.range.start() {
            Some(start) => page.below(&start).ok_or_else(damaged)?,
            None => 0,
        };
        let end = match self.range.end() {
            Some(end) => page.below(&end).ok_or_else(damaged)?,
            None => page.count(),
        };
        let state =
            if first > 0 || page.left() == 0 { State::End } else { State::At { block: page.left(), from: block } };
        for index in (first..end).rev() {
            let entry = page.entry(index).ok_or_else(damaged)?;
            self.push(entry.bound.key, entry.tid());
        }
        self.state = state;
        Ok(())
    }

    fn push(&mut self, key: &[u8], tid: Tid) {
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(key);
        self.entries.push((start, self.keys.len() as u32, tid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_no_longer_key_can_have_it() {
        assert_eq!(KeyRange::prefix(b"ab").upper, KeyBound::Excluded(b"ac".to_vec()));
        assert_eq!(KeyRange::prefix(&[1, 0xFF, 0xFF]).upper, KeyBound::Excluded(vec![2]));
        assert_eq!(KeyRange::prefix(&[0xFF]).upper, KeyBound::Unbounded);
    }
}
