//! Taking entries out: by vacuum, whose rows are dead, and one by one.
//!
//! A page that has become empty stays where it is. It keeps its range of keys, so that it is filled again when
//! such keys come back, and scans pass over it. A table whose keys only ever ascend and whose old rows are
//! deleted leaves a trail of empty pages behind: page deletion is left out.

use base::{Result, Tid};
use smallvec::SmallVec;

use crate::change;
use crate::page::{Bound, Page, PageMut};
use crate::tree::{BTree, FIRST_LEAF};

impl BTree {
    /// Removes the entries whose rows are dead, and returns how many. `is_dead` is asked under a page's latch: it must not wait.
    pub fn vacuum(&self, is_dead: &dyn Fn(Tid) -> bool) -> Result<u64> {
        let mut removed = 0;
        // The first leaf of a tree is so for ever: splits make new pages to the right.
        let mut next = FIRST_LEAF;
        while next != 0 {
            let block = next;
            sync::yield_point()?;
            self.services.wal.ensure_room(base::limits::PAGE_SIZE_BYTES);
            let pinned = self.pin(block)?;
            let any = {
                let guard = pinned.read();
                let page = Page::new(&guard);
                if !page.is_node() || page.level() != 0 {
                    return Err(self.not_the_page(block, 0));
                }
                next = page.right();
                (0..page.count()).any(|index| page.entry(index).is_some_and(|entry| is_dead(entry.tid())))
            };
            if !any {
                continue;
            }
            let mut guard = pinned.write();
            let page = Page::new(&guard);
            // A split in between has moved entries to new pages on the right: they come next.
            next = page.right();
            let mut dead: SmallVec<[u8; 1024]> = SmallVec::new();
            for index in 0..page.count() {
                if page.entry(index).is_some_and(|entry| is_dead(entry.tid())) {
                    dead.extend_from_slice(&(index as u16).to_le_bytes());
                }
            }
            removed += (dead.len() / 2) as u64;
            self.delete_here(&mut guard, block, &dead)?;
        }
        Ok(removed)
    }

    /// Removes one entry if its row is dead. False if it isn't there, or the row isn't. `is_dead` is asked under the page's latch,
    /// which keeps entries for a new row in the same place from being made until the old one is gone: it must not wait.
    pub fn delete_entry(&self, key: &[u8], tid: Tid, is_dead: &dyn Fn(Tid) -> Result<bool>) -> Result<bool> {
        self.services.wal.ensure_room(64);
        let bound = Bound::of(key, tid);
        let mut pinned = self.descend(&bound, 0, None)?;
        loop {
            let mut guard = pinned.write();
            let block = guard.page_id().block;
            let page = Page::new(&guard);
            if !page.is_node() || page.level() != 0 {
                return Err(self.not_the_page(block, 0));
            }
            if page.is_left_of(&bound) {
                let right = page.right();
                drop(guard);
                pinned = self.pin(right)?;
                continue;
            }
            let index = page.below(&bound).ok_or_else(|| self.not_the_page(block, 0))?;
            if page.entry(index).is_none_or(|entry| entry.bound != bound) || !is_dead(tid)? {
                return Ok(false);
            }
            self.delete_here(&mut guard, block, &(index as u16).to_le_bytes())?;
            return Ok(true);
        }
    }

    /// Removes the entries of a latched leaf with these numbers, two bytes each.
    fn delete_here(&self, guard: &mut buffer::PageWrite<'_>, block: u32, list: &[u8]) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        if !PageMut::new(guard).remove(change::numbers(list)) {
            return Err(self.not_the_page(block, 0));
        }
        let mut front = [0; 12];
        front[..8].copy_from_slice(&self.file.0.to_le_bytes());
        front[8..].copy_from_slice(&block.to_le_bytes());
        guard.set_lsn(self.log(change::DELETE, &[&front, list]));
        Ok(())
    }
}
